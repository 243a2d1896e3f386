//! How fast work goes: shared cores, clocks and cold caches, each by hand, and what holds of all of them.

use crate::mix::mix;
use crate::support::{config, hog, run, run_sleep, script, task};
use proptest::prelude::*;
use sim_core::kernel::KernelConfig;
use sim_core::machine::cache::RefillReason;
use sim_core::machine::frequency::{Arch, Governor};
use sim_core::machine::topology::Shape;
use sim_core::machine::{
    CacheConfig, FULL_SPEED, FrequencyConfig, Interference, SmtConfig, SourceKind, WorkClass, WorkKind,
};
use sim_core::observe::{Event, Observer, PaceMetrics};
use sim_core::program::{Action, Objects, Program, TaskSpec};
use sim_core::{CpuId, Instant, Nanos, SimConfig, Simulation, TaskId};
use std::sync::Arc;

const MS: u64 = 1_000_000;

/// A machine without costs: sockets, caches, cores, threads.
fn machine(profile: &str, (sockets, llcs, cores, threads): (u32, u32, u32, u32)) -> SimConfig {
    let mut c = config(profile, 1, 250, 0);
    let topology = Arc::new(Shape::new(sockets, llcs, cores, threads).topology().unwrap());
    c.kernel = KernelConfig::on(sim_core::kernel::Profile::by_name(profile).unwrap(), topology);
    c
}

fn half_smt() -> SmtConfig {
    SmtConfig { compute: FULL_SPEED / 2, memory: FULL_SPEED / 4 * 3 }
}

fn turbo(governor: Governor) -> FrequencyConfig {
    FrequencyConfig {
        governor: Some(governor),
        min_khz: 1_000_000,
        base_khz: 2_000_000,
        turbo_khz: vec![4_000_000, 3_000_000],
        step_khz: 100_000,
        latency: Nanos::ZERO,
        deep_after: Some(Nanos(MS)),
        arch: Arch::X86,
    }
}

fn on(cpu: u32, at: u64, program: Box<dyn Program>) -> TaskSpec {
    TaskSpec {
        affinity: Some([CpuId(cpu)].into_iter().collect()),
        start: Instant(at),
        ..task(&format!("cpu{cpu}"), 0, program)
    }
}

/// Runs these tasks and gives when they ended.
fn ends(config: SimConfig, tasks: Vec<(TaskSpec, WorkKind)>) -> Vec<u64> {
    let mut sim = Simulation::new(config, Objects::default(), ());
    for (spec, kind) in tasks {
        let task = sim.add_task(spec);
        sim.set_work_kind(task, kind);
    }
    sim.run().unwrap();
    sim.tasks().iter().filter(|t| !t.kthread).map(|t| t.end.unwrap().0).collect()
}

fn burst(ms: u64) -> Box<dyn Program> {
    script(vec![run(ms * MS)])
}

const COMPUTE: WorkKind = WorkKind { class: WorkClass::Compute, working_set: 0 };
const MEMORY: WorkKind = WorkKind { class: WorkClass::Memory, working_set: 0 };

/// A has 10 ms of work from 0 on, B 3 ms from 2 ms on, at half speed each while both run: A has done 2 ms when B comes. B
/// takes until 8 ms, when A has done 5; its other 5 take until 13 ms.
#[test]
fn a_sibling_that_comes_and_goes_slows_a_burst_down_meanwhile() {
    let mut c = machine("6.1", (1, 1, 1, 2));
    c.machine.smt = half_smt();
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 2 * MS, burst(3)), COMPUTE)];
    assert_eq!(ends(c, tasks), [13 * MS, 8 * MS]);
}

/// The same with a B that waits for memory and keeps three quarters of its speed: it takes 4 ms, in which A does 2.
#[test]
fn each_thread_is_slowed_by_its_own_class() {
    let mut c = machine("6.1", (1, 1, 1, 2));
    c.machine.smt = half_smt();
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 2 * MS, burst(3)), MEMORY)];
    assert_eq!(ends(c, tasks), [12 * MS, 6 * MS]);
}

