//! A kernel on a machine: the simulated system itself, or its host.

use super::{DEFAULT_COSTS, DEFAULT_PROFILE, MAX_INTERFERENCE, has_tunable};
use crate::dist::{Dist, Shape};
use crate::scenario::{
    CostsSpec, Document, IdleMistake, InterferenceSpec, KernelSpec, MachineSpec, ScenarioError,
};
use sim_core::kernel::rules::Rules;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{KernelConfig, Profile};
use sim_core::machine::idle::IdleConfig;
use sim_core::machine::topology::Topology;
use sim_core::machine::{Costs, Draw, Interference, MachineConfig, Preset};
use sim_core::{CpuId, CpuMask, Instant, Nanos};
use std::sync::Arc;

/// A kernel and the machine it runs on.
pub(super) struct Part<'a> {
    pub(super) document: &'a Document,
    /// Where in the scenario it stands.
    pub(super) at: &'a [&'a str],
    pub(super) kernel: &'a KernelSpec,
    pub(super) machine: &'a MachineSpec,
    pub(super) costs: &'a CostsSpec,
    pub(super) topology: &'a Arc<Topology>,
}

impl Part<'_> {
    pub(super) fn error(&self, at: &[&str], message: impl Into<String>) -> ScenarioError {
        self.document.error_at(&[self.at, at].concat(), message)
    }

    pub(super) fn kernel(&self) -> Result<KernelConfig, ScenarioError> {
        let spec = self.kernel;
        let name = spec.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let profile =
            Profile::by_name(name).map_err(|e| self.error(&["kernel", "profile"], e.to_string()))?;
        let mut kernel = KernelConfig::on(profile, Arc::clone(self.topology));
        kernel.partitions = self.machine.partitions.iter().map(|p| p.0.clone()).collect();
        kernel.hz = spec.hz.unwrap_or(kernel.hz);
        kernel.preempt = spec.preempt.unwrap_or(kernel.preempt);
        kernel.autogroup = spec.autogroup.unwrap_or(kernel.autogroup);
        kernel.skew_tick = spec.skew_tick.unwrap_or(kernel.skew_tick);
        kernel.irq_time_accounting = spec.irq_time_accounting.unwrap_or(kernel.irq_time_accounting);
        kernel.steal_time_accounting = spec.steal_time_accounting.unwrap_or(kernel.steal_time_accounting);
        for (i, name) in spec.rules.iter().enumerate() {
            let refused = kernel.switch_rule(name);
            refused.map_err(|e| self.error(&["kernel", "rules", &i.to_string()], e.to_string()))?;
        }
        for (i, word) in spec.features.iter().enumerate() {
            let refused = kernel.features.write(word);
            refused.map_err(|e| self.error(&["kernel", "features", &i.to_string()], e.to_string()))?;
        }
        self.write_tunables(&mut kernel)?;
        Ok(kernel)
    }

    pub(super) fn write_tunable(
        &self,
        kernel: &mut KernelConfig,
        tunable: Tunable,
        value: u64,
        at: &[&str],
    ) -> Result<(), ScenarioError> {
        if !has_tunable(&kernel.rules, tunable) {
            let message = format!("kernel {} has no {}", kernel.profile, tunable.name());
            return Err(self.error(at, message));
        }
        let written = kernel.tunables.write(&kernel.rules, tunable, value);
        written.map_err(|e| self.error(at, e.to_string()))
    }

    fn write_tunables(&self, kernel: &mut KernelConfig) -> Result<(), ScenarioError> {
        let spec = self.kernel;
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

    pub(super) fn preset(&self) -> Preset {
        self.costs.preset.unwrap_or(DEFAULT_COSTS)
    }

    fn idle(&self, rules: &Rules) -> Result<IdleConfig, ScenarioError> {
        let Some(spec) = &self.machine.idle else { return Ok(IdleConfig::default()) };
        spec.build(rules, self.topology).map_err(|(keys, message): IdleMistake| {
            let keys: Vec<&str> =
                ["machine", "idle"].into_iter().chain(keys.iter().map(String::as_str)).collect();
            self.error(&keys, message)
        })
    }

    /// The machine, for a kernel with these rules.
    pub(super) fn machine(&self, rules: &Rules) -> Result<MachineConfig, ScenarioError> {
        let (spec, machine) = (self.costs, self.machine);
        let mut costs = Costs::preset(self.preset());
        for (name, value) in &spec.costs {
            if *value > Costs::MAX {
                let message = format!("{name} is {value}: at most {} is allowed", Costs::MAX);
                return Err(self.error(&["costs", name], message));
            }
            costs.set(name, *value).map_err(|e| self.error(&["costs", name], e.to_string()))?;
        }
        let interference = self.interference()?;
        let host = machine.host.as_ref().map(|host| self.host(host)).transpose()?;
        let tick_phase = machine.tick_phase;
        let idle = self.idle(rules)?;
        let nic = machine.nic.as_ref().map(|nic| nic.config(self.topology)).transpose();
        let nic = nic.map_err(|(key, message)| self.error(&["machine", "nic", key], message))?;
        let recorded_work = machine.recorded_work;
        let mut config = MachineConfig {
            tick_phase,
            recorded_work,
            interference,
            host,
            nic,
            idle,
            ..MachineConfig::new(costs)
        };
        self.set_pace(&mut config)?;
        Ok(config)
    }

    fn interference(&self) -> Result<Vec<Interference>, ScenarioError> {
        let entries = &self.machine.interference;
        if entries.len() > MAX_INTERFERENCE {
            let message = format!("{} entries: at most {MAX_INTERFERENCE}", entries.len());
            return Err(self.error(&["machine", "interference"], message));
        }
        let mut sources: Vec<Interference> = Vec::new();
        for (i, entry) in entries.iter().enumerate() {
            let at = |key, message| self.error(&["machine", "interference", &i.to_string(), key], message);
            let mut source = interference(self.topology, entry).map_err(|(key, message)| at(key, message))?;
            // Sources draw from streams by name: those of one name are numbered.
            let namesakes = entries[..i].iter().filter(|e| source_name(e) == source.name).count();
            if namesakes > 0 {
                source.name = format!("{}#{namesakes}", source.name);
            }
            sources.push(source);
        }
        Ok(sources)
    }
}

