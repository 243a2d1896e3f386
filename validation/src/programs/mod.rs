//! Real programs under a real kernel, by tunable, and the models of them: does the model predict what a tunable does?

mod calibrate;
mod compare;
mod constants;
mod record;
mod run;
mod scenario;

pub use calibrate::calibrate;
pub use compare::{Cell, ProgramsReport, SWITCH_TOLERANCE_PERCENT, Verdict, compare};
pub use constants::Constants;
pub use record::{Record, RecordsError, Tunables};
pub use run::{RunError, Simulated};
pub use scenario::Program;