#[test]
fn threads_of_different_cores_do_not_mind_each_other() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.smt = half_smt();
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 0, burst(10)), COMPUTE)];
    assert_eq!(ends(c, tasks), [10 * MS, 10 * MS]);
}

/// A CPU of half the capacity takes twice as long for the same work.
#[test]
fn a_small_cpu_is_slow() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    let mut desc = Arc::unwrap_or_clone(c.kernel.topology).into_desc();
    desc.cpus[1].capacity = 512;
    c.kernel.topology = Arc::new(sim_core::machine::topology::Topology::new(desc).unwrap());
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 0, burst(10)), COMPUTE)];
    assert_eq!(ends(c, tasks), [10 * MS, 20 * MS]);
}

/// One active core has 4 GHz, two have 3 GHz. B runs from 2 ms to 6 ms (3 ms of work at three quarters), and its core is
/// active until 1 ms later: A does 2 ms in 2 ms, 3.75 in the next 5, and the other 4.25 in 4.25.
#[test]
fn a_core_that_wakes_takes_turbo_from_the_others() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.frequency = turbo(Governor::Performance);
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 2 * MS, burst(3)), COMPUTE)];
    assert_eq!(ends(c, tasks), [11 * MS + MS / 4, 6 * MS]);
}

/// As before, but the package acts 0.4 ms after each change. A wakes with the 3 GHz that an idle package has, so it does 0.3
/// ms until 0.4, then 2 ms until 2.4 (B comes at 2: also at its 3 GHz), 3.75 until 7.4 less 0.0: B ends at 6 and its core is
/// deep from 7 on; the package acts at 7.4. 10 - 0.3 - 2 - 3.75 = 3.95 are left for 4 GHz.
#[test]
fn a_package_acts_after_its_latency() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.frequency = FrequencyConfig { latency: Nanos(400_000), ..turbo(Governor::Performance) };
    let tasks = vec![(on(0, 0, burst(10)), COMPUTE), (on(1, 2 * MS, burst(3)), COMPUTE)];
    assert_eq!(ends(c, tasks), [11_350_000, 6 * MS]);
}

/// Without a model of idle states and without `deep_after` every core is active: two cores, 3 GHz.
#[test]
fn idle_cores_are_active_unless_told_otherwise() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.frequency = FrequencyConfig { deep_after: None, ..turbo(Governor::Performance) };
    assert_eq!(ends(c, vec![(on(0, 0, burst(3)), COMPUTE)]), [4 * MS]);
}

/// 1 GHz, a quarter of full speed, whatever the others do.
#[test]
fn a_fixed_clock_is_fixed() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.frequency = turbo(Governor::Fixed { khz: 1_000_000 });
    let tasks = vec![(on(0, 0, burst(3)), COMPUTE), (on(1, 0, burst(1)), COMPUTE)];
    assert_eq!(ends(c, tasks), [12 * MS, 4 * MS]);
}

/// Half speed for 0.5 ms out of a deep state, then all: 0.25 + 9.75. The second burst comes after 0.4 ms, too soon for a deep
/// state, and is not slowed down; the third comes after 2 ms.
#[test]
fn a_hardware_governor_ramps_up_out_of_a_deep_state() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    let ramp = Nanos(MS / 2);
    c.machine.frequency = turbo(Governor::Powersave { start_khz: 2_000_000, ramp });
    let steps = [run(10 * MS), Action::Sleep(Nanos(400_000)), run(MS), Action::Sleep(Nanos(2 * MS)), run(MS)];
    let at = 10_250_000 + 400_000 + 1_000_000 + 2_000_000 + 1_250_000;
    assert_eq!(ends(c, vec![(on(0, 0, script(steps.into())), COMPUTE)]), [at]);
}

/// Follows the clock of CPU 0.
#[derive(Default)]
struct Clocks(Vec<u32>);

