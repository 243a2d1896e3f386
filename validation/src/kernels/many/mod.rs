//! Captures of several CPUs: how tasks are spread, beside the simulator.

mod bars;
mod causes;
mod check;
mod compare;
mod figures;
mod own;
mod report;
mod shares;
mod versions;

pub use bars::{MANY_BARS, ManyBars};
pub use causes::{ManyCause, many_causes};
pub use check::{Check, ManyBar};
pub(super) use compare::compare_many_with;
pub use compare::{ManyComparison, compare_captures, compare_many};
pub use figures::Figures;
pub use own::{OwnSpread, own_spreads};
pub(super) use report::{job, write_many};
pub use versions::{Direction, Named, Order, Total, VERSIONS, directions, totals};
