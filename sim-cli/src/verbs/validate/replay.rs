//! `cfsim validate replay`: recorded traces, imported and run again.

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report, Talk, print};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use validation::replay::{ReplayReport, ReplayedTrace, find_recorded, reports};

impl Report for ReplayReport {
    fn text(&self) -> String {
        self.to_text()
    }
}

pub(super) fn main(dir: &Path, only: Option<&str>, output: &OutputArgs, talk: Talk) -> Result<(), Failure> {
    output.start_threads()?;
    let report = report(dir, only, talk)?;
    print(&report, output.format)?;
    if report.passed() {
        return Ok(());
    }
    let (kept, all) = report.tally();
    Err(Failure::Tolerance(format!("{kept} of {all} traces without groups are given back")))
}

pub(super) fn report(dir: &Path, only: Option<&str>, talk: Talk) -> Result<ReplayReport, Failure> {
    let found = find_recorded(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    let wanted = |p: &PathBuf| only.is_none_or(|text| p.to_string_lossy().contains(text));
    let paths: Vec<PathBuf> = found.into_iter().filter(wanted).collect();
    if paths.is_empty() {
        let message = format!(
            "no trace below {}: folders with trace.txt or trace.txt.gz, meta.json and tunables.txt (--dir)",
            dir.display()
        );
        return Err(Failure::Capture(message));
    }
    let done = AtomicUsize::new(0);
    let one = |path: &PathBuf| {
        let trace = ReplayedTrace::of(path);
        talk.progress(&format!("{}/{} {}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len(), trace.id));
        trace
    };
    Ok(reports(paths.par_iter().map(one).collect()))
}
