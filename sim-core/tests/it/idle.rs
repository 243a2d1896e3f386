//! Idle states in whole runs: what waking takes, when ticks stop, what is counted.

use crate::mix::{Mix, mix, random_costs};
use crate::support::{Log, config, run, script, task};
use proptest::prelude::*;
use sim_core::kernel::hooks::NoHooks;
use sim_core::kernel::{KernelConfig, Profile};
use sim_core::machine::idle::{ExitTime, GovernorKind, IdleConfig, IdleState, StateTable};
use sim_core::machine::topology::Shape;
use sim_core::observe::{Context, Event, IdleStats, Metrics, Spread};
use sim_core::program::{Action, Objects, TaskSpec};
use sim_core::{CpuId, CpuMask, Instant, Nanos, SimConfig, Simulation};
use std::sync::Arc;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// A state of 100 µs, of which 40 go on entering.
fn state(name: &str, monitors: bool) -> IdleState {
    IdleState {
        name: name.to_owned(),
        latency: Nanos(100 * US),
        residency: Nanos(200 * US),
        exit: ExitTime::AfterEntry(Nanos(40 * US)),
        polling: false,
        monitors,
        flushes: true,
        shared: false,
        disabled: false,
    }
}

fn c1() -> IdleState {
    IdleState {
        latency: Nanos(2 * US),
        residency: Nanos(2 * US),
        exit: ExitTime::Part(1024),
        flushes: false,
        ..state("C1", true)
    }
}

/// Costs nothing but interrupts between CPUs (5 µs) and what idle states take.
fn machine(shape: Shape, states: Vec<IdleState>, governor: GovernorKind) -> SimConfig {
    let mut c = config("5.10", 1, 250, 0);
    c.kernel = KernelConfig::on(Profile::by_name("5.10").unwrap(), Arc::new(shape.topology().unwrap()));
    c.machine.costs.ipi = Nanos(5 * US);
    c.machine.idle = IdleConfig { states, governor, tick_restart: Nanos::ZERO, ..IdleConfig::default() };
    c
}

fn on(cpu: u32, spec: TaskSpec) -> TaskSpec {
    TaskSpec { affinity: Some([CpuId(cpu)].into_iter().collect::<CpuMask>()), ..spec }
}

/// When CPU `cpu` switched to a task, ns.
fn starts(log: &Log, cpu: u32) -> Vec<u64> {
    let start = |(at, e): &(Instant, Event)| match e {
        Event::Switch { cpu: c, next: Some(_), .. } if c.0 == cpu => Some(at.0),
        _ => None,
    };
    log.events.iter().filter_map(start).collect()
}

fn log_of(config: SimConfig, objects: Objects, tasks: Vec<TaskSpec>) -> Log {
    let mut sim = Simulation::new(config, objects, Log::default());
    for task in tasks {
        sim.add_task(task);
    }
    sim.run().unwrap();
    sim.observer
}

#[test]
fn a_timer_waits_until_the_state_has_been_left() {
    let config = machine(Shape::new(1, 1, 1, 1), vec![state("C6", true)], GovernorKind::None);
    let sleeper = script(vec![run(MS), Action::Sleep(Nanos(30 * MS)), run(MS)]);
    let log = log_of(config, Objects::default(), vec![task("sleeper", 0, sleeper)]);
    assert_eq!(starts(&log, 0), [0, 31 * MS + 60 * US]);
}

/// A waiter on CPU 1 goes to sleep at 1 ms; it is woken from CPU 0 `after` that.
fn woken_after(after: u64, states: Vec<IdleState>) -> u64 {
    let config = machine(Shape::new(1, 1, 2, 1), states, GovernorKind::None);
    let mut objects = Objects::default();
    let sem = objects.add_semaphore("s", 0);
    let waiter = script(vec![run(MS), Action::SemWait(sem), run(MS)]);
    let poster = script(vec![run(MS + after), Action::SemPost { sem, n: 1 }, run(10 * MS)]);
    let tasks = vec![on(1, task("waiter", 0, waiter)), on(0, task("poster", 0, poster))];
    starts(&log_of(config, objects, tasks), 1)[1] - MS - after
}

#[test]
fn an_idle_cpu_is_called_by_its_flag_or_by_an_interrupt() {
    assert_eq!(woken_after(500 * US, vec![state("C6", true)]), 60 * US, "MWAIT watches the flag");
    assert_eq!(woken_after(500 * US, vec![state("C6", false)]), 65 * US, "HLT needs an interrupt");
    assert_eq!(woken_after(500 * US, vec![IdleState::poll()]), 200, "polling sees the flag at once");
}

#[test]
fn entering_must_be_over_before_a_state_is_left() {
    assert_eq!(woken_after(10 * US, vec![state("C6", true)]), (30 + 60) * US);
    assert_eq!(woken_after(40 * US, vec![state("C6", true)]), 60 * US);
}

