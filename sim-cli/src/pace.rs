//! How fast work went, as a report: clocks, shared cores, cold caches, instructions per cycle.

use crate::experiment::RunResult;
use crate::figures::{Figure, Growth, Of, Unit};
use crate::text;
use serde::Serialize;
use sim_core::Nanos;
use sim_core::machine::MachineConfig;
use sim_core::machine::cache::RefillReason;
use sim_core::machine::topology::Topology;
use sim_core::observe::{PaceMetrics, PaceSums};
use std::collections::BTreeMap;

/// What made work go faster or slower. Times are those for which tasks work: CPU time but for switches and interrupts.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PaceReport {
    #[serde(flatten)]
    pub(crate) total: Pace,
    /// Time tasks lost to cold caches if every refill is carried through.
    pub(crate) refill_ns: u64,
    /// Refills of working sets by reason.
    pub(crate) refills: BTreeMap<&'static str, RefillReport>,
    /// Time at each clock, kHz, over all CPUs; empty where clocks never change.
    pub(crate) clocks: BTreeMap<u32, u64>,
    pub(crate) cpus: BTreeMap<u32, Pace>,
    /// By task, or by name of tasks, as the rows of the report.
    pub(crate) tasks: Vec<TaskPace>,
}

/// One task's, or one CPU's, or all.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Pace {
    pub(crate) working_ns: u64,
    /// Work done, in ns at full speed.
    pub(crate) work_ns: u64,
    pub(crate) instructions_per_cycle: Option<f64>,
    /// None where clocks never change.
    pub(crate) mean_clock_hz: Option<f64>,
    /// With another thread of the core busy.
    pub(crate) shared_ns: u64,
    /// While loading the working set.
    pub(crate) cold_ns: u64,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskPace {
    label: String,
    #[serde(flatten)]
    pace: Pace,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct RefillReport {
    count: u64,
    bytes: u64,
    lost_ns: u64,
}

fn pace(metrics: &PaceMetrics, sums: &PaceSums, clocks: bool) -> Pace {
    Pace {
        working_ns: sums.time.0,
        work_ns: sums.work().0,
        instructions_per_cycle: metrics.ipc(sums),
        mean_clock_hz: sums.mean_khz().filter(|_| clocks).map(|khz| khz * 1000.0),
        shared_ns: sums.shared.0,
        cold_ns: sums.cold.0,
    }
}

/// What `metrics` saw; `rows` are labels with their tasks.
pub(crate) fn report(
    metrics: &PaceMetrics,
    machine: &MachineConfig,
    topology: &Topology,
    rows: &[(String, Vec<usize>)],
) -> PaceReport {
    let clocks = !machine.frequency.is_off();
    let of = |sums: &PaceSums| pace(metrics, sums, clocks);
    let refills = RefillReason::ALL.into_iter().map(|reason| {
        let r = metrics.refills[reason as usize];
        (reason.name(), RefillReport { count: r.count, bytes: r.bytes, lost_ns: r.lost.0 })
    });
    let task = |(label, members): &(String, Vec<usize>)| {
        let mut sums = PaceSums::default();
        members.iter().for_each(|i| sums.merge(&metrics.tasks[*i]));
        TaskPace { label: label.clone(), pace: of(&sums) }
    };
    PaceReport {
        total: of(&metrics.total()),
        refill_ns: metrics.refills.iter().map(|r| r.lost).fold(Nanos::ZERO, |a, b| a + b).0,
        refills: refills.collect(),
        clocks: metrics.clocks.iter().filter(|_| clocks).map(|(khz, time)| (*khz, time.0)).collect(),
        cpus: topology.online().iter().map(|cpu| (cpu.0, of(&metrics.cpus[cpu.index()]))).collect(),
        tasks: rows.iter().map(task).collect(),
    }
}

fn ns(v: u64) -> String {
    text::duration(v as f64)
}

fn ghz(hz: f64) -> String {
    format!("{:.3} GHz", hz / 1e9)
}

impl Pace {
    fn row(&self, label: String) -> Vec<String> {
        let optional = |v: Option<String>| v.unwrap_or_else(|| "-".to_owned());
        vec![
            label,
            ns(self.working_ns),
            ns(self.work_ns),
            optional(self.instructions_per_cycle.map(|ipc| format!("{ipc:.3}"))),
            optional(self.mean_clock_hz.map(ghz)),
            ns(self.shared_ns),
            ns(self.cold_ns),
        ]
    }
}

impl PaceReport {
    /// As tables for people.
    pub(crate) fn text(&self, max_rows: usize) -> String {
        let tasks = self.tasks.iter().take(max_rows).map(|t| t.pace.row(t.label.clone()));
        let rows: Vec<_> = tasks.chain([self.total.row("total".to_owned())]).collect();
        let mut out = text::table(
            &["at work", "time", "work done", "IPC", "mean clock", "sibling busy", "caches cold"],
            rows,
        );
        if !self.clocks.is_empty() {
            let cpus = self.cpus.iter().map(|(cpu, pace)| pace.row(format!("CPU {cpu}")));
            let clock = |row: Vec<String>| vec![row[0].clone(), row[1].clone(), row[4].clone()];
            out += "\n";
            out += &text::table(&["clock", "at work", "mean"], cpus.map(clock).take(max_rows));
            let at = self
                .clocks
                .iter()
                .rev()
                .map(|(khz, time)| format!("{} {}", ghz(f64::from(*khz) * 1e3), ns(*time)));
            out += &format!("time at work by clock: {}\n", at.collect::<Vec<_>>().join(", "));
        }
        if self.refills.values().any(|r| r.count > 0) {
            let row = |(reason, r): (&&str, &RefillReport)| {
                vec![reason.replace('_', " "), r.count.to_string(), ns(r.lost_ns)]
            };
            out += "\n";
            out += &text::table(&["working sets loaded", "times", "costs"], self.refills.iter().map(row));
        }
        out
    }
}

/// A figure of how fast work went. More of it says nothing of how soon the work is done.
const fn figure(
    name: &'static str,
    title: &'static str,
    short: &'static str,
    unit: Unit,
    of: fn(&RunResult) -> Option<f64>,
) -> Figure {
    Figure { name, title, short, unit, growth: Growth::More, of: Of::Run(of) }
}

pub(crate) const IPC: Figure =
    figure("instructions_per_cycle", "instructions per cycle", "IPC", Unit::Number, |r| {
        r.pace.as_ref()?.total.instructions_per_cycle
    });
pub(crate) const MEAN_CLOCK: Figure =
    figure("mean_clock_hz", "mean clock at work, Hz", "clock", Unit::Number, |r| {
        r.pace.as_ref()?.total.mean_clock_hz
    });
pub(crate) const SIBLING_BUSY: Figure =
    figure("sibling_busy_time_ns", "time at work with a busy sibling", "sibling", Unit::Duration, |r| {
        Some(r.pace.as_ref()?.total.shared_ns as f64)
    });
pub(crate) const COLD: Figure =
    figure("cold_time_ns", "time at work with cold caches", "cold", Unit::Duration, |r| {
        Some(r.pace.as_ref()?.total.cold_ns as f64)
    });
pub(crate) const REFILL: Figure =
    figure("refill_time_ns", "time lost to loading working sets", "refill", Unit::Duration, |r| {
        Some(r.pace.as_ref()?.refill_ns as f64)
    });
