//! How load is spread, in words.

use super::super::words::Words;
use super::runnable;
use crate::text;
use sim_core::observe::{
    Balance, BalanceAttempt, BalanceOutcome, BalancedBecause, GroupType, GroupView, IdleType, MigrateReason,
    MigrationType,
};
use std::fmt::Write;

impl Words<'_> {
    pub(super) fn balance(&self, d: &Balance) -> (String, Option<String>) {
        let pass = match d.reason {
            MigrateReason::NewIdle => "about to idle",
            MigrateReason::Nohz => "idle without a tick",
            MigrateReason::Active => "after failed attempts by its stopper thread",
            _ => "in its periodic balance",
        };
        let why = format!(
            "CPU {}, {pass} with {}, takes {} from CPU {} with {}",
            d.to.0,
            runnable(d.to_nr_running),
            self.task(d.task),
            d.from.0,
            d.from_nr_running
        );
        (why, None)
    }
}

/// An attempt to balance a domain.
pub(super) fn attempt(d: &BalanceAttempt) -> String {
    let pass = match d.idle {
        IdleType::Idle => "idle",
        IdleType::NotIdle => "busy",
        IdleType::NewlyIdle => "about to idle",
    };
    let mut why = format!("CPU {}, {pass}, balances its {} domain: {}", d.cpu.0, d.level, outcome(d));
    for (seen, name) in [(&d.local, "its own group"), (&d.busiest, "the busiest group")] {
        if let Some(g) = seen {
            let _ = write!(why, "; {name}, {}", group(g));
        }
    }
    why
}

fn group(g: &GroupView) -> String {
    let kind = match g.kind {
        GroupType::Other => "not overloaded",
        GroupType::HasSpare => "with spare capacity",
        GroupType::FullyBusy => "fully busy",
        GroupType::SmtBalance => "a crowded core",
        GroupType::Imbalanced => "imbalanced by affinity",
        GroupType::Overloaded => "overloaded",
    };
    format!(
        "{} from CPU {}, is {kind}: {}, {} idle, load {}, utilisation {} of {}",
        text::plural(u64::from(g.weight), "CPU"),
        g.cpu.0,
        runnable(g.nr_running),
        g.idle_cpus,
        g.load,
        g.util,
        g.capacity
    )
}

fn outcome(d: &BalanceAttempt) -> String {
    let failed = format!("the {} failed attempt in a row", ordinal(d.failures + 1));
    match d.outcome {
        BalanceOutcome::NotChosen => "that is for another CPU of its group to do".to_owned(),
        BalanceOutcome::NoBusiestGroup(because) => format!("balanced, since {}", reason(because)),
        BalanceOutcome::NoBusiestQueue => "no queue of the busiest group has a task to give".to_owned(),
        BalanceOutcome::AllPinned => "no task there may run here".to_owned(),
        BalanceOutcome::Pinned => "the running task there may not run here".to_owned(),
        BalanceOutcome::Failed => format!("nothing could be moved, {failed}"),
        BalanceOutcome::ActiveBalance => {
            format!("{failed}: the stopper of the busiest CPU is to push its running task")
        }
        BalanceOutcome::Moved => {
            let unit = match d.kind {
                MigrationType::Load => "load",
                MigrationType::Util => "utilisation",
                MigrationType::Task => "number of tasks",
            };
            format!("moved {} by {unit}", text::plural(u64::from(d.moved), "task"))
        }
    }
}

fn reason(because: BalancedBecause) -> &'static str {
    match because {
        BalancedBecause::NoBusiest => "no other group has anything to give",
        BalancedBecause::LocalTypeHigher => "its own group is pressed more",
        BalancedBecause::LocalAboveBusiest => "its own group has no less load than the busiest",
        BalancedBecause::LocalAboveAverage => "its own group has no less than average load",
        BalancedBecause::WithinImbalancePct => "the difference lies within imbalance_pct",
        BalancedBecause::BusyCpu => "a busy CPU relieves overloaded groups only",
        BalancedBecause::IdleCpus => "its own group has hardly more idle CPUs",
        BalancedBecause::SingleTask => "the busiest group has a single task",
        BalancedBecause::NoImbalance => "what would have to move comes to nothing",
    }
}

fn ordinal(n: u32) -> String {
    match (n % 10, n % 100) {
        (_, 11..=13) => format!("{n}th"),
        (1, _) => format!("{n}st"),
        (2, _) => format!("{n}nd"),
        (3, _) => format!("{n}rd"),
        _ => format!("{n}th"),
    }
}
