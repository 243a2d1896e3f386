//! Decision by decision: the kernel model is driven by a real kernel's trace of one CPU or several, and each of its
//! decisions is held against what the real kernel did. Where they differ the real kernel's is taken, so that one miss does
//! not breed others.
//!
//! Times, who runs, who is woken where and who is moved come from the trace; vruntimes, averages and verdicts are the
//! model's. A decision counts if there were two or more candidates, and unless it is **undecidable**: its margin is below
//! what the stamps can tell, or what it depends on is not known yet. Where the trace begins, the vruntime of a task that is
//! there already is unknown until it is placed anew or has been alone on its CPU for a latency, and its load for as long as
//! averages remember.
//!
//! Not asked: whether a balancing pass should have moved something where the trace shows no move; what the scan of a large
//! cache domain costs is not in the trace. Affinity is known from a capture's spec and from names of kernel threads.

mod balance;
mod follow;
mod known;
mod placement;
mod preempt;
mod replay;
mod setup;
mod tally;
mod tick;

pub use setup::{Setup, SetupError, tick_phase};
pub use tally::{ERRORS_GONE_PERCENT, Kind, LEFT_PERCENT, RIGHT_PERCENT, Report, Tally};

use crate::capture::Capture;
use crate::capture::trace::{ReadStats, Trace};
use crate::simulate::Inexpressible;
use replay::Replay;
use sim_core::kernel::Kernel;

/// Follows a capture: with one CPU from T0 on, after simulating what the driver did before; else from the trace's start.
///
/// # Errors
/// [`Inexpressible`] when the capture's experiment cannot be set up.
pub fn follow_capture(capture: &Capture) -> Result<Report, Inexpressible> {
    let (kernel, setup, tasks) = setup::of_capture(capture)?;
    let mut replay = Replay::new(&capture.trace, setup, kernel);
    replay.know(tasks);
    Ok(replay.run())
}

/// Follows a trace on the kernel and machine of `setup`.
///
/// # Errors
/// [`SetupError`] when the trace names a CPU that the machine does not have.
pub fn follow(trace: &Trace, stats: &ReadStats, setup: Setup) -> Result<Report, SetupError> {
    setup.check(trace, stats)?;
    let kernel = Kernel::new(setup.config.clone(), follow::Follow::default());
    Ok(Replay::new(trace, setup, kernel).run())
}
