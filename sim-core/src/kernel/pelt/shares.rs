//! A group's shares are divided over CPUs by the load of its queues (core.md §9.2).

use crate::id::{CfsRqId, EntityId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::weight::{MIN_SHARES, scale_load_down};

impl<H: Hooks> Kernel<H> {
    /// Makes a queue's load part of its group's, if it has changed by more than 1/64.
    ///
    /// Mirrors: `update_tg_load_avg()`, v4.19–v6.5.
    pub(super) fn update_tg_load_avg(&mut self, q: CfsRqId) {
        let queue = &mut self.cfs_rqs[q.index()];
        let (load, contrib) = (queue.avg.load_avg, queue.pelt.tg_load_avg_contrib);
        if queue.owner.is_some() && load.abs_diff(contrib) > contrib / 64 {
            queue.pelt.tg_load_avg_contrib = load;
            let tg = &mut self.groups[queue.group.index()];
            tg.load_avg = tg.load_avg + load - contrib;
        }
    }

    /// The part of the group's shares that its queue on one CPU gets.
    ///
    /// Mirrors: `calc_group_shares()`, v4.19–v6.5.
    pub(in crate::kernel) fn calc_group_shares(&self, q: CfsRqId) -> u64 {
        let queue = &self.cfs_rqs[q.index()];
        let tg = &self.groups[queue.group.index()];
        let load = scale_load_down(queue.load.weight, self.load_floor()).max(queue.avg.load_avg);
        let total = tg.load_avg - queue.pelt.tg_load_avg_contrib + load;
        let shares = tg.shares * load;
        // Both bounds in stored units: the lower one is hardly ever met.
        shares.checked_div(total).unwrap_or(shares).clamp(MIN_SHARES, tg.shares)
    }

    /// The weight that a group's entity adds to the runnable load of the queue above: its weight, less what is due to
    /// sleeping members. Not in the specification. Deviates: D-002.
    ///
    /// Mirrors: `calc_group_runnable()`, v4.19–v5.6.
    pub(in crate::kernel) fn calc_group_runnable(&self, q: CfsRqId, shares: u64) -> u64 {
        let queue = &self.cfs_rqs[q.index()];
        let down = |w| scale_load_down(w, self.load_floor());
        let load = queue.avg.load_avg.max(down(queue.load.weight));
        let runnable = queue.avg.runnable_avg.max(down(queue.pelt.runnable_weight));
        (shares * runnable).checked_div(load).unwrap_or(shares * runnable).clamp(MIN_SHARES, shares)
    }

    /// Sets what a group's entity counts as runnable: the tasks below it.
    ///
    /// Mirrors: `se_update_runnable()`, v5.7–v6.5.
    pub(in crate::kernel) fn se_update_runnable(&mut self, se: EntityId) {
        if let Some(my_q) = self.entities[se.index()].my_q
            && self.config.rules.pelt.runnable_is_time
        {
            self.entities[se.index()].runnable_weight = u64::from(self.cfs_rqs[my_q.index()].h_nr_running);
        }
    }

    /// A runnable entity counts in its queue's runnable load.
    ///
    /// Mirrors: `enqueue_runnable_load_avg()`, v4.19–v5.6.
    pub(in crate::kernel) fn enqueue_runnable_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        if self.config.rules.pelt.runnable_is_time || !self.tracks_load() {
            return;
        }
        self.mark_queue(q);
        let (weight, e) = (self.se_runnable(se), &self.entities[se.index()]);
        let queue = &mut self.cfs_rqs[q.index()];
        queue.pelt.runnable_weight += e.runnable_weight;
        queue.avg.runnable_avg += e.avg.runnable_avg;
        queue.avg.runnable_sum += weight * e.avg.runnable_sum;
    }

    /// An entity that is no longer runnable leaves its queue's runnable load at once.
    ///
    /// Mirrors: `dequeue_runnable_load_avg()`, v4.19–v5.6.
    pub(in crate::kernel) fn dequeue_runnable_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        if self.config.rules.pelt.runnable_is_time || !self.tracks_load() {
            return;
        }
        self.mark_queue(q);
        let (weight, e) = (self.se_runnable(se), &self.entities[se.index()]);
        let queue = &mut self.cfs_rqs[q.index()];
        queue.pelt.runnable_weight -= e.runnable_weight;
        queue.avg.runnable_avg = queue.avg.runnable_avg.saturating_sub(e.avg.runnable_avg);
        queue.avg.runnable_sum = queue.avg.runnable_sum.saturating_sub(weight * e.avg.runnable_sum);
    }
}
