//! The interim placement rule: an idle CPU, else the least loaded. Deviates: D-001.

use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::observe::{Decision, Observer, Select, SelectRule};
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Chooses among the CPUs the task may use: its previous one if idle, else the lowest-numbered idle one, else the one
    /// with the fewest runnable tasks, its previous one among equals.
    ///
    /// Stands in for `select_task_rq()`.
    pub(in crate::kernel) fn select_task_rq<O: Observer>(
        &mut self,
        task: TaskId,
        now: Instant,
        o: &mut O,
    ) -> CpuId {
        let t = &self.tasks[task.index()];
        let prev = t.cpu;
        let (chosen, rule) = self.interim_choice(task, prev);
        let nr_running = |c: CpuId| self.rqs[c.index()].nr_running;
        let d = Select {
            task,
            prev,
            prev_nr_running: nr_running(prev),
            chosen_nr_running: nr_running(chosen),
            chosen,
            rule,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::Select(d));
        }
        self.hooks.select(&d)
    }

    fn interim_choice(&self, task: TaskId, prev: CpuId) -> (CpuId, SelectRule) {
        let allowed = &self.tasks[task.index()].cpus_allowed;
        if self.rqs.len() == 1 || allowed.count() == 1 {
            return (allowed.lowest().unwrap_or(prev), SelectRule::OnlyAllowed);
        }
        if allowed.contains(prev) && self.rqs[prev.index()].is_idle() {
            return (prev, SelectRule::InterimPrevIdle);
        }
        if let Some(idle) = allowed.iter().find(|c| self.rqs[c.index()].is_idle()) {
            return (idle, SelectRule::InterimIdle);
        }
        let load = |c: CpuId| self.rqs[c.index()].nr_running as usize + self.rqs[c.index()].wake_list.len();
        let least = allowed.iter().min_by_key(|c| (load(*c), *c != prev, c.0));
        (least.unwrap_or(prev), SelectRule::InterimLeastLoaded)
    }
}
