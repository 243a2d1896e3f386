//! Published measurements: compact data in `validation/published/`, and what the simulator makes of the same experiments.

pub mod smt;
