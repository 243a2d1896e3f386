//! Scenarios and workload models: what tasks ask for next. Nothing here knows of CPUs' speed or of scheduling rules.

pub mod bench;
pub mod build;
pub mod dist;
pub mod gzip;
pub mod hackbench;
pub mod kernel_compile;
pub mod machines;
pub mod model;
pub mod netperf;
pub mod pigz;
pub mod recorded;
pub mod resolve;
pub mod rtapp;
pub mod scenario;
mod schema;
mod script;
pub mod topology;
pub mod units;
pub mod unpack;
