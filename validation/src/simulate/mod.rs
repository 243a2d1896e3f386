//! The same experiment in the simulator: a capture's workload, settings, tick phase and background, on a machine with
//! the captured machine's delays.

mod background;
mod boot;
mod driver;
mod experiment;
mod forking;
mod lengths;
mod machine;
mod parts;
mod program;
mod record;
mod starts;

pub use experiment::{Experiment, Inexpressible};
pub use machine::{
    Calibration, CalibrationError, CaptureMachine, UnknownMachine, calibrate, is_calibrated_on,
};
pub(crate) use parts::{add_groups, kernel as kernel_of};
pub use starts::Starts;
