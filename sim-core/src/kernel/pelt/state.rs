//! What load tracking keeps beside the averages: per fair queue and per CPU.

/// Full capacity of a CPU (`SCHED_CAPACITY_SCALE`).
pub const CAPACITY_SCALE: u64 = 1024;

/// Load-tracking state of a fair queue beside its [`SchedAvg`](super::SchedAvg).
#[derive(Clone, Debug, Default)]
pub struct CfsRqPelt {
    /// The part of its CPU's load that this queue stands for (`h_load`).
    pub h_load: u64,
    /// The jiffy [`CfsRqPelt::h_load`] was computed in (`last_h_load_update`).
    pub last_h_load_update: Option<u64>,
}

/// Load-tracking state of a CPU.
#[derive(Clone, Debug)]
pub struct RqPelt {
    /// Capacity of the CPU at full speed (`cpu_capacity_orig`), of 1024.
    pub capacity_orig: u64,
    /// Capacity left for the fair class (`cpu_capacity`).
    pub capacity: u64,
    /// Decayed runnable load (`cpu_load[]`, to 5.0).
    pub cpu_load: [u64; 5],
}

impl Default for RqPelt {
    fn default() -> RqPelt {
        RqPelt { capacity_orig: CAPACITY_SCALE, capacity: CAPACITY_SCALE, cpu_load: [0; 5] }
    }
}