impl Observer for Clocks {
    fn event(&mut self, _at: Instant, event: &Event) {
        if let Event::Progress { pace, .. } = event
            && self.0.last() != Some(&pace.khz)
        {
            self.0.push(pace.khz);
        }
    }
}

/// The clocks that a busy task goes through under schedutil.
fn schedutil_clocks(profile: &str, cpus: u32, arch: Arch, program: Box<dyn Program>) -> Vec<u32> {
    schedutil_clocks_from(1_000_000, profile, cpus, arch, program)
}

fn schedutil_clocks_from(
    min_khz: u32,
    profile: &str,
    cpus: u32,
    arch: Arch,
    program: Box<dyn Program>,
) -> Vec<u32> {
    let mut c = machine(profile, (1, 1, cpus, 1));
    let rate_limit = Nanos(500_000);
    c.machine.frequency = FrequencyConfig {
        min_khz,
        turbo_khz: vec![4_000_000],
        arch,
        ..turbo(Governor::Schedutil { rate_limit })
    };
    c.duration = Some(Nanos(2000 * MS));
    let mut sim = Simulation::new(c, Objects::default(), Clocks::default());
    sim.add_task(on(0, 0, program));
    sim.run().unwrap();
    sim.observer.0
}

/// A busy task's clock only rises, and reaches the highest, in every kernel and on one CPU too.
#[test]
fn schedutil_follows_a_busy_task_up() {
    for profile in ["4.19", "5.4", "5.7", "6.1"] {
        for (cpus, arch) in [(1, Arch::X86), (2, Arch::X86), (2, Arch::Arm)] {
            let khz = schedutil_clocks(profile, cpus, arch, hog());
            assert!(khz.is_sorted() && khz.len() > 1, "{profile} {cpus} {arch:?}: {khz:?}");
            assert_eq!(khz.last(), Some(&4_000_000), "{profile} {cpus} {arch:?}");
        }
    }
}

/// A task that uses a tenth of a CPU does not get the highest clock.
#[test]
fn schedutil_leaves_light_tasks_at_low_clocks() {
    let khz = schedutil_clocks("6.1", 2, Arch::X86, run_sleep(MS / 10, 4 * MS));
    assert!(khz.last().is_some_and(|khz| *khz < 3_000_000), "{khz:?}");
}

/// One that waits for a device does, if the first boost, an eighth, is above the lowest clock: else the end of its turn,
/// which no change forbids to look, halves the boost again.
#[test]
fn schedutil_boosts_tasks_that_wait_for_devices() {
    let khz = |wait: fn(Nanos) -> Action| {
        move |min_khz| {
            let steps = (0..400).flat_map(|_| [run(MS / 200), wait(Nanos(MS))]).collect();
            schedutil_clocks_from(min_khz, "6.1", 2, Arch::X86, script(steps))
        }
    };
    let (sleeps, waits) = (khz(Action::Sleep), khz(Action::Io));
    assert!(sleeps(400_000).iter().all(|khz| *khz < 1_500_000), "{:?}", sleeps(400_000));
    assert!(waits(400_000).contains(&4_000_000), "{:?}", waits(400_000));
    assert_eq!(waits(1_000_000), [1_000_000]);
}

/// 256 KiB from the last-level cache take 10.24 us: so much later is the task done on another core of it, once it was moved.
#[test]
fn a_moved_task_loses_the_time_of_its_refill() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.cache = CacheConfig::I7_8700;
    let kind = WorkKind { working_set: 256 << 10, ..COMPUTE };
    let moves = [run(MS), Action::SetAffinity([CpuId(1)].into_iter().collect()), run(MS)];
    let stays = [run(MS), run(MS)];
    let end = |steps: Vec<Action>, kind| ends(c.clone(), vec![(on(0, 0, script(steps)), kind)])[0];
    let moved = end(moves.into(), kind);
    let moves = [run(MS), Action::SetAffinity([CpuId(1)].into_iter().collect()), run(MS)];
    assert_eq!(moved, end(moves.into(), COMPUTE) + 10_240);
    assert_eq!(end(stays.into(), kind), 2 * MS);
}