/// Exits of 60 us from a core's own state, of 160 us from the cluster's, which needs both of its cores.
#[test]
fn a_cluster_sleeps_when_its_last_core_does() {
    let shared = IdleState {
        latency: Nanos(200 * US),
        residency: Nanos(300 * US),
        shared: true,
        ..state("cluster-sleep", true)
    };
    let states = vec![c1(), state("cpu-sleep", true), shared];
    let wake = |clusters: (u32, u32)| {
        let shape = Shape::new(1, clusters.0, clusters.1, 1);
        let config = machine(shape, states.clone(), GovernorKind::Menu);
        let mut objects = Objects::default();
        let sem = objects.add_semaphore("s", 0);
        let cycle: Vec<Action> = (0..40).flat_map(|_| [Action::SemWait(sem), run(10 * US)]).collect();
        let post: Vec<Action> = (0..40).flat_map(|_| [run(MS), Action::SemPost { sem, n: 1 }]).collect();
        let tasks = vec![on(1, task("waiter", 0, script(cycle))), on(0, task("poster", 0, script(post)))];
        *starts(&log_of(config, objects, tasks), 1).last().unwrap() - 40 * MS
    };
    assert_eq!(wake((1, 2)), 60 * US, "the other core of the cluster is busy");
    assert_eq!(wake((2, 1)), 160 * US, "a cluster of its own");
}

#[test]
fn a_busy_thread_keeps_its_core_awake() {
    let wake = |shape| {
        let config = machine(shape, vec![c1(), state("C6", true)], GovernorKind::Menu);
        let mut objects = Objects::default();
        let sem = objects.add_semaphore("s", 0);
        let cycle: Vec<Action> = (0..40).flat_map(|_| [Action::SemWait(sem), run(10 * US)]).collect();
        let post: Vec<Action> = (0..40).flat_map(|_| [run(MS), Action::SemPost { sem, n: 1 }]).collect();
        let tasks = vec![on(1, task("waiter", 0, script(cycle))), on(0, task("poster", 0, script(post)))];
        let log = log_of(config, objects, tasks);
        *starts(&log, 1).last().unwrap() - 40 * MS
    };
    assert_eq!(wake(Shape::new(1, 1, 2, 1)), 60 * US, "a core of its own: C6 is left");
    assert_eq!(wake(Shape::new(1, 1, 1, 2)), 2 * US, "the other thread is busy: C1 is left");
}

/// Ticks of an idle CPU.
fn idle_ticks(sleep_ms: u64, table: &str) -> usize {
    let mut config = machine(Shape::new(1, 1, 1, 1), Vec::new(), GovernorKind::Menu);
    config.machine.idle = IdleConfig::of(StateTable::by_name(table).unwrap());
    let program =
        script((0..50).flat_map(|_| [run(100 * US), Action::Sleep(Nanos(sleep_ms * MS))]).collect());
    let log = log_of(config, Objects::default(), vec![task("sleeper", 0, program)]);
    let mut idle = false;
    let mut ticks = 0;
    for (_, event) in &log.events {
        match event {
            Event::Switch { next, .. } => idle = next.is_none(),
            Event::Context { context: Context::Tick, .. } if idle => ticks += 1,
            _ => {}
        }
    }
    ticks
}

#[test]
fn the_tick_stops_when_a_long_sleep_is_foreseen() {
    // Sleeps of less than a tick leave it running: about one in each 4 ms of 50 times 2.1 ms.
    let short = idle_ticks(2, "skl");
    assert!((15..=30).contains(&short), "{short}");
    // Once the governor has learnt that sleeps last to the timer, none.
    let long = idle_ticks(30, "skl");
    assert!(long < 10, "{long}");
    // Without a driver it stops unless the next timer is within a tick.
    assert_eq!(idle_ticks(30, "halt"), 0);
    let halt = idle_ticks(2, "halt");
    assert!((15..=30).contains(&halt), "{halt}");
    // Polling never stops it: 50 times 30.1 ms.
    let poll = idle_ticks(30, "poll");
    assert!((350..=377).contains(&poll), "{poll}");
}

