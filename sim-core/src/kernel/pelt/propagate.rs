//! What comes to or leaves a group's queue reaches the group's entity and the queues above.
//!
//! The specification gives attach and detach on one queue only; how they reach the levels above is inferred from what the
//! signals mean: a group's entity uses and is runnable as much as its queue; its load history is the union of its members'.
//! Deviates: D-002.

use super::update::Update;
use crate::id::{CfsRqId, EntityId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::scale_load_down;

/// Moves an average and its sum to new values and the total above by the same amounts.
struct Moved {
    avg: i64,
    sum: i64,
}

impl Moved {
    fn to(avg: &mut u64, sum: &mut u64, new_avg: u64, new_sum: u64) -> Moved {
        let moved = Moved { avg: new_avg as i64 - *avg as i64, sum: new_sum as i64 - *sum as i64 };
        (*avg, *sum) = (new_avg, new_sum);
        moved
    }

    fn apply(&self, avg: &mut u64, sum: &mut u64) {
        *avg = avg.saturating_add_signed(self.avg);
        *sum = sum.saturating_add_signed(self.sum);
    }
}

impl<H: Hooks> Kernel<H> {
    /// Remembers that load came (left) for the levels above a group's queue.
    ///
    /// Mirrors: `add_tg_cfs_propagate()`, v4.19–v6.5.
    pub(super) fn add_tg_cfs_propagate(&mut self, q: CfsRqId, load_sum: i64) {
        let queue = &mut self.cfs_rqs[q.index()];
        if queue.owner.is_some() {
            queue.pelt.propagate = true;
            queue.pelt.propagate_sum += load_sum;
            self.list_add_leaf_cfs_rq(q);
        }
    }

    /// Passes on what came to or left a group's queue. True when there was something.
    ///
    /// Mirrors: `propagate_entity_load_avg()`, `update_tg_cfs_util()`, `update_tg_cfs_runnable()`, `update_tg_cfs_load()`,
    /// v4.19–v6.5.
    pub(super) fn propagate_entity_load_avg(&mut self, q: CfsRqId, se: EntityId) -> bool {
        let Some(inner) = self.entities[se.index()].my_q else { return false };
        let pelt = &mut self.cfs_rqs[inner.index()].pelt;
        if !std::mem::take(&mut pelt.propagate) {
            return false;
        }
        let came = std::mem::take(&mut pelt.propagate_sum);
        self.mark_queue(q);
        self.add_tg_cfs_propagate(q, came);
        self.follow_util(q, se, inner);
        if self.config.rules.pelt.runnable_is_time {
            self.follow_runnable(q, se, inner);
        }
        if came != 0 {
            self.follow_load(q, se, inner, came);
        }
        true
    }

    fn follow_util(&mut self, q: CfsRqId, se: EntityId, inner: CfsRqId) {
        let util = self.cfs_rqs[inner.index()].avg.util_avg;
        let above = &mut self.cfs_rqs[q.index()].avg;
        let e = &mut self.entities[se.index()].avg;
        if util != e.util_avg {
            let moved = Moved::to(&mut e.util_avg, &mut e.util_sum, util, util * above.divider());
            moved.apply(&mut above.util_avg, &mut above.util_sum);
        }
    }

    fn follow_runnable(&mut self, q: CfsRqId, se: EntityId, inner: CfsRqId) {
        let runnable = self.cfs_rqs[inner.index()].avg.runnable_avg;
        let above = &mut self.cfs_rqs[q.index()].avg;
        let e = &mut self.entities[se.index()].avg;
        if runnable != e.runnable_avg {
            let moved =
                Moved::to(&mut e.runnable_avg, &mut e.runnable_sum, runnable, runnable * above.divider());
            moved.apply(&mut above.runnable_avg, &mut above.runnable_sum);
        }
    }

    /// The group's entity was runnable for as long as any member: at most always, at least while one ran; once members
    /// leave, no longer than those that stay on average.
    fn follow_load(&mut self, q: CfsRqId, se: EntityId, inner: CfsRqId, came: i64) {
        let divider = self.cfs_rqs[q.index()].avg.divider();
        let (weight, runnable, on_rq) =
            (self.se_weight(se), self.se_runnable(se), self.entities[se.index()].on_rq);
        let group = &self.cfs_rqs[inner.index()];
        let stay = group.avg.load_sum.checked_div(scale_load_down(group.load.weight, self.load_floor()));
        let own = &self.entities[se.index()].avg;
        let load_sum = match came {
            0.. => own.load_sum.saturating_add_signed(came).min(divider),
            _ => own.load_sum.min(stay.unwrap_or(0)),
        };
        let load_sum = load_sum.max(own.util_sum / 1024);
        let runnable_is_time = self.config.rules.pelt.runnable_is_time;
        let e = &mut self.entities[se.index()].avg;
        let above = &mut self.cfs_rqs[q.index()].avg;
        let mut weighted = weight * e.load_sum;
        let new = weight * load_sum;
        Moved::to(&mut e.load_avg, &mut weighted, new / divider, new)
            .apply(&mut above.load_avg, &mut above.load_sum);
        e.load_sum = load_sum;
        if !runnable_is_time {
            let mut weighted = runnable * e.runnable_sum;
            let new = runnable * load_sum;
            let moved = Moved::to(&mut e.runnable_avg, &mut weighted, new / divider, new);
            e.runnable_sum = load_sum;
            if on_rq {
                moved.apply(&mut above.runnable_avg, &mut above.runnable_sum);
            }
        }
    }

    /// Passes on a change to all levels above an entity.
    ///
    /// Mirrors: `propagate_entity_cfs_rq()`, v4.19–v6.5.
    pub(super) fn propagate_entity_cfs_rq(&mut self, se: EntityId) {
        let mut level = self.entities[se.index()].parent;
        while let Some(group) = level {
            let q = self.entities[group.index()].cfs_rq;
            self.update_load_avg(q, group, Update::Publish);
            level = self.entities[group.index()].parent;
        }
    }
}
