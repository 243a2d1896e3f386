//! Random mixes of tasks whose programs end on every schedule: no deadlock is possible by construction.

use crate::support::{run, script, task};
use proptest::collection::vec;
use proptest::prelude::*;
use sim_core::kernel::hooks::{Hooks, NoHooks};
use sim_core::kernel::{KernelConfig, PROFILES, Policy, PreemptModel};
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::Observer;
use sim_core::program::{Action, ChildSpec, Objects, TaskSpec};
use sim_core::{CpuId, CpuMask, Instant, Limits, Nanos, SimConfig, Simulation};
use std::collections::BTreeMap;

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

struct Builder {
    objects: Objects,
    tasks: Vec<TaskSpec>,
    asked: BTreeMap<String, u64>,
    pieces: u64,
}

/// The CPUs of the machine among these four bits; its first CPU if none is.
fn mask(bits: u8, cpus: u32) -> CpuMask {
    let mut m = CpuMask::default();
    (0..cpus).filter(|c| bits & (1 << c) != 0).for_each(|c| m.insert(CpuId(c)));
    if m.is_empty() { CpuMask::one(CpuId(0)) } else { m }
}

impl Builder {
    /// The same work in pieces.
    fn work(&self, us: u64) -> Vec<Action> {
        let (ns, n) = (us * 1000 + 7, self.pieces);
        (0..n).map(|i| run(ns / n + if i == 0 { ns % n } else { 0 })).collect()
    }

    fn note(&mut self, path: &str, actions: &[Action]) {
        let ns = |a: &Action| if let Action::Run(sim_core::program::Work::Capacity(d)) = a { d.0 } else { 0 };
        self.asked.insert(path.to_owned(), actions.iter().map(ns).sum());
    }

    fn add(&mut self, path: String, plan: &Plan, cpus: u32, actions: Vec<Action>) {
        self.note(&path, &actions);
        let mut t = task(&path, plan.nice, script(actions));
        t.policy = plan.policy;
        t.affinity = Some(mask(plan.cpus, cpus));
        t.start = Instant(plan.start * 1000);
        self.tasks.push(t);
    }

    fn plan(&mut self, i: usize, plan: &Plan, cpus: u32) {
        let name = format!("p{i}");
        let each = |b: &Builder, steps: Vec<(u64, Option<Action>)>| -> Vec<Action> {
            steps.into_iter().flat_map(|(us, then)| b.work(us).into_iter().chain(then)).collect()
        };
        match &plan.life {
            Life::Runs(us) => {
                let a = each(self, us.iter().map(|us| (*us, None)).collect());
                self.add(name, plan, cpus, a);
            }
            Life::RunSleep(steps) => {
                let sleep = |(run, us): &(u64, u64)| (*run, Some(Action::Sleep(Nanos(us * 1000))));
                let a = each(self, steps.iter().map(sleep).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Yields { run, n } => {
                let a = each(self, (0..*n).map(|_| (*run, Some(Action::Yield))).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Renices(steps) => {
                let a = each(self, steps.iter().map(|(us, n)| (*us, Some(Action::SetNice(*n)))).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Roams(steps) => {
                let to = |(us, bits): &(u64, u8)| (*us, Some(Action::SetAffinity(mask(*bits, cpus))));
                let a = each(self, steps.iter().map(to).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Forks { children, work } => self.forks(name, plan, cpus, *children, *work),
            Life::PingPong { rounds, bytes, work } => {
                self.ping_pong(&name, plan, cpus, (*rounds, *bytes, *work))
            }
            Life::Producer { n, work } => {
                let sem = self.objects.add_semaphore(&name, 0);
                let posts =
                    each(self, (0..*n).map(|_| (*work, Some(Action::SemPost { sem, n: 1 }))).collect());
                let waits = (0..*n).flat_map(|_| [Action::SemWait(sem)].into_iter().chain(self.work(*work)));
                let waits = waits.collect();
                self.add(format!("{name}/wait"), plan, cpus, waits);
                self.add(format!("{name}/post"), plan, cpus, posts);
            }
            Life::Mutex { tasks, rounds, work } => {
                let m = self.objects.add_mutex(&name);
                for t in 0..*tasks {
                    let round = |b: &Builder| {
                        let inside = [Action::Lock(m)].into_iter().chain(b.work(*work));
                        inside.chain([Action::Unlock(m)]).chain(b.work(*work / 2)).collect::<Vec<_>>()
                    };
                    let a = (0..*rounds).flat_map(|_| round(self)).collect();
                    self.add(format!("{name}/{t}"), plan, cpus, a);
                }
            }
            Life::Barrier { tasks, rounds, work } => {
                let bar = self.objects.add_barrier(&name, *tasks as u32);
                for t in 0..*tasks {
                    let us = work * (t as u64 + 1) / 2;
                    let a = each(self, (0..*rounds).map(|_| (us, Some(Action::Barrier(bar)))).collect());
                    self.add(format!("{name}/{t}"), plan, cpus, a);
                }
            }
        }
    }

    fn forks(&mut self, name: String, plan: &Plan, cpus: u32, children: usize, work: u64) {
        let mut actions = Vec::new();
        for c in 0..children {
            let path = format!("{name}/{c}");
            let does = self.work(work);
            self.note(&path, &does);
            let child = ChildSpec { name: path.clone(), path, program: script(does) };
            actions.push(Action::Fork(Box::new(child)));
            actions.extend(self.work(work / 3));
        }
        actions.push(if children % 2 == 0 { Action::WaitChildren } else { Action::WaitChild });
        self.add(name, plan, cpus, actions);
    }

    fn ping_pong(&mut self, name: &str, plan: &Plan, cpus: u32, (rounds, bytes, work): (usize, u64, u64)) {
        let [there, back] = [(); 2].map(|()| self.objects.add_pipe(name, Objects::PIPE_CAPACITY, 0));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            a.extend(self.work(work));
            a.extend([Action::PipeWrite { pipe: there, bytes }, Action::PipeRead { pipe: back, bytes }]);
            b.push(Action::PipeRead { pipe: there, bytes });
            b.extend(self.work(work / 2));
            b.push(Action::PipeWrite { pipe: back, bytes });
        }
        self.add(format!("{name}/a"), plan, cpus, a);
        self.add(format!("{name}/b"), plan, cpus, b);
    }
}
