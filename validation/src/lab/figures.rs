//! The figures of one side of a capture: as measured on the real kernel, or as the simulator predicts them.

use crate::capture::Capture;
use crate::kernels::CompareError;
use crate::measure::{Measures, Timeline, measure, timeline};
use crate::simulate::{Experiment, Starts};
use serde::Serialize;
use std::collections::BTreeMap;

/// Runs of the simulator that a prediction for several CPUs is the mean of: they differ in what is not known of a guest.
const RUNS: u32 = 5;

/// Figures of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Side {
    /// From T0 to the end of the last task, ms.
    pub span_ms: f64,
    /// Context switches of all CPUs.
    pub switches: f64,
    /// Tasks by name; children of one name are summed.
    pub tasks: BTreeMap<String, TaskSide>,
}

/// Figures of the tasks of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct TaskSide {
    /// CPU time, % of the span.
    pub share_pct: f64,
    /// Switches away because it blocked or ended.
    pub voluntary: f64,
    /// Switches away while it was runnable.
    pub involuntary: f64,
    /// From a wake-up to the CPU, µs: the mean; none if it was never woken.
    pub latency_us: Option<f64>,
}

/// What the real kernel did.
///
/// # Errors
/// [`CompareError::Measure`].
pub fn measured(capture: &Capture) -> Result<Side, CompareError> {
    let timeline = timeline(capture)?;
    Ok(side(&timeline, &measure(&timeline)))
}

/// What the simulator predicts for the same workload on the lab's machine.
///
/// # Errors
/// [`CompareError::Inexpressible`]: a kernel without a profile, a limit of the simulator.
pub fn predicted(capture: &Capture) -> Result<Side, CompareError> {
    let experiment = Experiment::new(capture)?;
    let machine = experiment.machine();
    let runs = if capture.meta.smp == 1 { 1 } else { RUNS };
    let mut sides = Vec::new();
    for seed in 0..runs {
        let (timeline, _) = experiment.run_counted(machine, seed, Starts::Free)?;
        sides.push(side(&timeline, &measure(&timeline)));
    }
    Ok(mean(&sides))
}

fn side(timeline: &Timeline, m: &Measures) -> Side {
    let mut tasks: BTreeMap<String, (TaskSide, Vec<u64>)> = BTreeMap::new();
    for task in m.tasks.iter().filter(|t| timeline.label(t.who).measured) {
        let (sum, latencies) = tasks.entry(timeline.label(task.who).name.clone()).or_default();
        sum.share_pct += m.share_pct(task);
        sum.voluntary += task.voluntary as f64;
        sum.involuntary += task.involuntary as f64;
        latencies.extend(&task.wake_latencies);
    }
    let with_latency = |(name, (sum, latencies)): (String, (TaskSide, Vec<u64>))| {
        let mean = latencies.iter().sum::<u64>() as f64 / 1e3 / latencies.len() as f64;
        let latency_us = (!latencies.is_empty()).then_some(mean);
        (name, TaskSide { latency_us, ..sum })
    };
    let tasks = tasks.into_iter().map(with_latency).collect();
    Side { span_ms: m.span_ns as f64 / 1e6, switches: m.switches as f64, tasks }
}

/// The mean of several runs, task by task.
fn mean(sides: &[Side]) -> Side {
    let of = |f: &dyn Fn(&Side) -> f64| sides.iter().map(f).sum::<f64>() / sides.len().max(1) as f64;
    let names: Vec<&String> = sides.first().map_or_else(Vec::new, |s| s.tasks.keys().collect());
    let none = TaskSide::default();
    let task = |name: &String| {
        let of_task = |f: &dyn Fn(&TaskSide) -> f64| of(&|s| f(s.tasks.get(name).unwrap_or(&none)));
        let latencies: Vec<f64> = sides.iter().filter_map(|s| s.tasks.get(name)?.latency_us).collect();
        TaskSide {
            share_pct: of_task(&|t| t.share_pct),
            voluntary: of_task(&|t| t.voluntary),
            involuntary: of_task(&|t| t.involuntary),
            latency_us: (!latencies.is_empty())
                .then(|| latencies.iter().sum::<f64>() / latencies.len() as f64),
        }
    };
    let tasks = names.into_iter().map(|name| (name.clone(), task(name))).collect();
    Side { span_ms: of(&|s| s.span_ms), switches: of(&|s| s.switches), tasks }
}
