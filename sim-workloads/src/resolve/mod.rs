//! From what a scenario says to what a run needs: defaults filled in, names looked up, writes to tunables made.

mod host;
mod pace;
mod part;

use crate::scenario::{CpuController, Document, Scenario, ScenarioError};
use part::Part;
use sim_core::kernel::KernelConfig;
use sim_core::kernel::rules::{IdleEntities, Rules};
use sim_core::kernel::tunables::Tunable;
use sim_core::machine::{MachineConfig, Preset};
use sim_core::{Limits, Nanos, SimConfig};
use std::collections::BTreeSet;

/// The profile of a scenario that names none.
pub const DEFAULT_PROFILE: &str = "6.1";
/// The costs of a scenario that names none.
pub const DEFAULT_COSTS: Preset = Preset::BareMetal;
/// The most entries of `machine.interference`.
pub const MAX_INTERFERENCE: usize = 1_000;

/// All that determines a run but the tasks, which [`crate::scenario::Scenario::build`] makes.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Configuration of the simulation.
    pub config: SimConfig,
    /// Simulated time at the start that statistics leave out.
    pub warmup: Nanos,
    /// Seed of all random draws.
    pub seed: u64,
    /// Where the costs come from.
    preset: Preset,
    /// Costs the scenario gives itself: these are certain.
    given: BTreeSet<String>,
}

impl Resolved {
    /// The configuration with uncertain costs drawn from their ranges.
    fn drawn(mut self, seed: u64) -> SimConfig {
        let given = |name: &str| self.given.contains(name);
        self.config.machine.costs = self.config.machine.costs.drawn(self.preset, given, seed);
        self.config
    }
}

/// Whether a kernel with these rules has the tunable.
pub fn has_tunable(rules: &Rules, tunable: Tunable) -> bool {
    tunable != Tunable::IdleMinGranularity || rules.idle_min_granularity
}

impl Document {
    /// Fills in defaults and looks up names.
    ///
    /// # Errors
    /// A mistake with its place: an unknown profile or feature, a tunable this kernel does not have, a value it would
    /// refuse, a CPU beyond the machine; or an end of an uncertain range that would be one.
    pub fn resolve(&self) -> Result<Resolved, ScenarioError> {
        let resolved = self.resolve_as_written()?;
        for (key, range) in &self.scenario.uncertain {
            for end in range.ends() {
                let refused = self.with(&[(key.clone(), end)]).and_then(|d| d.resolve_as_written());
                refused.map_err(|e| self.error_at(&["uncertain", key], e.to_string()))?;
            }
        }
        Ok(resolved)
    }

    /// The configuration with what is uncertain, in `[uncertain]` or in the table of costs, drawn from its range, as it may
    /// be under this seed.
    ///
    /// # Errors
    /// When values are refused that lie between ends that are not.
    pub fn drawn(&self, seed: u64) -> Result<SimConfig, ScenarioError> {
        let draws = self.scenario.uncertain.iter().map(|(key, range)| (key.clone(), range.draw(seed, key)));
        let draws: Vec<(String, String)> = draws.collect();
        let resolved = if draws.is_empty() {
            self.resolve_as_written()
        } else {
            self.with(&draws)?.resolve_as_written()
        };
        Ok(resolved?.drawn(seed))
    }

    fn resolve_as_written(&self) -> Result<Resolved, ScenarioError> {
        let scenario = &self.scenario;
        let kernel = self.kernel_config()?;
        let mut machine = self.part().machine(&kernel.rules)?;
        self.switch_off(&mut machine)?;
        let config = SimConfig {
            machine,
            kernel,
            duration: scenario.run.duration.map(|d| d.0),
            limits: Limits::default(),
        };
        if let Some(duration) = config.duration.filter(|d| *d > config.limits.time) {
            let message = format!("{duration} is too long: at most {} can be simulated", config.limits.time);
            return Err(self.error_at(&["run", "duration"], message));
        }
        Ok(Resolved {
            config,
            warmup: scenario.run.warmup.map_or(Nanos::ZERO, |d| d.0),
            seed: scenario.seed,
            preset: self.part().preset(),
            given: scenario.costs.costs.keys().cloned().collect(),
        })
    }

    /// The simulated system itself.
    fn part(&self) -> Part<'_> {
        let Scenario { kernel, machine, costs, topology, .. } = &self.scenario;
        Part { document: self, at: &[], kernel, machine, costs, topology }
    }

    fn kernel_config(&self) -> Result<KernelConfig, ScenarioError> {
        let kernel = self.part().kernel()?;
        self.check_groups(&kernel)?;
        self.check_changes(&kernel)?;
        Ok(kernel)
    }

    /// `cpu.idle` needs a kernel that has it.
    fn check_groups(&self, kernel: &KernelConfig) -> Result<(), ScenarioError> {
        if kernel.rules.idle_entities == IdleEntities::EveryLevel {
            return Ok(());
        }
        let message = || format!("kernel {} has no cpu.idle: it came with 5.15", kernel.profile);
        let idle = |cpu: CpuController| matches!(cpu, CpuController::Idle(_));
        if let Some((path, _)) = self.scenario.groups.iter().find(|(_, g)| idle(g.cpu)) {
            return Err(self.error_at(&["group", path, "cpu", "idle"], message()));
        }
        for (i, change) in self.scenario.changes.iter().enumerate() {
            if let Some((path, _)) = change.group_writes().find(|(_, cpu)| idle(*cpu)) {
                return Err(self.error_at(&["at", &i.to_string(), "group", path, "cpu", "idle"], message()));
            }
        }
        Ok(())
    }

    /// Writes what the changes write, in vain, for the kernel to refuse what it will refuse then.
    fn check_changes(&self, kernel: &KernelConfig) -> Result<(), ScenarioError> {
        for (i, change) in self.scenario.changes.iter().enumerate() {
            let i = i.to_string();
            let mut trial = kernel.clone();
            for (j, word) in change.set.features.iter().enumerate() {
                let refused = trial.features.write(word);
                refused.map_err(|e| {
                    self.error_at(&["at", &i, "set", "features", &j.to_string()], e.to_string())
                })?;
            }
            for (tunable, value) in &change.set.tunables {
                let at = ["at", &i, "set", tunable.name()];
                self.part().write_tunable(&mut trial, *tunable, *value, &at)?;
            }
        }
        Ok(())
    }

    fn switch_off(&self, machine: &mut MachineConfig) -> Result<(), ScenarioError> {
        for (i, name) in self.scenario.machine.without.iter().enumerate() {
            let refused = machine.switch_off(name);
            refused.map_err(|e| self.error_at(&["machine", "without", &i.to_string()], e.to_string()))?;
        }
        Ok(())
    }
}