/// The cold phase at half speed lasts 20.48 us; an interrupt of 5 us that begins at its last instant is just that much more.
#[test]
fn an_interrupt_at_the_end_of_a_cold_phase_does_not_prolong_it() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.cache = CacheConfig::I7_8700;
    let (start, period) = (Instant(MS + 20_480), Nanos::from_secs(1));
    let kind = SourceKind::Interrupt;
    c.machine.interference = vec![Interference::regular(CpuId(1), kind, start, period, Nanos(5_000))];
    let kind = WorkKind { working_set: 256 << 10, ..COMPUTE };
    let moves = [run(MS), Action::SetAffinity([CpuId(1)].into_iter().collect()), run(MS)];
    assert_eq!(ends(c, vec![(on(0, 0, script(moves.into())), kind)]), [2 * MS + 10_240 + 5_000]);
}

/// Two tasks of 256 KiB that take turns on one core each load theirs again at every turn: what the other loaded displaced it.
#[test]
fn tasks_that_take_turns_refill() {
    let mut c = machine("6.1", (1, 1, 1, 1));
    c.machine.cache = CacheConfig::I7_8700;
    c.duration = Some(Nanos(100 * MS));
    let mut sim =
        Simulation::new(c.clone(), Objects::default(), PaceMetrics::new(Nanos::ZERO, &c.machine, 1));
    for at in [0, 1] {
        let task = sim.add_task(on(0, at, hog()));
        sim.set_work_kind(task, WorkKind { working_set: 256 << 10, ..COMPUTE });
    }
    sim.run().unwrap();
    let refills = sim.observer.refills[RefillReason::Preempted as usize];
    assert!(refills.count > 10, "{refills:?}");
    // All from the last-level cache, but for what the second task displaced there when it was new: 1/48, 5461 bytes, which
    // take 478 ns more from memory, and what that displaced in turn.
    let more = refills.lost.0 - refills.count * 10_240;
    assert!((478..=500).contains(&more), "{more}");
    let lost = sim.observer.total().time.0 - sim.observer.total().work().0;
    assert!(lost.abs_diff(refills.lost.0) <= 10_240 + refills.count, "{lost} of {refills:?}");
}

/// A core that went into a deep state has lost its caches.
#[test]
fn a_deep_idle_state_flushes() {
    let mut c = machine("6.1", (1, 1, 2, 1));
    c.machine.cache = CacheConfig::I7_8700;
    c.machine.frequency = FrequencyConfig { turbo_khz: vec![4_000_000], ..turbo(Governor::Performance) };
    let kind = WorkKind { working_set: 128 << 10, ..COMPUTE };
    for (sleep, lost) in [(MS / 2, 0), (2 * MS, 5_120)] {
        let steps = [run(MS), Action::Sleep(Nanos(sleep)), run(MS)];
        assert_eq!(ends(c.clone(), vec![(on(0, 0, script(steps.into())), kind)]), [2 * MS + sleep + lost]);
    }
}

/// Sums of what is reported, by CPU and by task.
#[derive(Default)]
struct Sums {
    busy: Vec<(Option<Instant>, u64)>,
    time: Vec<u64>,
    work: Vec<u128>,
    fastest: Vec<u64>,
}

