//! Verdicts on replays, and the text of them.

use super::schedule::Measures;
use super::{Recorded, replay};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// How far a replay may be from what was recorded. Fixed before any replay was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Tolerances {
    /// CPU time of every task, ns: a microsecond's stamps allow no more.
    pub cpu_ns: u64,
    /// Switches, %.
    pub switches_pct: f64,
    /// Latencies, %, or the absolute difference, whichever is more.
    pub latency_pct: f64,
    /// See `latency_pct`; ns.
    pub latency_ns: u64,
    /// How many traces without groups must be within all of these, %.
    pub required_pct: f64,
}

/// The tolerances.
pub const TOLERANCES: Tolerances =
    Tolerances { cpu_ns: 1_000, switches_pct: 5.0, latency_pct: 15.0, latency_ns: 3_000, required_pct: 90.0 };

/// What became of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was replayed.
    Replayed {
        /// What was recorded.
        recorded: Box<Measures>,
        /// What the replay gives.
        replayed: Box<Measures>,
        /// What is out of tolerance.
        missed: Vec<String>,
    },
    /// It could not be replayed, and why.
    NotReplayed(String),
}

/// One trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Replayed {
    /// Kind, kernel and name.
    pub id: String,
    /// The kind alone.
    pub kind: String,
    /// Whether tasks were in groups, which the trace does not show.
    pub groups: bool,
    /// What became of it.
    pub verdict: Verdict,
}

impl Replayed {
    /// Reads, imports, replays and compares one trace.
    pub fn of(dir: &Path) -> Replayed {
        let recorded = match Recorded::load(dir) {
            Ok(recorded) => recorded,
            Err(e) => {
                let (id, kind) = (dir.display().to_string(), "unreadable".to_owned());
                return Replayed { id, kind, groups: false, verdict: Verdict::NotReplayed(e.to_string()) };
            }
        };
        let verdict = match replay(&recorded) {
            Ok((recorded, replayed, _)) => {
                let missed = missed(&recorded, &replayed);
                Verdict::Replayed { recorded: Box::new(recorded), replayed: Box::new(replayed), missed }
            }
            Err(e) => Verdict::NotReplayed(e.to_string()),
        };
        let (id, kind) = (recorded.id.to_string(), recorded.id.kind.clone());
        Replayed { id, kind, groups: recorded.groups, verdict }
    }

    /// Whether it is within all tolerances.
    pub fn kept(&self) -> bool {
        matches!(&self.verdict, Verdict::Replayed { missed, .. } if missed.is_empty())
    }
}

fn missed(recorded: &Measures, replayed: &Measures) -> Vec<String> {
    let t = TOLERANCES;
    let mut missed = Vec::new();
    let tasks = recorded.cpu_ns.keys().chain(replayed.cpu_ns.keys());
    let of = |m: &Measures, pid: &u32| m.cpu_ns.get(pid).copied().unwrap_or(0);
    let off = tasks.map(|pid| (of(recorded, pid).abs_diff(of(replayed, pid)), *pid)).max().unwrap_or((0, 0));
    if off.0 > t.cpu_ns {
        missed.push(format!("CPU time of {}: {} ns off", off.1, off.0));
    }
    let (a, b) = (recorded.switches as f64, replayed.switches as f64);
    if (a - b).abs() > a * t.switches_pct / 100.0 {
        missed.push(format!("switches {} -> {}", recorded.switches, replayed.switches));
    }
    for (name, a, b) in [("p50", recorded.p50_ns, replayed.p50_ns), ("p95", recorded.p95_ns, replayed.p95_ns)]
    {
        let allowed = (a as f64 * t.latency_pct / 100.0).max(t.latency_ns as f64);
        if a.abs_diff(b) as f64 > allowed {
            missed.push(format!("latency {name} {:.1} -> {:.1} us", a as f64 / 1e3, b as f64 / 1e3));
        }
    }
    missed
}

/// All traces below a folder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplayReport {
    /// Version of this JSON form.
    pub schema_version: u32,
    /// The tolerances.
    pub tolerances: Tolerances,
    /// Every trace, by path.
    pub traces: Vec<Replayed>,
}

/// The results of all traces.
pub fn reports(traces: Vec<Replayed>) -> ReplayReport {
    ReplayReport { schema_version: 1, tolerances: TOLERANCES, traces }
}

impl ReplayReport {
    /// Kept and all, of those without groups.
    pub fn tally(&self) -> (usize, usize) {
        let without = || self.traces.iter().filter(|t| !t.groups);
        (without().filter(|t| t.kept()).count(), without().count())
    }

    /// Whether enough are within the tolerances.
    pub fn passed(&self) -> bool {
        let (kept, all) = self.tally();
        kept as f64 * 100.0 >= all as f64 * TOLERANCES.required_pct
    }

    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for trace in &self.traces {
            let kind = kinds.entry(&trace.kind).or_default();
            kind.0 += usize::from(trace.kept());
            kind.1 += 1;
            let _ = match &trace.verdict {
                Verdict::NotReplayed(why) => writeln!(out, "  not replayed  {}: {why}", trace.id),
                Verdict::Replayed { missed, .. } if missed.is_empty() => continue,
                Verdict::Replayed { missed, .. } => {
                    writeln!(out, "  missed        {}: {}", trace.id, missed.join("; "))
                }
            };
        }
        let t = self.tolerances;
        let _ = writeln!(
            out,
            "\nwithin tolerance: CPU time of every task to {} ns, switches to {} %, latency p50 and p95 to {} % or {} ns",
            t.cpu_ns, t.switches_pct, t.latency_pct, t.latency_ns
        );
        for (kind, (kept, all)) in &kinds {
            let _ = writeln!(out, "  {kind:<18} {kept:>4} of {all}");
        }
        let (kept, all) = self.tally();
        let _ = writeln!(out, "  {:<18} {kept:>4} of {all}, {} % needed", "without groups", t.required_pct);
        out
    }
}
