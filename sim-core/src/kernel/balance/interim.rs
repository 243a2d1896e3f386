//! The interim balancing rule: a CPU about to idle takes a waiting task, and queue lengths are evened out
//! periodically. Deviates: D-001.

use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::observe::{Balance, BalanceRule, Decision, MigrateReason, Observer};
use crate::time::Instant;

/// Busy ticks between two periodic passes of a CPU. An assumption of the interim rule.
const TICKS_BETWEEN_PASSES: u64 = 8;

impl<H: Hooks> Kernel<H> {
    /// Stands in for `newidle_balance()`: true when a task was pulled.
    pub(in crate::kernel) fn newidle_balance<O: Observer>(
        &mut self,
        cpu: CpuId,
        now: Instant,
        o: &mut O,
    ) -> bool {
        self.pull_from_busiest(cpu, 2, BalanceRule::InterimNewIdle, now, o)
    }

    /// Stands in for `trigger_load_balance()` and the balancing softirq.
    pub(in crate::kernel) fn periodic_balance<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let rq = &self.rqs[cpu.index()];
        if self.rqs.len() > 1 && rq.ticks.is_multiple_of(TICKS_BETWEEN_PASSES) {
            let at_least = rq.nr_running + 2;
            self.pull_from_busiest(cpu, at_least, BalanceRule::InterimPeriodic, now, o);
        }
    }

    /// Stands in for `nohz_idle_balance()`, which the interim rule never asks for.
    pub fn nohz_balance<O: Observer>(&mut self, _: CpuId, _: Instant, _: &mut O) {}

    /// Stands in for `active_load_balance_cpu_stop()`, which the interim rule never asks for.
    pub(in crate::kernel) fn active_load_balance_cpu_stop<O: Observer>(
        &mut self,
        _: CpuId,
        _: Instant,
        _: &mut O,
    ) {
    }

    /// Moves one waiting task from the longest queue that has at least `at_least` tasks and a task that may come.
    fn pull_from_busiest<O: Observer>(
        &mut self,
        to: CpuId,
        at_least: u32,
        rule: BalanceRule,
        now: Instant,
        o: &mut O,
    ) -> bool {
        let mut best: Option<(u32, CpuId, TaskId)> = None;
        for i in (0..self.rqs.len()).filter(|i| *i != to.index()) {
            let from = CpuId::new(i);
            let nr = self.rqs[i].nr_running;
            if nr >= at_least
                && best.is_none_or(|(most, _, _)| nr > most)
                && let Some(task) = self.waiting_task_for(from, to)
            {
                best = Some((nr, from, task));
            }
        }
        let Some((_, from, task)) = best else { return false };
        let d = Balance {
            task,
            from,
            to,
            from_nr_running: self.rqs[from.index()].nr_running,
            to_nr_running: self.rqs[to.index()].nr_running,
            rule,
            pull: true,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::Balance(d));
        }
        if !self.hooks.balance(&d) {
            return false;
        }
        self.update_rq_clock(from, now);
        self.deactivate(task, now, o);
        let reason = match rule {
            BalanceRule::InterimNewIdle => MigrateReason::NewIdle,
            BalanceRule::InterimPeriodic => MigrateReason::Periodic,
        };
        self.attach(task, to, reason, now, o);
        true
    }

    /// The task queued last on `from` that does not run and may run on `to`.
    fn waiting_task_for(&self, from: CpuId, to: CpuId) -> Option<TaskId> {
        let may_come = |t: &TaskId| self.tasks[t.index()].cpus_allowed.contains(to);
        let waiting = |q: &crate::kernel::runqueue::CfsRq| -> Option<TaskId> {
            let tasks = q.tree.iter().filter_map(|e| self.entities[e.index()].task);
            tasks.filter(may_come).last()
        };
        self.groups.iter().find_map(|g| waiting(&self.cfs_rqs[g.cfs_rq[from.index()].index()]))
    }
}
