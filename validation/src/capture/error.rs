//! Why a capture cannot be read.

use std::path::PathBuf;
use thiserror::Error;

/// A file of a capture that cannot be used.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub struct CaptureError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file of a capture.
#[derive(Debug, Error)]
pub enum Problem {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is larger than allowed.
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    /// The workload.
    #[error(transparent)]
    Spec(#[from] super::spec::SpecError),
    /// The settings.
    #[error(transparent)]
    Tunables(#[from] super::tunables::TunablesError),
    /// A JSON file.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The CPUs.
    #[error(transparent)]
    Layout(#[from] super::layout::LayoutError),
    /// The counters of balancing.
    #[error(transparent)]
    Schedstat(#[from] super::schedstat::SchedstatError),
    /// The trace.
    #[error(transparent)]
    Trace(#[from] super::trace::TraceError),
    /// T0 or the ticks.
    #[error(transparent)]
    Clock(#[from] super::clock::ClockError),
    /// The compact form.
    #[error(transparent)]
    Compact(#[from] super::compact::CompactError),
}
