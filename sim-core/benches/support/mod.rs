//! Workloads that benchmarks share.

use sim_core::kernel::{KernelConfig, Policy, Profile};
use sim_core::machine::topology::Topology;
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::Observer;
use sim_core::program::{Action, Objects, Program, TaskSpec, Work};
use sim_core::{GroupId, Instant, Limits, Nanos, SimConfig, Simulation};
use std::sync::Arc;

/// Runs and sleeps for exponentially distributed times of 1 ms on average, from a multiplicative congruential generator.
pub(crate) fn interactive(seed: u64) -> Box<dyn Program> {
    let (mut state, mut runs) = (2 * seed + 1, false);
    Box::new(move |_: &_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let time = Nanos((-uniform.ln() * 1e6) as u64 + 1);
        runs = !runs;
        if runs { Action::Run(Work::Capacity(time)) } else { Action::Sleep(time) }
    })
}

/// `tasks` tasks of a kind on 6.1 with the costs of a bare-metal machine.
pub(crate) fn simulation<O: Observer>(
    topology: Topology,
    tasks: usize,
    program: fn(u64) -> Box<dyn Program>,
    for_: Nanos,
    observer: O,
) -> Simulation<O> {
    let profile = Profile::by_name("6.1").expect("6.1 is a profile");
    let config = SimConfig {
        kernel: KernelConfig::on(profile, Arc::new(topology)),
        machine: MachineConfig::new(Costs::preset(Preset::BareMetal)),
        duration: Some(for_),
        limits: Limits::default(),
    };
    let mut sim = Simulation::new(config, Objects::default(), observer);
    for i in 0..tasks {
        sim.add_task(TaskSpec {
            name: format!("T{i}"),
            path: format!("T{i}"),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program: program(i as u64),
        });
    }
    sim
}
