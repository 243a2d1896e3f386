//! All captures below a folder: results, tallies against the bars, and the text of it.

use super::bars::{BARS, Bars};
use super::compare::{CompareError, Comparison, compare};
use super::conformance::{Conformance, conformance};
use super::many::{
    Direction, MANY_BARS, ManyBars, ManyComparison, Total, compare_many, directions, job, totals, write_many,
};
use crate::capture::{Capture, CaptureId};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// What became of a capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It was simulated and compared.
    Compared {
        /// The free-running simulation beside the measurement.
        comparison: Comparison,
        /// The model driven by the trace.
        conformance: Conformance,
    },
    /// It has several CPUs, was simulated and compared.
    ComparedMany {
        /// The free-running simulation beside the measurement.
        comparison: Box<ManyComparison>,
    },
    /// The simulator cannot express it yet.
    NotExpressible(String),
    /// It cannot be read.
    Unreadable(String),
}

/// One capture.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaptureReport {
    /// Kind, kernel and name.
    pub id: String,
    /// What became of it.
    pub status: Status,
}

impl CaptureReport {
    /// Reads, simulates and compares one capture.
    pub fn of(path: &Path) -> CaptureReport {
        match Capture::load(path) {
            Ok(capture) => {
                let id = capture.id.to_string();
                let done = || -> Result<Status, CompareError> {
                    if capture.meta.smp > 1 {
                        let comparison = Box::new(compare_many(&capture, &MANY_BARS)?);
                        return Ok(Status::ComparedMany { comparison });
                    }
                    let comparison = compare(&capture, &BARS)?;
                    Ok(Status::Compared { comparison, conformance: conformance(&capture)? })
                };
                CaptureReport { id, status: done().unwrap_or_else(|e| Status::NotExpressible(e.to_string())) }
            }
            Err(_) if is_real_program(path) => {
                let id = CaptureId::from_path(path).to_string();
                CaptureReport { id, status: Status::NotExpressible("the run of a real program".to_owned()) }
            }
            Err(e) => {
                CaptureReport { id: path.display().to_string(), status: Status::Unreadable(e.to_string()) }
            }
        }
    }
}

impl CaptureReport {
    /// The comparison of a capture of several CPUs.
    fn many(&self) -> Option<(&str, &ManyComparison)> {
        match &self.status {
            Status::ComparedMany { comparison } => Some((self.id.as_str(), comparison)),
            _ => None,
        }
    }
}

/// Whether a lab folder holds the run of a program instead of the lab driver's: that writes no result.
fn is_real_program(folder: &Path) -> bool {
    folder.join("cmd.txt").exists() && !folder.join("result.json").exists()
}

/// How many captures keep a bar.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tally {
    /// Those that keep it.
    pub kept: u64,
    /// All.
    pub of: u64,
    /// How many must, %.
    pub required_pct: f64,
}

impl Tally {
    /// Share of those that keep it, %; 100 when there are none.
    pub fn pct(&self) -> f64 {
        if self.of == 0 { 100.0 } else { 100.0 * self.kept as f64 / self.of as f64 }
    }
    /// Whether enough do.
    pub fn met(&self) -> bool {
        self.pct() >= self.required_pct
    }
}

/// Everything below a folder.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Version of this JSON form.
    pub schema_version: u32,
    /// The program.
    pub tool: &'static str,
    /// Its version.
    pub tool_version: &'static str,
    /// The bars.
    pub bars: Bars,
    /// The bars for captures of several CPUs.
    pub many_bars: ManyBars,
    /// What the rework of 5.5 changed, real and simulated.
    pub versions: Vec<Direction>,
    /// Sums over the jobs that do not start pinned, by version, real and simulated.
    pub totals: Vec<Total>,
    /// Every capture, by path.
    pub captures: Vec<CaptureReport>,
}

/// The results of all captures under the bars.
pub fn validate(captures: Vec<CaptureReport>) -> Report {
    let many: Vec<_> = captures.iter().filter_map(CaptureReport::many).map(|(id, c)| (job(id), c)).collect();
    let (versions, totals) = (directions(&many), totals(&many));
    Report {
        schema_version: 1,
        tool: "cfsim",
        tool_version: env!("CARGO_PKG_VERSION"),
        bars: BARS,
        many_bars: MANY_BARS,
        versions,
        totals,
        captures,
    }
}

impl Report {
    fn compared(&self) -> impl Iterator<Item = (&str, &Comparison, &Conformance)> {
        self.captures.iter().filter_map(|c| match &c.status {
            Status::Compared { comparison, conformance } => Some((c.id.as_str(), comparison, conformance)),
            _ => None,
        })
    }

    fn tally(&self, required_pct: f64, keeps: impl Fn(&Comparison) -> bool) -> Tally {
        let of = self.compared().count() as u64;
        Tally { kept: self.compared().filter(|(_, c, _)| keeps(c)).count() as u64, of, required_pct }
    }

    /// Captures of several CPUs.
    pub fn many(&self) -> impl Iterator<Item = (&str, &ManyComparison)> {
        self.captures.iter().filter_map(CaptureReport::many)
    }

    /// How many captures of several CPUs keep all their bars.
    pub fn many_tally(&self) -> Tally {
        let kept = self.many().filter(|(_, c)| c.ok()).count() as u64;
        Tally { kept, of: self.many().count() as u64, required_pct: self.many_bars.captures_pct }
    }

