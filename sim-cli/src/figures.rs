//! The figures that are compared, swept and averaged: one table with name, unit and meaning of each.

use crate::experiment::RunResult;
use crate::pace;
use crate::text;
use sim_core::observe::MigrateReason;
use sim_workloads::model::{self, Better, Headline};
use std::sync::LazyLock;

/// How a figure is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Duration,
    /// A plain number.
    Number,
    /// A part of one.
    Share,
    /// As a workload model's real program prints it.
    Named(&'static str),
}

impl Unit {
    /// The value with its unit, for people.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Unit::Duration => text::duration(value),
            Unit::Number => text::significant(value),
            Unit::Share => text::percent(value),
            Unit::Named(unit) => format!("{} {unit}", text::significant(value)),
        }
    }
}

impl Unit {
    /// By what values are multiplied for a drawing, and the unit they are then in.
    pub(crate) const fn scale(self) -> (f64, &'static str) {
        match self {
            Unit::Duration => (1e-6, "ms"),
            Unit::Number => (1.0, ""),
            Unit::Share => (100.0, "%"),
            Unit::Named(unit) => (1.0, unit),
        }
    }
}

/// What it means when a figure grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// The work takes longer.
    Slower,
    /// The work is done sooner.
    Faster,
    /// Just more of it.
    More,
}

/// A figure of a run.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Name in JSON and for `--metric`.
    pub(crate) name: &'static str,
    /// Name for people.
    pub(crate) title: &'static str,
    /// Name for people at the head of a narrow column.
    pub(crate) short: &'static str,
    pub(crate) unit: Unit,
    pub(crate) growth: Growth,
    pub(crate) of: Of,
}

/// Where a figure's value comes from.
#[derive(Debug)]
pub(crate) enum Of {
    /// Any run.
    Run(fn(&RunResult) -> Option<f64>),
    /// What a workload model's real program would have printed.
    Model(&'static Headline),
}

impl Figure {
    /// The value, if this run has one.
    pub(crate) fn of(&self, result: &RunResult) -> Option<f64> {
        match self.of {
            Of::Run(of) => of(result),
            Of::Model(headline) => result.headlines.iter().find(|h| h.0.name == headline.name).map(|h| h.1),
        }
    }
}

/// All figures: those of workload models first.
pub(crate) static FIGURES: LazyLock<Vec<Figure>> = LazyLock::new(|| {
    let headline = |headline: &'static Headline| Figure {
        name: headline.name,
        title: headline.title,
        short: headline.short,
        unit: Unit::Named(headline.unit),
        growth: match headline.better {
            Better::Higher => Growth::Faster,
            Better::Lower => Growth::Slower,
        },
        of: Of::Model(headline),
    };
    model::headlines().map(headline).chain(of_any_run()).collect()
});

