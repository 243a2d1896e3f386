//! Statistics of scheduling groups, and what an attempt to balance a domain knows of it. Pure data: filled from the live
//! queues or by hand.

use super::rules::{BalanceRules, Balancer};
use super::{classic, group_types};
use crate::kernel::domains::{DomainFlags, SchedGroup};
use crate::observe::{BalancedBecause, GroupType, IdleType, MigrationType};

/// Full capacity of one CPU (`SCHED_CAPACITY_SCALE`).
pub(super) const CAPACITY_SCALE: u64 = 1024;

/// What an attempt knows besides the groups (the constant part of `struct lb_env`).
#[derive(Clone, Copy, Debug)]
pub(in crate::kernel) struct Env<'a> {
    /// The kernel's rules.
    pub(in crate::kernel) rules: &'a BalanceRules,
    /// For what kind of CPU.
    pub(in crate::kernel) idle: IdleType,
    /// `imbalance_pct` of the domain.
    pub(in crate::kernel) pct: u64,
    /// The child domain wants tasks spread over siblings.
    pub(in crate::kernel) prefer_sibling: bool,
    /// The domain spans NUMA nodes.
    pub(in crate::kernel) numa: bool,
    /// All CPUs of the domain share a cache.
    pub(in crate::kernel) share_cache: bool,
    /// `imb_numa_nr` of the domain.
    pub(in crate::kernel) imb_numa_nr: u32,
    /// Load per fair task of the destination CPU, zero without tasks.
    pub(in crate::kernel) dst_load_per_task: u64,
}

/// Statistics of one group (`struct sg_lb_stats`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupStats {
    /// Load of its CPUs, biased by the past in 4.19.
    pub(crate) load: u64,
    /// Load of its CPUs as it is.
    pub(in crate::kernel) plain_load: u64,
    /// Utilisation of its CPUs.
    pub(crate) util: u64,
    /// Runnable signal of its CPUs.
    pub(in crate::kernel) runnable: u64,
    /// Its capacity.
    pub(crate) capacity: u64,
    /// Runnable tasks of all classes.
    pub(crate) nr_running: u32,
    /// Runnable fair tasks.
    pub(in crate::kernel) h_nr_running: u32,
    /// Its idle CPUs.
    pub(crate) idle_cpus: u32,
    /// Its CPUs with two tasks or more.
    pub(super) overloaded: u32,
    /// Its CPUs.
    pub(in crate::kernel) weight: u32,
    /// Its cores.
    pub(in crate::kernel) cores: u32,
    /// Affinity hindered balancing inside it (`sgc->imbalance`).
    pub(in crate::kernel) imbalance_flag: bool,
    /// It consists of the threads of one core.
    pub(in crate::kernel) smt_core: bool,
    /// Load scaled to its capacity; where it is computed.
    pub(in crate::kernel) avg_load: u64,
    /// Load per fair task (up to 5.4).
    pub(in crate::kernel) load_per_task: u64,
    /// What it is like.
    pub(crate) kind: GroupType,
}

impl GroupStats {
    /// A group before its CPUs are counted.
    pub(in crate::kernel) const fn empty(capacity: u64, weight: u32, cores: u32) -> GroupStats {
        GroupStats {
            load: 0,
            plain_load: 0,
            util: 0,
            runnable: 0,
            capacity,
            nr_running: 0,
            h_nr_running: 0,
            idle_cpus: 0,
            overloaded: 0,
            weight,
            cores,
            imbalance_flag: false,
            smt_core: false,
            avg_load: 0,
            load_per_task: 0,
            kind: GroupType::Other,
        }
    }

    /// A live group before its CPUs are counted and its capacity is known.
    pub(super) const fn of(group: &SchedGroup) -> GroupStats {
        let mut stats = GroupStats::empty(0, group.weight, group.cores);
        stats.smt_core = group.child_flags.has(DomainFlags::SHARE_CPUCAPACITY);
        stats
    }

    /// `load` per unit of capacity, scaled.
    pub(in crate::kernel) const fn scaled_load(&self) -> u64 {
        self.load * CAPACITY_SCALE / self.capacity
    }
}

/// The groups of a domain as far as they have been looked at (`struct sd_lb_stats`).
#[derive(Clone, Copy, Debug)]
pub(super) struct DomainStats {
    /// The group of the CPU that balances.
    pub(super) local: GroupStats,
    /// The busiest other group and its number in the walk.
    pub(super) busiest: Option<(usize, GroupStats)>,
    /// Load of all groups.
    pub(super) total_load: u64,
    /// Capacity of all groups.
    pub(super) total_capacity: u64,
    /// Utilisation of all groups.
    pub(super) total_util: u64,
    /// Some CPU has two tasks or more.
    pub(super) overload: bool,
}

impl DomainStats {
    /// Begins with the local group, which comes first in every walk.
    ///
    /// Mirrors: `update_sd_lb_stats()`, v4.19–v6.6.
    pub(super) fn begin(env: &Env<'_>, mut local: GroupStats) -> DomainStats {
        match env.rules.balancer {
            Balancer::AverageLoad => classic::classify(env, &mut local),
            Balancer::GroupTypes => group_types::classify(env, &mut local, true),
        }
        DomainStats {
            local,
            busiest: None,
            total_load: local.load,
            total_capacity: local.capacity,
            total_util: local.util,
            overload: local.overloaded > 0,
        }
    }

    /// Adds another group; keeps it if it is busier than those before.
    pub(super) fn add(&mut self, env: &Env<'_>, number: usize, group: &GroupStats) {
        let busiest = self.busiest.as_ref().map(|(_, b)| b);
        let busier = match env.rules.balancer {
            Balancer::AverageLoad => classic::busier(env, &self.local, group, busiest),
            Balancer::GroupTypes => group_types::busier(env, group, busiest),
        };
        if let Some(group) = busier {
            self.busiest = Some((number, group));
        }
        self.total_load += group.load;
        self.total_capacity += group.capacity;
        self.total_util += group.util;
        self.overload |= group.overloaded > 0;
    }

    /// Load of the whole domain per unit of capacity, scaled.
    pub(super) const fn avg_load(&self) -> u64 {
        self.total_load * CAPACITY_SCALE / self.total_capacity
    }
}

/// What is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Imbalance {
    /// The unit.
    pub(super) kind: MigrationType,
    /// How much of it. The kernel's `long`: a wrapped result is negative.
    pub(super) amount: i64,
}

impl Imbalance {
    pub(super) const fn new(kind: MigrationType, amount: u64) -> Imbalance {
        Imbalance { kind, amount: amount.cast_signed() }
    }
}

/// What should move from the busiest group to the local one, or why nothing should.
///
/// Mirrors: `find_busiest_group()`, v4.19–v6.6.
pub(super) fn find_busiest_group(env: &Env<'_>, sds: &DomainStats) -> Result<Imbalance, BalancedBecause> {
    let Some((_, busiest)) = &sds.busiest else { return Err(BalancedBecause::NoBusiest) };
    let imbalance = match env.rules.balancer {
        Balancer::AverageLoad => classic::find_imbalance(env, sds, busiest)?,
        Balancer::GroupTypes => group_types::find_imbalance(env, sds, busiest)?,
    };
    if imbalance.amount == 0 { Err(BalancedBecause::NoImbalance) } else { Ok(imbalance) }
}
