//! Why the program gives up, and with which exit code.

use crate::waits;
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::Observer;
use sim_core::{SimError, Simulation};
use sim_workloads::recorded::TraceError;
use sim_workloads::rtapp::RtAppError;
use sim_workloads::scenario::ScenarioError;
use sim_workloads::topology::ImportError;
use std::path::PathBuf;
use std::process::ExitCode;
use thiserror::Error;

/// A reason to give up.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A mistake in a scenario, in a setting of it, or in a study file.
    #[error("{0}")]
    Scenario(#[from] Box<ScenarioError>),
    /// A description of a machine that cannot be used.
    #[error("{place}: {error}")]
    Machine { place: String, error: ImportError },
    /// A workload of another program that cannot be imported.
    #[error("{0}")]
    RtApp(#[from] RtAppError),
    /// A recorded trace that cannot be used.
    #[error("{}: {error}", file.display())]
    Trace { file: PathBuf, error: TraceError },
    /// A file of no kind that can be imported.
    #[error("{}: {why}", file.display())]
    Unrecognised { file: PathBuf, why: String },
    /// A file that cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    /// A file that cannot be made.
    #[error("cannot write {}: {source}", file.display())]
    Create { file: PathBuf, source: std::io::Error },
    /// Files that cannot be run; why has been told.
    #[error("{failed} of {of} files cannot be run")]
    Invalid { failed: usize, of: usize },
    /// A capture cannot be found, read or simulated.
    #[error("{0}")]
    Capture(String),
    /// A validation is out of tolerance.
    #[error("{0}")]
    Tolerance(String),
    /// The output cannot be written.
    #[error("cannot write the result: {0}")]
    Write(std::io::Error),
    /// Arguments that are each right but not together.
    #[error("{0}")]
    Usage(String),
    /// A run was given up.
    #[error("seed {seed}: {error}{}", if doing.is_empty() { String::new() } else { format!("\n  not finished: {doing}") })]
    Run {
        seed: u64,
        error: SimError,
        /// What tasks were doing.
        doing: String,
    },
    /// Something the program relies on is missing.
    #[error("{0}")]
    Environment(String),
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Failure {
        Failure::Scenario(Box::new(error))
    }
}

impl Failure {
    /// A run under `seed` that was given up, with what its tasks were doing.
    pub(crate) fn run<O: Observer, H: Hooks>(
        seed: u64,
        error: SimError,
        simulation: &Simulation<O, H>,
    ) -> Failure {
        Failure::Run { seed, error, doing: waits::line(&waits::unfinished(simulation)) }
    }

    /// The exit code, as `cfsim --help` lists them.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Run { error: SimError::Program { .. }, .. } => 1,
            Failure::Write(_) | Failure::Create { .. } | Failure::Environment(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Tolerance(_) => 4,
            Failure::Capture(_)
            | Failure::Scenario(_)
            | Failure::Machine { .. }
            | Failure::RtApp(_)
            | Failure::Trace { .. }
            | Failure::Unrecognised { .. }
            | Failure::Read { .. }
            | Failure::Invalid { .. } => 3,
            Failure::Run { .. } => 5,
        })
    }

    /// The message with its place, over several lines where there is text to show; colours are stripped where they
    /// are not wanted.
    pub(crate) fn render(&self) -> String {
        match self {
            Failure::Scenario(error) => error.render(true),
            other => format!("error: {other}"),
        }
    }
}
