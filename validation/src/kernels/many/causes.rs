//! Why captures of several CPUs miss a bar, by job, as data.

use serde::{Deserialize, Serialize};

/// The list.
const KNOWN: &str = include_str!("../../../known-misses-many.json");

/// Why jobs miss bars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManyCause {
    /// Names of the jobs, on any kernel and machine.
    pub jobs: Vec<String>,
    /// What was found out.
    pub cause: String,
}

/// The list of causes.
pub fn many_causes() -> Vec<ManyCause> {
    serde_json::from_str(KNOWN).unwrap_or_default()
}

/// The cause listed for a job.
pub(super) fn cause_of(job: &str) -> Option<String> {
    many_causes().into_iter().find(|c| c.jobs.iter().any(|j| j == job)).map(|c| c.cause)
}
