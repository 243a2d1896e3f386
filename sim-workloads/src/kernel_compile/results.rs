//! What a build is judged by.

use super::KernelCompile;
use crate::model::{Better, Headline, Ran};

/// The figures of a build that has ended.
pub(crate) const HEADLINES: [Headline; 3] = [
    Headline {
        name: "kernel_compile_builds_per_hour",
        title: "kernel compile, builds per hour",
        short: "builds/h",
        unit: "1/h",
        better: Better::Higher,
    },
    Headline {
        name: "kernel_compile_elapsed_s",
        title: "kernel compile, elapsed",
        short: "elapsed",
        unit: "s",
        better: Better::Lower,
    },
    Headline {
        name: "kernel_compile_user_system_s",
        title: "kernel compile, user + system",
        short: "user+sys",
        unit: "s",
        better: Better::Lower,
    },
];

impl KernelCompile {
    /// As `time make` says it, and what a machine that does nothing else would do in an hour.
    pub(super) fn figures(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let Some(elapsed) = run.elapsed(&self.name).filter(|_| run.finished(&self.name)) else {
            return Vec::new();
        };
        let elapsed = elapsed.as_secs_f64();
        let values = [3600.0 / elapsed, elapsed, run.cpu_time(&self.name).as_secs_f64()];
        HEADLINES.iter().zip(values).collect()
    }
}
