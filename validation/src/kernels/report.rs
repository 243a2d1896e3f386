//! All captures below a folder: results, tallies against the bars, and the text of it.

use super::bars::{BARS, Bars};
use super::causes::{Bar, Cause, known_causes};
use super::compare::{CompareError, Comparison, compare};
use super::conformance::{Conformance, conformance};
use super::many::{
    Direction, MANY_BARS, ManyBars, ManyComparison, Total, compare_many, directions, job, totals, write_many,
};
use super::vruntime::{VruntimeCheck, vruntimes};
use crate::capture::{Capture, CaptureId};
use crate::simulate::is_calibrated_on;
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
        comparison: Box<Comparison>,
        /// The model driven by the trace.
        conformance: Conformance,
        /// vruntimes, where the trace has them.
        vruntime: Option<VruntimeCheck>,
        /// Why bars are missed, as far as known.
        causes: Vec<Cause>,
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
                    let comparison = Box::new(compare(&capture, &BARS)?);
                    let (conformance, vruntime) = (conformance(&capture)?, vruntimes(&capture)?);
                    let mut causes = known_causes();
                    causes.retain(|c| c.capture == id && !c.bar.is_kept(&comparison));
                    Ok(Status::Compared { comparison, conformance, vruntime, causes })
                };
                let status = done().unwrap_or_else(|e| Status::NotExpressible(e.to_string()));
                CaptureReport { id, status }
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

/// How many of the captures that can judge the simulator keep a bar.
fn tally<'a, C: 'a>(
    captures: impl Iterator<Item = (&'a str, &'a C)>,
    required_pct: f64,
    keeps: impl Fn(&C) -> bool,
) -> Tally {
    let (mut of, mut kept) = (0, 0);
    for (_, comparison) in captures.filter(|(id, _)| !is_calibrated_on(id)) {
        of += 1;
        kept += u64::from(keeps(comparison));
    }
    Tally { kept, of, required_pct }
}

impl Report {
    fn compared(&self) -> impl Iterator<Item = Compared<'_>> {
        self.captures.iter().filter_map(|c| match &c.status {
            Status::Compared { comparison, conformance, vruntime, causes } => {
                let (id, vruntime) = (c.id.as_str(), vruntime.as_ref());
                Some(Compared { id, comparison, conformance, vruntime, causes })
            }
            _ => None,
        })
    }

    /// Every bar a capture misses: the capture, the bar, and the cause if one is known.
    pub fn misses(&self) -> Vec<(&str, Bar, Option<&str>)> {
        let missed = |c: &Compared<'_>, b: &Bar| !b.is_kept(c.comparison);
        let pairs = self.compared().flat_map(|c| Bar::ALL.map(|b| (c, b)));
        pairs.filter(|(c, b)| missed(c, b)).map(|(c, b)| (c.id, b, c.cause(b))).collect()
    }

    /// Captures of several CPUs.
    pub fn many(&self) -> impl Iterator<Item = (&str, &ManyComparison)> {
        self.captures.iter().filter_map(CaptureReport::many)
    }

    /// How many captures of several CPUs keep all their bars, of those not calibrated on.
    pub fn many_tally(&self) -> Tally {
        tally(self.many(), self.many_bars.captures_pct, ManyComparison::ok)
    }

    fn tally(&self, required_pct: f64, keeps: impl Fn(&Comparison) -> bool) -> Tally {
        tally(self.compared().map(|c| (c.id, c.comparison)), required_pct, keeps)
    }

    /// The bars with their tallies, named. Captures that the machines are calibrated on count for none but need_resched and vruntimes.
    pub fn tallies(&self) -> [(&'static str, Tally); 6] {
        let all = self.conformance();
        let v = self.vruntimes();
        let vruntimes =
            Tally { kept: v.right, of: v.charges + v.misfits, required_pct: self.bars.vruntimes_pct };
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
            ("charges with the vruntime right", vruntimes),
        ]
    }

    /// Decisions of all captures.
    pub fn conformance(&self) -> Conformance {
        let mut all = Conformance::default();
        self.compared().for_each(|c| all.add(c.conformance));
        all
    }

    /// vruntimes of all captures that trace them.
    pub fn vruntimes(&self) -> VruntimeCheck {
        let mut all = VruntimeCheck::default();
        self.compared().filter_map(|c| c.vruntime).for_each(|v| all.add(v));
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
            "{:<42} {:>15} {:>13} {:>7} {:>8} {:>12} {:>12}  verdict",
            "capture", "span ms r/s", "switches r/s", "share", "overlap", "wake-ups", "vruntimes"
        )?;
        for c in self.compared() {
            let (id, d, v) = (c.id, c.conformance, c.vruntime);
            let s = &c.comparison.switches;
            let span = c.comparison.span_ns;
            writeln!(
                out,
                "{id:<42} {:>15} {:>13} {:>7} {:>8} {:>12} {:>12}  {}",
                format!("{:.1}/{:.1}", span.0 as f64 / 1e6, span.1 as f64 / 1e6),
                format!("{}/{}", s.measured, s.simulated),
                format!("{:.2}pt", c.comparison.worst_share()),
                format!("{:.1}%", c.comparison.overlap_pct),
                format!("{}/{}", d.wakeups_right, d.wakeups),
                v.map_or("-".to_owned(), |v| format!("{}/{}", v.right, v.charges + v.misfits)),
                c.verdict()
            )?;
        }
        self.write_misses(out)?;
        write_many(out, &self.many().collect::<Vec<_>>())?;
        self.write_left_out(out)?;
        self.write_summary(out)
    }

    fn write_misses(&self, out: &mut String) -> std::fmt::Result {
        for c in self.compared().filter(|c| c.verdict() != "ok") {
            writeln!(out, "\nmiss {}:", c.id)?;
            c.write_miss(out, &self.bars)?;
            for bar in Bar::ALL.into_iter().filter(|b| !b.is_kept(c.comparison)) {
                writeln!(out, "  cause of {bar}: {}", c.cause(bar).unwrap_or("not known"))?;
            }
        }
        Ok(())
    }

    fn write_left_out(&self, out: &mut String) -> std::fmt::Result {
        let left = self
            .captures
            .iter()
            .filter(|c| matches!(c.status, Status::NotExpressible(_) | Status::Unreadable(_)));
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
        let v = self.vruntimes();
        writeln!(
            out,
            "vruntimes: {} charges, {} of them first after a placement or fork; start values {}, untraced placements {}, did not fit {}",
            v.charges, v.placements, v.starts, v.untraced, v.misfits
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
        let calibrated = self.compared().filter(|c| is_calibrated_on(c.id)).count();
        writeln!(
            out,
            "summary: {compared} of {of} captures compared ({calibrated} calibrated on and not counted), {} left out: {verdict}",
            of - compared
        )
    }
}

