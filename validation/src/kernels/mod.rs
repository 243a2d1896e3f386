//! `validate kernels`: every capture of a real kernel beside its simulation, with a verdict by bars fixed beforehand.

mod bars;
mod causes;
mod compare;
mod conformance;
pub(crate) mod levels;
pub mod many;
mod power;
mod report;
mod vruntime;

pub use bars::{BARS, Bars};
pub use causes::{Bar, Cause, known_causes};
pub use compare::{CompareError, Comparison, Interval, SwitchResult, TaskResult, compare};
pub use conformance::{Conformance, conformance};
pub use power::{Breakage, Broken, CapturePower, Control, PowerReport, broken_many};
pub use report::{CaptureReport, Report, Status, Tally, validate};
pub use vruntime::{VruntimeCheck, VruntimeMiss, vruntimes};
