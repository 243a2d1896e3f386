//! `cfsim validate calibrate` and `own`: what the comparison of captures rests on, measured anew.

use crate::failure::Failure;
use crate::output::{Format, Report as Printed, print};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use validation::capture::{Capture, find_captures};
use validation::kernels::many::OwnSpread;
use validation::simulate::{Calibration, calibrate};

/// The captured machines' delays.
pub(super) fn delays(dir: &Path) -> Result<(), Failure> {
    let calibration = calibrate(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    print(&Calibrated(calibration), Format::Json)
}

/// How far a real kernel is from itself.
pub(super) fn own_spread(dirs: &[PathBuf]) -> Result<(), Failure> {
    print(&Spreads(own(dirs).map_err(Failure::Capture)?), Format::Json)
}

/// Runs of one job in one folder belong together.
fn own(dirs: &[PathBuf]) -> Result<Vec<OwnSpread>, String> {
    let mut jobs: BTreeMap<(usize, String), Vec<Capture>> = BTreeMap::new();
    for (i, dir) in dirs.iter().enumerate() {
        for path in find_captures(dir).map_err(|e| e.to_string())? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some((job, _)) = name.split_once('.') else { continue };
            let capture = Capture::load(&path).map_err(|e| e.to_string())?;
            jobs.entry((i, job.to_owned())).or_default().push(capture);
        }
    }
    let measured = jobs.iter().map(|((_, job), captures)| OwnSpread::measure(job, captures));
    measured.filter_map(Result::transpose).collect::<Result<_, _>>().map_err(|e| e.to_string())
}

#[derive(Serialize)]
#[serde(transparent)]
struct Calibrated(Calibration);

impl Printed for Calibrated {
    fn text(&self) -> String {
        String::new()
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Spreads(Vec<OwnSpread>);

impl Printed for Spreads {
    fn text(&self) -> String {
        String::new()
    }
}
