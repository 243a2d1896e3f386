//! Per-entity load tracking: geometric averages of load, runnable time and utilisation (`pelt.c`; smp.md §2).
//!
//! Lazy: an entity and its queue are brought up to date when something happens to them, in constant time whatever the time
//! passed. Skipped entirely on a machine with one CPU, where nothing reads it.

mod attach;
mod avg;
mod blocked;
mod capacity;
mod clock;
mod cpu_load;
mod decay;
mod h_load;
mod propagate;
mod read;
mod shares;
mod state;
#[cfg(test)]
mod tests;
mod update;
mod util_est;

pub use avg::{SchedAvg, UtilEst};
pub use state::{CAPACITY_SCALE, CfsRqPelt, Removed, RqPelt};
pub(in crate::kernel) use update::Update;
