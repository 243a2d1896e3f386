//! What balancing remembers: per CPU, per last-level cache.

use crate::cpumask::CpuMask;

/// `sysctl_sched_migration_cost` at boot, ns: where the idle estimates start (smp.md §3.5).
pub(super) const BOOT_MIGRATION_COST: u64 = 500_000;

/// One CPU's balancing state (the fields of `struct rq` that serve it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RqBalance {
    /// How long this CPU's idle periods last on average, ns.
    pub avg_idle: u64,
    /// When the present idle period began, by the queue's clock, ns; zero when the CPU is not idle or has pulled a task.
    pub idle_stamp: u64,
    /// The longest a newly-idle pass over all domains took of late, ns.
    pub max_idle_balance_cost: u64,
    /// Jiffy of the last wake-up that ended an idle period (5.14 and later).
    pub wake_stamp: u64,
    /// What is left of half the average idle time for searches of this CPU, ns (5.14 and later).
    pub wake_avg_idle: u64,
    /// Estimated cost of a search for an idle CPU in the last-level cache domain, ns (`avg_scan_cost`).
    pub avg_scan_cost: u64,
}

impl RqBalance {
    /// A CPU at boot.
    pub const fn new() -> RqBalance {
        RqBalance {
            avg_idle: 2 * BOOT_MIGRATION_COST,
            idle_stamp: 0,
            max_idle_balance_cost: BOOT_MIGRATION_COST,
            wake_stamp: 0,
            wake_avg_idle: BOOT_MIGRATION_COST,
            avg_scan_cost: 0,
        }
    }
}

/// What the CPUs of one last-level cache share (`struct sched_domain_shared`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LlcShared {
    /// CPUs that are not idle with their tick stopped (`nr_busy_cpus`).
    pub nr_busy_cpus: u32,
    /// Whether a wholly idle core is likely to exist.
    pub has_idle_cores: bool,
    /// CPUs a search for an idle one examines (6.0 and later).
    pub nr_idle_scan: u32,
}

impl LlcShared {
    /// The record of a cache at boot: no CPU has its tick stopped yet.
    pub fn new(cpus: &CpuMask) -> LlcShared {
        LlcShared { nr_busy_cpus: cpus.count() as u32, ..LlcShared::default() }
    }
}