/// The figures of any run.
fn of_any_run() -> impl Iterator<Item = Figure> {
    [
        Figure {
            name: "completion_time_ns",
            title: "completion time",
            short: "time",
            unit: Unit::Duration,
            growth: Growth::Slower,
            of: Of::Run(|r| r.total.completion.map(|t| t.0 as f64)),
        },
        Figure {
            name: "work_per_second",
            title: "work done per second",
            short: "work/s",
            unit: Unit::Number,
            growth: Growth::Faster,
            of: Of::Run(|r| {
                (r.total.metrics.work > 0)
                    .then(|| ratio(r.total.metrics.work as f64, r.span.as_secs_f64()))?
            }),
        },
        Figure {
            name: "latency_after_wakeup_p99_ns",
            title: "latency after wake-up, p99",
            short: "wait p99",
            unit: Unit::Duration,
            growth: Growth::Slower,
            of: Of::Run(|r| {
                let latencies = &r.total.metrics.latency_after_wakeup;
                (latencies.count() > 0).then(|| latencies.quantile(0.99).0 as f64)
            }),
        },
        Figure {
            name: "latency_after_wakeup_mean_ns",
            title: "latency after wake-up, mean",
            short: "wait mean",
            unit: Unit::Duration,
            growth: Growth::Slower,
            of: Of::Run(|r| {
                let latencies = &r.total.metrics.latency_after_wakeup;
                (latencies.count() > 0).then(|| latencies.mean().0 as f64)
            }),
        },
        Figure {
            name: "cpu_time_ns",
            title: "CPU time",
            short: "CPU time",
            unit: Unit::Duration,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.total.metrics.cpu_time.0 as f64)),
        },
        Figure {
            name: "context_switches",
            title: "context switches",
            short: "switches",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.context_switches as f64)),
        },
        Figure {
            name: "involuntary_switches",
            title: "involuntary switches",
            short: "invol.",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.total.metrics.involuntary as f64)),
        },
        Figure {
            name: "involuntary_switches_per_task",
            title: "involuntary switches per task",
            short: "invol./task",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.total.metrics.involuntary as f64, r.total.count as f64)),
        },
        Figure {
            name: "wakeup_preemptions",
            title: "wakeup preemptions",
            short: "wakeup pr.",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.total.metrics.wakeup_preemptions as f64)),
        },
        Figure {
            name: "wakeup_preemption_share",
            title: "wake-ups on a busy CPU that preempt",
            short: "pr. share",
            unit: Unit::Share,
            growth: Growth::More,
            of: Of::Run(|r| {
                ratio(r.total.metrics.wakeup_preemptions as f64, r.total.metrics.wakeups_on_busy as f64)
            }),
        },
        Figure {
            name: "tick_preemptions",
            title: "tick preemptions",
            short: "tick pr.",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.total.metrics.tick_preemptions as f64)),
        },
        Figure {
            name: "migrations",
            title: "migrations",
            short: "migr.",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.total.metrics.migrations as f64)),
        },
        Figure {
            name: "context_switches_per_second",
            title: "context switches per second",
            short: "switches/s",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.context_switches as f64, r.span.as_secs_f64())),
        },
        Figure {
            name: "migrations_per_second",
            title: "migrations per second",
            short: "migr./s",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.total.metrics.migrations as f64, r.span.as_secs_f64())),
        },
        Figure {
            name: "idle_entries_per_second",
            title: "idle entries per second",
            short: "idle/s",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.spread.as_ref()?.idle_entries as f64, r.span.as_secs_f64())),
        },
        Figure {
            name: "shallow_idle_entries_per_second",
            title: "entries of shallow idle states per second",
            short: "shallow/s",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.idle.as_ref()?.uses(false, r.span).0 as f64, r.span.as_secs_f64())),
        },
        Figure {
            name: "shallow_idle_share",
            title: "CPU time in shallow idle states",
            short: "shallow",
            unit: Unit::Share,
            growth: Growth::More,
            of: Of::Run(|r| r.idle.as_ref()?.uses(false, r.span).1),
        },
        Figure {
            name: "deep_idle_entries_per_second",
            title: "entries of deep (C3 and deeper) idle states per second",
            short: "deep/s",
            unit: Unit::Number,
            growth: Growth::More,
            of: Of::Run(|r| ratio(r.idle.as_ref()?.uses(true, r.span).0 as f64, r.span.as_secs_f64())),
        },
        Figure {
            name: "deep_idle_share",
            title: "CPU time in deep (C3 and deeper) idle states",
            short: "deep",
            unit: Unit::Share,
            growth: Growth::More,
            of: Of::Run(|r| r.idle.as_ref()?.uses(true, r.span).1),
        },
        Figure {
            name: "idle_residency_mean_ns",
            title: "stay in an idle state, mean",
            short: "idle stay",
            unit: Unit::Duration,
            growth: Growth::More,
            of: Of::Run(|r| r.idle.as_ref()?.mean_residency()),
        },
        Figure {
            name: "idle_wakeup_latency_mean_ns",
            title: "waking an idle CPU, mean",
            short: "idle wake",
            unit: Unit::Duration,
            growth: Growth::Slower,
            of: Of::Run(|r| r.idle.as_ref()?.mean_wakeup_latency()),
        },
        Figure {
            name: "wakeups_on_previous_cpu",
            title: "wake-ups on the previous CPU",
            short: "on prev.",
            unit: Unit::Share,
            growth: Growth::More,
            of: Of::Run(|r| r.spread.as_ref()?.wakeups_on_previous_cpu),
        },
        Figure {
            name: "shared_core_time_ns",
            title: "core time with two threads busy",
            short: "shared",
            unit: Unit::Duration,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.spread.as_ref()?.shared_core_ns as f64)),
        },
        Figure {
            name: "wasted_cpu_time_ns",
            title: "CPU time idle while a task waited",
            short: "wasted",
            unit: Unit::Duration,
            growth: Growth::More,
            of: Of::Run(|r| Some(r.spread.as_ref()?.wasted_cpu_time_ns as f64)),
        },
        moved("migrations_wake", "migrations by wake-ups", "m. wake", |r| by_reason(r, MigrateReason::Wake)),
        moved("migrations_fork", "new tasks placed elsewhere", "m. fork", |r| {
            by_reason(r, MigrateReason::Fork)
        }),
        moved("migrations_exec", "migrations by exec", "m. exec", |r| by_reason(r, MigrateReason::Exec)),
        moved("migrations_periodic", "migrations by periodic balance", "m. per.", |r| {
            by_reason(r, MigrateReason::Periodic)
        }),
        moved("migrations_newly_idle", "migrations to newly idle CPUs", "m. newly", |r| {
            by_reason(r, MigrateReason::NewIdle)
        }),
        moved("migrations_nohz", "migrations to tickless idle CPUs", "m. nohz", |r| {
            by_reason(r, MigrateReason::Nohz)
        }),
        moved("migrations_active", "running tasks pushed away", "m. active", |r| {
            by_reason(r, MigrateReason::Active)
        }),
        moved("migrations_affinity", "migrations by affinity", "m. aff.", |r| {
            by_reason(r, MigrateReason::Affinity)
        }),
        pace::IPC,
        pace::MEAN_CLOCK,
        pace::SIBLING_BUSY,
        pace::COLD,
        pace::REFILL,
    ]
    .into_iter()
}

