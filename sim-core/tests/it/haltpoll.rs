//! Two threads on two CPUs pass a byte to and fro: on metal, in a guest that halts, in one that polls. Ratios of published
//! round trips are predicted from the default costs alone.

use crate::support::{config, task};
use sim_core::kernel::{KernelConfig, Profile};
use sim_core::machine::idle::{IdleConfig, StateTable};
use sim_core::machine::{Costs, ExitCosts, HaltPoll, HostConfig, MachineConfig, Preset};
use sim_core::program::{Action, Objects, TaskSpec};
use sim_core::{CpuId, CpuMask, Nanos, SimConfig, Simulation, TaskId};

/// Round trips of the benchmark.
const TRIPS: u64 = 20_000;

fn machine(preset: Preset, table: &str) -> SimConfig {
    let mut c = config("6.5", 2, 250, 0);
    c.kernel = KernelConfig::new(Profile::by_name("6.5").unwrap(), 2);
    c.machine = MachineConfig::new(Costs::preset(preset));
    c.machine.idle = IdleConfig::of(StateTable::by_name(table).unwrap());
    c
}

/// A guest on a host of its own, each virtual CPU bound to a host CPU that takes 10 us to leave its idle state.
fn guest(table: &str, halt_poll: HaltPoll) -> SimConfig {
    let mut host_machine = MachineConfig::new(Costs::preset(Preset::BareMetal));
    host_machine.costs.idle_exit = Nanos(10_000);
    let mut c = machine(Preset::Guest, table);
    c.machine.host = Some(HostConfig {
        kernel: c.kernel.clone(),
        machine: Box::new(host_machine),
        vcpus: vec![CpuMask::one(CpuId(0)), CpuMask::one(CpuId(1))],
        halt_poll,
        exits: ExitCosts::X86,
        guests: Vec::new(),
    });
    c
}

/// The mean round trip, us.
fn round_trip(c: SimConfig) -> f64 {
    let mut objects = Objects::default();
    let (to, fro) = (objects.add_pipe("to", 65_536, 0), objects.add_pipe("fro", 65_536, 0));
    let mut sim = Simulation::new(c, objects, ());
    for (name, cpu, write_to, read_from) in [("ping", 0, to, fro), ("pong", 1, fro, to)] {
        let mut step = 0;
        let program = move |_: &_| {
            step += 1;
            match (step > 2 * TRIPS, (step % 2 == 1) == (cpu == 0)) {
                (true, _) => Action::Exit,
                (_, true) => Action::PipeWrite { pipe: write_to, bytes: 1 },
                (_, false) => Action::PipeRead { pipe: read_from, bytes: 1 },
            }
        };
        let spec = task(name, 0, Box::new(program));
        sim.add_task(TaskSpec { affinity: Some(CpuMask::one(CpuId(cpu))), ..spec });
    }
    sim.run().unwrap();
    let end = sim.tasks()[TaskId(0).index()].end.unwrap();
    end.0 as f64 / TRIPS as f64 / 1e3
}

#[track_caller]
fn within_20_percent(what: &str, predicted: f64, published: f64) {
    let off = predicted / published - 1.0;
    println!("{what}: predicted {predicted:.3}, published {published:.3}, off {:+.1} %", 100.0 * off);
    assert!(off.abs() <= 0.2, "{what}: predicted {predicted:.3}, published {published:.3}");
}

/// "[PATCH v5 0/9] Enable haltpoll for arm64" (Oracle, 30 April 2024): perf bench sched pipe in a guest with virtual CPUs
/// bound, 13.48 us without and 6.84 us with guest halt polling.
#[test]
fn guest_halt_polling_of_the_arm64_series() {
    let halts = round_trip(guest("halt", HaltPoll::X86));
    let polls = round_trip(guest("haltpoll", HaltPoll::X86));
    println!("us a round trip: {halts:.2} halting, {polls:.2} polling");
    within_20_percent("polling / halting", polls / halts, 6.84 / 13.48);
}

/// Without polling anywhere every turn takes the host's wake-up too.
#[test]
fn the_host_polls_for_less() {
    let off = round_trip(guest("halt", HaltPoll::OFF));
    let host = round_trip(guest("halt", HaltPoll::X86));
    let metal = round_trip(machine(Preset::BareMetal, "halt"));
    println!("us a round trip: {off:.2} without polling, {host:.2} with the host's, {metal:.2} on metal");
    // Two wake-ups of a host CPU, 10 us each and more.
    assert!(off - host > 20.0, "{off} {host}");
    assert!(host > metal, "{host} {metal}");
}
