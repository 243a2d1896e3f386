//! Comparing groups by average load: the balancer up to 5.4.
//!
//! Mirrors: `group_classify()`, `update_sd_pick_busiest()`, `find_busiest_group()`, `calculate_imbalance()`,
//! `fix_small_imbalance()`, v4.19–v5.4; smp.md §4.3.

use super::stats::{CAPACITY_SCALE, DomainStats, Env, GroupStats, Imbalance};
use crate::observe::{BalancedBecause, GroupType, IdleType, MigrationType};

const fn has_capacity(env: &Env<'_>, g: &GroupStats) -> bool {
    g.h_nr_running < g.weight || g.capacity * 100 > g.util * env.pct
}

const fn is_overloaded(env: &Env<'_>, g: &GroupStats) -> bool {
    g.h_nr_running > g.weight && g.capacity * 100 < g.util * env.pct
}

/// Fills in average load, load per task and type.
pub(super) fn classify(env: &Env<'_>, g: &mut GroupStats) {
    g.avg_load = g.scaled_load();
    g.load_per_task = g.plain_load.checked_div(u64::from(g.h_nr_running)).unwrap_or(0);
    g.kind = if is_overloaded(env, g) {
        GroupType::Overloaded
    } else if g.imbalance_flag {
        GroupType::Imbalanced
    } else {
        GroupType::Other
    };
}

/// Where siblings are preferred, a group with two tasks more than a local group with capacity counts as overloaded.
const fn pull_to_sibling(env: &Env<'_>, local: &GroupStats, g: &mut GroupStats) {
    if env.prefer_sibling && has_capacity(env, local) && g.h_nr_running > local.h_nr_running + 1 {
        g.kind = GroupType::Overloaded;
    }
}

/// The group, classified, if it replaces the busiest so far.
pub(super) fn busier(
    env: &Env<'_>,
    local: &GroupStats,
    g: &GroupStats,
    busiest: Option<&GroupStats>,
) -> Option<GroupStats> {
    let mut g = *g;
    classify(env, &mut g);
    pull_to_sibling(env, local, &mut g);
    let (kind, avg_load) = busiest.map_or((GroupType::Other, 0), |b| (b.kind, b.avg_load));
    ((g.kind, g.avg_load) > (kind, avg_load)).then_some(g)
}

/// What the local group is to take from the busiest.
pub(super) fn find_imbalance(
    env: &Env<'_>,
    sds: &DomainStats,
    busiest: &GroupStats,
) -> Result<Imbalance, BalancedBecause> {
    use BalancedBecause as Because;
    let local = &sds.local;
    if busiest.h_nr_running == 0 {
        return Err(Because::NoBusiest);
    }
    let overloaded = busiest.kind == GroupType::Overloaded;
    let may_fill = match env.idle {
        IdleType::NotIdle => false,
        IdleType::Idle => !env.rules.forced_newly_idle_only,
        IdleType::NewlyIdle => true,
    };
    let fills_idle = may_fill && has_capacity(env, local) && overloaded;
    if busiest.kind != GroupType::Imbalanced && !fills_idle {
        if local.avg_load >= busiest.avg_load {
            return Err(Because::LocalAboveBusiest);
        }
        if local.avg_load >= sds.avg_load() {
            return Err(Because::LocalAboveAverage);
        }
        if env.idle == IdleType::Idle {
            if !overloaded && local.idle_cpus <= busiest.idle_cpus + 1 {
                return Err(Because::IdleCpus);
            }
        } else if 100 * busiest.avg_load <= env.pct * local.avg_load {
            return Err(Because::WithinImbalancePct);
        }
    }
    Ok(Imbalance::new(MigrationType::Load, calculate_imbalance(env, sds, *busiest)))
}

fn calculate_imbalance(env: &Env<'_>, sds: &DomainStats, mut busiest: GroupStats) -> u64 {
    let (local, avg) = (&sds.local, sds.avg_load());
    if busiest.kind == GroupType::Imbalanced {
        busiest.load_per_task = busiest.load_per_task.min(avg);
    }
    if busiest.avg_load <= avg || local.avg_load >= avg {
        return small_imbalance(env, local, &busiest).unwrap_or(0);
    }
    // Two overloaded groups exchange only what makes the busier one overloaded.
    let mut above_capacity = u64::MAX;
    if busiest.kind == GroupType::Overloaded && local.kind == GroupType::Overloaded {
        let full = u64::from(busiest.h_nr_running) * CAPACITY_SCALE;
        if full > busiest.capacity {
            above_capacity = (full - busiest.capacity) * CAPACITY_SCALE / busiest.capacity;
        }
    }
    let pull = (busiest.avg_load - avg).min(above_capacity);
    let room = (avg - local.avg_load) * local.capacity;
    let imbalance = (pull * busiest.capacity).min(room) / CAPACITY_SCALE;
    if imbalance < busiest.load_per_task {
        small_imbalance(env, local, &busiest).unwrap_or(imbalance)
    } else {
        imbalance
    }
}

fn small_imbalance(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats) -> Option<u64> {
    if env.rules.fix_small_imbalance { fix_small_imbalance(env, local, busiest) } else { None }
}

/// Whether moving one task of average load pays although the averages differ by less; then its load.
fn fix_small_imbalance(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats) -> Option<u64> {
    let mut nr = 2;
    let mut local_per_task = local.load_per_task;
    if local.h_nr_running == 0 {
        local_per_task = env.dst_load_per_task;
    } else if busiest.load_per_task > local.load_per_task {
        nr = 1;
    }
    let per_task = busiest.load_per_task;
    let scaled_per_task = per_task * CAPACITY_SCALE / busiest.capacity;
    if busiest.avg_load + scaled_per_task >= local.avg_load + scaled_per_task * nr {
        return Some(per_task);
    }
    let now = (busiest.capacity * per_task.min(busiest.avg_load)
        + local.capacity * local_per_task.min(local.avg_load))
        / CAPACITY_SCALE;
    let left = if busiest.avg_load > scaled_per_task {
        busiest.capacity * per_task.min(busiest.avg_load - scaled_per_task)
    } else {
        0
    };
    let added = if busiest.avg_load * busiest.capacity < per_task * CAPACITY_SCALE {
        busiest.avg_load * busiest.capacity / local.capacity
    } else {
        per_task * CAPACITY_SCALE / local.capacity
    };
    let moved = (left + local.capacity * local_per_task.min(local.avg_load + added)) / CAPACITY_SCALE;
    (moved > now).then_some(per_task)
}
