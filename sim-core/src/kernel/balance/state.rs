//! What balancing remembers: per CPU, per domain, per group, per last-level cache, for the machine.

use super::env::LOOP_BREAK;
use super::stats::GroupStats;
use super::sums::Sums;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::kernel::KernelConfig;
use crate::kernel::domains::{DomainId, Domains, SchedGroupId};
use crate::rng::{Stream, stream};

/// `sysctl_sched_migration_cost` at boot, ns: where the idle estimates start (smp.md §3.5).
const BOOT_MIGRATION_COST: u64 = 500_000;
/// Calls over which newly-idle passes remember their success (6.1-debian; smp.md §4.6).
pub(super) const NEWIDLE_CALLS: u32 = 1024;

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
    /// Jiffy from which the CPU balances its domains again.
    pub next_balance: u64,
    /// The CPU that waits for the running task to be pushed to it (`active_balance`, `push_cpu`).
    pub push_cpu: Option<CpuId>,
    /// What a kick asks this CPU to do for idle CPUs (`nohz_flags`).
    pub(in crate::kernel) nohz_flags: NohzFlags,
    /// The tick is stopped, as far as balancing knows: cleared at the first busy tick.
    pub(in crate::kernel) nohz_tick_stopped: bool,
    /// The tick goes on when the CPU next idles.
    pub(in crate::kernel) keeps_idle_tick: bool,
    /// Sleeping tasks may have left load here that decays.
    pub(in crate::kernel) has_blocked_load: bool,
    /// Jiffy of the last refresh of that load for others.
    pub(in crate::kernel) last_blocked_update: u64,
    /// The idle loop is to refresh the load of tickless idle CPUs first (5.13 and later).
    pub(in crate::kernel) nohz_newidle: bool,
}

impl RqBalance {
    /// A CPU at boot.
    pub(in crate::kernel) const fn new() -> RqBalance {
        RqBalance {
            avg_idle: 2 * BOOT_MIGRATION_COST,
            idle_stamp: 0,
            max_idle_balance_cost: BOOT_MIGRATION_COST,
            wake_stamp: 0,
            wake_avg_idle: 2 * BOOT_MIGRATION_COST,
            avg_scan_cost: 0,
            next_balance: 0,
            push_cpu: None,
            nohz_flags: NohzFlags::NONE,
            nohz_tick_stopped: false,
            keeps_idle_tick: false,
            has_blocked_load: false,
            last_blocked_update: 0,
            nohz_newidle: false,
        }
    }

    /// An idle period ends by a wake-up at time `clock` in jiffy `jiffy`.
    ///
    /// Mirrors: the end of `ttwu_do_wakeup()`, `update_avg()`, v4.19–v6.5; smp.md §3.5.
    pub(in crate::kernel) fn end_idle(&mut self, clock: u64, jiffy: u64) {
        if self.idle_stamp == 0 {
            return;
        }
        let period = clock.saturating_sub(std::mem::take(&mut self.idle_stamp));
        let diff = period.wrapping_sub(self.avg_idle).cast_signed();
        self.avg_idle = self.avg_idle.wrapping_add_signed(diff >> 3).min(2 * self.max_idle_balance_cost);
        self.wake_stamp = jiffy;
        self.wake_avg_idle = self.avg_idle / 2;
    }
}

/// What one CPU is asked to do for the tickless idle CPUs (`NOHZ_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) struct NohzFlags {
    /// Balance their domains.
    pub(super) balance: bool,
    /// Refresh their blocked load.
    pub(super) stats: bool,
    /// Reconsider when the next pass is due.
    pub(super) next: bool,
}

impl NohzFlags {
    pub(super) const NONE: NohzFlags = NohzFlags { balance: false, stats: false, next: false };
    pub(super) const STATS: NohzFlags = NohzFlags { stats: true, ..NohzFlags::NONE };
}

/// One CPU's state of one of its domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DomainBalance {
    /// Present interval, ms.
    pub(super) balance_interval: u64,
    /// Jiffy of the last attempt.
    pub(super) last_balance: u64,
    /// Attempts in a row that found an imbalance and moved nothing.
    pub(super) nr_balance_failed: u32,
    /// The longest a newly-idle attempt took, ns, decaying.
    pub(super) max_newidle_lb_cost: u64,
    /// Jiffy after which that cost decays.
    pub(super) next_decay: u64,
    /// Newly-idle attempts and how many of them pulled (6.1-debian).
    pub(super) newidle: NewidleSuccess,
}

/// How often newly-idle attempts pull something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewidleSuccess {
    calls: u32,
    successes: u32,
    /// Share of successes over the last period, of 1024.
    pub(super) ratio: u32,
}

impl NewidleSuccess {
    const fn new() -> NewidleSuccess {
        let half = NEWIDLE_CALLS / 2;
        NewidleSuccess { calls: half, successes: half / 2, ratio: half }
    }

    /// Counts a call that had `successes` successes by weight.
    pub(super) fn count(&mut self, successes: u32) {
        self.calls += 1;
        self.successes += successes;
        if self.calls >= NEWIDLE_CALLS {
            self.ratio = self.successes;
            self.calls /= 2;
            self.successes /= 2;
        }
    }
}

/// What is kept of a group: its capacity record (`sgc`), and sums over its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) struct GroupBalance {
    /// Its capacity, its flag, and its counts as [`sums`](super::sums) keeps them.
    pub(in crate::kernel) stats: GroupStats,
    /// Jiffy from which newly-idle passes refresh its capacity.
    pub(super) next_update: u64,
}