#[test]
fn use_of_states_is_counted_as_in_sysfs() {
    let mut config = machine(Shape::new(1, 1, 1, 1), vec![c1(), state("C6", true)], GovernorKind::Menu);
    config.machine.idle.states.insert(0, IdleState::poll());
    let program = (0..100).flat_map(|_| [run(100 * US), Action::Sleep(Nanos(MS))]).collect();
    let mut sim =
        Simulation::new(config, Objects::default(), (IdleStats::new(Nanos::ZERO, 1, 3), Log::default()));
    sim.add_task(task("sleeper", 0, script(program)));
    sim.run().unwrap();
    let (stats, log) = &sim.observer;
    let left = |s: u8| {
        let of = move |e: &&Event| matches!(e, Event::IdleLeft { state, .. } if *state == s);
        log.events.iter().map(|(_, e)| e).filter(of)
    };
    for (i, used) in stats.cpu(CpuId(0)).iter().enumerate() {
        assert_eq!(used.usage, left(i as u8).count() as u64, "{i}");
        let time =
            left(i as u8).map(|e| if let Event::IdleLeft { residency, .. } = e { residency.0 } else { 0 });
        assert_eq!(used.time.0, time.sum::<u64>());
    }
    let c6 = stats.cpu(CpuId(0))[2];
    // The first sleeps, until a pattern is seen, are shallower; each later one is 1 ms and the exit.
    assert!(c6.usage > 80 && c6.above == 0, "{c6:?}");
    // A tick in the middle of a sleep makes two of it.
    assert_eq!(stats.latency(2).max(), Nanos(60 * US));
}

/// smp.md §5.3: 500 us foreseen with one task in wait are 45 us of latency at most, so C1E; without, C6.
#[test]
fn a_task_that_waits_for_a_device_keeps_its_cpu_from_deep_states() {
    let usage = |wait: fn(Nanos) -> Action| {
        let mut config = machine(Shape::new(1, 1, 1, 1), Vec::new(), GovernorKind::Menu);
        config.machine.idle = IdleConfig::of(StateTable::by_name("skl").unwrap());
        let steps = (0..400).flat_map(|_| [run(100 * US), wait(Nanos(500 * US))]).collect();
        let stats = IdleStats::new(Nanos::ZERO, 1, 9);
        let mut sim = Simulation::new(config, Objects::default(), stats);
        sim.add_task(task("sleeper", 0, script(steps)));
        sim.run().unwrap();
        let [c1e, c6] = [2, 4].map(|state: usize| sim.observer.cpu(CpuId(0))[state].usage);
        (c1e, c6)
    };
    // While the waits make no pattern, after a tick within one say, the next timer counts: 4 s away, deeper than either.
    let (c1e, c6) = usage(Action::Io);
    assert!(c1e > 200 && c6 < 20, "C1E {c1e}, C6 {c6}");
    let (c1e, c6) = usage(Action::Sleep);
    assert!(c1e < 20 && c6 > 200, "C1E {c1e}, C6 {c6}");
}

#[test]
fn only_a_core_without_busy_threads_is_deep() {
    let config = machine(Shape::new(1, 1, 1, 2), vec![state("C6", true)], GovernorKind::None);
    let sleeper = |ms| script(vec![run(ms * MS), Action::Sleep(Nanos(10 * MS)), run(MS)]);
    let tasks = vec![on(0, task("a", 0, sleeper(1))), on(1, task("b", 0, sleeper(3)))];
    let log = log_of(config, Objects::default(), tasks);
    let changes: Vec<_> = log
        .events
        .iter()
        .filter_map(|(at, e)| match e {
            Event::CoreDepth { deep, .. } => Some((at.0, *deep)),
            _ => None,
        })
        .collect();
    // The timer of 11 ms calls CPU 0 back, which takes 60 us; its task ends a millisecond later, the other's timer is next.
    let expected = [(3 * MS, true), (11 * MS, false), (12 * MS + 60 * US, true), (13 * MS, false)];
    assert_eq!(changes, expected);
}

fn with_states(mix: &Mix, table: &StateTable) -> SimConfig {
    let mut config = mix.config();
    config.machine.idle = IdleConfig::of(table);
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// On every CPU, time in states is a part of the idle time, and idle time of the whole; the same again is the same.
    #[test]
    fn idle_time_contains_the_states(mix in mix(random_costs()), table in prop::sample::select(&["skl", "zen", "haltpoll", "halt", "poll"][..])) {
        let (mix, table) = (mix.on_four(), StateTable::by_name(table).unwrap());
        let config = with_states(&mix, table);
        let outcome = || {
            let topology = Arc::clone(&config.kernel.topology);
            let stats = IdleStats::new(Nanos::ZERO, 4, config.machine.idle.states.len());
            let observer = ((stats, Spread::new(Nanos::ZERO, &topology)), Metrics::new(Nanos::ZERO));
            let (mut sim, _) = mix.build_with(1, observer, config.clone(), NoHooks);
            let end = sim.run().unwrap();
            sim.observer.0.1.finish(end.at);
            for cpu in 0..4 {
                let in_states: u64 = sim.observer.0.0.cpu(CpuId(cpu)).iter().map(|u| u.time.0).sum();
                let idle = sim.observer.0.1.idle_time[cpu as usize].0;
                assert!(in_states <= idle && idle <= end.at.0, "{in_states} {idle} {}", end.at.0);
            }
            (end, sim.observer.1.context_switches())
        };
        prop_assert_eq!(outcome(), outcome());
    }
}
