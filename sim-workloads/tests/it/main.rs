//! Tests of scenarios through the public interface.

#![allow(
    clippy::unwrap_used,
    reason = "a failed unwrap is a failed test; clippy exempts only test functions"
)]

mod actions;
mod benchmarks;
mod cases;
mod corpus;
mod groups;
mod host;
mod idle;
mod kernel_build;
mod mistakes;
mod overrides;
mod processes;
mod resolve;
mod samples;
mod schema;
mod speed;
mod streams;
mod teaching;
mod topology;
mod waits;

use sim_core::program::{Action, Program, ProgramContext, Work};
use sim_core::{Instant, Nanos, TaskId};
use sim_workloads::scenario::{Scenario, ScenarioError};

/// Parses a scenario without overrides, and holds the schema against the outcome.
fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let parsed = Scenario::parse(text, "test.toml", &[]);
    schema::agrees(text, &parsed);
    parsed
}

/// A scenario of one task `t` with this program.
fn with_program(program: &str) -> String {
    format!("[run]\nduration = \"1s\"\n[task.t]\nprogram = {program}\n")
}

/// Runs a program alone, as an engine would that takes exactly as long as asked and never blocks, and returns its
/// actions with the time they were asked for. Stops after `limit` actions.
fn trace(program: &mut dyn Program, limit: usize) -> Vec<(u64, Action)> {
    let mut now = Instant::ZERO;
    let mut actions = Vec::new();
    while actions.len() < limit {
        let action =
            program.next(&ProgramContext { now, task: TaskId(0), cpu_time: Nanos::ZERO, received: 0 });
        let at = now.0;
        match &action {
            Action::Run(Work::Capacity(d) | Work::CpuTime(d) | Work::Clock(d)) => now += *d,
            Action::KernelRun(d) | Action::Sleep(d) | Action::Io(d) => now += *d,
            Action::SleepUntil(t) => now = now.max(*t),
            _ => {}
        }
        let end = matches!(action, Action::Exit);
        actions.push((at, action));
        if end {
            break;
        }
    }
    actions
}

/// A trace in short: `run 1000000`, `sleep 5`, … without times.
fn brief(program: &mut dyn Program, limit: usize) -> Vec<String> {
    trace(program, limit).iter().map(|(_, action)| format!("{action:?}")).collect()
}
