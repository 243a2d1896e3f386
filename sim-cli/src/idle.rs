//! What a run did with idle states, as a report.

use crate::text;
use serde::Serialize;
use sim_core::Nanos;
use sim_core::machine::idle::IdleConfig;
use sim_core::machine::topology::Topology;
use sim_core::observe::{IdleStats, StateUse};

/// Use of idle states, as sysfs counts it, and what waking took.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct IdleReport {
    governor: &'static str,
    /// All CPUs together.
    states: Vec<StateReport>,
    cpus: Vec<CpuReport>,
}

#[derive(Debug, Clone, Serialize)]
struct StateReport {
    state: usize,
    name: String,
    /// Whether a core loses its caches in it: C3 and deeper.
    deep: bool,
    #[serde(flatten)]
    used: UseReport,
    wakeups: u64,
    wakeup_latency_mean_ns: Option<u64>,
    wakeup_latency_p99_ns: Option<u64>,
    wakeup_latency_max_ns: Option<u64>,
}

/// The counters of a state: `usage`, `time`, `above`, `below`.
#[derive(Debug, Clone, Copy, Serialize)]
struct UseReport {
    usage: u64,
    time_ns: u64,
    above: u64,
    below: u64,
}

/// The counters of one CPU, state by state.
#[derive(Debug, Clone, Serialize)]
struct CpuReport {
    cpu: u32,
    states: Vec<UseReport>,
}

impl From<&StateUse> for UseReport {
    fn from(u: &StateUse) -> UseReport {
        UseReport { usage: u.usage, time_ns: u.time.0, above: u.above, below: u.below }
    }
}

/// What `stats` saw.
pub(crate) fn report(stats: &IdleStats, config: &IdleConfig, topology: &Topology) -> IdleReport {
    let online = topology.online();
    let state = |(i, s): (usize, &sim_core::machine::idle::IdleState)| {
        let mut used = StateUse::default();
        online.iter().for_each(|cpu| used.add(&stats.cpu(cpu)[i]));
        let latencies = stats.latency(i);
        let some = |ns: u64| (latencies.count() > 0).then_some(ns);
        StateReport {
            state: i,
            name: s.name.clone(),
            deep: s.flushes,
            used: UseReport::from(&used),
            wakeups: latencies.count(),
            wakeup_latency_mean_ns: some(latencies.mean().0),
            wakeup_latency_p99_ns: some(latencies.quantile(0.99).0),
            wakeup_latency_max_ns: some(latencies.max().0),
        }
    };
    IdleReport {
        governor: config.governor.name(),
        states: config.states.iter().enumerate().map(state).collect(),
        cpus: online
            .iter()
            .map(|cpu| CpuReport { cpu: cpu.0, states: stats.cpu(cpu).iter().map(UseReport::from).collect() })
            .collect(),
    }
}

/// The mean of means, each with its count.
fn mean(parts: impl Iterator<Item = (u64, u64)> + Clone) -> Option<f64> {
    let count: u64 = parts.clone().map(|(count, _)| count).sum();
    let sum: f64 = parts.map(|(count, mean)| count as f64 * mean as f64).sum();
    (count > 0).then(|| sum / count as f64)
}

impl IdleReport {
    /// Mean stay in an idle state, ns.
    pub(crate) fn mean_residency(&self) -> Option<f64> {
        mean(
            self.states.iter().map(|s| (s.used.usage, s.used.time_ns.checked_div(s.used.usage).unwrap_or(0))),
        )
    }

    /// Mean time from the decision to run a task on an idle CPU to the switch to it, ns.
    pub(crate) fn mean_wakeup_latency(&self) -> Option<f64> {
        mean(self.states.iter().map(|s| (s.wakeups, s.wakeup_latency_mean_ns.unwrap_or(0))))
    }

    /// Entries of states that keep a core's caches, or lose them, and the share of all CPUs' time spent in these.
    pub(crate) fn uses(&self, deep: bool, span: Nanos) -> (u64, Option<f64>) {
        let of = |f: fn(&UseReport) -> u64| {
            self.states.iter().filter(|s| s.deep == deep).map(|s| f(&s.used)).sum::<u64>()
        };
        let all = span.0 as f64 * self.cpus.len() as f64;
        (of(|u| u.usage), (all > 0.0).then(|| of(|u| u.time_ns) as f64 / all))
    }

    /// As a table for people: all CPUs together.
    pub(crate) fn text(&self) -> String {
        let ns = |v: u64| text::duration(v as f64);
        let or_none = |v: Option<u64>| v.map_or_else(|| "-".to_owned(), ns);
        let row = |s: &StateReport| {
            vec![
                s.name.clone(),
                s.used.usage.to_string(),
                ns(s.used.time_ns),
                s.used.above.to_string(),
                s.used.below.to_string(),
                s.wakeups.to_string(),
                or_none(s.wakeup_latency_mean_ns),
                or_none(s.wakeup_latency_p99_ns),
                or_none(s.wakeup_latency_max_ns),
            ]
        };
        let title = format!("idle state ({})", self.governor);
        text::table(
            &[&title, "usage", "time", "above", "below", "wake-ups", "mean", "p99", "max"],
            self.states.iter().map(row).collect::<Vec<_>>(),
        ) + "above: stays too short for the state, below: long enough for a deeper one; wake-ups: from the decision to the switch\n"
    }
}
