//! Per-entity load tracking: geometric averages of load, runnable time and utilisation (`pelt.c`).
//!
//! Skipped entirely on a machine with one CPU, where nothing reads it.

mod avg;
mod blocked;
mod h_load;
mod read;
mod state;

pub use avg::{SchedAvg, UtilEst};
pub use state::{CAPACITY_SCALE, CfsRqPelt, RqPelt};