fn source_name(entry: &InterferenceSpec) -> String {
    entry.name.as_ref().map_or_else(|| format!("{:?}", entry.kind).to_lowercase(), |name| name.0.clone())
}

/// A mistake in an entry comes with its key.
type Mistake = (&'static str, String);

fn interference(topology: &Topology, entry: &InterferenceSpec) -> Result<Interference, Mistake> {
    let every = interval(entry)?;
    let time = draw(&entry.time).map_err(|message| ("time", message))?;
    if time.mean() >= every.mean() {
        let message = format!("{} of every {} leaves no time for tasks", time.mean(), every.mean());
        return Err(("time", message));
    }
    Ok(Interference {
        name: source_name(entry),
        cpus: source_cpus(topology, entry)?,
        kind: entry.kind,
        start: Instant(entry.start.0),
        every,
        time,
    })
}

fn source_cpus(topology: &Topology, entry: &InterferenceSpec) -> Result<CpuMask, Mistake> {
    let (key, cpus) = match (entry.cpu, &entry.cpus) {
        (Some(cpu), None) => ("cpu", CpuMask::one(CpuId(cpu))),
        (None, Some(cpus)) => ("cpus", cpus.0.clone()),
        (Some(_), Some(_)) => return Err(("cpus", "both 'cpu' and 'cpus': give one of them".to_owned())),
        (None, None) => return Err(("cpu", "neither 'cpu' nor 'cpus' is given".to_owned())),
    };
    let online = topology.online();
    let beyond = cpus.iter().find(|cpu| !online.contains(*cpu));
    match beyond {
        Some(cpu) => Err((key, format!("CPU {} is beyond the machine, which has CPUs {online}", cpu.0))),
        None => Ok(cpus),
    }
}

fn interval(entry: &InterferenceSpec) -> Result<Draw, Mistake> {
    let every = match (&entry.period, entry.rate) {
        (Some(period), None) => draw(period).map_err(|message| ("period", message))?,
        (None, Some(rate)) => Draw::Exponential(Nanos(1_000_000_000 / u64::from(rate))),
        (Some(_), Some(_)) => return Err(("rate", "both 'period' and 'rate': give one of them".to_owned())),
        (None, None) => return Err(("period", "neither 'period' nor 'rate' is given".to_owned())),
    };
    if every.mean() < MIN_INTERVAL && !matches!(every, Draw::Constant(_)) {
        return Err(("period", format!("{} on average: at least {MIN_INTERVAL}", every.mean())));
    }
    Ok(every)
}

/// Random arrivals closer than this would leave a CPU no time to handle them.
const MIN_INTERVAL: Nanos = Nanos::from_micros(1);

/// The distributions that the machine draws from.
pub(super) fn draw(dist: &Dist) -> Result<Draw, String> {
    match (&dist.shape, dist.min, dist.max) {
        (Shape::Constant(d), None, None) => Ok(Draw::Constant(*d)),
        (Shape::Uniform(low, high), None, None) => Ok(Draw::Uniform(*low, *high)),
        (Shape::Exponential(mean), None, None) => Ok(Draw::Exponential(*mean)),
        _ => Err("allowed are a duration, uniform and exponential, without min and max".to_owned()),
    }
}
