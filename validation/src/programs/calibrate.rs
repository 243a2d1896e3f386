//! Fits the programs' CPU times to their `d8` runs.

use super::constants::Constants;
use super::record::Record;
use super::run::{RunError, simulate};
use super::scenario::Program;

/// Looks at a fit: each halves the step.
const STEPS: u32 = 24;
/// The largest CPU time looked at, ns.
const MOST: u64 = 2_000_000_000;

/// The constants with every program's CPU time chosen so that the simulated throughput is the mean of its untraced runs
/// under `d8`. No other run is looked at.
///
/// # Errors
/// When a run fails.
pub fn calibrate(records: &[Record], constants: &Constants) -> Result<Constants, RunError> {
    let mut fitted = constants.clone();
    for (name, program) in Program::ALL {
        let of_program = |r: &&Record| r.program == name && r.is_baseline() && !r.traced;
        let runs: Vec<&Record> = records.iter().filter(of_program).collect();
        if runs.is_empty() {
            continue;
        }
        let mut work = 0;
        let mut step = MOST;
        for _ in 0..STEPS.max(MOST.ilog2() + 1) {
            step /= 2;
            // More work, less throughput.
            if step > 0 && faster_than_measured(program, &runs, constants, work + step)? {
                work += step;
            }
        }
        fitted.work_ns.insert(name.to_owned(), work);
    }
    Ok(fitted)
}

fn faster_than_measured(
    program: Program,
    runs: &[&Record],
    constants: &Constants,
    work: u64,
) -> Result<bool, RunError> {
    let mut sum = 0.0;
    for record in runs {
        sum += simulate(program, record, constants, work)?.thr / record.thr;
    }
    Ok(sum > runs.len() as f64)
}
