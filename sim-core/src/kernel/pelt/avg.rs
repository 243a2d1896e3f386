//! The averages of one entity or queue.

/// Estimated utilisation (`struct util_est`): what a task used before it slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UtilEst {
    /// A task's utilisation when it last slept; a queue's sum over its runnable tasks.
    pub enqueued: u32,
    /// Slowly moving average of `enqueued`; tasks only.
    pub ewma: u32,
}

impl UtilEst {
    /// What a task is expected to use (`_task_util_est()`).
    pub fn estimate(&self) -> u32 {
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
    pub period_contrib: u32,
    /// Decayed time on the queue; a queue's is weighted.
    pub load_sum: u64,
    /// To 5.6 decayed weighted time of runnable entities (`runnable_load_sum`), later decayed time runnable or running.
    pub runnable_sum: u64,
    /// Decayed time running.
    pub util_sum: u64,
    /// Load average, blocked load included.
    pub load_avg: u64,
    /// To 5.6 load of runnable entities only (`runnable_load_avg`), later runnable tasks.
    pub runnable_avg: u64,
    /// Utilisation.
    pub util_avg: u64,
    /// Estimated utilisation.
    pub util_est: UtilEst,
}
