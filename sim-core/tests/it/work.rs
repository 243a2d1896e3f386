//! How long work takes: speed, interrupts, stolen time, and what of it is charged to tasks; shares by weight.

use crate::support::{config, run, script, task};
use proptest::collection::vec;
use proptest::prelude::*;
use sim_core::kernel::weight::LoadWeight;
use sim_core::kernel::{PROFILES, Policy};
use sim_core::machine::{Interference, SourceKind, SpeedChange};
use sim_core::observe::{Event, Observer};
use sim_core::program::Objects;
use sim_core::{CpuId, Instant, Nanos, SimConfig, Simulation, TaskId};

/// Adds up what is charged, by task, and what is taken.
#[derive(Default)]
struct Charges {
    tasks: Vec<u64>,
    taken: u64,
}

impl Observer for Charges {
    fn event(&mut self, _at: Instant, event: &Event) {
        match *event {
            Event::StatRuntime { task, runtime, .. } => self.tasks[task.index()] += runtime.0,
            Event::NonTask { time, .. } => self.taken += time.0,
            Event::Fork { .. } => self.tasks.push(0),
            _ => (),
        }
    }
}

fn charges(config: SimConfig, bursts: &[Vec<u64>]) -> (Simulation<Charges>, u64) {
    let mut sim = Simulation::new(config, Objects::default(), Charges::default());
    for (i, b) in bursts.iter().enumerate() {
        sim.add_task(task(&format!("T{i}"), 0, script(b.iter().map(|ns| run(*ns)).collect())));
    }
    let out = sim.run().unwrap();
    (sim, out.at.0)
}

/// The first instant by which a CPU with these speeds (from, 1024ths) has done `work` ns.
fn done_at(speeds: &[(u64, u32)], work: u64) -> u64 {
    let (mut left, mut at, mut speed) = (u128::from(work) * 1024, 0u64, 1024u32);
    for (from, next) in speeds.iter().copied().chain([(u64::MAX, 0)]) {
        let could = u128::from(from - at) * u128::from(speed);
        if could >= left {
            return at + left.div_ceil(u128::from(speed)) as u64;
        }
        left -= could;
        (at, speed) = (from, next);
    }
    unreachable!("the last speed lasts for ever")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// One burst on a CPU whose speed changes ends when the work is done, and is charged for the time it took.
    #[test]
    fn a_burst_takes_work_over_speed(
        work in 1u64..50_000_000,
        changes in vec((1u64..10_000_000, 1u32..3000), 0..6),
    ) {
        let mut c = config("6.1", 1, 250, 0);
        let mut at = 0;
        let speeds: Vec<(u64, u32)> = changes.iter().map(|(d, s)| { at += d; (at, *s) }).collect();
        let change = |(at, speed): &(u64, u32)| SpeedChange { at: Instant(*at), cpu: CpuId(0), speed: *speed };
        c.machine.speed_changes = speeds.iter().map(change).collect();
        let (sim, end) = charges(c, &[vec![work]]);
        prop_assert_eq!(end, done_at(&speeds, work));
        prop_assert_eq!(sim.observer.tasks[0], end);
    }

    /// Several tasks and interference on one CPU: it is never idle, so the end is the work plus what was taken.
    #[test]
    fn elapsed_is_work_plus_interference(
        profile in 0..PROFILES.len(),
        bursts in vec(vec(1u64..20_000_000, 1..4), 1..5),
        period in 1_000_000u64..9_000_000,
        time in 0u64..900_000,
        start in 0u64..5_000_000,
        steal in any::<bool>(),
        accounted in any::<bool>(),
        delta in prop_oneof![Just(0u64), 0u64..40_000],
    ) {
        let mut c = config(PROFILES[profile].name, 1, 1000, delta);
        let kind = if steal { SourceKind::Steal } else { SourceKind::Interrupt };
        c.kernel.irq_time_accounting = accounted;
        c.kernel.steal_time_accounting = accounted;
        let x = Interference::regular(CpuId(0), kind, Instant(start), Nanos(period), Nanos(time));
        c.machine.interference = vec![x];
        let (sim, end) = charges(c, &bursts);
        let work: u64 = bursts.iter().flatten().sum();
        let (charged, taken) = (sim.observer.tasks.iter().sum::<u64>(), sim.observer.taken);
        // A tick that leads to a switch holds the task up until then: neither work nor interference.
        let held = end - work - taken;
        prop_assert!(held <= delta * (end / 1_000_000 + 1), "{held} ns of {end} went nowhere");
        prop_assert!(delta > 0 || held == 0);
        prop_assert_eq!(charged, end - if accounted { taken } else { 0 });
    }
}

