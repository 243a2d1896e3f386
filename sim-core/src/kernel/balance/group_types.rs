//! Comparing groups by type: the balancer from 5.5.
//!
//! Mirrors: `group_classify()`, `update_sd_pick_busiest()`, `find_busiest_group()`, v5.5–v6.6; smp.md §4.4.2–§4.4.6.

use super::imbalance::{calculate_imbalance, sibling_imbalance};
use super::stats::{DomainStats, Env, GroupStats, Imbalance};
use crate::observe::{BalancedBecause, GroupType, IdleType};

/// The runnable signal says that tasks wait for each other.
const fn tasks_wait(env: &Env<'_>, g: &GroupStats) -> bool {
    env.rules.runnable_in_groups && g.capacity * env.pct < g.runnable * 100
}

const fn is_overloaded(env: &Env<'_>, g: &GroupStats) -> bool {
    g.nr_running > g.weight && (g.capacity * 100 < g.util * env.pct || tasks_wait(env, g))
}

const fn has_capacity(env: &Env<'_>, g: &GroupStats) -> bool {
    g.nr_running < g.weight || (!tasks_wait(env, g) && g.capacity * 100 > g.util * env.pct)
}

fn kind(env: &Env<'_>, g: &GroupStats, local: bool) -> GroupType {
    let relieve = env.rules.smt_groups && env.idle != IdleType::NotIdle && !local;
    if is_overloaded(env, g) {
        GroupType::Overloaded
    } else if g.imbalance_flag {
        GroupType::Imbalanced
    } else if relieve && g.smt_core && g.h_nr_running > 1 {
        GroupType::SmtBalance
    } else if has_capacity(env, g) {
        GroupType::HasSpare
    } else {
        GroupType::FullyBusy
    }
}

/// The average load, which only overloaded groups have.
const fn avg_load(kind: GroupType, g: &GroupStats) -> u64 {
    if matches!(kind, GroupType::Overloaded) { g.scaled_load() } else { 0 }
}

/// Fills in type and, for overloaded groups, average load.
pub(in crate::kernel) fn classify(env: &Env<'_>, g: &mut GroupStats, local: bool) {
    g.kind = kind(env, g, local);
    g.avg_load = avg_load(g.kind, g);
}

/// The group, classified, if it replaces the busiest so far.
pub(super) fn busier(env: &Env<'_>, g: &GroupStats, busiest: Option<&GroupStats>) -> Option<GroupStats> {
    if g.h_nr_running == 0 {
        return None;
    }
    let (rules, kind) = (env.rules, kind(env, g, false));
    let busier = match busiest {
        None => true,
        Some(b) if kind != b.kind => kind > b.kind,
        Some(b) => match kind {
            GroupType::Overloaded => g.scaled_load() > b.avg_load,
            GroupType::HasSpare => {
                g.idle_cpus < b.idle_cpus
                    || rules.spare_tie_by_tasks && g.idle_cpus == b.idle_cpus && g.nr_running > b.nr_running
            }
            // Average loads are not computed below overloaded, hence equal.
            GroupType::FullyBusy => rules.smt_groups && !b.smt_core,
            GroupType::Other | GroupType::SmtBalance | GroupType::Imbalanced => false,
        },
    };
    busier.then(|| GroupStats { kind, avg_load: avg_load(kind, g), ..*g })
}

/// What the local group is to take from the busiest.
pub(super) fn find_imbalance(
    env: &Env<'_>,
    sds: &DomainStats,
    busiest: &GroupStats,
) -> Result<Imbalance, BalancedBecause> {
    if busiest.kind != GroupType::Imbalanced {
        compare(env, sds, busiest)?;
    }
    Ok(calculate_imbalance(env, sds, busiest))
}

fn compare(env: &Env<'_>, sds: &DomainStats, busiest: &GroupStats) -> Result<(), BalancedBecause> {
    use BalancedBecause as Because;
    let local = &sds.local;
    if local.kind > busiest.kind {
        return Err(Because::LocalTypeHigher);
    }
    if local.kind == GroupType::Overloaded {
        if local.avg_load >= busiest.avg_load {
            return Err(Because::LocalAboveBusiest);
        }
        if local.avg_load >= sds.avg_load() {
            return Err(Because::LocalAboveAverage);
        }
        if 100 * busiest.avg_load <= env.pct * local.avg_load {
            return Err(Because::WithinImbalancePct);
        }
    }
    if pulls_to_sibling(env, local, busiest) || busiest.kind == GroupType::Overloaded {
        return Ok(());
    }
    if env.idle == IdleType::NotIdle {
        return Err(Because::BusyCpu);
    }
    if busiest.kind == GroupType::SmtBalance && !local.smt_core {
        return Ok(());
    }
    let first_form = env.rules.group_types_first_form;
    if (busiest.weight > 1 || first_form) && local.idle_cpus <= busiest.idle_cpus + 1 {
        return Err(Because::IdleCpus);
    }
    if busiest.h_nr_running == 1 && !first_form {
        return Err(Because::SingleTask);
    }
    Ok(())
}

/// Where siblings are preferred, a local group with capacity takes from one with two tasks more.
fn pulls_to_sibling(env: &Env<'_>, local: &GroupStats, busiest: &GroupStats) -> bool {
    env.prefer_sibling
        && local.kind == GroupType::HasSpare
        && if env.rules.smt_groups {
            sibling_imbalance(env, local, busiest) > 1
        } else {
            busiest.nr_running > local.nr_running + 1
        }
}
