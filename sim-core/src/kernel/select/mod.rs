//! Which CPU a task goes to: at a wake-up, a fork or an exec.
//!
//! Mirrors: `select_task_rq()`, `select_task_rq_fair()`, v4.19–v6.5; smp.md §3. Left out: placement by energy, by
//! asymmetric capacity and by preferred node. Deviates: D-001.

pub(in crate::kernel) mod budget;
mod idle;
mod idle_sibling;
mod idlest;
pub(in crate::kernel) mod rules;
mod search;
#[cfg(test)]
mod tests;
mod wake;
mod wake_affine;
mod wakee;

pub use wakee::WakeeFlips;

use super::Kernel;
use super::domains::DomainFlags;
use super::hooks::Hooks;
use crate::id::{CpuId, TaskId};
use crate::observe::{Decision, IDLEST_LEVELS, Observer, Select, SelectReason, SelectRule};
use crate::time::Instant;

/// Why a task is placed, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) enum SelectFor {
    /// It wakes.
    Wake {
        /// The CPU the wake-up happens on.
        by: CpuId,
        /// The task that wakes it; none if an interrupt does.
        waker: Option<TaskId>,
        /// Whether the waker says that it is about to sleep, and does not exit.
        sync: bool,
    },
    /// It is new: its parent places it.
    Fork,
    /// It execs.
    Exec,
}

impl SelectFor {
    const fn reason(self) -> SelectReason {
        match self {
            SelectFor::Wake { .. } => SelectReason::Wake,
            SelectFor::Fork => SelectReason::Fork,
            SelectFor::Exec => SelectReason::Exec,
        }
    }
}

impl<H: Hooks> Kernel<H> {
    /// Chooses the CPU for a task, reports the decision, and lets hooks change it.
    ///
    /// Mirrors: `select_task_rq()`, v4.19–v6.5.
    pub(in crate::kernel) fn select_task_rq<O: Observer>(
        &mut self,
        task: TaskId,
        why: SelectFor,
        now: Instant,
        o: &mut O,
    ) -> CpuId {
        let prev = self.tasks[task.index()].cpu;
        if self.rqs.len() == 1 && !O::DECISIONS {
            // No choice, and nobody to tell.
            return prev;
        }
        let (by, sync) = match why {
            SelectFor::Wake { by, waker, sync } => {
                let interrupt = waker.is_none() && self.config.rules.select.no_sync_in_interrupt;
                (by, sync && !interrupt)
            }
            SelectFor::Fork | SelectFor::Exec => (prev, false),
        };
        let mut d = Select {
            task,
            reason: why.reason(),
            by,
            sync,
            prev,
            prev_nr_running: self.rqs[prev.index()].nr_running,
            flips: None,
            affine: None,
            target: prev,
            search: None,
            idlest: [None; IDLEST_LEVELS],
            chosen_nr_running: 0,
            chosen: prev,
            rule: SelectRule::OnlyAllowed,
        };
        (d.chosen, d.rule) = self.choose_cpu(&mut d, why, now);
        d.chosen_nr_running = self.rqs[d.chosen.index()].nr_running;
        if O::DECISIONS {
            o.decision(now, &Decision::Select(d));
        }
        self.hooks.select(&d)
    }

    fn choose_cpu(&mut self, d: &mut Select, why: SelectFor, now: Instant) -> (CpuId, SelectRule) {
        let task = d.task;
        if self.tasks[task.index()].cpus_allowed.count() == 1 {
            return self.fallback(d, SelectRule::OnlyAllowed);
        }
        let choice = match why {
            SelectFor::Wake { by, waker, .. } => self.select_for_wake(d, by, waker, now),
            SelectFor::Fork => self.select_idlest(d, DomainFlags::BALANCE_FORK, now),
            SelectFor::Exec => self.select_idlest(d, DomainFlags::BALANCE_EXEC, now),
        };
        if self.tasks[task.index()].cpus_allowed.contains(choice.0) {
            choice
        } else {
            self.fallback(d, SelectRule::Fallback)
        }
    }

    /// Any CPU the task may use; always the lowest-numbered. Deviates: D-001.
    ///
    /// Mirrors: `select_fallback_rq()`, `cpumask_any_and()`.
    fn fallback(&self, d: &Select, rule: SelectRule) -> (CpuId, SelectRule) {
        let allowed = &self.tasks[d.task.index()].cpus_allowed;
        (allowed.lowest_and(self.topology.online()).unwrap_or(d.prev), rule)
    }
}
