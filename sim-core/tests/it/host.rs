//! Virtual machines: CPUs that are threads of a host.

use crate::support::{config, run, script, task};
use sim_core::machine::{Costs, Demand, ExitCosts, HaltPoll, HostConfig, MachineConfig, OtherGuest, Preset};
use sim_core::observe::{Spent, Walltime};
use sim_core::program::Objects;
use sim_core::{CpuId, CpuMask, Instant, Nanos, SimConfig, Simulation, TaskId};

/// A host without costs whose CPUs each carry the guest's CPUs named.
fn host(cpus: u32, vcpus: &[u32]) -> HostConfig {
    HostConfig {
        kernel: config("6.1", cpus, 250, 0).kernel,
        machine: Box::new(MachineConfig::new(Costs::preset(Preset::Zero))),
        vcpus: vcpus.iter().map(|c| CpuMask::one(CpuId(*c))).collect(),
        halt_poll: HaltPoll::OFF,
        exits: ExitCosts::ZERO,
        guests: Vec::new(),
    }
}

fn guest(cpus: u32, host: HostConfig) -> SimConfig {
    let mut c = config("6.1", cpus, 250, 0);
    c.machine.host = Some(host);
    c
}

fn run_all(c: SimConfig, bursts: &[Vec<u64>]) -> (Simulation<Walltime>, u64) {
    let cpus = c.kernel.cpus;
    let mut sim = Simulation::new(c, Objects::default(), Walltime::new(Nanos::ZERO, cpus));
    for (i, b) in bursts.iter().enumerate() {
        sim.add_task(task(&format!("T{i}"), 0, script(b.iter().map(|ns| run(*ns)).collect())));
    }
    let out = sim.run().unwrap();
    sim.observer.finish(out.at);
    (sim, out.at.0)
}

const MS: u64 = 1_000_000;

/// Two virtual CPUs share one host CPU: each executes half the time, the other half is stolen.
#[test]
fn two_virtual_cpus_on_one_host_cpu() {
    let (sim, end) = run_all(guest(2, host(1, &[0, 0])), &[vec![100 * MS], vec![100 * MS]]);
    assert_eq!(end, 200 * MS);
    let steal = |c| sim.observer.spent(CpuId(c), Spent::Steal).0;
    let task = |c| sim.observer.spent(CpuId(c), Spent::Task).0;
    assert_eq!(task(0) + task(1), 200 * MS);
    assert!(steal(0) + steal(1) > 180 * MS, "{} {}", steal(0), steal(1));
    for cpu in [CpuId(0), CpuId(1)] {
        assert_eq!(sim.observer.total(cpu), Nanos(end));
    }
}
