//! Captures of several CPUs: how tasks are spread, beside the simulator.

mod bars;
mod compare;
mod figures;
mod report;
mod shares;
mod versions;

pub use bars::{MANY_BARS, ManyBars};
pub use compare::{Check, ManyBar, ManyComparison, compare_many};
pub use figures::Figures;
pub(super) use report::{job, write_many};
pub use versions::{Direction, Order, Total, VERSIONS, directions, totals};
