//! `cfsim validate power`: could the comparison of captures have failed?

use super::kernels::captures_in;
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report as Printed, Talk, print};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use validation::capture::Capture;
use validation::kernels::{CapturePower, PowerReport};

impl Printed for PowerReport {
    fn text(&self) -> String {
        self.to_text()
    }
}

pub(super) fn main(dir: &Path, only: Option<&str>, output: &OutputArgs, talk: Talk) -> Result<(), Failure> {
    output.start_threads()?;
    let report = report(&captures_in(dir, only)?, talk);
    print(&report, output.format)?;
    let missed = "a bar that counts is missed, or none of the broken models misses it";
    if report.passed() { Ok(()) } else { Err(Failure::Tolerance(missed.to_owned())) }
}

pub(super) fn report(paths: &[PathBuf], talk: Talk) -> PowerReport {
    let done = AtomicUsize::new(0);
    // Captures of several CPUs and those that cannot be simulated have no place here.
    let one = |path: &PathBuf| {
        let power =
            Capture::load(path).ok().filter(|c| c.meta.smp == 1).map(|c| CapturePower::of(&c))?.ok()?;
        talk.progress(&format!("{}/{} {}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len(), power.id));
        Some(power)
    };
    PowerReport::new(paths.par_iter().filter_map(one).collect())
}
