//! Published measurements: compact data in `validation/published/`, and what the simulator makes of the same experiments.

mod build;
pub mod compile;
pub mod smt;

pub use build::{PublishedError, Role};
