//! The averages of one entity or queue.

use super::decay::{LOAD_AVG_MAX, PERIOD, decay, segments};

/// Estimated utilisation (`struct util_est`): what a task used before it slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst {
    /// A task's utilisation when it last slept; a queue's sum over its runnable tasks.
    pub enqueued: u64,
    /// Slowly moving average of `enqueued`; tasks only.
    pub ewma: u64,
    /// The utilisation has not been computed anew since the last estimate (`UTIL_AVG_UNCHANGED`); tasks only.
    pub unchanged: bool,
}

impl UtilEst {
    /// What a task is expected to use (`_task_util_est()`).
    pub fn estimate(&self) -> u64 {
        self.ewma.max(self.enqueued)
    }
}

/// The averages of an entity or a fair queue (`struct sched_avg`). Sums are in units of 1024 ns, averages out of 1024 per
/// task of nice 0 (load) or per CPU (utilisation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedAvg {
    /// PELT clock up to which it is accumulated, ns; 0 while it is attached to no queue.
    pub last_update: u64,
    /// Units of the current period accumulated already, 0…1023.
    pub period_contrib: u64,
    /// Decayed time on the queue; a queue's is weighted.
    pub load_sum: u64,
    /// To 5.6 decayed time of runnable entities, a queue's weighted (`runnable_load_sum`); later decayed time runnable or
    /// running, times 1024.
    pub runnable_sum: u64,
    /// Decayed time running, times 1024.
    pub util_sum: u64,
    /// Load average, blocked load included.
    pub load_avg: u64,
    /// To 5.6 load of runnable entities only (`runnable_load_avg`), later runnable tasks, 1024 each.
    pub runnable_avg: u64,
    /// Utilisation.
    pub util_avg: u64,
    /// Estimated utilisation.
    pub util_est: UtilEst,
}

/// What was the case since the last update.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// 1 for an entity on its queue; the weight on a queue.
    pub(super) load: u64,
    /// To 5.6 as `load`, for runnable weight; later the number of tasks.
    pub(super) runnable: u64,
    /// Something runs.
    pub(super) running: bool,
}

/// Units in which time counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Speed of the clock relative to its maximum, of 1024 (to 5.0; later the clock itself runs slower).
    pub(super) freq: u64,
    /// What running time counts, of 1024 (to 5.0 the CPU's capacity).
    pub(super) cpu: u64,
    /// What runnable time counts: 1 to 5.6, later 1024.
    pub(super) runnable: u64,
}

impl SchedAvg {
    /// Averages are sums over this (`get_pelt_divider()`).
    pub(super) fn divider(&self) -> u64 {
        LOAD_AVG_MAX - PERIOD + self.period_contrib
    }

    /// Brings the sums up to `now`. True when a period ended, so that averages are due.
    ///
    /// Mirrors: `___update_load_sum()`, `accumulate_sum()`, v4.19–v6.5; smp.md §2.2.
    pub(super) fn accumulate(&mut self, now: u64, signals: Signals, scale: Scale) -> bool {
        let delta = now.wrapping_sub(self.last_update);
        if (delta as i64) < 0 {
            self.last_update = now;
            return false;
        }
        let units = delta / 1024;
        if units == 0 {
            return false;
        }
        self.last_update += units * 1024;
        let (periods, after) =
            ((units + self.period_contrib) / PERIOD, (units + self.period_contrib) % PERIOD);
        let mut contrib = units;
        if periods > 0 {
            for sum in [&mut self.load_sum, &mut self.runnable_sum, &mut self.util_sum] {
                *sum = decay(*sum, periods);
            }
            contrib = segments(periods, PERIOD - self.period_contrib, after);
        }
        self.period_contrib = after;
        if signals.load > 0 {
            contrib = contrib * scale.freq / 1024;
            self.load_sum += signals.load * contrib;
            self.runnable_sum += signals.runnable * contrib * scale.runnable;
            self.util_sum += if signals.running { contrib * scale.cpu } else { 0 };
        }
        periods > 0
    }

    /// Computes the averages. `load` is what the load sum counts for, `runnable` the same for the runnable sum.
    ///
    /// Mirrors: `___update_load_avg()`, v4.19–v6.5.
    pub(super) fn average(&mut self, load: u64, runnable: u64) {
        let divider = self.divider();
        self.load_avg = load * self.load_sum / divider;
        self.runnable_avg = runnable * self.runnable_sum / divider;
        self.util_avg = self.util_sum / divider;
    }
}
