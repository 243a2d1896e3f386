//! Comparison of the simulator with real kernels: readers of captures, and the measures taken alike of both sides.

pub mod capture;
pub mod conformance;
pub mod delays;
pub mod envelope;
pub mod kernels;
pub mod lab;
pub mod measure;
pub mod programs;
pub mod published;
pub mod replay;
pub mod simulate;
