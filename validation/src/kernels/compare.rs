//! One capture: measured beside simulated, and the simulator's own band.

use super::bars::Bars;
use crate::capture::Capture;
use crate::capture::clock::TICK_NS;
use crate::measure::{Bins, FromCaptureError, Histogram, Measures, TaskMeasure, Timeline, measure, timeline};
use crate::simulate::{CaptureMachine, Experiment, Inexpressible};
use serde::Serialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Smallest and largest of the runs with moved delays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Interval {
    fn of(values: impl Iterator<Item = f64>) -> Interval {
        values.fold(Interval { min: f64::INFINITY, max: f64::NEG_INFINITY }, |i, v| Interval {
            min: i.min.min(v),
            max: i.max.max(v),
        })
    }

    fn contains(self, value: f64) -> bool {
        (self.min..=self.max).contains(&value)
    }
}

/// One task's CPU share.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TaskResult {
    /// Its name.
    pub name: String,
    /// Share of the span on the real kernel, %.
    pub measured_pct: f64,
    /// Share in the simulator, %.
    pub simulated_pct: f64,
    /// Shares when the delays move.
    pub band_pct: Interval,
    /// One turn of the task (its mean over time), % of the span.
    pub turn_pct: f64,
    /// Whether the bar is kept.
    pub ok: bool,
}

/// Context switches of the CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SwitchResult {
    /// On the real kernel.
    pub measured: u64,
    /// In the simulator.
    pub simulated: u64,
    /// Switches when the delays move.
    pub band: Interval,
    /// Whether the bar is kept.
    pub ok: bool,
}

/// A capture beside its simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Length of the measured span, ns: real, simulated.
    pub span_ns: (u64, u64),
    /// Every task of the workload.
    pub tasks: Vec<TaskResult>,
    /// Context switches.
    pub switches: SwitchResult,
    /// Overlap of the turn-length histograms, %.
    pub overlap_pct: f64,
    /// Whether that bar is kept.
    pub overlap_ok: bool,
}

impl Comparison {
    /// Whether every task keeps the bar on shares.
    pub fn shares_ok(&self) -> bool {
        self.tasks.iter().all(|t| t.ok)
    }

    /// The largest deviation of a share, points.
    pub fn worst_share(&self) -> f64 {
        self.tasks.iter().map(|t| (t.measured_pct - t.simulated_pct).abs()).fold(0.0, f64::max)
    }
}

/// Why a capture cannot be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// It cannot be simulated.
    #[error(transparent)]
    Inexpressible(#[from] Inexpressible),
    /// It cannot be measured.
    #[error(transparent)]
    Measure(#[from] FromCaptureError),
}

/// Compares a capture with its simulation.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn compare(capture: &Capture, bars: &Bars) -> Result<Comparison, CompareError> {
    compare_with(capture, capture, bars, true)
}

/// Compares a capture with a simulation of another experiment; without the band a single run is all there is.
pub(super) fn compare_with(
    capture: &Capture,
    simulated: &Capture,
    bars: &Bars,
    band: bool,
) -> Result<Comparison, CompareError> {
    let experiment = Experiment::new(simulated)?;
    let real = timeline(capture)?;
    let nominal = experiment.run(experiment.machine())?;
    let mut moved = vec![measure_by_name(&nominal)];
    for machine in band_machines(experiment.machine(), bars.delay_ns).into_iter().filter(|_| band) {
        moved.push(measure_by_name(&experiment.run(&machine)?));
    }
    let (r, s) = (measure(&real), measure(&nominal));
    let switches = switches(&r, &moved, bars);
    let tasks = tasks(&real, &r, &moved, bars);
    let overlap_pct = turns(&real, &r).overlap_pct(&turns(&nominal, &s));
    let overlap_ok = overlap_pct >= bars.overlap_pct;
    Ok(Comparison { span_ns: (r.span_ns, s.span_ns), tasks, switches, overlap_pct, overlap_ok })
}

/// All delays moved together, and each by itself, in both directions.
fn band_machines(machine: &CaptureMachine, ns: i64) -> Vec<CaptureMachine> {
    [-ns, ns]
        .into_iter()
        .flat_map(|d| std::iter::once(machine.shifted(d)).chain(machine.each_shifted(d)))
        .collect()
}

/// What the band needs of a run: shares by name, and switches.
struct ByName {
    shares: BTreeMap<String, f64>,
    switches: u64,
}

fn measure_by_name(t: &Timeline) -> ByName {
    let m = measure(t);
    let mut shares = BTreeMap::new();
    for task in m.tasks.iter().filter(|x| t.label(x.who).measured) {
        *shares.entry(t.label(task.who).name.clone()).or_insert(0.0) += m.share_pct(task);
    }
    ByName { shares, switches: m.switches }
}

fn switches(real: &Measures, moved: &[ByName], bars: &Bars) -> SwitchResult {
    let simulated = moved[0].switches;
    let band = Interval::of(moved.iter().map(|m| m.switches as f64));
    let off = real.switches.abs_diff(simulated);
    let allowed = (real.switches as f64 * bars.switches_pct / 100.0).max(bars.switches_count as f64);
    let ok = off as f64 <= allowed || band.contains(real.switches as f64);
    SwitchResult { measured: real.switches, simulated, band, ok }
}

fn tasks(timeline: &Timeline, real: &Measures, moved: &[ByName], bars: &Bars) -> Vec<TaskResult> {
    let mut by_name: BTreeMap<&str, Vec<&TaskMeasure>> = BTreeMap::new();
    for task in real.tasks.iter().filter(|x| timeline.label(x.who).measured) {
        by_name.entry(&timeline.label(task.who).name).or_default().push(task);
    }
    let one = |(name, tasks): (&str, Vec<&TaskMeasure>)| {
        let share = |m: &ByName| m.shares.get(name).copied().unwrap_or(0.0);
        let measured_pct = tasks.iter().map(|t| real.share_pct(t)).sum::<f64>();
        let (simulated_pct, band_pct) = (share(&moved[0]), Interval::of(moved.iter().map(share)));
        let turn_pct = 100.0 * typical_turn(&tasks) / real.span_ns.max(1) as f64;
        let off = (measured_pct - simulated_pct).abs();
        let ok = off <= bars.share_points.max(turn_pct) || band_pct.contains(measured_pct);
        TaskResult { name: name.to_owned(), measured_pct, simulated_pct, band_pct, turn_pct, ok }
    };
    by_name.into_iter().map(one).collect()
}

/// The mean turn weighted by time, ns: the turn a random moment of the task's CPU time falls into.
fn typical_turn(tasks: &[&TaskMeasure]) -> f64 {
    let turns = || tasks.iter().flat_map(|t| t.turns.iter()).map(|ns| *ns as f64);
    let total: f64 = turns().sum();
    if total > 0.0 { turns().map(|t| t * t).sum::<f64>() / total } else { 0.0 }
}

fn turns(timeline: &Timeline, measures: &Measures) -> Histogram {
    let of_workload = measures.tasks.iter().filter(|t| timeline.label(t.who).measured);
    Histogram::of(of_workload.flat_map(|t| t.turns.iter().copied()), &Bins::new(TICK_NS))
}
