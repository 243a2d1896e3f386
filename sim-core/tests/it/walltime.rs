//! Every nanosecond of every CPU is in exactly one place: work, overhead, steal or idleness add up to wall time.

use crate::host::host;
use crate::support::{config, run, script, task};
use proptest::collection::vec;
use proptest::prelude::*;
use sim_core::kernel::{KernelConfig, PROFILES, Profile};
use sim_core::machine::frequency::{Arch, Governor};
use sim_core::machine::idle::{IdleConfig, TABLES};
use sim_core::machine::topology::Shape;
use sim_core::machine::{
    CacheConfig, Costs, Demand, Draw, ExitCosts, FrequencyConfig, HaltPoll, Interference, OtherGuest, Preset,
    SmtConfig, SourceKind, WorkClass, WorkKind,
};
use sim_core::observe::{Event, Observer, Spent, Walltime};
use sim_core::program::{Action, Objects};
use sim_core::{CpuId, CpuMask, Instant, Nanos, SimConfig, Simulation};
use std::sync::Arc;

/// What is charged to tasks, and what is announced as taken.
#[derive(Default)]
struct Charges {
    charged: u64,
    taken: u64,
}

impl Observer for Charges {
    fn event(&mut self, _at: Instant, event: &Event) {
        match *event {
            Event::StatRuntime { runtime, .. } | Event::StopRuntime { runtime, .. } => {
                self.charged += runtime.0;
            }
            Event::NonTask { time, .. } => self.taken += time.0,
            _ => (),
        }
    }
}

type Run = Simulation<(Walltime, Charges)>;

fn simulate(c: SimConfig, programs: &[Vec<(u64, u64)>]) -> (Run, u64) {
    let observer = (Walltime::new(Nanos::ZERO, c.kernel.cpus), Charges::default());
    let mut sim = Simulation::new(c, Objects::default(), observer);
    sim.seed(7);
    for (i, steps) in programs.iter().enumerate() {
        let steps = steps.iter().flat_map(|(work, sleep)| [run(*work), Action::Sleep(Nanos(*sleep))]);
        let task = sim.add_task(task(&format!("T{i}"), 0, script(steps.collect())));
        sim.set_work_kind(task, WorkKind { class: WorkClass::Memory, working_set: 300_000 });
    }
    let out = sim.run().unwrap();
    sim.observer.0.finish(out.at);
    (sim, out.at.0)
}

fn spent(sim: &Run, on: Spent) -> u64 {
    (0..sim.config().kernel.cpus).map(|c| sim.observer.0.spent(CpuId(c), on).0).sum()
}

fn source(kind: SourceKind, cpus: u32, random: bool) -> Interference {
    let draw = |ns| if random { Draw::Exponential(Nanos(ns)) } else { Draw::Constant(Nanos(ns)) };
    Interference {
        name: format!("{kind:?}"),
        cpus: CpuMask::first(cpus),
        kind,
        start: Instant(100_000),
        every: draw(2_000_000),
        time: draw(20_000),
    }
}

const KINDS: [SourceKind; 4] =
    [SourceKind::Interrupt, SourceKind::Softirq, SourceKind::Steal, SourceKind::Kthread];

prop_compose! {
    /// Any machine: metal or virtual, with any costs and interference.
    fn machine()(
        profile in 0..PROFILES.len(),
        cpus in 1u32..5,
        preset in 0..Preset::ALL.len(),
        kinds in vec((0..KINDS.len(), any::<bool>()), 0..4),
        accounted in any::<bool>(),
        host_cpus in 0u32..4,
        polls in any::<bool>(),
        nohz in any::<bool>(),
    ) -> SimConfig {
        let mut c = config(PROFILES[profile].name, cpus, 1000, 0);
        c.machine.costs = Costs::preset(Preset::ALL[preset]);
        (c.kernel.irq_time_accounting, c.kernel.steal_time_accounting) = (accounted, accounted);
        c.kernel.nohz = nohz;
        c.limits.events = 2_000_000;
        let mut seen = [false; KINDS.len()];
        for (kind, random) in kinds {
            if !std::mem::replace(&mut seen[kind], true) {
                c.machine.interference.push(source(KINDS[kind], cpus, random));
            }
        }
        if host_cpus > 0 {
            let mut h = host(host_cpus, &[]);
            h.vcpus = vec![CpuMask::first(host_cpus); cpus as usize];
            h.machine.costs = Costs::preset(Preset::ALL[preset]);
            (h.exits, h.halt_poll) = (ExitCosts::X86, if polls { HaltPoll::X86 } else { HaltPoll::OFF });
            let half = Draw::Exponential(Nanos(700_000));
            let (name, cpus) = ("other".to_owned(), CpuMask::first(host_cpus));
            h.guests.push(OtherGuest { name, vcpus: 2, cpus, demand: Demand::OnOff { run: half, sleep: half } });
            c.machine.host = Some(h);
        }
        c
    }
}

