//! Recorded traces replayed: each is imported as anybody's trace is, run under the recorded kernel, and must give back the
//! statistics that were recorded.

mod recorded;
mod report;
mod schedule;

pub use recorded::{Recorded, find_recorded};
pub use report::{ReplayReport, Replayed as ReplayedTrace, TOLERANCES, Tolerances, Verdict, reports};
pub use schedule::Measures;

use crate::simulate::kernel_of;
use schedule::{At, What, measure};
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{Event, Observer};
use sim_core::{Instant, Nanos, SimError, TaskId};
use sim_workloads::recorded::{GroupMap, Imported, Limits, Options, TraceError, import};
use sim_workloads::scenario::{Document, ScenarioError};
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a trace cannot be replayed.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// Files of the capture.
    #[error(transparent)]
    Capture(#[from] crate::capture::CaptureError),
    /// The trace cannot be imported.
    #[error(transparent)]
    Import(#[from] TraceError),
    /// The captured kernel or machine is not known.
    #[error(transparent)]
    Kernel(#[from] crate::simulate::Inexpressible),
    /// What was imported is no scenario.
    #[error(transparent)]
    Scenario(#[from] Box<ScenarioError>),
    /// The replay was given up.
    #[error(transparent)]
    Run(#[from] SimError),
}

/// A replay goes on for so long after the trace's end, so that late tasks still end.
const AFTER: Nanos = Nanos::from_secs(10);

/// Imports and replays a trace; what was recorded, what the replay gives, and what the import says.
///
/// # Errors
/// [`ReplayError`].
pub fn replay(recorded: &Recorded) -> Result<(Measures, Measures, Imported), ReplayError> {
    let hz = Some(recorded.hz());
    let options =
        Options { cpus: Some(recorded.meta.smp), hz, groups: GroupMap::default(), ..Options::default() };
    let imported = import(recorded.bytes.as_slice(), &Limits::default(), &options)?;
    let document = Document::parse(&imported.scenario, "the imported trace", &[]).map_err(Box::new)?;
    let resolved = document.resolve().map_err(Box::new)?;
    let (start, span) = (Instant::ZERO + resolved.warmup, Nanos(imported.summary.span_ns));
    let mut config = resolved.config;
    let hz = config.kernel.hz;
    config.kernel = kernel_of(&recorded.meta, &recorded.tunables)?;
    config.kernel.hz = hz;
    config.duration = Some(Nanos((start + span + AFTER).0));
    let builder = document.scenario.build(resolved.seed);
    let mut sim = builder.simulation(config, Replayed::default(), NoHooks);
    sim.run()?;
    let end = sim.tasks().iter().filter_map(|t| t.end).max().unwrap_or(start);
    let replayed = measure(&sim.observer.events, start.0, end.0);
    Ok((recorded.measures(), replayed, imported))
}

/// Keeps what is compared, tasks by their recorded numbers.
#[derive(Default)]
struct Replayed {
    pids: BTreeMap<TaskId, u32>,
    events: Vec<At>,
    acts: u32,
}

impl Replayed {
    fn pid(&self, task: TaskId) -> u32 {
        self.pids.get(&task).copied().unwrap_or(u32::MAX)
    }
}

impl Observer for Replayed {
    /// Imported tasks are called NAME-PID, or NAME-PID.TURN.
    fn identity(&mut self, task: TaskId, _: &str, path: &str, _: i8) {
        let name = path.rsplit('/').next().unwrap_or(path).split('#').next().unwrap_or_default();
        let pid = name.rsplit('-').next().and_then(|n| n.split('.').next()).and_then(|n| n.parse().ok());
        self.pids.insert(task, pid.unwrap_or(u32::MAX));
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let number = |task: Option<TaskId>| task.map_or(0, |t| self.pid(t));
        let (cpu, what) = match *event {
            Event::Context { cpu, .. } => {
                self.acts = cpu.0;
                return;
            }
            Event::Switch { cpu, prev, next, .. } => {
                (cpu.0, What::Switch { prev: number(prev), next: number(next) })
            }
            Event::Wakeup { task, .. } => (self.acts, What::Wake { task: self.pid(task) }),
            _ => return,
        };
        self.events.push(At { ns: at.0, cpu, what });
    }
}
