//! Load of a group's queue as a part of its CPU's load.

use crate::id::CfsRqId;
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Computes `h_load` of a queue and of those above, each at most once per jiffy.
    ///
    /// Mirrors: `update_cfs_rq_h_load()`, v4.19–v6.5.
    pub(super) fn update_cfs_rq_h_load(&mut self, q: CfsRqId, now: Instant) {
        let jiffy = self.jiffies(now);
        let queue = &self.cfs_rqs[q.index()];
        if queue.pelt.last_h_load_update == Some(jiffy) {
            return;
        }
        let h_load = match queue.owner {
            None => queue.avg.load_avg,
            Some(se) => {
                let e = &self.entities[se.index()];
                let (above, own) = (e.cfs_rq, e.avg.load_avg);
                self.update_cfs_rq_h_load(above, now);
                let above = &self.cfs_rqs[above.index()];
                above.pelt.h_load * own / (above.avg.load_avg + 1)
            }
        };
        let pelt = &mut self.cfs_rqs[q.index()].pelt;
        (pelt.h_load, pelt.last_h_load_update) = (h_load, Some(jiffy));
    }
}
