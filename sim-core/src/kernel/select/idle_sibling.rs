//! `select_idle_sibling`: an idle CPU near the target.

use super::rules::{IdleSearch, KthreadStacking, RecentUsedCpu};
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::observe::{Select, SelectRule};
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// The target, previous or recently used CPU if idle, else what a search of the target's cache domain finds.
    ///
    /// Mirrors: `select_idle_sibling()`, v4.19–v6.5; smp.md §3.4.
    pub(super) fn select_idle_sibling(
        &mut self,
        d: &mut Select,
        by: CpuId,
        waker: Option<TaskId>,
        now: Instant,
    ) -> (CpuId, SelectRule) {
        let (prev, target) = (d.prev, d.target);
        if self.counts_as_idle(target, d.task) {
            return (target, SelectRule::TargetIdle);
        }
        if prev != target && self.domains.share_cache(prev, target) && self.counts_as_idle(prev, d.task) {
            return (prev, SelectRule::PrevIdle);
        }
        if self.stacks_on_kthread(by, waker, prev) {
            return (prev, SelectRule::KthreadStacking);
        }
        if let Some(recent) = self.recent_used_cpu(d.task, prev, target) {
            return (recent, SelectRule::RecentIdle);
        }
        if self.domains.cpu(target).sd_llc.is_none() {
            return (target, SelectRule::NoSharedCache);
        }
        let found = match self.config.rules.select.idle_search {
            IdleSearch::Separate => self.search_separately(d, by, now),
            IdleSearch::Combined => self.search_combined(d, by, now),
        };
        found.unwrap_or((target, SelectRule::Target))
    }

    /// Whether a per-CPU kernel thread wakes the task on the CPU it came from, as a worker does that was asked to finish
    /// something: it sleeps next. Until interrupts were left out, the second of two tasks that timers wake at once on an idle
    /// CPU stacked on the first: so do real 5.7 kernels.
    fn stacks_on_kthread(&self, by: CpuId, waker: Option<TaskId>, prev: CpuId) -> bool {
        let rule = self.config.rules.select.kthread_stacking;
        let current = match rule {
            KthreadStacking::No => return false,
            KthreadStacking::Always => waker.or(self.rqs[by.index()].curr),
            KthreadStacking::InTask => waker,
        };
        let per_cpu_kthread = match current {
            Some(w) => {
                let w = &self.tasks[w.index()];
                w.kthread && w.cpus_allowed.count() == 1
            }
            // An interrupt of an idle CPU wakes in the name of its idle task, which is such a thread.
            None => rule == KthreadStacking::Always,
        };
        per_cpu_kthread && prev == by && self.rqs[by.index()].nr_running <= 1
    }

    /// The CPU used before the previous one, if it will do.
    fn recent_used_cpu(&mut self, task: TaskId, prev: CpuId, target: CpuId) -> Option<CpuId> {
        let rule = self.config.rules.select.recent_used_cpu;
        let recent = self.tasks[task.index()].recent_used_cpu;
        if rule != RecentUsedCpu::Target {
            self.tasks[task.index()].recent_used_cpu = prev;
        }
        let tested = if rule == RecentUsedCpu::PrevTestsPrev { prev } else { recent };
        let usable = recent != prev
            && recent != target
            && self.domains.share_cache(recent, target)
            && self.counts_as_idle(recent, task)
            && self.tasks[task.index()].cpus_allowed.contains(tested);
        if usable && rule == RecentUsedCpu::Target {
            self.tasks[task.index()].recent_used_cpu = prev;
        }
        usable.then_some(recent)
    }
}
