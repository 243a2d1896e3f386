//! A scenario compiled for the lab: the workload in the captures' language, the settings, and what was left aside.

mod check;
mod groups;
mod settings;
mod steps;
#[cfg(test)]
mod tests;

use super::spec_text::spec_text;
use crate::capture::spec::{Clock, Phase, Spec, Task, parse_spec};
use sim_core::kernel::PreemptModel;
use sim_workloads::scenario::{Scenario, TaskDef};
use std::collections::BTreeSet;
use steps::Steps;
use thiserror::Error;

/// The most CPUs of a guest: one thread of the host executes them all in turn.
pub const MAX_CPUS: u32 = 16;
/// The longest run, so that neither the trace nor the wait grows without bounds.
pub const MAX_DURATION_NS: u64 = 60_000_000_000;
/// The longest comm of a task.
const MAX_COMM: usize = 15;

/// What of a scenario the lab cannot express, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cfsim lab: {what}")]
pub struct Refusal {
    /// Its place in the scenario, as keys and indices.
    pub at: Vec<String>,
    /// What was found and what is allowed.
    pub what: String,
}

impl Refusal {
    pub(super) fn new(at: &[&str], what: impl Into<String>) -> Refusal {
        Refusal { at: at.iter().map(|s| (*s).to_owned()).collect(), what: what.into() }
    }
}

/// A scenario as the lab runs it.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The workload.
    pub spec: Spec,
    /// The workload as text.
    pub spec_text: String,
    /// Writes to tunables and features in their order, as `NAME=VALUE` without `sched_`.
    pub set: Vec<String>,
    /// The preemption model to boot with, where the scenario says one.
    pub preempt: Option<PreemptModel>,
    /// Ticks per second that the scenario expects of the kernel.
    pub hz: Option<u32>,
    /// Rules by name that the prediction has besides its profile's.
    pub rules: Vec<String>,
    /// CPUs of the guest.
    pub cpus: u32,
    /// What is otherwise than in a simulated run of the scenario.
    pub notes: Vec<String>,
}

impl Plan {
    /// Compiles a scenario for a guest with `smp` CPUs, or as many as the scenario's machine has.
    ///
    /// Its machine and costs make way for the lab's, tasks sleep without timer slack, and the program of a task does what its
    /// steps say with real calls. Deviates: D-250.
    ///
    /// # Errors
    /// [`Refusal`] names the first thing the lab cannot express.
    pub fn compile(scenario: &Scenario, smp: Option<u32>) -> Result<Plan, Refusal> {
        let cpus = check::cpus(scenario, smp)?;
        check::refuse_other_machines(scenario, smp.is_some())?;
        let set = settings::settings(scenario)?;
        let limit = check::limit(scenario)?;
        let mut spec = Spec {
            seed: scenario.seed,
            slack: 1,
            lead: 50_000_000,
            phase: Phase::AfterTick(1_000_000),
            limit,
            chunk: 50_000,
            clock: Clock::Cpu,
            groups: groups::groups(scenario)?,
            tasks: Vec::new(),
            objects: Vec::new(),
        };
        check::size(scenario)?;
        for task in &scenario.tasks {
            add_tasks(scenario, task, cpus, &mut spec)?;
        }
        unique_names(scenario, &spec)?;
        let text = spec_text(&spec);
        let parsed = parse_spec(&text).map_err(|e| {
            Refusal::new(&["task"], format!("the scenario is too large for the lab: {}", e.problem))
        })?;
        // Objects are numbered as the text names them.
        let (spec, spec_text) = (parsed, text);
        Ok(Plan {
            spec,
            spec_text,
            set,
            preempt: scenario.kernel.preempt,
            hz: scenario.kernel.hz,
            rules: scenario.kernel.rules.clone(),
            cpus,
            notes: check::notes(scenario),
        })
    }
}

/// The instances of one table of tasks.
fn add_tasks(scenario: &Scenario, def: &TaskDef, cpus: u32, spec: &mut Spec) -> Result<(), Refusal> {
    check::task(def, cpus)?;
    for instance in 0..def.count {
        let comm = if def.count > 1 { format!("{}{instance}", def.name) } else { def.name.clone() };
        if comm.len() > MAX_COMM || comm.contains(':') {
            let what = format!(
                "'{comm}' cannot be a task's comm: allowed are {MAX_COMM} characters without ':', the number included"
            );
            return Err(Refusal::new(&["task", &def.name], what));
        }
        let mut steps = Steps { scenario, instance, task: def, objects: &mut spec.objects, at: Vec::new() };
        let body = steps.program(&def.program)?;
        let group = Some(def.group.0.trim_start_matches('/').to_owned()).filter(|g| !g.is_empty());
        spec.tasks.push(Task {
            name: comm,
            instance: 0,
            nice: def.nice,
            cpus: def.cpus.as_ref().map(|c| c.0.clone()),
            start: def.start.0,
            group,
            policy: def.policy,
            body,
        });
    }
    Ok(())
}

/// Results are told apart by comm.
fn unique_names(scenario: &Scenario, spec: &Spec) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    match spec.tasks.iter().find(|t| !seen.insert(t.name.as_str())) {
        Some(task) => {
            let of = scenario.tasks.iter().rev().find(|d| task.name.starts_with(&d.name));
            let at = of.map_or("", |d| d.name.as_str());
            Err(Refusal::new(
                &["task", at],
                format!("two tasks would have the comm '{}': rename one", task.name),
            ))
        }
        None => Ok(()),
    }
}
