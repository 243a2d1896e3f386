//! Configuration, limits, outcome and errors of a run.

use crate::id::TaskId;
use crate::kernel::KernelConfig;
use crate::machine::MachineConfig;
use crate::time::{Instant, Nanos};
use serde::Serialize;
use thiserror::Error;

/// Everything that determines a run, apart from the tasks.
#[derive(Clone, Debug, Serialize)]
pub struct SimConfig {
    /// The kernel.
    pub kernel: KernelConfig,
    /// The machine.
    pub machine: MachineConfig,
    /// When to stop, if not when every task has ended.
    pub duration: Option<Nanos>,
    /// Bounds that no sound run reaches.
    pub limits: Limits,
}

/// Bounds of a run: reaching one is an error, never a hang.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Most events.
    pub events: u64,
    /// Most simulated time.
    pub time: Nanos,
    /// Most events, and most steps of one task's program, at one instant.
    pub at_one_instant: u32,
    /// Most tasks ever created.
    pub tasks: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            events: 2_000_000_000,
            time: Nanos::from_secs(24 * 3600),
            at_one_instant: 100_000,
            tasks: 1_000_000,
        }
    }
}

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Every task has ended.
    AllExited,
    /// The configured duration is over.
    Duration,
    /// Nothing can happen any more: these tasks wait for each other, or for what nobody does.
    Stalled(Vec<TaskId>),
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// When it ended.
    pub at: Instant,
    /// Why.
    pub end: End,
    /// Events processed.
    pub events: u64,
}

/// Why a run was given up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// [`Limits::events`].
    #[error("stopped after {limit} events at {at}: raise the limit on events or shorten the run")]
    Events {
        /// The limit.
        limit: u64,
        /// When it was reached.
        at: Instant,
    },
    /// [`Limits::time`].
    #[error("stopped at the limit of {limit} of simulated time")]
    Time {
        /// The limit.
        limit: Nanos,
    },
    /// [`Limits::at_one_instant`].
    #[error("{limit} steps at one instant, {at}{}: a loop in which no time passes", task.as_ref().map(|t| format!(", in task '{t}'")).unwrap_or_default())]
    Livelock {
        /// The limit.
        limit: u32,
        /// When.
        at: Instant,
        /// The task, if it is one task's program.
        task: Option<String>,
    },
    /// [`Limits::tasks`].
    #[error("task '{by}' forks more than {limit} tasks in all")]
    Tasks {
        /// The limit.
        limit: u32,
        /// Who forks.
        by: String,
    },
    /// A planned change was refused.
    #[error("the change planned at {at}: {what}")]
    Timeline {
        /// When.
        at: Instant,
        /// What was refused, and why.
        what: String,
    },
    /// A program asked for something that does not exist or cannot be.
    #[error("task '{task}': {what}")]
    Program {
        /// The task.
        task: String,
        /// What it did.
        what: String,
    },
}