/// One compared capture.
#[derive(Clone, Copy)]
struct Compared<'a> {
    id: &'a str,
    comparison: &'a Comparison,
    conformance: &'a Conformance,
    vruntime: Option<&'a VruntimeCheck>,
    causes: &'a [Cause],
}

impl<'a> Compared<'a> {
    fn cause(self, bar: Bar) -> Option<&'a str> {
        self.causes.iter().find(|c| c.bar == bar).map(|c| c.cause.as_str())
    }

    fn verdict(self) -> &'static str {
        let missed = Bar::ALL.into_iter().find(|b| !b.is_kept(self.comparison)).map(Bar::name);
        let vruntime = self.vruntime.filter(|v| !v.is_right()).map(|_| "vruntime");
        missed.or(vruntime).unwrap_or("ok")
    }

    fn write_miss(self, out: &mut String, bars: &Bars) -> std::fmt::Result {
        for t in self.comparison.tasks.iter().filter(|t| !t.ok) {
            writeln!(
                out,
                "  share of {}: real {:.2} %, simulated {:.2} %, band {:.2}..{:.2} %, one turn {:.2} %",
                t.name, t.measured_pct, t.simulated_pct, t.band_pct.min, t.band_pct.max, t.turn_pct
            )?;
        }
        let s = &self.comparison.switches;
        if !s.ok {
            let (min, max) = (s.band.min, s.band.max);
            writeln!(out, "  switches: real {}, simulated {}, band {min}..{max}", s.measured, s.simulated)?;
        }
        if !self.comparison.overlap_ok {
            let (is, required) = (self.comparison.overlap_pct, bars.overlap_pct);
            writeln!(out, "  turn lengths: overlap {is:.1} %, required {required} %")?;
        }
        if let Some(m) = self.vruntime.and_then(|v| v.first_miss.as_ref()) {
            writeln!(
                out,
                "  vruntime of {} {:.3} ms after T0: {} ns off",
                m.task,
                m.after_t0_ns as f64 / 1e6,
                m.off_ns
            )?;
        }
        Ok(())
    }
}
