//! vruntime to the nanosecond: the kernel model is charged what the trace's `sched_stat_runtime` says, and each vruntime
//! the trace then shows is held against the model's.
//!
//! **Tolerance: none.** Run lengths are given in ns and every charge of a task is traced, so that the clock of a busy CPU
//! follows exactly: what a task is charged, the queue's `min_vruntime`, and so every placement on a queue of tasks follow
//! from traced numbers alone. A group's entity is charged untraced and its vruntime is never shown: a placement on a queue
//! that holds group entities is taken from the trace and counted as untraced; charges on it are compared.
//!
//! **Start values.** What happened before the trace is not in it. Free are one vruntime for each task that was there before
//! (taken from its first charge; it may not lie below the floor of its first placement), and one `min_vruntime` for each
//! queue: the first placement that depends on it shows it, and it must be one that every earlier placement allows. Forked
//! children have no start value.

mod charges;
mod follow;
mod replay;

use crate::capture::Capture;
use crate::simulate::{Experiment, Inexpressible};
use charges::Charges;
use replay::Replay;
use serde::Serialize;

/// The vruntimes of a capture beside the model's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VruntimeCheck {
    /// Charges whose vruntime was compared.
    pub charges: u64,
    /// Those with the right vruntime.
    pub right: u64,
    /// Of the charges, the first after a placement of a sleeper or a fork.
    pub placements: u64,
    /// Start values taken from the trace, see the module's head.
    pub starts: u64,
    /// Placements beside group entities, taken from the trace.
    pub untraced: u64,
    /// Events that did not fit the model's state.
    pub misfits: u64,
    /// The first charge with another vruntime.
    pub first_miss: Option<VruntimeMiss>,
}

/// A vruntime that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VruntimeMiss {
    /// Whose.
    pub task: String,
    /// When, ns after T0.
    pub after_t0_ns: i64,
    /// The model's vruntime less the kernel's, ns.
    pub off_ns: i64,
}

impl VruntimeCheck {
    /// Whether everything fits and every vruntime is right.
    pub fn is_right(&self) -> bool {
        self.misfits == 0 && self.right == self.charges
    }

    /// Adds another capture's counts.
    pub fn add(&mut self, o: &VruntimeCheck) {
        self.charges += o.charges;
        self.right += o.right;
        self.placements += o.placements;
        self.starts += o.starts;
        self.untraced += o.untraced;
        self.misfits += o.misfits;
        if self.first_miss.is_none() {
            self.first_miss.clone_from(&o.first_miss);
        }
    }
}

/// Holds the model's vruntimes against a capture's; `None` when it traces no charges.
///
/// # Errors
/// [`Inexpressible`] when the capture's experiment cannot be set up.
pub fn vruntimes(capture: &Capture) -> Result<Option<VruntimeCheck>, Inexpressible> {
    let experiment = Experiment::new(capture)?;
    let charges = Charges::of(&capture.trace);
    if charges.is_empty() {
        return Ok(None);
    }
    let mut starts = replay::Starts::default();
    loop {
        let mut replay = Replay::new(capture, experiment.kernel().clone(), &charges, starts);
        match replay.run() {
            Ok(()) => return Ok(Some(replay.result)),
            // Each queue's start is learnt once.
            Err(learnt) => starts = learnt.0,
        }
    }
}