/// The machine's tickless idle CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Nohz {
    /// CPUs whose tick is stopped, until their first busy tick.
    pub(super) idle_mask: CpuMask,
    /// Jiffy of the next pass for them.
    pub(super) next_balance: u64,
    /// Jiffy of the next refresh of their blocked load.
    pub(super) next_blocked: u64,
    /// They may have blocked load.
    pub(super) has_blocked: bool,
    /// The time of the next pass is to be reconsidered.
    pub(super) needs_update: bool,
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

/// Balancing state beside the run queues.
#[derive(Clone, Debug)]
pub(in crate::kernel) struct Balancing {
    domains: Vec<DomainBalance>,
    pub(super) groups: Vec<GroupBalance>,
    pub(in crate::kernel) sums: Sums,
    pub(super) nohz: Nohz,
    /// Some CPU has more than one runnable task (`rd->overload`).
    pub(in crate::kernel) overload: bool,
    /// Longest interval between two attempts of a CPU, ticks (`max_load_balance_interval`).
    pub(super) max_lb_interval: u64,
    /// A kicked CPU balances for others.
    pub(super) for_others: bool,
    /// What decides by CPU whether a newly-idle attempt is made (6.1-debian).
    pub(super) random: Vec<Stream>,
    /// Room for the tasks an attempt takes off.
    pub(super) detached: Vec<TaskId>,
    /// Room for the CPUs an attempt gives up.
    pub(super) excluded: Vec<CpuId>,
    /// Room for the CPUs a kicked one goes through.
    pub(super) others: CpuMask,
}

impl Balancing {
    /// State at boot.
    pub(in crate::kernel) fn new(config: &KernelConfig, domains: &Domains) -> Balancing {
        let domain = |i| DomainBalance {
            balance_interval: u64::from(domains.domain(DomainId::new(i)).min_interval_ms),
            last_balance: 0,
            nr_balance_failed: 0,
            max_newidle_lb_cost: 0,
            next_decay: 0,
            newidle: NewidleSuccess::new(),
        };
        let group =
            |i| GroupBalance { stats: GroupStats::of(domains.group(SchedGroupId::new(i))), next_update: 0 };
        let mut none = CpuMask::first(config.cpus);
        none.clear();
        Balancing {
            domains: (0..domains.nr_domains()).map(domain).collect(),
            groups: (0..domains.nr_all_groups()).map(group).collect(),
            sums: Sums::new(config.cpus, domains),
            nohz: Nohz { idle_mask: none.clone(), ..Nohz::default() },
            overload: false,
            max_lb_interval: (u64::from(config.hz) * config.topology.online().count() as u64 / 10).max(1),
            for_others: false,
            random: random_streams(config.cpus, 0),
            detached: Vec::with_capacity(LOOP_BREAK as usize),
            excluded: Vec::with_capacity(config.cpus as usize),
            others: none,
        }
    }

    /// Sums the groups' capacities; `capacity` is a CPU's.
    pub(in crate::kernel) fn set_capacities(&mut self, domains: &Domains, capacity: impl Fn(CpuId) -> u64) {
        for (i, group) in self.groups.iter_mut().enumerate() {
            group.stats.capacity = domains.group(SchedGroupId::new(i)).cpus.iter().map(&capacity).sum();
        }
    }

    /// Makes chance depend on a run's seed.
    pub(in crate::kernel) fn seed(&mut self, seed: u64) {
        self.random = random_streams(self.random.len() as u32, seed);
    }

    pub(super) fn domain(&self, sd: DomainId) -> &DomainBalance {
        &self.domains[sd.index()]
    }
    pub(super) fn domain_mut(&mut self, sd: DomainId) -> &mut DomainBalance {
        &mut self.domains[sd.index()]
    }
    pub(in crate::kernel) fn group(&self, group: SchedGroupId) -> &GroupBalance {
        &self.groups[group.index()]
    }
    pub(super) fn group_mut(&mut self, group: SchedGroupId) -> &mut GroupBalance {
        &mut self.groups[group.index()]
    }
}

fn random_streams(cpus: u32, seed: u64) -> Vec<Stream> {
    (0..cpus).map(|c| stream(seed, &format!("cpu{c}"), "newidle")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §9.6.
    #[test]
    fn average_idle_time_follows_idle_periods() {
        let mut rq = RqBalance::new();
        let mut values = Vec::new();
        for i in 1..=5 {
            rq.idle_stamp = i * 1_000_000;
            rq.end_idle(i * 1_000_000 + 100_000, i);
            values.push(rq.avg_idle);
        }
        assert_eq!((values[0], values[4]), (887_500, 561_616));
        // Only the first wake-up of an idle period counts, and long periods are cut.
        rq.end_idle(9_000_000, 9);
        assert_eq!((rq.avg_idle, rq.wake_stamp), (561_616, 5));
        rq.idle_stamp = 1;
        rq.end_idle(1_000_000_000, 10);
        assert_eq!((rq.avg_idle, rq.wake_avg_idle), (1_000_000, 500_000));
    }

    #[test]
    fn success_of_newly_idle_passes_is_remembered_by_halves() {
        let mut s = NewidleSuccess::new();
        (0..511).for_each(|_| s.count(1));
        assert_eq!(s.ratio, 512);
        s.count(1);
        assert_eq!(s.ratio, 256 + 512);
        (0..512).for_each(|_| s.count(0));
        assert_eq!(s.ratio, 384);
    }
}
