//! Integration tests of the simulator: one binary, one module per subject.

mod hogs;
mod support;
