//! Entities come to a queue and leave it, averages and all (smp.md §2.4).

use super::avg::SchedAvg;
use super::update::{Update, subtract};
use crate::id::{CfsRqId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::entity::SchedEntity;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Averages of a forked task: it counts with its full weight until there is experience.
    ///
    /// Mirrors: `init_entity_runnable_average()`, v4.19–v6.5.
    pub(in crate::kernel) fn init_entity_runnable_average(&mut self, se: EntityId) {
        if !self.tracks_load() {
            return;
        }
        let load_avg = self.se_weight(se);
        let runnable_avg = if self.config.rules.pelt.runnable_is_time { 0 } else { load_avg };
        self.entities[se.index()].avg = SchedAvg { load_avg, runnable_avg, ..SchedAvg::default() };
    }

    /// A forked task's first utilisation: at most half of what the CPU has left.
    ///
    /// Mirrors: `post_init_entity_util_avg()`, v4.19–v6.5; attaching is left to the enqueueing that follows.
    pub(in crate::kernel) fn post_init_entity_util_avg(&mut self, task: TaskId) {
        if !self.tracks_load() {
            return;
        }
        let (cpu, se) = (self.tasks[task.index()].cpu, self.tasks[task.index()].se);
        let e = &self.entities[se.index()];
        let queue = &self.cfs_rqs[e.cfs_rq.index()].avg;
        let cap = self.rqs[cpu.index()].pelt.cpu_scale.saturating_sub(queue.util_avg) / 2;
        // The stored weight, not the user-visible one: in effect always the cap.
        let proportional = queue.util_avg * e.load.weight / (queue.load_avg + 1);
        let util = if queue.util_avg == 0 { cap } else { cap.min(proportional) };
        let runnable_is_time = self.config.rules.pelt.runnable_is_time;
        let avg = &mut self.entities[se.index()].avg;
        avg.util_avg = util;
        if runnable_is_time {
            avg.runnable_avg = util;
        }
    }

    /// Adds an entity's averages to a queue, whose time it takes over.
    ///
    /// Mirrors: `attach_entity_load_avg()`, v4.19–v6.5.
    pub(super) fn attach_entity_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        self.mark_queue(q);
        let rules = self.config.rules.pelt;
        let weight = self.se_weight(se);
        let queue = &mut self.cfs_rqs[q.index()];
        let divider = queue.avg.divider();
        let a = &mut self.entities[se.index()].avg;
        (a.last_update, a.period_contrib) = (queue.avg.last_update, queue.avg.period_contrib);
        a.util_sum = a.util_avg * divider;
        a.load_sum = (a.load_avg * divider).checked_div(weight).unwrap_or(divider);
        if rules.attached_load_sum_not_zero {
            a.load_sum = a.load_sum.max(1);
        }
        a.runnable_sum = if rules.runnable_is_time { a.runnable_avg * divider } else { a.load_sum };
        let a = *a;
        queue.avg.load_avg += a.load_avg;
        queue.avg.load_sum += weight * a.load_sum;
        queue.avg.util_avg += a.util_avg;
        queue.avg.util_sum += a.util_sum;
        if rules.runnable_is_time {
            queue.avg.runnable_avg += a.runnable_avg;
            queue.avg.runnable_sum += a.runnable_sum;
        }
        self.add_tg_cfs_propagate(q, a.load_sum as i64);
    }

    /// Takes an entity's averages off its queue.
    ///
    /// Mirrors: `detach_entity_load_avg()`, v4.19–v6.5.
    pub(super) fn detach_entity_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        let rules = self.config.rules.pelt;
        self.dequeue_load_avg(q, se);
        let a = self.entities[se.index()].avg;
        let SchedAvg { util_avg, util_sum, runnable_avg, runnable_sum, .. } =
            &mut self.cfs_rqs[q.index()].avg;
        let consistent = rules.sums_kept_consistent;
        subtract(util_avg, util_sum, a.util_avg, a.util_sum, consistent);
        if rules.runnable_is_time {
            subtract(runnable_avg, runnable_sum, a.runnable_avg, a.runnable_sum, consistent);
        }
        self.add_tg_cfs_propagate(q, -(a.load_sum as i64));
        self.entities[se.index()].avg.last_update = 0;
    }

    /// Mirrors: `enqueue_load_avg()`, v4.19–v6.5.
    fn enqueue_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        self.mark_queue(q);
        let (weight, a) = (self.se_weight(se), self.entities[se.index()].avg);
        let avg = &mut self.cfs_rqs[q.index()].avg;
        avg.load_avg += a.load_avg;
        avg.load_sum += weight * a.load_sum;
    }

    /// Mirrors: `dequeue_load_avg()`, v4.19–v6.5.
    fn dequeue_load_avg(&mut self, q: CfsRqId, se: EntityId) {
        self.mark_queue(q);
        let (weight, a) = (self.se_weight(se), self.entities[se.index()].avg);
        let SchedAvg { load_avg, load_sum, .. } = &mut self.cfs_rqs[q.index()].avg;
        let consistent = self.config.rules.pelt.sums_kept_consistent;
        subtract(load_avg, load_sum, a.load_avg, weight * a.load_sum, consistent);
    }

    /// Changes an entity's weights, and with them its load and its queue's; both are brought up to date first.
    ///
    /// Mirrors: the part of `reweight_entity()` that concerns averages, v4.19–v6.5.
    pub(in crate::kernel) fn reweight_averages(
        &mut self,
        q: CfsRqId,
        se: EntityId,
        set: impl FnOnce(&mut SchedEntity),
    ) {
        if !self.tracks_load() {
            return set(&mut self.entities[se.index()]);
        }
        let attached = self.entities[se.index()].avg.last_update != 0;
        if attached {
            self.update_load_avg(q, se, Update::Age);
            self.dequeue_load_avg(q, se);
        }
        set(&mut self.entities[se.index()]);
        if attached {
            let (weight, runnable) = (self.se_weight(se), self.se_runnable(se));
            let runnable_is_time = self.config.rules.pelt.runnable_is_time;
            let avg = &mut self.entities[se.index()].avg;
            avg.load_avg = weight * avg.load_sum / avg.divider();
            if !runnable_is_time {
                avg.runnable_avg = runnable * avg.runnable_sum / avg.divider();
            }
            self.enqueue_load_avg(q, se);
        }
    }

    /// A runnable or group-changing task leaves its queue at once.
    ///
    /// Mirrors: `detach_entity_cfs_rq()`, v4.19–v6.5.
    pub(in crate::kernel) fn detach_entity_cfs_rq(&mut self, se: EntityId) {
        if !self.is_attached_entity(se) {
            return;
        }
        let q = self.entities[se.index()].cfs_rq;
        self.update_load_avg(q, se, Update::Age);
        self.detach_entity_load_avg(q, se);
        self.update_tg_load_avg(q);
        self.propagate_entity_cfs_rq(se);
    }

    /// A sleeping task comes to a queue.
    ///
    /// Mirrors: `attach_entity_cfs_rq()`, v4.19–v6.5.
    pub(in crate::kernel) fn attach_entity_cfs_rq(&mut self, se: EntityId) {
        let q = self.entities[se.index()].cfs_rq;
        self.update_load_avg(q, se, Update::Attach);
        self.propagate_entity_cfs_rq(se);
    }

    /// Whether an entity's averages are part of its queue's.
    pub(in crate::kernel) fn is_attached_entity(&self, se: EntityId) -> bool {
        self.entities[se.index()].avg.last_update != 0
    }

    /// A sleeping task leaves its queue, which takes it off at its own next update.
    ///
    /// Mirrors: `remove_entity_load_avg()`, `sync_entity_load_avg()`, v4.19–v6.5.
    pub(in crate::kernel) fn remove_entity_load_avg(&mut self, se: EntityId) {
        if !self.is_attached_entity(se) {
            return;
        }
        let q = self.entities[se.index()].cfs_rq;
        self.age_blocked_entity(se, self.cfs_rqs[q.index()].avg.last_update);
        let a = &mut self.entities[se.index()].avg;
        let removed = &mut self.cfs_rqs[q.index()].pelt.removed;
        removed.any = true;
        removed.load_avg += a.load_avg;
        removed.runnable_avg += a.runnable_avg;
        removed.util_avg += a.util_avg;
        removed.load_sum += a.load_sum;
    }

    /// A woken task goes to another CPU: its averages leave the old queue, and it has none until it is enqueued. From 6.0 on
    /// it also decays for the time that an idle CPU's queue has not seen.
    ///
    /// Mirrors: `migrate_task_rq_fair()`, `migrate_se_pelt_lag()`.
    pub(in crate::kernel) fn remove_migrating(&mut self, task: TaskId, now: Instant) {
        let t = &self.tasks[task.index()];
        let (cpu, se) = (t.cpu, t.se);
        if !self.is_attached_entity(se) {
            return;
        }
        self.remove_entity_load_avg(se);
        if self.config.rules.pelt.idle_lag_estimated && self.rqs[cpu.index()].curr.is_none() {
            self.age_blocked_entity(se, self.pelt_now_of_idle(cpu, now));
        }
        self.entities[se.index()].avg.last_update = 0;
    }

    /// A task has ended: its averages leave its queue.
    ///
    /// Mirrors: `task_dead_fair()`.
    pub(in crate::kernel) fn task_dead_fair(&mut self, task: TaskId) {
        let se = self.tasks[task.index()].se;
        self.remove_entity_load_avg(se);
        self.entities[se.index()].avg.last_update = 0;
    }
}
