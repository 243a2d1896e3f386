//! Group entities: their weight, and finding the level at which two entities compete.

use crate::id::EntityId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::LoadWeight;
use crate::observe::Observer;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Gives a group entity the weight its group's shares allow: all of them, since the distribution over CPUs needs
    /// load tracking. Deviates: D-002.
    ///
    /// Mirrors: `update_cfs_group()`, `reweight_entity()`, v4.19–v6.5, on a machine with one CPU.
    pub(in crate::kernel) fn update_cfs_group<O: Observer>(&mut self, se: EntityId, now: Instant, o: &mut O) {
        let e = &self.entities[se.index()];
        let Some(my_q) = e.my_q else { return };
        let shares = self.groups[self.cfs_rqs[my_q.index()].group.index()].shares;
        let (weight, on_rq, q) = (e.load.weight, e.on_rq, e.cfs_rq);
        if weight == shares {
            return;
        }
        if on_rq {
            if self.cfs_rqs[q.index()].curr == Some(se) {
                // What it has run until now counts by its old weight.
                self.update_curr(q, now, o);
            }
            self.cfs_rqs[q.index()].load.sub(weight);
            self.cfs_rqs[q.index()].load.add(shares);
        }
        self.entities[se.index()].load = LoadWeight::of_load(shares);
    }

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
