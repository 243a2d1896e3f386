//! Small programs, configurations and observers for tests.

use sim_core::kernel::features::Feature;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{KernelConfig, PROFILES, Policy, Profile};
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::{Decision, Event, Observer};
use sim_core::program::{Action, Objects, Program, TaskSpec, Work};
use sim_core::{CpuId, GroupId, Instant, Limits, Nanos, SimConfig, Simulation, TaskId};
use std::collections::BTreeMap;

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
    /// Turns of tasks on CPU 0 that ended with a switch to another task: who, and how long, ns.
    pub(crate) fn turns(&self) -> Vec<(u32, u64)> {
        let on_cpu_0 = |(at, e): &(Instant, Event)| match e {
            Event::Switch { cpu: CpuId(0), prev, next, .. } => Some((at.0, *prev, *next)),
            _ => None,
        };
        let all: Vec<_> = self.events.iter().filter_map(on_cpu_0).collect();
        let complete = |w: &[(u64, Option<TaskId>, Option<TaskId>)]| {
            w[1].1.filter(|_| w[1].2.is_some()).map(|t| (t.0, w[1].0 - w[0].0))
        };
        all.windows(2).filter_map(complete).collect()
    }
    /// Turns of one task, rounded to ms, as lengths with how often each came.
    pub(crate) fn turn_histogram(&self, task: u32) -> BTreeMap<u64, usize> {
        let mut h = BTreeMap::new();
        for (_, ns) in self.turns().into_iter().filter(|(t, _)| *t == task) {
            *h.entry((ns + 500_000) / 1_000_000).or_insert(0) += 1;
        }
        h
    }
    /// A task's share of the CPU time charged to the first `n` tasks.
    pub(crate) fn share(&self, task: u32, n: u32) -> f64 {
        let all: u64 = (0..n).map(|t| self.cpu_time(TaskId(t))).sum();
        self.cpu_time(TaskId(task)) as f64 / all as f64
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

/// Whether a profile's slices have the floor of the minimum granularity.
pub(crate) fn has_base_slice(profile: &str) -> bool {
    Profile::by_name(profile).unwrap().rules().features.enabled(Feature::BaseSlice)
}

/// Names of all profiles.
pub(crate) fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.iter().map(|p| p.name)
}

/// Runs for ever.
pub(crate) fn hog() -> Box<dyn Program> {
    Box::new(|_: &_| Action::Run(Work::Capacity(Nanos::from_secs(1000))))
}

/// Runs for `run_ns`, sleeps for `sleep_ns`, for ever.
pub(crate) fn run_sleep(run_ns: u64, sleep_ns: u64) -> Box<dyn Program> {
    let mut runs = false;
    Box::new(move |_: &_| {
        runs = !runs;
        if runs { run(run_ns) } else { Action::Sleep(Nanos(sleep_ns)) }
    })
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
