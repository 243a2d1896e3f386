//! Where a task goes, in words.

use super::super::words::Words;
use sim_core::observe::{
    AffineRule, IdlestFigures, IdlestLevel, IdlestRule, Select, SelectReason, SelectRule,
};

impl Words<'_> {
    pub(super) fn select(&self, d: &Select) -> (String, Option<String>) {
        let who = self.task(d.task);
        let why = format!("{who} {}{}", self.where_to(d), target(d));
        (why, otherwise(d))
    }

    fn where_to(&self, d: &Select) -> String {
        let (cpu, target) = (d.chosen.0, d.target.0);
        let search = searched(d);
        match d.rule {
            SelectRule::OnlyAllowed => format!("goes to CPU {cpu}: the only one it may use"),
            SelectRule::Fallback => format!("goes to CPU {cpu}: it may not use the one the rules chose"),
            SelectRule::TargetIdle if d.chosen == d.prev => format!("goes back to CPU {cpu}, which is idle"),
            SelectRule::TargetIdle => format!("goes to its waker's CPU {cpu}, which is idle"),
            SelectRule::PrevIdle => {
                format!("goes back to CPU {cpu}, which is idle and shares its cache with CPU {target}")
            }
            SelectRule::KthreadStacking => {
                format!("goes back to CPU {cpu}: the kernel thread that wakes it there is done")
            }
            SelectRule::RecentIdle => {
                format!("goes to CPU {cpu}, which it used before CPU {} and which is idle", d.prev.0)
            }
            SelectRule::NoSharedCache => {
                format!("goes to CPU {cpu}, which shares its cache with no other: none is searched")
            }
            SelectRule::IdleCore => format!("goes to CPU {cpu}, whose whole core is idle{search}"),
            SelectRule::IdleCpu => format!("goes to CPU {cpu}, which is idle{search}"),
            SelectRule::IdleSibling => {
                format!("goes to CPU {cpu}, an idle thread of a core it knows{search}")
            }
            SelectRule::Target => {
                format!(
                    "goes to CPU {cpu} with {} runnable tasks: no idle one was found{search}",
                    d.chosen_nr_running
                )
            }
            SelectRule::NoDomain => format!("stays on CPU {cpu}, which has no domain to look in"),
            SelectRule::Idlest => {
                let levels: Vec<String> = d.idlest.iter().flatten().map(level).collect();
                let verb = match d.reason {
                    SelectReason::Exec => "execs and",
                    _ => "is new and",
                };
                format!("{verb} goes to CPU {cpu}: {}", levels.join("; "))
            }
        }
    }
}

fn searched(d: &Select) -> String {
    let Some(s) = d.search else { return String::new() };
    let limit = s.budget.map(|n| format!(", at most {} allowed", n.saturating_sub(1))).unwrap_or_default();
    format!(" ({} looked at around CPU {}{limit})", s.examined, d.target.0)
}

/// Why the search was around this CPU.
fn target(d: &Select) -> String {
    if let Some(f) = d.flips.filter(|f| f.wide) {
        return format!(
            "; it is not pulled to its waker: they have changed partners {} and {} times, with {} CPUs in the cache",
            f.waker, f.wakee, f.factor
        );
    }
    let Some(affine) = d.affine else { return String::new() };
    let (by, prev) = (d.by.0, d.prev.0);
    let why = match affine.rule {
        AffineRule::ThisIdle => format!("CPU {by}, interrupted, is idle"),
        AffineRule::SyncAlone => format!("its waker is alone on CPU {by} and about to sleep"),
        AffineRule::PrevIdle => format!("CPU {prev} is idle"),
        AffineRule::SyncWakerIsAll => format!("its waker, about to sleep, is all the load of CPU {by}"),
        AffineRule::None => "no rule is on that would pull it".to_owned(),
        AffineRule::Weight => affine.weight.map_or_else(String::new, |w| {
            let side = if w.this < w.prev { "more" } else { "no more" };
            format!(
                "CPU {prev} would be loaded {side} without it ({}) than CPU {by} with it ({})",
                w.prev, w.this
            )
        }),
    };
    format!("; CPU {} is the target: {why}", d.target.0)
}

fn level(l: &IdlestLevel) -> String {
    let side = |f: &Option<IdlestFigures>, of: fn(&IdlestFigures) -> u64| f.as_ref().map_or(0, of);
    let pair =
        |of: fn(&IdlestFigures) -> u64| format!("{} here, {} there", side(&l.local, of), side(&l.best, of));
    let why = match l.rule {
        IdlestRule::NoOther => "no group is better".to_owned(),
        IdlestRule::NoLocal => "it may not use this one".to_owned(),
        IdlestRule::LocalSpare | IdlestRule::MostSpare => format!("room {}", pair(|f| f.spare)),
        IdlestRule::NumaTolerance => "within what nodes may differ".to_owned(),
        IdlestRule::Load => {
            format!("load {}, with sleepers {}", pair(|f| f.load), pair(|f| f.load_with_blocked))
        }
        IdlestRule::GroupType => "by how busy the groups are".to_owned(),
        IdlestRule::IdleCpus => format!("idle CPUs {}", pair(|f| f.idle_cpus.into())),
    };
    match l.best.filter(|_| l.moves) {
        Some(best) => format!("of {} CPUs to the group of CPU {} ({why})", l.weight, best.cpu.0),
        None => format!("of {} CPUs within its group ({why})", l.weight),
    }
}

fn otherwise(d: &Select) -> Option<String> {
    let s = d.search.filter(|_| d.rule == SelectRule::Target)?;
    s.budget?;
    Some("with NO_SIS_PROP and NO_SIS_UTIL every CPU of the cache would be looked at".to_owned())
}
