//! Scenarios and workload models: what tasks ask for next. Nothing here knows of CPUs' speed or of scheduling rules.

pub mod build;
pub mod kernel_compile;
