//! Refreshing the averages of a CPU's queues whose tasks sleep.

use super::avg::SchedAvg;
use super::update::Update;
use crate::id::{CfsRqId, CpuId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Brings the averages of all queues of a CPU up to date, innermost groups first.
    ///
    /// Mirrors: `update_blocked_averages()`, `__update_blocked_fair()`, v4.19–v6.5.
    pub fn update_blocked_averages(&mut self, cpu: CpuId, now: Instant) {
        if !self.tracks_load() {
            return;
        }
        self.update_rq_clock(cpu, now);
        let now = self.pelt_now(cpu);
        let mut left = self.rqs[cpu.index()].pelt.leaf_cfs_rqs.len();
        while left > 0 {
            let q = self.rqs[cpu.index()].pelt.leaf_cfs_rqs[left - 1];
            self.update_blocked_group(q, now);
            // Outer groups may have joined the list before this one.
            let list = &self.rqs[cpu.index()].pelt.leaf_cfs_rqs;
            left = list.partition_point(|other| other.index() < q.index());
            if self.is_decayed(q) {
                self.cfs_rqs[q.index()].pelt.on_list = false;
                self.rqs[cpu.index()].pelt.leaf_cfs_rqs.remove(left);
            }
        }
        self.update_cfs_rq_load_avg(self.rqs[cpu.index()].cfs, now);
        self.update_irq_load_avg(cpu, 0);
    }

    /// Ages a group's queue, and its entity with the queue above.
    fn update_blocked_group(&mut self, q: CfsRqId, now: u64) {
        if self.update_cfs_rq_load_avg(q, now) {
            self.update_tg_load_avg(q);
        }
        if let Some(se) = self.cfs_rqs[q.index()].owner
            && self.has_history(q)
        {
            self.update_load_avg(self.entities[se.index()].cfs_rq, se, Update::Age);
        }
    }

    /// Whether a group's entity has anything left to decay or to be told.
    ///
    /// Mirrors: `skip_blocked_update()`, v4.19–v6.5.
    fn has_history(&self, q: CfsRqId) -> bool {
        let queue = &self.cfs_rqs[q.index()];
        let of_entity = queue.owner.map_or((0, 0), |se| {
            let avg = &self.entities[se.index()].avg;
            (avg.load_avg, avg.util_avg)
        });
        of_entity != (0, 0) || queue.pelt.propagate
    }

    /// Nothing queued, nothing left to decay.
    ///
    /// Mirrors: `cfs_rq_is_decayed()`, v4.19–v6.5.
    fn is_decayed(&self, q: CfsRqId) -> bool {
        let queue = &self.cfs_rqs[q.index()];
        let SchedAvg { load_sum, runnable_sum, util_sum, .. } = queue.avg;
        queue.load.weight == 0
            && (load_sum, runnable_sum, util_sum) == (0, 0, 0)
            && !queue.pelt.removed.any
            && !self.has_history(q)
    }

    /// A group's queue has load to decay from now on.
    ///
    /// Mirrors: `list_add_leaf_cfs_rq()`.
    pub(in crate::kernel) fn list_add_leaf_cfs_rq(&mut self, q: CfsRqId) {
        let queue = &mut self.cfs_rqs[q.index()];
        if queue.owner.is_none() || std::mem::replace(&mut queue.pelt.on_list, true) {
            return;
        }
        // Groups are made after the groups they are in: in order of number, outer ones come first.
        let list = &mut self.rqs[queue.cpu.index()].pelt.leaf_cfs_rqs;
        let at = list.partition_point(|other| other.index() < q.index());
        list.insert(at, q);
    }
}