/// The tick at 12 ms falls into an interrupt of 0.8 ms: it waits for the end, and the task it brings loses nothing.
#[test]
fn a_switch_does_not_cut_an_interrupt_short() {
    let mut c = config("6.1", 1, 250, 0);
    let (start, period, time) = (Instant(11_500_000), Nanos::from_millis(900), Nanos(800_000));
    c.machine.interference =
        vec![Interference::regular(CpuId(0), SourceKind::Interrupt, start, period, time)];
    let (sim, end) = charges(c, &[vec![20_000_000], vec![20_000_000]]);
    assert_eq!(end, 40_800_000);
    assert_eq!(sim.observer.tasks, [20_800_000, 20_000_000]);
}

/// Interrupts count against a task only where the kernel does not account for them, stolen time likewise.
#[test]
fn interference_is_charged_unless_accounted_for() {
    for (kind, irq, steal, charged_ms) in [
        (SourceKind::Interrupt, false, false, 120),
        (SourceKind::Interrupt, true, false, 100),
        (SourceKind::Interrupt, false, true, 120),
        (SourceKind::Steal, false, false, 120),
        (SourceKind::Steal, true, false, 120),
        (SourceKind::Steal, false, true, 100),
    ] {
        let mut c = config("5.10-debian", 1, 250, 0);
        (c.kernel.irq_time_accounting, c.kernel.steal_time_accounting) = (irq, steal);
        let (period, time) = (Nanos::from_millis(12), Nanos::from_millis(2));
        let x = Interference::regular(CpuId(0), kind, Instant(5_000_000), period, time);
        c.machine.interference = vec![x];
        let (sim, end) = charges(c, &[vec![100_000_000]]);
        let charged = sim.kernel().task_entity(TaskId(0)).sum_exec_runtime;
        assert_eq!((end, charged), (120_000_000, charged_ms * 1_000_000), "{kind:?} {irq} {steal}");
        let rq = sim.kernel().rq(CpuId(0));
        assert_eq!((rq.clock, rq.clock_task), (120_000_000, charged_ms * 1_000_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Always-runnable tasks get CPU time in proportion to weight, within 1 % of each one's own share. 200 s are over
    /// 100 rounds even of six tasks whose lightest gets one tick of 10 ms in a hundred.
    #[test]
    fn shares_follow_weights(
        profile in 0..PROFILES.len(),
        hz in prop_oneof![Just(100u32), Just(250), Just(300), Just(1000)],
        nices in vec(-4i8..=4, 2..6),
        delta in prop_oneof![Just(0u64), 0u64..40_000],
    ) {
        let mut c = config(PROFILES[profile].name, 1, hz, delta);
        let total = 200_000_000_000u64;
        c.duration = Some(Nanos(total));
        let mut sim = Simulation::new(c, Objects::default(), Charges::default());
        for (i, n) in nices.iter().enumerate() {
            sim.add_task(task(&format!("T{i}"), *n, crate::support::hog()));
        }
        sim.run().unwrap();
        let weight = |n: &i8| LoadWeight::of_task(*n, Policy::Normal).weight as f64;
        let sum: f64 = nices.iter().map(weight).sum();
        for (n, got) in nices.iter().zip(&sim.observer.tasks) {
            let ideal = total as f64 * weight(n) / sum;
            prop_assert!((*got as f64 / ideal - 1.0).abs() < 0.01, "nice {n}: {got} of {ideal}");
        }
    }
}
