//! From what a scenario says to what a run needs: defaults filled in, names looked up, writes to tunables made.

mod pace;

use crate::scenario::{CpuController, Document, IdleMistake, InterferenceSpec, ScenarioError};
use sim_core::kernel::rules::{IdleEntities, Rules};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{KernelConfig, Profile};
use sim_core::machine::idle::IdleConfig;
use sim_core::machine::topology::Topology;
use sim_core::machine::{Costs, Interference, MachineConfig, Preset};
use sim_core::{CpuId, Instant, Limits, Nanos, SimConfig};
use std::collections::BTreeSet;
use std::sync::Arc;

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
        let mut machine = MachineConfig { idle: self.idle_config(&kernel.rules)?, ..self.machine_config()? };
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
            preset: self.preset(),
            given: scenario.costs.costs.keys().cloned().collect(),
        })
    }

    fn kernel_config(&self) -> Result<KernelConfig, ScenarioError> {
        let spec = &self.scenario.kernel;
        let name = spec.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let profile =
            Profile::by_name(name).map_err(|e| self.error_at(&["kernel", "profile"], e.to_string()))?;
        let mut kernel = KernelConfig::on(profile, Arc::clone(&self.scenario.topology));
        kernel.partitions = self.scenario.machine.partitions.iter().map(|p| p.0.clone()).collect();
        kernel.hz = spec.hz.unwrap_or(kernel.hz);
        kernel.preempt = spec.preempt.unwrap_or(kernel.preempt);
        kernel.autogroup = spec.autogroup.unwrap_or(kernel.autogroup);
        kernel.skew_tick = spec.skew_tick.unwrap_or(kernel.skew_tick);
        kernel.irq_time_accounting = spec.irq_time_accounting.unwrap_or(kernel.irq_time_accounting);
        kernel.steal_time_accounting = spec.steal_time_accounting.unwrap_or(kernel.steal_time_accounting);
        for (i, name) in spec.rules.iter().enumerate() {
            let refused = kernel.switch_rule(name);
            refused.map_err(|e| self.error_at(&["kernel", "rules", &i.to_string()], e.to_string()))?;
        }
        for (i, word) in spec.features.iter().enumerate() {
            let refused = kernel.features.write(word);
            refused.map_err(|e| self.error_at(&["kernel", "features", &i.to_string()], e.to_string()))?;
        }
        self.write_tunables(&mut kernel)?;
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
                self.write_tunable(&mut trial, *tunable, *value, &["at", &i, "set", tunable.name()])?;
            }
        }
        Ok(())
    }

    fn write_tunable(
        &self,
        kernel: &mut KernelConfig,
        tunable: Tunable,
        value: u64,
        at: &[&str],
    ) -> Result<(), ScenarioError> {
        if !has_tunable(&kernel.rules, tunable) {
            let message = format!("kernel {} has no {}", kernel.profile, tunable.name());
            return Err(self.error_at(at, message));
        }
        let written = kernel.tunables.write(&kernel.rules, tunable, value);
        written.map_err(|e| self.error_at(at, e.to_string()))
    }

    fn write_tunables(&self, kernel: &mut KernelConfig) -> Result<(), ScenarioError> {
        let spec = &self.scenario.kernel;
        if let Some(scaling) = spec.tunable_scaling {
            kernel.tunables = Tunables::boot_scaled(kernel.cpus, scaling);
        }
        for (tunable, value) in &spec.tunables {
            self.write_tunable(kernel, *tunable, *value, &["kernel", tunable.name()])?;
        }
        if spec.rewrite_tunable_scaling {
            kernel.tunables.rewrite_scaling();
        }
        Ok(())
    }

    fn preset(&self) -> Preset {
        self.scenario.costs.preset.unwrap_or(DEFAULT_COSTS)
    }

    fn idle_config(&self, rules: &Rules) -> Result<IdleConfig, ScenarioError> {
        let Some(spec) = &self.scenario.machine.idle else { return Ok(IdleConfig::default()) };
        spec.build(rules, &self.scenario.topology).map_err(|(keys, message): IdleMistake| {
            let keys: Vec<&str> =
                ["machine", "idle"].into_iter().chain(keys.iter().map(String::as_str)).collect();
            self.error_at(&keys, message)
        })
    }

    fn machine_config(&self) -> Result<MachineConfig, ScenarioError> {
        let (spec, machine) = (&self.scenario.costs, &self.scenario.machine);
        let mut costs = Costs::preset(self.preset());
        for (name, value) in &spec.costs {
            if *value > Costs::MAX {
                let message = format!("{name} is {value}: at most {} is allowed", Costs::MAX);
                return Err(self.error_at(&["costs", name], message));
            }
            costs.set(name, *value).map_err(|e| self.error_at(&["costs", name], e.to_string()))?;
        }
        if machine.interference.len() > MAX_INTERFERENCE {
            let message = format!("{} entries: at most {MAX_INTERFERENCE}", machine.interference.len());
            return Err(self.error_at(&["machine", "interference"], message));
        }
        let entries = machine.interference.iter().enumerate().map(|(i, entry)| {
            let at = |key, message| self.error_at(&["machine", "interference", &i.to_string(), key], message);
            interference(&self.scenario.topology, entry).map_err(|(key, message)| at(key, message))
        });
        let interference = entries.collect::<Result<_, _>>()?;
        let mut config =
            MachineConfig { tick_phase: machine.tick_phase, interference, ..MachineConfig::new(costs) };
        self.set_pace(&mut config)?;
        Ok(config)
    }

    fn switch_off(&self, machine: &mut MachineConfig) -> Result<(), ScenarioError> {
        for (i, name) in self.scenario.machine.without.iter().enumerate() {
            let refused = machine.switch_off(name);
            refused.map_err(|e| self.error_at(&["machine", "without", &i.to_string()], e.to_string()))?;
        }
        Ok(())
    }
}

/// Checks one entry; a mistake comes with its key.
fn interference(
    topology: &Topology,
    entry: &InterferenceSpec,
) -> Result<Interference, (&'static str, String)> {
    if topology.cpu(CpuId(entry.cpu)).is_none_or(|c| !c.online) {
        let has = topology.online();
        return Err(("cpu", format!("CPU {} is beyond the machine, which has CPUs {has}", entry.cpu)));
    }
    if entry.time >= entry.period {
        return Err(("time", format!("{} of every {} leaves no time for tasks", entry.time, entry.period)));
    }
    Ok(Interference {
        cpu: CpuId(entry.cpu),
        kind: entry.kind,
        start: Instant(entry.start.0),
        period: entry.period,
        time: entry.time,
    })
}
