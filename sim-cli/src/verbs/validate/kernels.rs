//! `cfsim validate kernels`: captures of real kernels beside their simulations.

use super::pages;
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report as Printed, Talk, print};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use validation::capture::find_captures;
use validation::kernels::{CaptureReport, Report, validate};

impl Printed for Report {
    fn text(&self) -> String {
        self.to_text()
    }
}

/// The captures below a folder whose path contains a text.
pub(super) fn captures_in(dir: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let found = find_captures(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    let wanted = |p: &PathBuf| only.is_none_or(|text| p.to_string_lossy().contains(text));
    let paths: Vec<PathBuf> = found.into_iter().filter(wanted).collect();
    if paths.is_empty() {
        return Err(Failure::Capture(format!(
            "no capture below {}: give their folder with --dir",
            dir.display()
        )));
    }
    Ok(paths)
}

pub(super) fn main(
    dir: &Path,
    only: Option<&str>,
    pages: Option<&Path>,
    output: &OutputArgs,
    talk: Talk,
) -> Result<(), Failure> {
    output.start_threads()?;
    let paths = captures_in(dir, only)?;
    let report = report(&paths, talk);
    if let Some(folder) = pages {
        pages::write(folder, &paths, &report, talk)?;
    }
    print(&report, output.format)?;
    if report.passed() { Ok(()) } else { Err(Failure::Tolerance("a bar is missed".to_owned())) }
}

pub(super) fn report(paths: &[PathBuf], talk: Talk) -> Report {
    let done = AtomicUsize::new(0);
    let one = |path: &PathBuf| {
        let report = CaptureReport::of(path);
        talk.progress(&format!("{}/{} {}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len(), report.id));
        report
    };
    validate(paths.par_iter().map(one).collect())
}
