//! What tasks are expected to use, whatever they have decayed to while asleep (smp.md §2.5).

use super::state::CAPACITY_SCALE;
use crate::id::TaskId;
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;

/// Estimates nearer to the average than this are not worth a change: 1 %.
const MARGIN: u64 = CAPACITY_SCALE / 100;

impl<H: Hooks> Kernel<H> {
    fn estimates_util(&self) -> bool {
        self.tracks_load() && self.config.features.enabled(Feature::UtilEst)
    }

    /// A task becomes runnable.
    ///
    /// Mirrors: `util_est_enqueue()`, v4.19–v6.5.
    pub(in crate::kernel) fn util_est_enqueue(&mut self, task: TaskId) {
        if self.estimates_util() {
            let estimate = self.task_entity(task).avg.util_est.estimate();
            let root = self.rqs[self.tasks[task.index()].cpu.index()].cfs;
            self.cfs_rqs[root.index()].avg.util_est.enqueued += estimate;
        }
    }

    /// A task is runnable no longer; if it sleeps, its estimate is renewed.
    ///
    /// Mirrors: `util_est_dequeue()`, `util_est_update()`, v4.19–v6.5.
    pub(in crate::kernel) fn util_est_dequeue(&mut self, task: TaskId, sleeps: bool) {
        if !self.estimates_util() {
            return;
        }
        let (cpu, se) = (self.tasks[task.index()].cpu, self.tasks[task.index()].se);
        let est = self.entities[se.index()].avg.util_est;
        let queued = &mut self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].avg.util_est.enqueued;
        *queued = queued.saturating_sub(est.estimate());
        let over = self.config.rules.pelt.util_est_within_capacity
            && self.task_util(task) > self.capacity_orig_of(cpu);
        if sleeps && !est.unchanged && !over {
            let fastup = self.config.features.enabled(Feature::UtilEstFastup);
            self.entities[se.index()].avg.estimate_anew(fastup);
        }
    }
}

impl super::SchedAvg {
    /// Mirrors: the second half of `util_est_update()`, v4.19–v6.5.
    fn estimate_anew(&mut self, fastup: bool) {
        let (util, est) = (self.util_avg, &mut self.util_est);
        if fastup && est.ewma < util {
            est.ewma = util;
        } else if util.abs_diff(est.ewma) < MARGIN {
            return;
        } else {
            est.ewma = (3 * est.ewma + util) / 4;
        }
        (est.enqueued, est.unchanged) = (util, true);
    }
}
