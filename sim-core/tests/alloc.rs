//! Once its tables and its event queue have grown, a simulation allocates no memory.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use sim_core::kernel::domains::build;
use sim_core::kernel::{KernelConfig, Policy, Profile};
use sim_core::machine::idle::{GovernorKind, IdleConfig, StateTable};
use sim_core::machine::topology::Shape;
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::program::{Action, Objects, Program, TaskSpec, Work};
use sim_core::{GroupId, Instant, Limits, Nanos, SimConfig, Simulation};

/// Allocations, and events handled, in a run of this length that is ready to start.
fn allocations(cpus: u32, programs: Vec<Box<dyn Program>>, objects: Objects, for_: Nanos) -> (u64, u64) {
    allocations_on(MachineConfig::new(Costs::preset(Preset::BareMetal)), cpus, programs, objects, for_)
}

fn allocations_on(
    machine: MachineConfig,
    cpus: u32,
    programs: Vec<Box<dyn Program>>,
    objects: Objects,
    for_: Nanos,
) -> (u64, u64) {
    let config = SimConfig {
        kernel: KernelConfig::new(Profile::by_name("6.1").unwrap(), cpus),
        machine,
        duration: Some(for_),
        limits: Limits::default(),
    };
    let mut sim = Simulation::new(config, objects, ());
    for (i, program) in programs.into_iter().enumerate() {
        sim.add_task(TaskSpec {
            name: String::new(),
            path: format!("{i}"),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program,
        });
    }
    let mut events = 0;
    let count = allocation_counter::measure(|| events = sim.run().unwrap().events);
    (count.count_total, events)
}

/// A run ten times as long allocates as often: everything is allocated in its first part.
fn check(what: &str, short: Nanos, run: impl Fn(Nanos) -> (u64, u64)) {
    let ((short, few), (long, many)) = (run(short), run(Nanos(short.0 * 10)));
    assert!(many > 5 * few && few > 500, "{what}: {few} and {many} events");
    assert_eq!(short, long, "{what}: allocations in {few} and in {many} events");
}

fn cycle(actions: Vec<fn() -> Action>) -> Box<dyn Program> {
    let mut i = 0;
    Box::new(move |_: &_| {
        i += 1;
        actions[(i - 1) % actions.len()]()
    })
}

fn run_for(us: u64) -> Action {
    Action::Run(Work::Capacity(Nanos(us * 1000)))
}

#[test]
fn hogs_whose_bursts_never_end() {
    for (cpus, hogs) in [(1, 3), (2, 5)] {
        check(&format!("{hogs} hogs on {cpus} CPUs"), Nanos::from_secs(2), |d| {
            let programs = (0..hogs).map(|_| cycle(vec![|| run_for(1_000_000_000)])).collect();
            allocations(cpus, programs, Objects::default(), d)
        });
    }
}

#[test]
fn sleepers() {
    for (cpus, tasks) in [(1, 6), (3, 10)] {
        check(&format!("{tasks} sleepers on {cpus} CPUs"), Nanos::from_millis(200), |d| {
            let sleeper = |i| match i % 3 {
                0 => cycle(vec![|| run_for(700), || Action::Sleep(Nanos(1_300_000))]),
                1 => cycle(vec![|| run_for(1_900), || Action::Sleep(Nanos(400_000)), || Action::Yield]),
                _ => cycle(vec![|| run_for(90), || Action::Sleep(Nanos(30_000))]),
            };
            allocations(cpus, (0..tasks).map(sleeper).collect(), Objects::default(), d)
        });
    }
}

#[test]
fn sleepers_on_cpus_with_idle_states() {
    for governor in [GovernorKind::Menu, GovernorKind::Teo] {
        check(&format!("{}, 6 sleepers on 3 CPUs", governor.name()), Nanos::from_millis(200), |d| {
            let mut machine = MachineConfig::new(Costs::preset(Preset::BareMetal));
            machine.idle = IdleConfig { governor, ..IdleConfig::of(StateTable::by_name("skl").unwrap()) };
            let sleeper = |_| cycle(vec![|| run_for(70), || Action::Sleep(Nanos(130_000))]);
            allocations_on(machine, 3, (0..6).map(sleeper).collect(), Objects::default(), d)
        });
    }
}

#[test]
fn pipes_and_semaphores() {
    use sim_core::{PipeId, SemId};
    for cpus in [1, 2] {
        check(&format!("pairs on {cpus} CPUs"), Nanos::from_millis(100), |d| {
            let mut objects = Objects::default();
            (0..2).for_each(|_| _ = objects.add_pipe("p", Objects::PIPE_CAPACITY, 0));
            objects.add_semaphore("s", 0);
            let ping = || Action::PipeWrite { pipe: PipeId(0), bytes: 1 };
            let pong = || Action::PipeWrite { pipe: PipeId(1), bytes: 1 };
            let programs = vec![
                cycle(vec![|| run_for(20), ping, || Action::PipeRead { pipe: PipeId(1), bytes: 1 }]),
                cycle(vec![|| Action::PipeRead { pipe: PipeId(0), bytes: 1 }, || run_for(10), pong]),
                cycle(vec![|| run_for(50), || Action::SemPost { sem: SemId(0), n: 1 }, || {
                    Action::Sleep(Nanos(100_000))
                }]),
                cycle(vec![|| Action::SemWait(SemId(0)), || run_for(5)]),
            ];
            allocations(cpus, programs, objects, d)
        });
    }
}

/// The domains of the largest machines take less than 100 MB, building included: CPUs share what is the same for them.
#[test]
fn domains_of_the_largest_machines() {
    let rules = Profile::by_name("6.5").unwrap().rules();
    let machines = [
        Shape::new(1, 1, 4096, 1),
        Shape::new(1, 1, 2048, 2),
        Shape::new(1, 2048, 1, 2),
        Shape::new(8, 32, 8, 2),
        Shape { nodes: 16, ..Shape::new(8, 64, 4, 2) },
    ];
    for shape in machines {
        let topology = shape.topology().unwrap();
        let used = allocation_counter::measure(|| drop(build(&topology, &rules, &[]).unwrap()));
        assert!(used.bytes_max < 100_000_000, "{shape}: {} MB", used.bytes_max / 1_000_000);
        println!("{shape}: {} kB", used.bytes_max / 1000);
    }
}
