//! How much should move, and in which unit: the balancer from 5.5.
//!
//! Mirrors: `calculate_imbalance()`, `adjust_numa_imbalance()`, `sibling_imbalance()`, v5.5–v6.6; smp.md §4.4.7, §4.4.8.

use super::rules::NumaTolerance;
use super::stats::{CAPACITY_SCALE, DomainStats, Env, GroupStats, Imbalance};
use crate::observe::{GroupType, IdleType, MigrationType};

/// Tasks by which a pair of communicating tasks may unbalance two nodes (`NUMA_IMBALANCE_MIN`).
const PAIR: u64 = 2;

pub(super) fn calculate_imbalance(env: &Env<'_>, sds: &DomainStats, busiest: &GroupStats) -> Imbalance {
    let local = &sds.local;
    if matches!(busiest.kind, GroupType::SmtBalance | GroupType::Imbalanced) {
        return Imbalance::new(MigrationType::Task, 1);
    }
    if local.kind == GroupType::HasSpare {
        return fill_spare(env, local, busiest);
    }
    let average = sds.avg_load();
    let mut local_avg = local.avg_load;
    if local.kind < GroupType::Overloaded {
        local_avg = local.scaled_load();
        let rules = env.rules;
        if rules.local_above_busiest_balanced && local_avg >= busiest.avg_load
            || rules.local_above_average_balanced && local_avg >= average
        {
            return Imbalance::new(MigrationType::Load, 0);
        }
    }
    // Unsigned as in the kernel: a busiest group below the average wraps.
    let surplus = busiest.avg_load.wrapping_sub(average).wrapping_mul(busiest.capacity);
    let room = average.wrapping_sub(local_avg).wrapping_mul(local.capacity);
    Imbalance::new(MigrationType::Load, surplus.min(room) / CAPACITY_SCALE)
}

/// The local group has capacity to spare.
fn fill_spare(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats) -> Imbalance {
    let by_tasks = env.rules.spread_by_tasks_in_llc && env.share_cache;
    if busiest.kind > GroupType::FullyBusy && !by_tasks {
        let spare = local.capacity.max(local.util) - local.util;
        // A CPU without work takes a task even where utilisation leaves no room.
        return if spare == 0 && env.idle != IdleType::NotIdle {
            Imbalance::new(MigrationType::Task, 1)
        } else {
            Imbalance::new(MigrationType::Util, spare)
        };
    }
    let tasks = if busiest.weight == 1 || env.prefer_sibling {
        if env.rules.smt_groups {
            sibling_imbalance(env, local, busiest)
        } else {
            u64::from(busiest.nr_running.saturating_sub(local.nr_running))
        }
    } else {
        u64::from(local.idle_cpus.saturating_sub(busiest.idle_cpus))
    };
    Imbalance::new(MigrationType::Task, halve_and_tolerate(env, local, busiest, tasks))
}

/// Half the difference evens two groups out; between nodes a small one is let be.
fn halve_and_tolerate(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats, tasks: u64) -> u64 {
    let half = tasks >> 1;
    if !env.numa {
        return half;
    }
    let tolerated = match env.rules.numa_tolerance {
        NumaTolerance::None => false,
        NumaTolerance::Pair => busiest.nr_running <= 2,
        NumaTolerance::Quarter => busiest.nr_running < busiest.weight >> 2 && half <= PAIR,
        NumaTolerance::ImbNumaNr => local.nr_running < env.imb_numa_nr && tasks <= PAIR,
    };
    if tolerated { 0 } else { half }
}

/// By how many tasks the busiest group exceeds the local one, in proportion to their cores.
pub(super) fn sibling_imbalance(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats) -> u64 {
    if env.idle == IdleType::NotIdle || busiest.nr_running == 0 {
        return 0;
    }
    let (local_nr, busiest_nr) = (u64::from(local.nr_running), u64::from(busiest.nr_running));
    let (local_cores, busiest_cores) = (u64::from(local.cores), u64::from(busiest.cores));
    if local_cores == busiest_cores {
        return busiest_nr.saturating_sub(local_nr);
    }
    let excess = (local_cores * busiest_nr).saturating_sub(busiest_cores * local_nr);
    let both = local_cores + busiest_cores;
    let tasks = (2 * excess + both) / both;
    if tasks <= 1 && local.nr_running == 0 && busiest.nr_running > 1 { 2 } else { tasks }
}