impl Observer for Sums {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Fork { .. } => {
                self.work.push(0);
                self.fastest.push(0);
            }
            Event::Switch { cpu, next, .. } => {
                let (since, sum) = &mut self.busy[cpu.index()];
                *sum += since.take().map_or(0, |s| (at - s).0);
                *since = next.map(|_| at);
            }
            Event::Progress { cpu, task, ref pace, .. } => {
                self.time[cpu.index()] += pace.time.0;
                self.work[task.index()] += u128::from(pace.time.0) * u128::from(pace.speed);
                let fastest = &mut self.fastest[task.index()];
                *fastest = pace.speed.max(*fastest);
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever changes the speed: without costs, tasks work all the time for which CPUs are busy, to the ns, and do the work
    /// they asked for, to what a burst's last ns does too much.
    #[test]
    fn work_is_speed_times_time(
        m in mix(Just(None)),
        shape in prop_oneof![Just((1, 1, 2, 2)), Just((2, 1, 1, 2)), Just((1, 1, 1, 4)), Just((2, 1, 2, 1))],
        working_set in 0u64..(1 << 20),
        governor in 0usize..5,
        latency in prop_oneof![Just(0), 1u64..2 * MS],
        smt in any::<bool>(),
    ) {
        let m = m.on_four();
        let mut c = m.config();
        c.kernel = m.kernel_on(machine("6.1", shape).kernel.topology);
        let rate_limit = Nanos(MS);
        let governors = [
            Governor::Performance,
            Governor::Fixed { khz: 1_700_000 },
            Governor::Schedutil { rate_limit },
            Governor::Powersave { start_khz: 1_300_000, ramp: Nanos(MS / 2) },
        ];
        if let Some(governor) = governors.get(governor) {
            c.machine.frequency = FrequencyConfig { latency: Nanos(latency), ..turbo(*governor) };
        }
        if smt {
            c.machine.smt = SmtConfig { compute: 41_234, memory: 50_001 };
        }
        c.machine.cache = CacheConfig::I7_8700;
        let sums = Sums { busy: vec![(None, 0); 4], time: vec![0; 4], ..Sums::default() };
        let (mut sim, asked) = m.build_with(1, sums, c, sim_core::kernel::hooks::NoHooks);
        for i in 0..sim.tasks().len() {
            sim.set_work_kind(TaskId::new(i), WorkKind { working_set, ..COMPUTE });
        }
        sim.run().unwrap();
        let sums = &sim.observer;
        for cpu in 0..4 {
            prop_assert_eq!(sums.busy[cpu].1, sums.time[cpu], "CPU {}", cpu);
        }
        for (i, t) in sim.tasks().iter().enumerate().filter(|(_, t)| !t.kthread) {
            let (work, asked) = (sums.work[i], u128::from(asked[&t.path]) * u128::from(FULL_SPEED));
            prop_assert!(work >= asked, "{}: {work} of {asked}", t.path);
            // A mix has at most 64 bursts a task.
            prop_assert!(work - asked <= 64 * u128::from(sums.fastest[i]), "{}: {work} of {asked}", t.path);
        }
    }

    /// With every part off, runs are those without them; with all on, two runs are the same.
    #[test]
    fn off_is_as_if_it_were_not_there(m in mix(Just(None)), seed in 0u64..4) {
        let m = m.on_four();
        let log = |config: SimConfig, working_set| {
            let log = crate::support::Log::default();
            let (mut sim, _) = m.build_with(seed, log, config, sim_core::kernel::hooks::NoHooks);
            for i in 0..sim.tasks().len() {
                sim.set_work_kind(TaskId::new(i), WorkKind { class: WorkClass::Memory, working_set });
            }
            sim.run().unwrap();
            format!("{:?} {:?}", sim.observer.events, sim.observer.decisions)
        };
        let mut off = m.config();
        off.machine.smt = SmtConfig { compute: FULL_SPEED, memory: FULL_SPEED };
        off.machine.cache = CacheConfig { private_bytes: 0, ..CacheConfig::I7_8700 };
        off.machine.frequency = FrequencyConfig { governor: None, ..turbo(Governor::Performance) };
        prop_assert_eq!(log(m.config(), 0), log(off, 1 << 20));
        let mut all = m.config();
        all.machine.smt = half_smt();
        all.machine.cache = CacheConfig::I7_8700;
        all.machine.frequency = turbo(Governor::Performance);
        prop_assert_eq!(log(all.clone(), 1 << 20), log(all, 1 << 20));
    }
}
