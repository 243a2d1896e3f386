//! Captures of several CPUs: how tasks are spread, beside the simulator.

mod bars;
mod compare;
mod figures;
mod shares;

pub use bars::{MANY_BARS, ManyBars};
pub use compare::{ManyComparison, Miss, compare_many};
pub use figures::Figures;
pub use shares::ShareResult;