    /// The bars with their tallies, named.
    pub fn tallies(&self) -> [(&'static str, Tally); 5] {
        let all = self.conformance();
        let wakeups = Tally { kept: all.wakeups_right, of: all.wakeups, required_pct: self.bars.wakeups_pct };
        [
            (
                "captures with every share right",
                self.tally(self.bars.share_captures_pct, Comparison::shares_ok),
            ),
            (
                "captures with context switches right",
                self.tally(self.bars.switches_captures_pct, |c| c.switches.ok),
            ),
            (
                "captures with turn lengths right",
                self.tally(self.bars.overlap_captures_pct, |c| c.overlap_ok),
            ),
            ("wake-ups onto a busy CPU with need_resched right", wakeups),
            ("captures of several CPUs with all bars kept", self.many_tally()),
        ]
    }

    /// Decisions of all captures.
    pub fn conformance(&self) -> Conformance {
        let mut all = Conformance::default();
        self.compared().for_each(|(_, _, c)| all.add(c));
        all
    }

    /// Whether something was compared, everything could be read, and every bar is met.
    pub fn passed(&self) -> bool {
        let unreadable = self.captures.iter().any(|c| matches!(c.status, Status::Unreadable(_)));
        let some = self.compared().next().is_some() || self.many().next().is_some();
        some && !unreadable && self.tallies().iter().all(|(_, t)| t.met())
    }

    /// The report as text: a line per capture, the misses in detail, those left out with the reason, the summary last.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        writeln!(
            out,
            "{:<42} {:>15} {:>13} {:>7} {:>8} {:>12}  verdict",
            "capture", "span ms r/s", "switches r/s", "share", "overlap", "wake-ups"
        )?;
        for (id, c, d) in self.compared() {
            writeln!(
                out,
                "{id:<42} {:>15} {:>13} {:>7} {:>8} {:>12}  {}",
                format!("{:.1}/{:.1}", c.span_ns.0 as f64 / 1e6, c.span_ns.1 as f64 / 1e6),
                format!("{}/{}", c.switches.measured, c.switches.simulated),
                format!("{:.2}pt", c.worst_share()),
                format!("{:.1}%", c.overlap_pct),
                format!("{}/{}", d.wakeups_right, d.wakeups),
                verdict(c)
            )?;
        }
        self.write_misses(out)?;
        write_many(out, &self.many().collect::<Vec<_>>())?;
        self.write_left_out(out)?;
        self.write_summary(out)
    }

    fn write_misses(&self, out: &mut String) -> std::fmt::Result {
        for (id, c, _) in self.compared().filter(|(_, c, _)| verdict(c) != "ok") {
            writeln!(out, "\nmiss {id}:")?;
            for t in c.tasks.iter().filter(|t| !t.ok) {
                writeln!(
                    out,
                    "  share of {}: real {:.2} %, simulated {:.2} %, band {:.2}..{:.2} %, one turn {:.2} %",
                    t.name, t.measured_pct, t.simulated_pct, t.band_pct.min, t.band_pct.max, t.turn_pct
                )?;
            }
            if !c.switches.ok {
                let s = &c.switches;
                writeln!(
                    out,
                    "  switches: real {}, simulated {}, band {}..{}",
                    s.measured, s.simulated, s.band.min, s.band.max
                )?;
            }
            if !c.overlap_ok {
                writeln!(
                    out,
                    "  turn lengths: overlap {:.1} %, required {} %",
                    c.overlap_pct, self.bars.overlap_pct
                )?;
            }
        }
        Ok(())
    }

    fn write_left_out(&self, out: &mut String) -> std::fmt::Result {
        let left = self.captures.iter().filter(|c| matches!(c.status, Status::NotExpressible(_) | Status::Unreadable(_)));
        for (i, c) in left.enumerate() {
            if i == 0 {
                writeln!(out, "\nnot compared:")?;
            }
            match &c.status {
                Status::NotExpressible(why) => writeln!(out, "  {}: not expressible: {why}", c.id)?,
                Status::Unreadable(why) => writeln!(out, "  {}: unreadable: {why}", c.id)?,
                Status::Compared { .. } | Status::ComparedMany { .. } => {}
            }
        }
        Ok(())
    }

    fn write_summary(&self, out: &mut String) -> std::fmt::Result {
        let d = self.conformance();
        writeln!(out)?;
        writeln!(
            out,
            "driven by the traces: picks {}/{}, ticks {}/{}, events that did not fit {}",
            d.picks_right, d.picks, d.ticks_right, d.ticks, d.misfits
        )?;
        for (name, t) in self.tallies() {
            let met = match t.of {
                0 => "nothing compared",
                _ if t.met() => "met",
                _ => "MISSED",
            };
            writeln!(
                out,
                "{name}: {}/{} = {:.1} % (bar {} %): {met}",
                t.kept,
                t.of,
                t.pct(),
                t.required_pct
            )?;
        }
        let of = self.captures.len();
        let compared = self.compared().count() + self.many().count();
        let verdict = if self.passed() { "every bar met" } else { "a bar is missed" };
        writeln!(out, "summary: {compared} of {of} captures compared, {} left out: {verdict}", of - compared)
    }
}

fn verdict(c: &Comparison) -> &'static str {
    match (c.shares_ok(), c.switches.ok, c.overlap_ok) {
        (true, true, true) => "ok",
        (false, ..) => "share",
        (_, false, _) => "switches",
        _ => "turns",
    }
}
