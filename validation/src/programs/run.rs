//! A record's program under the simulator.

use super::constants::Constants;
use super::record::Record;
use super::scenario::Program;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_core::{End, Nanos};
use sim_workloads::model::Ran;
use sim_workloads::scenario::{Document, ScenarioError};
use thiserror::Error;

/// Where ticks begin, ns: a real run's phase is not known, and repetitions differ in it.
const PHASES_NS: [u64; 4] = [0, 1_000_000, 2_000_000, 3_000_000];

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Simulated {
    /// Throughput in the record's unit.
    pub thr: f64,
    /// Voluntary and involuntary switches of the tasks that the record counts.
    pub switches: f64,
}

/// Why a program could not be simulated.
#[derive(Debug, Error)]
pub enum RunError {
    /// The scenario is refused.
    #[error("{0}")]
    Scenario(Box<ScenarioError>),
    /// The run did not end as it should.
    #[error("the run ended early: {0}")]
    Run(String),
}

impl From<ScenarioError> for RunError {
    fn from(error: ScenarioError) -> RunError {
        RunError::Scenario(Box::new(error))
    }
}

/// One run.
fn once(
    program: Program,
    record: &Record,
    constants: &Constants,
    work: u64,
    phase: u64,
) -> Result<Simulated, RunError> {
    let text = program.scenario(record, constants, work, phase);
    let document = Document::parse(&text, "record.toml", &[])?;
    let resolved = document.resolve()?;
    let builder = document.scenario.build(resolved.seed);
    let mut simulation = builder.simulation(resolved.config, Metrics::new(resolved.warmup), NoHooks);
    let outcome = simulation.run().map_err(|e| RunError::Run(e.to_string()))?;
    let ran = Ran::new(simulation.tasks(), &simulation.observer, resolved.warmup, outcome.at);
    // A hog beside the program never ends.
    if outcome.end != End::AllExited && !ran.finished(program.counted()) {
        return Err(RunError::Run(format!("{:?}", outcome.end)));
    }
    let hog = program == Program::MakeHog;
    let elapsed = ran.elapsed(program.counted()).filter(|_| hog).unwrap_or(Nanos(outcome.at.0));
    let printed = document.scenario.workload.models().flat_map(|model| model.results(&ran)).next();
    let thr = match printed {
        Some((_, value)) if program.prints_throughput() => value,
        _ => 1e9 / elapsed.0.max(1) as f64,
    };
    Ok(Simulated { thr, switches: ran.switches(program.counted()) as f64 })
}

/// The mean over all phases of the tick.
///
/// # Errors
/// When the scenario is refused or a run does not end by itself.
pub(super) fn simulate(
    program: Program,
    record: &Record,
    constants: &Constants,
    work: u64,
) -> Result<Simulated, RunError> {
    let runs = PHASES_NS.iter().map(|phase| once(program, record, constants, work, *phase));
    let runs: Vec<Simulated> = runs.collect::<Result<_, _>>()?;
    let mean = |of: fn(&Simulated) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    Ok(Simulated { thr: mean(|r| r.thr), switches: mean(|r| r.switches) })
}
