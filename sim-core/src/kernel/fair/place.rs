//! Where a waking or new entity is put on the time line.

use crate::id::{CfsRqId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::entity::{before, max_vruntime};
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::IdleSleeperThreshold;
use crate::observe::{Decision, Observer, Place};
use crate::time::Instant;

/// An entity that slept longer than this is placed whatever its vruntime: 2^63 divided by the scale of nice-0 load.
const LONG_SLEEP_NS: u64 = (1 << 63) / 1024;

impl<H: Hooks> Kernel<H> {
    /// Sleepers get at most a credit below `min_vruntime`, new tasks a debit of one virtual slice; nobody is moved back.
    ///
    /// Mirrors: `place_entity()`, v4.19–v6.5; core.md §5.3.
    pub(in crate::kernel) fn place_entity<O: Observer>(
        &mut self,
        q: CfsRqId,
        se: EntityId,
        initial: bool,
        now: Instant,
        o: &mut O,
    ) {
        let min_vruntime = self.cfs_rqs[q.index()].min_vruntime;
        let (offset, base) = if initial {
            let debit = self.start_debit(q, se);
            (debit, min_vruntime.wrapping_add(debit))
        } else {
            let credit = self.sleeper_credit(se);
            (credit, min_vruntime.wrapping_sub(credit))
        };
        let slept_long = self.slept_long(q, se);
        let e = &self.entities[se.index()];
        let after = if slept_long { base } else { max_vruntime(e.vruntime, base) };
        let cpu = self.cfs_rqs[q.index()].cpu;
        let d = Place {
            cpu,
            entity: se,
            task: e.task,
            initial,
            min_vruntime,
            before: e.vruntime,
            base,
            offset,
            idle: e.idle,
            slept_long,
            after,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::Place(d));
        }
        self.entities[se.index()].vruntime = self.hooks.place(&d);
    }

    fn start_debit(&mut self, q: CfsRqId, se: EntityId) -> u64 {
        if self.config.features.enabled(Feature::StartDebit) { self.sched_vslice(q, se) } else { 0 }
    }

    fn sleeper_credit(&self, se: EntityId) -> u64 {
        let idle = self.entities[se.index()].idle;
        let t = &self.config.tunables;
        let threshold = match self.config.rules.idle_sleeper_threshold {
            IdleSleeperThreshold::MinGranularity if idle => t.min_granularity_ns,
            _ => t.latency_ns,
        };
        if self.config.features.enabled(Feature::GentleFairSleepers) { threshold >> 1 } else { threshold }
    }

    /// Mirrors: `entity_is_long_sleeper()`, v6.3–v6.5 and stable.
    fn slept_long(&self, q: CfsRqId, se: EntityId) -> bool {
        let (start, clock) = (self.entities[se.index()].exec_start, self.clock_task(q));
        self.config.rules.long_sleeper && start != 0 && clock > start && clock - start > LONG_SLEEP_NS
    }

    /// A new task starts one virtual slice ahead, relative to the queue it will be enqueued on.
    ///
    /// Mirrors: `task_fork_fair()`, v4.19–v6.5; core.md §5.5.
    pub(in crate::kernel) fn task_fork_fair<O: Observer>(&mut self, child: TaskId, now: Instant, o: &mut O) {
        let (se, cpu) = (self.tasks[child.index()].se, self.tasks[child.index()].cpu);
        let q = self.entities[se.index()].cfs_rq;
        self.update_rq_clock(cpu, now);
        let curr = self.cfs_rqs[q.index()].curr;
        if let Some(c) = curr {
            self.update_curr(q, now, o);
            self.entities[se.index()].vruntime = self.entities[c.index()].vruntime;
        }
        self.place_entity(q, se, true, now, o);
        if let Some(c) = curr.filter(|_| self.config.tunables.child_runs_first != 0) {
            let (vc, vs) = (self.entities[c.index()].vruntime, self.entities[se.index()].vruntime);
            if before(vc, vs) {
                self.entities[c.index()].vruntime = vs;
                self.entities[se.index()].vruntime = vc;
                self.resched_curr(cpu, now, o);
            }
        }
        let min_vruntime = self.cfs_rqs[q.index()].min_vruntime;
        let e = &mut self.entities[se.index()];
        e.vruntime = e.vruntime.wrapping_sub(min_vruntime);
    }
}
