//! Small programs, configurations and observers for tests.

use sim_core::kernel::features::Features;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{KernelConfig, Policy, Profile};
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::{Decision, Event, Observer};
use sim_core::program::{Action, Objects, Program, TaskSpec, Work};
use sim_core::{CpuId, GroupId, Instant, Limits, Nanos, SimConfig, Simulation, TaskId};

/// Keeps everything.
#[derive(Default, Debug)]
pub(crate) struct Log {
    pub(crate) events: Vec<(Instant, Event)>,
    pub(crate) decisions: Vec<(Instant, Decision)>,
}

impl Observer for Log {
    const DECISIONS: bool = true;
    fn event(&mut self, at: Instant, event: &Event) {
        self.events.push((at, *event));
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        self.decisions.push((at, *decision));
    }
}

impl Log {
    /// Switches between tasks (not from or to idle) of CPU 0: time in ns, who comes.
    pub(crate) fn switches(&self) -> Vec<(u64, u32)> {
        let task_switch = |(at, e): &(Instant, Event)| match e {
            Event::Switch { cpu: CpuId(0), prev: Some(_), next: Some(n), .. } => Some((at.0, n.0)),
            _ => None,
        };
        self.events.iter().filter_map(task_switch).collect()
    }
    /// CPU time charged to a task.
    pub(crate) fn cpu_time(&self, task: TaskId) -> u64 {
        let charge = |(_, e): &(Instant, Event)| match e {
            Event::StatRuntime { task: t, runtime, .. } if *t == task => runtime.0,
            _ => 0,
        };
        self.events.iter().map(charge).sum()
    }
}

/// A kernel with the tunables of an 8-CPU machine on `cpus` CPUs, and no costs except the tick-to-switch delay.
pub(crate) fn config(profile: &str, cpus: u32, hz: u32, delta_ns: u64) -> SimConfig {
    let mut kernel = KernelConfig::new(Profile::by_name(profile).unwrap(), cpus);
    kernel.tunables = Tunables::boot(8);
    kernel.hz = hz;
    let mut costs = Costs::preset(Preset::Zero);
    costs.tick_to_switch = Nanos(delta_ns);
    SimConfig { kernel, machine: MachineConfig::new(costs), duration: None, limits: Limits::default() }
}

pub(crate) fn set(config: &mut SimConfig, tunable: Tunable, ns: u64) {
    let rules = config.kernel.rules.clone();
    config.kernel.tunables.write(&rules, tunable, ns).unwrap();
}

pub(crate) fn feature(features: &mut Features, word: &str) {
    features.write(word).unwrap();
}

/// Runs for ever.
pub(crate) fn hog() -> Box<dyn Program> {
    Box::new(|_: &_| Action::Run(Work::Capacity(Nanos::from_secs(1000))))
}

/// Plays a list of actions, then exits.
pub(crate) fn script(actions: Vec<Action>) -> Box<dyn Program> {
    let mut actions = actions.into_iter();
    Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit))
}

pub(crate) fn run(ns: u64) -> Action {
    Action::Run(Work::Capacity(Nanos(ns)))
}

pub(crate) fn task(name: &str, nice: i8, program: Box<dyn Program>) -> TaskSpec {
    TaskSpec {
        name: name.to_owned(),
        path: name.to_owned(),
        start: Instant::ZERO,
        nice,
        policy: Policy::Normal,
        affinity: None,
        group: GroupId::ROOT,
        program,
    }
}

/// Runs hogs of these nice levels on one CPU and gives the log.
pub(crate) fn run_hogs(mut config: SimConfig, nices: &[i8], for_: Nanos) -> Log {
    config.duration = Some(for_);
    let mut sim = Simulation::new(config, Objects::default(), Log::default());
    for (i, nice) in nices.iter().enumerate() {
        sim.add_task(task(&format!("T{i}"), *nice, hog()));
    }
    sim.run().unwrap();
    sim.observer
}