prop_compose! {
    /// Any machine as above, with any idle states, clocks, caches and threads that share cores.
    fn whole_machine()(
        c in machine(),
        table in proptest::option::of(0..TABLES.len()),
        governor in proptest::option::of(0..4usize),
        latency in prop_oneof![Just(0), 1u64..2_000_000],
        caches in any::<bool>(),
        threads in any::<bool>(),
    ) -> SimConfig {
        let mut c = c;
        let machine = &mut c.machine;
        if let Some(table) = table {
            machine.idle = IdleConfig::of(&TABLES[table]);
        }
        if let Some(governor) = governor {
            let rate_limit = Nanos(1_000_000);
            let governor = [
                Governor::Performance,
                Governor::Fixed { khz: 1_700_000 },
                Governor::Schedutil { rate_limit },
                Governor::Powersave { start_khz: 1_300_000, ramp: Nanos(500_000) },
            ][governor];
            machine.frequency = FrequencyConfig {
                governor: Some(governor),
                min_khz: 1_000_000,
                base_khz: 2_000_000,
                turbo_khz: vec![4_000_000, 3_000_000],
                step_khz: 100_000,
                latency: Nanos(latency),
                deep_after: Some(Nanos(1_000_000)),
                arch: Arch::X86,
            };
        }
        if caches {
            machine.cache = CacheConfig::I7_8700;
        }
        if threads && c.kernel.cpus % 2 == 0 {
            let topology = Arc::new(Shape::new(1, 1, c.kernel.cpus / 2, 2).topology().unwrap());
            let (accounted, nohz) = (c.kernel.irq_time_accounting, c.kernel.nohz);
            c.kernel = KernelConfig::on(Profile::by_name(c.kernel.profile).unwrap(), topology);
            (c.kernel.irq_time_accounting, c.kernel.steal_time_accounting) = (accounted, accounted);
            c.kernel.nohz = nohz;
            c.machine.smt = SmtConfig::TYPICAL;
        }
        c
    }
}

fn programs() -> impl Strategy<Value = Vec<Vec<(u64, u64)>>> {
    vec(vec((0u64..4_000_000, 1u64..3_000_000), 1..12), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The parts add up to wall time on every CPU, whatever the machine.
    #[test]
    fn parts_add_up_to_wall_time(c in whole_machine(), programs in programs()) {
        let cpus = c.kernel.cpus;
        let (sim, end) = simulate(c, &programs);
        for cpu in (0..cpus).map(CpuId) {
            prop_assert_eq!(sim.observer.0.total(cpu), Nanos(end));
        }
    }

    /// Time counted as tasks' is the work they asked for, to the nanosecond: nothing else hides in it, and nothing of it
    /// elsewhere. What interference took is what was announced, but for what the end cut off.
    #[test]
    fn task_time_is_the_work_asked_for(c in machine(), programs in programs()) {
        let mut c = c;
        let costs = Costs::preset(Preset::Zero);
        c.machine.costs = costs;
        c.machine.interference.retain(|x| x.kind != SourceKind::Kthread);
        let (sim, _) = simulate(c, &programs);
        let work: u64 = programs.iter().flatten().map(|(work, _)| work).sum();
        prop_assert_eq!(spent(&sim, Spent::Task), work);
        if sim.config().machine.host.is_none() {
            let taken = [Spent::Interrupt, Spent::Softirq, Spent::Steal].map(|on| spent(&sim, on));
            let (taken, announced) = (taken.iter().sum::<u64>(), sim.observer.1.taken);
            prop_assert!(taken <= announced);
            let sources = sim.config().machine.interference.len() as u64 * u64::from(sim.config().kernel.cpus);
            prop_assert!(announced - taken <= sources * 20 * 20_000, "{announced} {taken}");
        }
    }

    /// A kernel that accounts for interrupts and steal charges tasks for work, switches and the way to `__schedule`, on CPUs
    /// that are never idle: another clock, kept by the kernel model, agrees with the accounts.
    #[test]
    fn charges_are_work_and_switches(
        profile in 0..PROFILES.len(),
        preset in 0..Preset::ALL.len(),
        works in vec(1_000_000u64..30_000_000, 1..5),
        interrupts in any::<bool>(),
    ) {
        let mut c = config(PROFILES[profile].name, 1, 1000, 0);
        c.machine.costs = Costs::preset(Preset::ALL[preset]);
        (c.kernel.irq_time_accounting, c.kernel.steal_time_accounting) = (true, true);
        if interrupts {
            c.machine.interference = vec![source(SourceKind::Interrupt, 1, true), source(SourceKind::Steal, 1, false)];
        }
        let observer = (Walltime::new(Nanos::ZERO, 1), Charges::default());
        let mut sim = Simulation::new(c, Objects::default(), observer);
        for (i, work) in works.iter().enumerate() {
            sim.add_task(task(&format!("T{i}"), 0, script(vec![run(*work)])));
        }
        let out = sim.run().unwrap();
        sim.observer.0.finish(out.at);
        let parts = [Spent::Task, Spent::Switch, Spent::Delay, Spent::Balance].map(|on| spent(&sim, on));
        let idle = [Spent::Idle, Spent::IdleExit].map(|on| spent(&sim, on)).iter().sum::<u64>();
        // The way to the first task is the idle task's; nobody else is idle.
        prop_assert!(idle <= 50_000, "{idle}");
        let charged = sim.observer.1.charged;
        prop_assert_eq!(charged, parts.iter().sum::<u64>());
    }
}
