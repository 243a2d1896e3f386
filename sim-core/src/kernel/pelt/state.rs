//! What load tracking keeps beside the averages: per fair queue and per CPU.

use super::SchedAvg;
use crate::id::CfsRqId;

/// Full capacity of a CPU (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_SCALE: u64 = 1024;

/// Averages of entities that left a queue since its last update (`cfs_rq.removed`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Something is recorded.
    pub any: bool,
    /// Load averages.
    pub load_avg: u64,
    /// Runnable averages (5.7 and later).
    pub runnable_avg: u64,
    /// Utilisations.
    pub util_avg: u64,
    /// Unweighted load sums, for the group entities above.
    pub load_sum: u64,
}

/// Load-tracking state of a fair queue beside its [`SchedAvg`](super::SchedAvg).
#[derive(Clone, Debug, Default)]
pub struct CfsRqPelt {
    /// Sum of the runnable weights of queued entities, stored units (to 5.6).
    pub runnable_weight: u64,
    /// What left since the last update.
    pub removed: Removed,
    /// What came or left must still reach the group's entity and the queue above.
    pub propagate: bool,
    /// Unweighted load sums that came (left: negative) since then (`prop_runnable_sum`).
    pub propagate_sum: i64,
    /// What this queue last added to its group's load (`tg_load_avg_contrib`).
    pub tg_load_avg_contrib: u64,
    /// The part of its CPU's load that this queue stands for (`h_load`).
    pub h_load: u64,
    /// The jiffy [`CfsRqPelt::h_load`] was computed in (`last_h_load_update`).
    pub last_h_load_update: Option<u64>,
    /// In its CPU's list of queues with something to decay.
    pub on_list: bool,
}

/// Load-tracking state of a CPU.
#[derive(Clone, Debug)]
pub struct RqPelt {
    /// The task clock slowed down by capacity and frequency, ns (5.1 and later).
    pub clock_pelt: u64,
    /// Idle time that a saturated CPU never had, ns: the PELT clock leaves it out.
    pub lost_idle_time: u64,
    /// Capacity at full speed, of 1024 (`arch_scale_cpu_capacity()`).
    pub cpu_scale: u64,
    /// Present speed relative to the maximum, of 1024 (`arch_scale_freq_capacity()`).
    pub freq_scale: u64,
    /// Capacity of the CPU at full speed (`cpu_capacity_orig`), of 1024.
    pub capacity_orig: u64,
    /// Capacity left for the fair class (`cpu_capacity`).
    pub capacity: u64,
    /// Time taken by interrupts and the hypervisor (`avg_irq`), by the wall clock.
    pub avg_irq: SchedAvg,
    /// Decayed runnable load (`cpu_load[]`, 4.19).
    pub cpu_load: [u64; 5],
    /// The jiffy of the last update of `cpu_load`.
    pub last_load_update: u64,
    /// Group queues with something to decay, outer groups first (`leaf_cfs_rq_list`).
    pub leaf_cfs_rqs: Vec<CfsRqId>,
}

impl Default for RqPelt {
    fn default() -> RqPelt {
        RqPelt {
            clock_pelt: 0,
            lost_idle_time: 0,
            cpu_scale: CAPACITY_SCALE,
            freq_scale: CAPACITY_SCALE,
            capacity_orig: CAPACITY_SCALE,
            capacity: CAPACITY_SCALE,
            avg_irq: SchedAvg::default(),
            cpu_load: [0; 5],
            last_load_update: 0,
            leaf_cfs_rqs: Vec::new(),
        }
    }
}
