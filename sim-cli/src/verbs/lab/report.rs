//! What `cfsim lab run` prints.

use super::guest::Outcome;
use crate::header::Tool;
use crate::output::{Report, Talk};
use crate::text::{plural, table};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use validation::lab::figures::{Side, TaskSide};
use validation::lab::verdict::{Held, verdict};

/// The most tasks in a table for people.
pub(super) const MAX_ROWS: usize = 40;

/// The run under the bars of `validate kernels`; none where nothing is predicted.
pub(super) fn judged(outcome: &Outcome, talk: Talk) -> Vec<Held> {
    if outcome.predicted.is_err() {
        return Vec::new();
    }
    talk.progress("holding both against the bars of `validate kernels`");
    verdict(&outcome.capture).unwrap_or_else(|e| {
        talk.warn(&format!("no verdict: {e}"));
        Vec::new()
    })
}

#[derive(Serialize)]
pub(super) struct RunReport {
    #[serde(flatten)]
    tool: Tool,
    scenario: String,
    #[serde(flatten)]
    kernel: KernelReport,
    bars: Vec<Held>,
}

/// One kernel's run, as it is printed.
#[derive(Serialize)]
pub(super) struct KernelReport {
    pub(super) kernel: String,
    pub(super) qemu: String,
    pub(super) cpus: u32,
    pub(super) host_seconds: f64,
    /// The profile of the prediction.
    pub(super) profile: Option<&'static str>,
    pub(super) measured: Side,
    pub(super) predicted: Option<Side>,
    /// Why there is no prediction.
    pub(super) not_predicted: Option<String>,
    pub(super) notes: Vec<String>,
    /// The capture's folder, if it was kept.
    pub(super) capture: Option<PathBuf>,
}

impl KernelReport {
    pub(super) fn new(outcome: Outcome, kept: bool) -> KernelReport {
        let (predicted, not_predicted) = match outcome.predicted {
            Ok(side) => (Some(side), None),
            Err(why) => (None, Some(why)),
        };
        KernelReport {
            kernel: outcome.ran.kernel,
            qemu: outcome.ran.qemu,
            cpus: outcome.cpus,
            host_seconds: outcome.ran.took.as_secs_f64(),
            profile: outcome.capture.meta.profile().ok().filter(|_| predicted.is_some()),
            measured: outcome.measured,
            predicted,
            not_predicted,
            notes: outcome.notes,
            capture: kept.then_some(outcome.ran.capture),
        }
    }

    /// The lines above the figures.
    pub(super) fn head(&self, out: &mut String, name: &str) -> std::fmt::Result {
        let cpus = plural(self.cpus.into(), "CPU");
        let release = self.kernel.split_whitespace().next().unwrap_or("unknown");
        writeln!(out, "{name}: kernel {release}")?;
        writeln!(out, "  {cpus}, QEMU {}, {:.0} s of the host", self.qemu, self.host_seconds)?;
        match (&self.profile, &self.not_predicted) {
            (Some(profile), _) => {
                writeln!(out, "  predicted with profile {profile} and the lab's calibrated delays")?
            }
            (_, Some(why)) => writeln!(out, "  not predicted: {why}")?,
            (None, None) => {}
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "  note: {note}"))?;
        match &self.capture {
            Some(dir) => {
                writeln!(out, "  capture: {0}\n  event by event: cfsim validate capture {0}", dir.display())
            }
            None => Ok(()),
        }
    }
}

impl RunReport {
    pub(super) fn new(outcome: Outcome, bars: Vec<Held>, kept: bool) -> RunReport {
        RunReport {
            tool: Tool::new("lab run"),
            scenario: outcome.name.clone(),
            kernel: KernelReport::new(outcome, kept),
            bars,
        }
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        self.kernel.head(out, &self.scenario)?;
        writeln!(out)?;
        *out += &figures(&self.kernel.measured, self.kernel.predicted.as_ref());
        if !self.bars.is_empty() {
            writeln!(out, "\nunder the bars of `cfsim validate kernels`")?;
            let row = |h: &Held| {
                let kept = if h.kept { "ok" } else { "MISSED" };
                vec![h.what.clone(), h.found.clone(), kept.to_owned()]
            };
            *out += &table(&["bar", "found", ""], self.bars.iter().map(row));
        }
        Ok(())
    }
}

impl Report for RunReport {
    fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }
}

/// Measured beside predicted, a line for each task.
fn figures(real: &Side, predicted: Option<&Side>) -> String {
    let pair = |real: f64, predicted: Option<f64>, digits: usize| {
        let right = predicted.map_or_else(|| "-".to_owned(), |p| format!("{p:.digits$}"));
        format!("{real:.digits$} / {right}")
    };
    let mut rows = vec![
        vec!["span, ms".to_owned(), pair(real.span_ms, predicted.map(|p| p.span_ms), 1)],
        vec!["context switches".to_owned(), pair(real.switches, predicted.map(|p| p.switches), 0)],
    ];
    let mut out = table(&["", "real / predicted"], rows.drain(..));
    let none = TaskSide::default();
    let row = |(name, t): (&String, &TaskSide)| {
        let p = predicted.map(|p| p.tasks.get(name).unwrap_or(&none));
        let latency = |t: &TaskSide| t.latency_us.map_or_else(|| "-".to_owned(), |us| format!("{us:.1}"));
        vec![
            name.clone(),
            pair(t.share_pct, p.map(|p| p.share_pct), 2),
            pair(t.involuntary, p.map(|p| p.involuntary), 0),
            pair(t.voluntary, p.map(|p| p.voluntary), 0),
            format!("{} / {}", latency(t), p.map_or_else(|| "-".to_owned(), latency)),
        ]
    };
    let head = ["task", "CPU %", "involuntary switches", "voluntary", "wake-up latency, us"];
    out.push('\n');
    out += &table(&head, real.tasks.iter().take(MAX_ROWS).map(row));
    if real.tasks.len() > MAX_ROWS {
        let _ = writeln!(out, "and {} more (--format json)", real.tasks.len() - MAX_ROWS);
    }
    out
}