/// A count of migrations.
const fn moved(
    name: &'static str,
    title: &'static str,
    short: &'static str,
    of: fn(&RunResult) -> Option<f64>,
) -> Figure {
    Figure { name, title, short, unit: Unit::Number, growth: Growth::More, of: Of::Run(of) }
}

fn by_reason(result: &RunResult, reason: MigrateReason) -> Option<f64> {
    result.spread.as_ref()?.migrations.get(reason.name()).map(|n| *n as f64)
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Looks a figure up by its name, with or without `_ns`.
pub(crate) fn by_name(name: &str) -> Result<&'static Figure, String> {
    let found = |f: &&Figure| f.name == name || f.name.strip_suffix("_ns") == Some(name);
    FIGURES.iter().find(found).ok_or_else(|| {
        let names: Vec<_> = FIGURES.iter().map(|f| f.name).collect();
        format!("'{name}' is not a metric: allowed are {}", names.join(", "))
    })
}

/// The figures to show: the chosen ones in their order, else all of them that every run has.
pub(crate) fn select<'a>(
    chosen: &[&'static Figure],
    results: impl IntoIterator<Item = &'a RunResult> + Clone,
) -> Vec<&'static Figure> {
    let has = |f: &&'static Figure| results.clone().into_iter().all(|r| f.of(r).is_some());
    if chosen.is_empty() { FIGURES.iter().filter(has).collect() } else { chosen.to_vec() }
}

/// Values of a figure over several runs, one for each run that has one.
pub(crate) fn values(figure: &Figure, results: &[RunResult]) -> Vec<f64> {
    results.iter().filter_map(|r| figure.of(r)).collect()
}
