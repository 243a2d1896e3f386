//! The parts of the report.

use super::published as published_part;
use super::scoreboard::Headline;
use crate::document::{Block, Document};
use crate::failure::Failure;
use crate::output::{Report, Talk};
use crate::verbs::conformance;
use crate::verbs::validate::{compile, kernels, power, programs, published, replay};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use validation::conformance::{ERRORS_GONE_PERCENT, LEFT_PERCENT, RIGHT_PERCENT};
use validation::kernels::Tally;
use validation::programs::Verdict;
use validation::published::{Role, smt};

/// A part of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Captures of real kernels
    Kernels,
    /// The model broken on purpose
    Power,
    /// The model asked at every decision of the captures
    Conformance,
    /// Recorded traces, imported and run again
    Replay,
    /// Real programs under other tunables
    Programs,
    /// Kernel builds by number of jobs
    Compile,
    /// Hyper-threading, one factor fitted
    Smt,
    /// Published comparisons
    Published,
}

/// A part that was run.
pub(super) struct Ran {
    pub(super) headlines: Vec<Headline>,
    pub(super) result: Value,
}

/// Where the data of each part lies.
const CAPTURES: &str = "validation/kernels";
const TRACES: &str = "validation/traces";
const PUBLISHED: &str = "validation/published";

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Kernels => "kernels",
            Part::Power => "power",
            Part::Conformance => "conformance",
            Part::Replay => "replay",
            Part::Programs => "programs",
            Part::Compile => "compile",
            Part::Smt => "smt",
            Part::Published => "published",
        }
    }

    /// The command that gives this part alone.
    fn command(self) -> String {
        match self {
            Part::Conformance => format!("cfsim conformance {CAPTURES}"),
            part => format!("cfsim validate {}", part.name()),
        }
    }

    /// Runs the part and adds it to a document; `runs` pairs of runs for each published record.
    pub(super) fn run(self, runs: u32, d: &mut Document, talk: Talk) -> Result<Ran, Failure> {
        d.heading(2, &self.command());
        match self {
            Part::Kernels => {
                let paths = kernels::captures_in(Path::new(CAPTURES), None)?;
                let report = kernels::report(&paths, talk);
                let headlines = report.tallies().iter().map(|(what, t)| Headline::of(what, t)).collect();
                plain(d, &report, headlines)
            }
            Part::Power => {
                let report = power::report(&kernels::captures_in(Path::new(CAPTURES), None)?, talk);
                let names = ["shares", "context switches", "turn lengths"];
                let lines = names.iter().zip(&report.powerful);
                let lines = lines.map(|(n, t)| Headline::of(&format!("{n}, where a broken model misses"), t));
                plain(d, &report, lines.collect())
            }
            Part::Conformance => {
                let report = conformance::of_captures(Path::new(CAPTURES), talk)?;
                plain(d, &report, conformance_headlines(&report))
            }
            Part::Replay => {
                let report = replay::report(Path::new(TRACES), None, talk)?;
                let (kept, of) = report.tally();
                let required_pct = report.tolerances.required_pct;
                let what = "recorded traces given back";
                plain(d, &report, vec![tallied(what, kept, of, required_pct)])
            }
            Part::Programs => {
                let report = programs::handed()?;
                let count = |v| report.cells.iter().filter(|c| c.verdict == v).count();
                let (kept, missed) = (count(Verdict::Within), count(Verdict::Missed));
                let what = "real programs' throughput and switches by tunable";
                plain(d, &report, vec![tallied(what, kept, kept + missed, 100.0)])
            }
            Part::Compile => {
                let report = compile::report(None, SEEDS, talk)?;
                let judged = report.0.iter().flat_map(|m| &m.rows).filter(|r| r.role == Role::Judge).count();
                let kept = judged - report.missed().count();
                plain(d, &report, vec![tallied("kernel builds by jobs within 5 %", kept, judged, 100.0)])
            }
            Part::Smt => {
                let report = smt::compare(300, 1).map_err(|e| Failure::Capture(e.to_string()))?;
                let judged = report.rows.iter().filter(|r| r.role == Role::Judge);
                let within = |r: &&smt::Predicted| r.off_by().abs() <= smt::TOLERANCE_POINTS;
                let kept = judged.clone().filter(within).count();
                let what = "hyper-threading ratios within 3 points";
                plain(d, &report, vec![tallied(what, kept, judged.count(), 100.0)])
            }
            Part::Published => {
                let report = published::report(Path::new(PUBLISHED), None, runs, talk)?;
                published_part::blocks(d, &report);
                Ok(Ran { headlines: published_part::headlines(&report), result: json!(report) })
            }
        }
    }
}

/// Seeds of which each time of a build is the mean, as the command has it.
const SEEDS: u32 = 3;

/// A part whose text says all.
fn plain<R: Report + Serialize>(
    d: &mut Document,
    report: &R,
    headlines: Vec<Headline>,
) -> Result<Ran, Failure> {
    d.blocks.push(Block::Plain(report.text()));
    Ok(Ran { headlines, result: json!(report) })
}

fn tallied(what: &str, kept: usize, of: usize, required_pct: f64) -> Headline {
    Headline::of(what, &Tally { kept: kept as u64, of: of as u64, required_pct })
}

/// One CPU and several apart: what is asked of them differs.
fn conformance_headlines(all: &conformance::All) -> Vec<Headline> {
    let (one, several) = (all.sum(|cpus| cpus == 1), all.sum(|cpus| cpus > 1));
    let right = |what: &str, t: &validation::conformance::Tally| {
        Headline::of(what, &Tally { kept: t.right, of: t.decidable(), required_pct: RIGHT_PERCENT as f64 })
    };
    let placed = several.wake_placement;
    let gone = placed.right.saturating_sub(placed.previous_cpu);
    let naive = placed.decidable() - placed.previous_cpu;
    vec![
        right("next task, every choice of the traces", &one.next_task),
        right("preemption by a wake-up, every choice", &one.preemption),
        Headline::of(
            "several CPUs: errors of \"previous CPU\" that wake placement removes",
            &Tally { kept: gone, of: naive, required_pct: ERRORS_GONE_PERCENT as f64 },
        ),
        Headline::of(
            "several CPUs: placement of wakees that left their CPU",
            &Tally { kept: placed.left_right, of: placed.left, required_pct: LEFT_PERCENT as f64 },
        ),
    ]
}
