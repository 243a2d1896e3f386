//! `cfsim validate capture`: one capture and its simulation, event by event.

use crate::failure::Failure;
use crate::output::{Format, Report as Printed, print};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use validation::capture::Capture;
use validation::measure::{EventKind, SchedEvent, Timeline, timeline};
use validation::simulate::Experiment;

pub(super) fn main(path: &Path, events: usize) -> Result<(), Failure> {
    print(&SideBySide(text(path, events)?), Format::Text)
}

/// The first events of a capture and of its simulation in two columns.
pub(super) fn text(path: &Path, events: usize) -> Result<String, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Capture(e.to_string());
    let capture = Capture::load(path).map_err(|e| failed(&e))?;
    let experiment = Experiment::new(&capture).map_err(|e| failed(&e))?;
    let real = timeline(&capture).map_err(|e| failed(&e))?;
    let simulated = experiment.run(experiment.machine()).map_err(|e| failed(&e))?;
    let mut text =
        format!("{}\n{:<52} | {}\n", capture.id, "real kernel (us from T0)", "simulator (us from T0)");
    let (left, right) = (lines(&real), lines(&simulated));
    for i in 0..events.min(left.len().max(right.len())) {
        let at = |side: &[String]| side.get(i).cloned().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<52} | {}", at(&left), at(&right));
    }
    Ok(text)
}

#[derive(Serialize)]
struct SideBySide(String);

impl Printed for SideBySide {
    fn text(&self) -> String {
        self.0.clone()
    }
}

/// Switches and wake-ups from T0 on, a line each.
fn lines(t: &Timeline) -> Vec<String> {
    let name = |who| t.label(who).name.as_str();
    let line = |e: &SchedEvent| {
        let us = (e.at_ns - t.t0_ns) as f64 / 1e3;
        match e.kind {
            EventKind::Switch { prev, prev_blocked, next } => {
                let state = if prev_blocked { "S" } else { "R" };
                Some(format!("{us:>11.1} switch {} {state} -> {}", name(prev), name(next)))
            }
            EventKind::Wakeup { task, need_resched_after, .. } => {
                let flag = if need_resched_after { " N" } else { "" };
                Some(format!("{us:>11.1} wakeup {}{flag}", name(task)))
            }
            EventKind::Migrate { task, to } => Some(format!("{us:>11.1} migrate {} to {to}", name(task))),
            EventKind::Fork { .. } | EventKind::Exit { .. } => None,
        }
    };
    t.events.iter().filter(|e| e.at_ns >= t.t0_ns).filter_map(line).collect()
}
