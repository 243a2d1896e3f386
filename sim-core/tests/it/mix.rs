//! Random mixes of tasks whose programs end on every schedule: no deadlock is possible by construction.

mod build;

use build::Builder;
use proptest::collection::vec;
use proptest::prelude::*;
use sim_core::kernel::hooks::{Hooks, NoHooks};
use sim_core::kernel::{KernelConfig, PROFILES, Policy, PreemptModel};
use sim_core::machine::topology::Topology;
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::Observer;
use sim_core::program::Objects;
use sim_core::{Limits, Nanos, SimConfig, Simulation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one task, or a few that belong together, do. Times in us.
#[derive(Debug, Clone)]
enum Life {
    Runs(Vec<u64>),
    RunSleep(Vec<(u64, u64)>),
    Yields { run: u64, n: usize },
    Renices(Vec<(u64, i8)>),
    Roams(Vec<(u64, u8)>),
    Forks { children: usize, work: u64 },
    PingPong { rounds: usize, bytes: u64, work: u64 },
    Producer { n: usize, work: u64 },
    Mutex { tasks: usize, rounds: usize, work: u64 },
    Barrier { tasks: usize, rounds: usize, work: u64 },
}

#[derive(Debug, Clone)]
struct Plan {
    life: Life,
    nice: i8,
    policy: Policy,
    cpus: u8,
    start: u64,
}

/// A whole run, except for its observer.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    profile: usize,
    hz: u32,
    pub(crate) cpus: u32,
    preempt: PreemptModel,
    phase_ns: u64,
    /// All costs in turn, ns.
    costs: Option<Vec<u64>>,
    plans: Vec<Plan>,
}

fn life() -> impl Strategy<Value = Life> {
    let us = || 0u64..6_000;
    let n = || 1usize..5;
    prop_oneof![
        vec(us(), 1..5).prop_map(Life::Runs),
        vec((us(), us()), 1..6).prop_map(Life::RunSleep),
        (us(), n()).prop_map(|(run, n)| Life::Yields { run, n }),
        vec((us(), -20i8..20), 1..4).prop_map(Life::Renices),
        vec((us(), 1u8..16), 1..4).prop_map(Life::Roams),
        (n(), us()).prop_map(|(children, work)| Life::Forks { children, work }),
        (n(), 1u64..150_000, us()).prop_map(|(rounds, bytes, work)| Life::PingPong { rounds, bytes, work }),
        (n(), us()).prop_map(|(n, work)| Life::Producer { n, work }),
        (n(), n(), us()).prop_map(|(tasks, rounds, work)| Life::Mutex { tasks, rounds, work }),
        (n(), n(), us()).prop_map(|(tasks, rounds, work)| Life::Barrier { tasks, rounds, work }),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let policy = prop_oneof![4 => Just(Policy::Normal), 1 => Just(Policy::Batch), 1 => Just(Policy::Idle)];
    let nice = prop_oneof![Just(0i8), -20i8..20];
    let start = prop_oneof![Just(0u64), 0u64..8_000];
    (life(), nice, policy, 1u8..16, start).prop_map(|(life, nice, policy, cpus, start)| Plan {
        life,
        nice,
        policy,
        cpus,
        start,
    })
}

/// Any mix, with the costs that `costs` gives.
pub(crate) fn mix(costs: impl Strategy<Value = Option<Vec<u64>>>) -> impl Strategy<Value = Mix> {
    let preempt =
        prop_oneof![Just(PreemptModel::None), Just(PreemptModel::Voluntary), Just(PreemptModel::Full)];
    let hz = prop_oneof![Just(100u32), Just(250), Just(300), Just(1000)];
    (0..PROFILES.len(), hz, 1u32..5, preempt, 0u64..10_000_000, costs, vec(plan(), 1..7)).prop_map(
        |(profile, hz, cpus, preempt, phase_ns, costs, plans)| Mix {
            profile,
            hz,
            cpus,
            preempt,
            phase_ns,
            costs,
            plans,
        },
    )
}

pub(crate) fn random_costs() -> impl Strategy<Value = Option<Vec<u64>>> {
    vec(prop_oneof![Just(0u64), 0u64..5_000], Costs::TABLE.len()).prop_map(Some)
}

impl Mix {
    pub(crate) fn config(&self) -> SimConfig {
        let mut kernel = KernelConfig::new(&PROFILES[self.profile], self.cpus);
        (kernel.hz, kernel.preempt) = (self.hz, self.preempt);
        let mut costs = Costs::preset(Preset::Zero);
        for (row, ns) in Costs::TABLE.iter().zip(self.costs.iter().flatten()) {
            costs.set(row.name, Nanos(*ns)).unwrap();
        }
        let mut machine = MachineConfig::new(costs);
        machine.tick_phase = Nanos(self.phase_ns);
        SimConfig { kernel, machine, duration: None, limits: Limits::default() }
    }

    /// The same tasks on four CPUs.
    pub(crate) fn on_four(self) -> Mix {
        Mix { cpus: 4, ..self }
    }

    /// This kernel on another machine.
    pub(crate) fn kernel_on(&self, topology: Arc<Topology>) -> KernelConfig {
        let KernelConfig { hz, preempt, .. } = self.config().kernel;
        KernelConfig { hz, preempt, ..KernelConfig::on(&PROFILES[self.profile], topology) }
    }

    /// A simulation ready to run, and the CPU time each task asks for by its path. `pieces`: into how many parts each
    /// burst is cut.
    pub(crate) fn build<O: Observer>(
        &self,
        pieces: u64,
        observer: O,
    ) -> (Simulation<O>, BTreeMap<String, u64>) {
        self.build_with(pieces, observer, self.config(), NoHooks)
    }

    pub(crate) fn build_with<O: Observer, H: Hooks>(
        &self,
        pieces: u64,
        observer: O,
        config: SimConfig,
        hooks: H,
    ) -> (Simulation<O, H>, BTreeMap<String, u64>) {
        let mut b =
            Builder { objects: Objects::default(), tasks: Vec::new(), asked: BTreeMap::new(), pieces };
        for (i, plan) in self.plans.iter().enumerate() {
            b.plan(i, plan, self.cpus);
        }
        let mut sim = Simulation::with_hooks(config, b.objects, observer, hooks);
        for t in b.tasks {
            sim.add_task(t);
        }
        (sim, b.asked)
    }
}
