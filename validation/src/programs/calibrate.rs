//! Fits the programs' CPU times to their `d8` runs.

use super::constants::Constants;
use super::record::Record;
use super::run::{RunError, simulate};
use super::scenario::Program;

/// Looks at a fit beyond the first two: time grows about linearly with work.
const LOOKS: u32 = 5;
/// A fit this close is good enough.
const CLOSE: f64 = 1e-3;
/// The largest CPU time, ns.
const MOST: f64 = 2e9;

/// The constants with every program's CPU time chosen so that the simulated throughput is the mean of its untraced runs
/// under `d8`, by the secant method. No other run is looked at.
///
/// # Errors
/// When a run fails.
pub fn calibrate(records: &[Record], constants: &Constants) -> Result<Constants, RunError> {
    let mut fitted = constants.clone();
    for (name, program) in Program::ALL {
        let of_program = |r: &&Record| r.program == name && r.is_baseline() && !r.traced;
        let runs: Vec<&Record> = records.iter().filter(of_program).collect();
        let Some(start) = constants.work_ns.get(name).filter(|_| !runs.is_empty()) else { continue };
        let off = |work: f64| off(program, &runs, constants, work as u64);
        let (mut a, mut b) = (*start as f64, *start as f64 * 1.2 + 20.0);
        let (mut off_a, mut off_b) = (off(a)?, off(b)?);
        for _ in 0..LOOKS {
            let rises = off_b - off_a;
            if off_b.abs() < CLOSE || rises.abs() < f64::EPSILON {
                break;
            }
            (a, b) = (b, (b - off_b * (b - a) / rises).clamp(0.0, MOST));
            (off_a, off_b) = (off_b, off(b)?);
        }
        let best = if off_a.abs() < off_b.abs() { a } else { b };
        fitted.work_ns.insert(name.to_owned(), best as u64);
    }
    Ok(fitted)
}

/// By how much the simulated time is longer than measured, as a part of it.
fn off(program: Program, runs: &[&Record], constants: &Constants, work: u64) -> Result<f64, RunError> {
    let mut sum = 0.0;
    for record in runs {
        sum += record.thr / simulate(program, record, constants, work)?.thr;
    }
    Ok(sum / runs.len() as f64 - 1.0)
}
