//! Published measurements: compact data in `validation/published/`, and what the simulator makes of the same experiments.

mod build;
pub mod compile;
mod measurements;
mod series;
pub mod smt;
#[cfg(test)]
mod tests;
mod verdict;

pub use build::{BuildError, Role};
pub use measurements::{Better, Citation, Measurement, PublishedError, Setup, Split, Suitability};
pub use series::{Point, Published, Series, Settings};
pub use verdict::{Aims, Judged, Prediction, Rate, Summary, Tolerances};
