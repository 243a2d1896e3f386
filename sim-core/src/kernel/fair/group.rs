//! Group entities: their weight, and finding the level at which two entities compete.

use crate::id::{CfsRqId, EntityId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::LoadWeight;
use crate::observe::Observer;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Gives a group entity the part of its group's shares that the load of its queue allows; on one CPU all of them.
    ///
    /// Mirrors: `update_cfs_group()`, `reweight_entity()`, v4.19–v6.5.
    pub(in crate::kernel) fn update_cfs_group<O: Observer>(&mut self, se: EntityId, now: Instant, o: &mut O) {
        let e = &self.entities[se.index()];
        let Some(my_q) = e.my_q else { return };
        let (old, old_runnable, on_rq, q) = (e.load.weight, e.runnable_weight, e.on_rq, e.cfs_rq);
        let (weight, runnable) = self.group_weights(my_q, old_runnable);
        if (old, old_runnable) == (weight, runnable) {
            return;
        }
        if on_rq {
            if self.cfs_rqs[q.index()].curr == Some(se) {
                // What it has run until now counts by its old weight.
                self.update_curr(q, now, o);
            }
            self.cfs_rqs[q.index()].load.sub(old);
            self.dequeue_runnable_load_avg(q, se);
        }
        self.reweight_averages(q, se, |e| {
            e.load = LoadWeight::of_load(weight);
            e.runnable_weight = runnable;
        });
        if on_rq {
            self.cfs_rqs[q.index()].load.add(weight);
            self.enqueue_runnable_load_avg(q, se);
            self.debug_check_load(q);
        }
    }

    /// The weight and runnable weight due to a group's entity.
    fn group_weights(&self, my_q: CfsRqId, runnable: u64) -> (u64, u64) {
        if !self.tracks_load() {
            return (self.groups[self.cfs_rqs[my_q.index()].group.index()].shares, runnable);
        }
        let shares = self.calc_group_shares(my_q);
        if self.config.rules.pelt.runnable_is_time {
            (shares, runnable)
        } else {
            (shares, self.calc_group_runnable(my_q, shares))
        }
    }

    /// In debug builds: the load of a queue is the sum over its queued entities.
    #[cfg(debug_assertions)]
    pub(super) fn debug_check_load(&self, q: CfsRqId) {
        let queue = &self.cfs_rqs[q.index()];
        let curr = queue.curr.filter(|e| self.entities[e.index()].on_rq);
        let weights = queue.tree.iter().chain(curr).map(|e| self.entities[e.index()].load.weight);
        assert_eq!(
            queue.load.weight,
            weights.sum::<u64>(),
            "the load of queue {} is its entities'",
            q.index()
        );
    }

    /// Nothing, in release builds.
    #[cfg(not(debug_assertions))]
    #[expect(clippy::unused_self, reason = "the debug build's check")]
    pub(super) const fn debug_check_load(&self, _: CfsRqId) {}

    /// Walks two entities up until they compete in the same queue.
    ///
    /// Mirrors: `find_matching_se()`.
    pub(super) fn find_matching_se(&self, mut a: EntityId, mut b: EntityId) -> (EntityId, EntityId) {
        let depth = |e: EntityId| self.entities[e.index()].depth;
        let up = |e: EntityId| {
            self.entities[e.index()].parent.expect("entities of one CPU meet at its root queue")
        };
        while depth(a) > depth(b) {
            a = up(a);
        }
        while depth(b) > depth(a) {
            b = up(b);
        }
        while self.entities[a.index()].cfs_rq != self.entities[b.index()].cfs_rq {
            (a, b) = (up(a), up(b));
        }
        (a, b)
    }
}
