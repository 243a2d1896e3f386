//! Pushing a task away from under a running one: what a CPU's stopper thread does for active balance.

use super::env::LbEnv;
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::observe::{Event, IdleType, MigrateReason, Observer};
use crate::time::Instant;
use std::sync::Arc;

impl<H: Hooks> Kernel<H> {
    /// The stopper thread of a busy CPU has preempted its task and moves one to the CPU that asked.
    ///
    /// Mirrors: `active_load_balance_cpu_stop()`, v4.19–v6.5; smp.md §4.4.10.
    pub(in crate::kernel) fn active_load_balance_cpu_stop<O: Observer>(
        &mut self,
        busiest: CpuId,
        now: Instant,
        o: &mut O,
    ) {
        let Some(to) = self.rqs[busiest.index()].balance.push_cpu.take() else { return };
        let task = self.detach_one_task(busiest, to, now, o);
        o.event(now, &Event::ActiveBalance { cpu: busiest, to, task });
        if let Some(task) = task {
            self.attach(task, to, MigrateReason::Active, now, o);
        }
    }

    /// Mirrors: `detach_one_task()`, v4.19–v6.5.
    fn detach_one_task<O: Observer>(
        &mut self,
        busiest: CpuId,
        to: CpuId,
        now: Instant,
        o: &mut O,
    ) -> Option<TaskId> {
        // The stopper thread itself is runnable.
        if self.rqs[busiest.index()].nr_running <= 1 {
            return None;
        }
        let domains = Arc::clone(&self.domains);
        let (sd, _) = domains.chain(to).find(|(_, d)| d.span.contains(busiest))?;
        let mut env = LbEnv::new(&domains, sd, to, IdleType::Idle, 0, Vec::new());
        (env.src, env.reason) = (busiest, MigrateReason::Active);
        self.update_rq_clock(busiest, now);
        let mut next = self.rqs[busiest.index()].cfs_tasks.tail();
        while let Some(task) = next {
            let movable = self.may_run_on_destination(&mut env, task) && !self.tasks[task.index()].on_cpu;
            if movable && self.ask_to_move(&env, task, now, o) {
                self.deactivate(task, now, o);
                self.balancing.domain_mut(sd).nr_balance_failed = 0;
                return Some(task);
            }
            next = self.cfs_tasks_before(task);
        }
        None
    }
}
