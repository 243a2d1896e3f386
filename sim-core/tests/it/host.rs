//! Virtual machines: CPUs that are threads of a host.

use crate::support::{config, run, script, task};
use sim_core::machine::{
    Costs, Demand, Draw, ExitCosts, HaltPoll, HostConfig, MachineConfig, OtherGuest, Preset,
};
use sim_core::observe::{Event, Observer, Spent, Walltime};
use sim_core::program::{Action, Objects, TaskSpec};
use sim_core::{CpuId, CpuMask, Instant, Nanos, SimConfig, Simulation, TaskId};

/// A host without costs, with the guest's CPUs bound to these of its own.
pub(crate) fn host(cpus: u32, vcpus: &[u32]) -> HostConfig {
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

fn spent(sim: &Simulation<Walltime>, on: Spent) -> u64 {
    let cpus = 0..sim.config().kernel.cpus;
    cpus.map(|c| sim.observer.spent(CpuId(c), on).0).sum()
}

const MS: u64 = 1_000_000;

/// Two virtual CPUs share one host CPU: what one executes is stolen from the other. Whether the guest's tasks are charged
/// for it is a matter of the guest's kernel (core.md §10.5).
#[test]
fn two_virtual_cpus_on_one_host_cpu() {
    for accounted in [false, true] {
        let mut c = guest(2, host(1, &[0, 0]));
        c.kernel.steal_time_accounting = accounted;
        let (sim, end) = run_all(c, &[vec![100 * MS], vec![100 * MS]]);
        assert_eq!(end, 200 * MS);
        assert_eq!(spent(&sim, Spent::Task), 200 * MS);
        // Both want the CPU until the first is done, one tick or two before the end.
        let steal = spent(&sim, Spent::Steal);
        assert!(steal > 180 * MS && steal <= 200 * MS, "{steal}");
        assert_eq!(spent(&sim, Spent::Idle) + steal, 200 * MS);
        let charged = |t| sim.kernel().task_entity(TaskId(t)).sum_exec_runtime;
        let charged = charged(0) + charged(1);
        if accounted {
            assert_eq!(charged, 200 * MS);
        } else {
            // From a task's first turn to its end all counts as its own: all but a host's slice and some ticks.
            assert!(charged > 370 * MS && charged <= 400 * MS, "{charged}");
        }
    }
}

/// A virtual CPU alone on its host CPU loses nothing.
#[test]
fn a_host_to_itself_steals_nothing() {
    let (sim, end) = run_all(guest(2, host(2, &[0, 1])), &[vec![30 * MS], vec![50 * MS]]);
    assert_eq!((end, spent(&sim, Spent::Steal)), (50 * MS, 0));
}

/// Without costs, and with a host CPU for each, the guest decides as on metal.
#[test]
fn a_free_host_changes_no_decision() {
    #[derive(Default)]
    struct Switches(Vec<(Instant, Event)>);
    impl Observer for Switches {
        fn event(&mut self, at: Instant, event: &Event) {
            if matches!(event, Event::Switch { .. } | Event::Wakeup { .. } | Event::Migrate { .. }) {
                self.0.push((at, *event));
            }
        }
    }
    let switches = |c: SimConfig| {
        let mut sim = Simulation::new(c, Objects::default(), Switches::default());
        for i in 0..5u64 {
            let steps = (0..40).flat_map(|n| {
                [run(MS + i * 300_000 + n * 7), Action::Sleep(Nanos(500_000 + 100_000 * ((n + i) % 4)))]
            });
            // Timers of one instant come in another order when the first of them wakes a CPU: none start together.
            let spec = task(&format!("T{i}"), 0, script(steps.collect()));
            sim.add_task(TaskSpec { start: Instant(1000 * i), ..spec });
        }
        sim.run().unwrap();
        sim.observer.0
    };
    let metal = switches(config("6.1", 2, 250, 0));
    assert!(metal.len() > 300);
    assert_eq!(switches(guest(2, host(2, &[0, 1]))), metal);
}

/// A task that sleeps 1 ms again and again: when it runs, after its timer.
fn delays(host: HostConfig) -> Vec<u64> {
    #[derive(Default)]
    struct Runs(Vec<Instant>);
    impl Observer for Runs {
        fn event(&mut self, at: Instant, event: &Event) {
            if let Event::Switch { next: Some(_), .. } = event {
                self.0.push(at);
            }
        }
    }
    let mut sim = Simulation::new(guest(1, host), Objects::default(), Runs::default());
    sim.add_task(task("sleeper", 0, script((0..4).map(|_| Action::Sleep(Nanos(MS))).collect())));
    sim.run().unwrap();
    let runs = &sim.observer.0;
    runs.windows(2).map(|w| (w[1] - w[0]).0 - MS).collect()
}

/// A halted virtual CPU comes back when its host CPU has left its idle state and the thread has entered the guest; while
/// the host polls, at once but for the latter.
#[test]
fn waking_a_halted_virtual_cpu() {
    let mut h = host(1, &[0]);
    h.machine.costs.idle_exit = Nanos(10_000);
    h.exits = ExitCosts::X86;
    assert_eq!(delays(h.clone()), [12_000; 4]);
    // The limit is 0 at first, then longer than the sleep.
    let (max, grow_start) = (Nanos(20 * MS), Nanos(5 * MS));
    h.halt_poll = HaltPoll { max, grow_start, ..HaltPoll::X86 };
    assert_eq!(delays(h), [2_000; 4]);
}

/// Polling does not keep a host CPU from others who want it.
#[test]
fn polling_makes_way() {
    let mut h = host(1, &[0]);
    h.halt_poll = HaltPoll { max: Nanos(20 * MS), grow_start: Nanos(5 * MS), ..HaltPoll::X86 };
    let cpus = CpuMask::one(CpuId(0));
    h.guests.push(OtherGuest { name: "other".to_owned(), vcpus: 1, cpus, demand: Demand::Constant });
    let mut sim = Simulation::new(guest(1, h), Objects::default(), Walltime::new(Nanos::ZERO, 1));
    let steps = (0..20).flat_map(|_| [run(MS), Action::Sleep(Nanos(MS))]);
    sim.add_task(task("T", 0, script(steps.collect())));
    let out = sim.run().unwrap();
    sim.observer.finish(out.at);
    let taken = Nanos(out.at.0) - sim.observer.spent(CpuId(0), Spent::Task);
    assert_eq!(sim.observer.spent(CpuId(0), Spent::Task), Nanos(20 * MS));
    assert!(taken > Nanos(20 * MS), "it sleeps 20 ms and waits for the other");
}

/// Eight guests with four virtual CPUs each on eight host CPUs: all want everything, so each virtual CPU gets a quarter.
#[test]
fn eight_guests_of_four_cpus() {
    let mut h = host(8, &[0; 4]);
    h.vcpus = vec![CpuMask::first(8); 4];
    for i in 0..7 {
        let (name, cpus) = (format!("guest{i}"), CpuMask::first(8));
        h.guests.push(OtherGuest { name, vcpus: 4, cpus, demand: Demand::Constant });
    }
    let mut c = guest(4, h);
    c.duration = Some(Nanos(4_000 * MS));
    let (sim, end) = run_all(c, &[vec![8_000 * MS], vec![8_000 * MS], vec![8_000 * MS], vec![8_000 * MS]]);
    assert_eq!(end, 4_000 * MS);
    let share = spent(&sim, Spent::Task) as f64 / (4.0 * end as f64);
    assert!((share - 0.25).abs() < 0.02, "{share}");
    assert_eq!(spent(&sim, Spent::Task) + spent(&sim, Spent::Steal) + spent(&sim, Spent::Idle), 4 * end);
}

/// Other guests draw from streams of their own: the same seed gives the same run, another seed another.
#[test]
fn other_guests_follow_the_seed() {
    let steal = |seed| {
        let mut h = host(1, &[0]);
        let (run_for, sleep) = (Draw::Exponential(Nanos(MS)), Draw::Exponential(Nanos(MS)));
        let demand = Demand::OnOff { run: run_for, sleep };
        let cpus = CpuMask::one(CpuId(0));
        h.guests.push(OtherGuest { name: "other".to_owned(), vcpus: 1, cpus, demand });
        let mut sim = Simulation::new(guest(1, h), Objects::default(), Walltime::new(Nanos::ZERO, 1));
        sim.seed(seed);
        sim.add_task(task("T", 0, script(vec![run(200 * MS)])));
        let out = sim.run().unwrap();
        sim.observer.finish(out.at);
        sim.observer.spent(CpuId(0), Spent::Steal).0
    };
    assert_eq!(steal(1), steal(1));
    assert_ne!(steal(1), steal(2));
    // It wants half of the time and is entitled to it.
    assert!(steal(1) > 120 * MS && steal(1) < 260 * MS, "{}", steal(1));
}
