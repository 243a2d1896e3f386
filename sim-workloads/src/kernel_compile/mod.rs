//! The kernel compile: `make -jN` and what it starts.

use crate::build::Builder;
use serde::{Deserialize, Serialize};

/// Parameters of a kernel compile: the table `[workload.kernel_compile]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelCompile {}

impl KernelCompile {
    /// Adds the job server and `make`.
    pub fn build(&self, _builder: &mut Builder) {}
}
