//! Keeping an entity and its queue up to date.

use super::avg::{SchedAvg, Signals};
use super::decay::MIN_DIVIDER;
use crate::id::{CfsRqId, EntityId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::scale_load_down;

/// What an update does beside ageing (`UPDATE_TG`, `DO_ATTACH`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) enum Update {
    /// Nothing.
    Age,
    /// The queue's load goes into its group's.
    Publish,
    /// Also attaches an entity that is not attached.
    Attach,
}

/// Takes from an average and its sum; neither falls below 0, and with `consistent` (5.17 and later) the sum not below what
/// the average stands for.
///
/// Mirrors: `sub_positive()` and what follows it, v4.19–v6.5.
pub(super) fn subtract(avg: &mut u64, sum: &mut u64, less_avg: u64, less_sum: u64, consistent: bool) {
    *avg = avg.saturating_sub(less_avg);
    *sum = sum.saturating_sub(less_sum);
    if consistent {
        *sum = (*sum).max(*avg * MIN_DIVIDER);
    }
}

impl<H: Hooks> Kernel<H> {
    /// An entity's weight in user-visible units.
    pub(super) fn se_weight(&self, se: EntityId) -> u64 {
        scale_load_down(self.entities[se.index()].load.weight, self.load_floor())
    }

    /// What an entity's runnable sum counts for in its average.
    pub(super) fn se_runnable(&self, se: EntityId) -> u64 {
        if self.config.rules.pelt.runnable_is_time {
            1
        } else {
            scale_load_down(self.entities[se.index()].runnable_weight, self.load_floor())
        }
    }

    /// Ages an entity, then its queue; attaches it and publishes as asked.
    ///
    /// Mirrors: `update_load_avg()`, v4.19–v6.5; smp.md §2.2.
    pub(in crate::kernel) fn update_load_avg(&mut self, q: CfsRqId, se: EntityId, what: Update) {
        if !self.tracks_load() {
            return;
        }
        let now = self.pelt_now(self.cfs_rqs[q.index()].cpu);
        let attached = self.entities[se.index()].avg.last_update != 0;
        if attached {
            self.age_entity(q, se, now);
        }
        let mut changed = self.update_cfs_rq_load_avg(q, now);
        // A group's entity is attached from the beginning: here, when it is first looked at.
        let attaches = !attached && (what == Update::Attach || self.entities[se.index()].my_q.is_some());
        if attaches {
            self.attach_entity_load_avg(q, se);
        }
        changed |= self.propagate_entity_load_avg(q, se);
        if attaches || (changed && what != Update::Age) {
            self.update_tg_load_avg(q);
        }
    }

    /// Mirrors: `__update_load_avg_se()`, v4.19–v6.5.
    fn age_entity(&mut self, q: CfsRqId, se: EntityId, now: u64) {
        let queue = &self.cfs_rqs[q.index()];
        let scale = self.pelt_scale(queue.cpu);
        let e = &self.entities[se.index()];
        let load = u64::from(e.on_rq);
        let tasks = if e.my_q.is_some() { e.runnable_weight } else { load };
        let runnable = if self.config.rules.pelt.runnable_is_time { tasks } else { load };
        let signals = Signals { load, runnable, running: queue.curr == Some(se) };
        if self.entities[se.index()].avg.accumulate(now, signals, scale) {
            self.average_entity(se);
            self.entities[se.index()].avg.util_est.unchanged = false;
        }
    }

    /// Computes an entity's averages from its sums.
    pub(super) fn average_entity(&mut self, se: EntityId) {
        let (load, runnable) = (self.se_weight(se), self.se_runnable(se));
        self.entities[se.index()].avg.average(load, runnable);
    }

    /// Lets an entity that is not queued decay to `now`.
    ///
    /// Mirrors: `__update_load_avg_blocked_se()`, v4.19–v6.5.
    pub(super) fn age_blocked_entity(&mut self, se: EntityId, now: u64) {
        let scale = self.pelt_scale(self.cfs_rqs[self.entities[se.index()].cfs_rq.index()].cpu);
        if self.entities[se.index()].avg.accumulate(now, Signals::default(), scale) {
            self.average_entity(se);
        }
    }

    /// Takes off what has left the queue, then ages it. True when its averages may have changed.
    ///
    /// Mirrors: `update_cfs_rq_load_avg()`, `__update_load_avg_cfs_rq()`, v4.19–v6.5; smp.md §2.4.
    pub(super) fn update_cfs_rq_load_avg(&mut self, q: CfsRqId, now: u64) -> bool {
        let removed = self.take_removed(q);
        let floor = self.load_floor();
        let queue = &mut self.cfs_rqs[q.index()];
        let runnable = if self.config.rules.pelt.runnable_is_time {
            u64::from(queue.h_nr_running)
        } else {
            scale_load_down(queue.pelt.runnable_weight, floor)
        };
        let signals = Signals {
            load: scale_load_down(queue.load.weight, floor),
            runnable,
            running: queue.curr.is_some(),
        };
        let scale = self.pelt_scale(self.cfs_rqs[q.index()].cpu);
        let avg = &mut self.cfs_rqs[q.index()].avg;
        let aged = avg.accumulate(now, signals, scale);
        if aged {
            avg.average(1, 1);
        }
        if removed || aged {
            self.mark_queue(q);
        }
        removed || aged
    }

    fn take_removed(&mut self, q: CfsRqId) -> bool {
        let rules = self.config.rules.pelt;
        let queue = &mut self.cfs_rqs[q.index()];
        if !queue.pelt.removed.any {
            return false;
        }
        let r = std::mem::take(&mut queue.pelt.removed);
        let divider = queue.avg.divider();
        let SchedAvg { load_avg, load_sum, util_avg, util_sum, runnable_avg, runnable_sum, .. } =
            &mut queue.avg;
        let consistent = rules.sums_kept_consistent;
        subtract(load_avg, load_sum, r.load_avg, r.load_avg * divider, consistent);
        subtract(util_avg, util_sum, r.util_avg, r.util_avg * divider, consistent);
        if rules.runnable_is_time {
            subtract(runnable_avg, runnable_sum, r.runnable_avg, r.runnable_avg * divider, consistent);
        }
        self.add_tg_cfs_propagate(q, -(r.load_sum as i64));
        true
    }
}
