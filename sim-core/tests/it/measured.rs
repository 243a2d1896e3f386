//! The model column of core.md §15.13: what real 5.10 and 6.1 kernels were compared with. Tick to switch 38 us, HZ 250,
//! the tunables of 8 CPUs, 4 s.

use crate::support::{Log, config, hog, profiles, run, run_hogs, run_sleep, set, task};
use sim_core::kernel::rules::NrLatency;
use sim_core::kernel::tunables::Tunable;
use sim_core::kernel::{Policy, Profile};
use sim_core::observe::{Event, SwitchKind};
use sim_core::program::{Action, Objects, Program};
use sim_core::{Instant, Nanos, SimConfig, Simulation, TaskId};
use std::collections::{BTreeMap, BTreeSet};

const DELTA: u64 = 38_000;

fn measured(profile: &str) -> SimConfig {
    config(profile, 1, 250, DELTA)
}

fn hogs(profile: &str, nices: &[i8]) -> Log {
    run_hogs(measured(profile), nices, Nanos::from_secs(4))
}

/// Lengths of turns after the first round, which starts at a tick, not after it, and may be a tick shorter.
fn steady_turns(log: &Log, n: usize) -> Vec<u64> {
    let later: BTreeSet<u64> = log.turns().iter().skip(n).map(|(_, ns)| (ns + 500_000) / 1_000_000).collect();
    later.into_iter().collect()
}

/// Turns of all tasks, rounded to ms.
fn all_turns(log: &Log, n: u32) -> BTreeMap<u64, usize> {
    let mut all = BTreeMap::new();
    (0..n).flat_map(|t| log.turn_histogram(t)).for_each(|(ms, count)| *all.entry(ms).or_insert(0) += count);
    all
}

#[test]
fn turns_of_equal_hogs() {
    for profile in profiles() {
        for (n, turn) in [(2, 16), (3, 12), (4, 8), (10, 4)] {
            let log = hogs(profile, &vec![0; n]);
            assert_eq!(steady_turns(&log, n), [turn], "{profile} {n} hogs");
        }
        // "16 ms: 249 of 250 turns": the other one is the first.
        let turns = all_turns(&hogs(profile, &[0, 0]), 2);
        assert_eq!(turns, BTreeMap::from([(12, 1), (16, 249)]), "{profile}");
    }
}

#[test]
fn turns_of_unequal_hogs() {
    for profile in profiles() {
        let log = hogs(profile, &[0, 5]);
        let share = 100.0 * log.share(0, 2);
        assert!((share - 75.40).abs() <= 0.05, "{profile}: {share}");
        assert_eq!(log.turn_histogram(1), BTreeMap::from([(4, 54), (8, 96)]), "{profile} nice 5 of (0, 5)");
        assert_eq!(log.turn_histogram(0).keys().copied().collect::<Vec<_>>(), [20], "{profile}");
        assert_eq!(
            hogs(profile, &[-5, 0]).turn_histogram(0),
            BTreeMap::from([(20, 5), (24, 108), (28, 11)]),
            "{profile} nice -5 of (-5, 0)"
        );
        assert_eq!(
            hogs(profile, &[0, 1]).turn_histogram(1),
            BTreeMap::from([(12, 109), (16, 29)]),
            "{profile} nice 1 of (0, 1)"
        );
        let heavy = hogs(profile, &[0, 19]).turn_histogram(0);
        // The table's counts, "272 (13x), 276, 252", add up to more than its 4 s. Each 4 ms of nice 19 are worth 273.07 ms
        // of nice 0, so every fourth turn or so is a tick longer than 272 ms; the first two last 24 and 252 ms.
        assert_eq!(heavy.keys().copied().collect::<Vec<_>>(), [24, 252, 272, 276], "{profile}");
        assert!(heavy[&24] == 1 && heavy[&252] == 1 && heavy[&272] >= 3 * heavy[&276], "{profile} {heavy:?}");
    }
}

/// 4 ms for the idle task about every 1365 ms.
#[test]
fn an_idle_task_beside_a_normal_one() {
    for profile in profiles() {
        let mut c = measured(profile);
        c.duration = Some(Nanos::from_secs(20));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        sim.add_task(task("normal", 0, hog()));
        let mut idle = task("idle", 0, hog());
        idle.policy = Policy::Idle;
        sim.add_task(idle);
        sim.run().unwrap();
        let log = sim.observer;
        assert_eq!(log.turn_histogram(1).keys().copied().collect::<Vec<_>>(), [4], "{profile}");
        let comes: Vec<u64> = log.switches().iter().filter(|(_, t)| *t == 1).map(|(at, _)| *at).collect();
        for w in comes.windows(2).skip(1) {
            let every = (w[1] - w[0]) as f64 / 1e6;
            assert!((every - 1369.0).abs() <= 16.0, "{profile}: after {every} ms");
        }
    }
}

/// A sleeper of this kind wakes 50 times beside a hog; how many of the wake-ups preempt at once.
fn wake_beside_hog(mut c: SimConfig, nice: i8, policy: Policy, of_hog: Policy) -> usize {
    // Odd intervals, so that wake-ups fall everywhere between ticks; long enough for the full credit.
    c.duration = Some(Nanos(50 * 103_700_000));
    let mut sim = Simulation::new(c, Objects::default(), Log::default());
    let mut h = task("hog", 0, hog());
    h.policy = of_hog;
    sim.add_task(h);
    let mut wakee = task("wakee", nice, sleeper());
    wakee.policy = policy;
    wakee.start = Instant(100_000_000);
    sim.add_task(wakee);
    sim.run().unwrap();
    let wakeups = |(_, e): &&(Instant, Event)| {
        matches!(e, Event::Wakeup { task: TaskId(1), resched_before: false, resched_after: true, .. })
    };
    sim.observer.events.iter().filter(wakeups).count()
}

/// Sleeps until odd points in time, runs 0.1 ms after each.
fn sleeper() -> Box<dyn Program> {
    let (mut i, mut sleeps) = (0u64, false);
    Box::new(move |_: &_| {
        sleeps = !sleeps;
        i += u64::from(sleeps);
        if sleeps { Action::SleepUntil(Instant(100_000_000 + i * 103_700_000)) } else { run(100_000) }
    })
}

#[test]
fn wakeups_beside_a_hog() {
    use Policy::{Batch, Idle, Normal};
    for profile in profiles() {
        let with = |change: &dyn Fn(&mut SimConfig)| {
            let mut c = measured(profile);
            change(&mut c);
            c
        };
        let plain = with(&|_| ());
        let ungentle = with(&|c| c.kernel.features.write("NO_GENTLE_FAIR_SLEEPERS").unwrap());
        let coarse = with(&|c| set(c, Tunable::WakeupGranularity, 15_000_000));
        for (c, nice, policy, of_hog, immediate) in [
            (&plain, 0, Normal, Normal, true),
            (&plain, 4, Normal, Normal, true),
            (&plain, 5, Normal, Normal, false),
            (&plain, 10, Normal, Normal, false),
            (&plain, 19, Normal, Normal, false),
            (&plain, 0, Batch, Normal, false),
            (&plain, 0, Normal, Idle, true),
            (&ungentle, 5, Normal, Normal, true),
            (&coarse, 0, Normal, Normal, false),
            (&coarse, -1, Normal, Normal, false),
            (&coarse, -2, Normal, Normal, true),
        ] {
            let preempting = wake_beside_hog(c.clone(), nice, policy, of_hog);
            let what = format!("{profile} nice {nice} {policy:?} beside {of_hog:?}: {preempting} preempt");
            assert!(if immediate { preempting >= 49 } else { preempting == 0 }, "{what}");
        }
    }
}

#[test]
fn turns_by_tunables() {
    for profile in profiles() {
        let steady = |n: usize, changes: &[(Tunable, u64)], rewrite: bool| {
            let mut c = measured(profile);
            let _ = c.kernel.features.write("NO_BASE_SLICE");
            changes.iter().for_each(|(t, ms)| set(&mut c, *t, ms * 1_000_000));
            if rewrite {
                c.kernel.tunables.rewrite_scaling();
            }
            let log = run_hogs(c, &vec![0; n], Nanos::from_secs(4));
            steady_turns(&log, n)
        };
        for (n, turn) in [(2, 16), (3, 12), (4, 12)] {
            let mut c = measured(profile);
            set(&mut c, Tunable::MinGranularity, 10_000_000);
            let log = run_hogs(c, &vec![0; n], Nanos::from_secs(4));
            assert_eq!(steady_turns(&log, n), [turn], "{profile} {n} hogs, minimum granularity 10 ms");
        }
        let test = [(Tunable::Latency, 8), (Tunable::MinGranularity, 4)];
        let frozen = Profile::by_name(profile).unwrap().rules().nr_latency == NrLatency::Frozen;
        assert_eq!(steady(4, &test, false), [if frozen { 4 } else { 8 }], "{profile} nr_latency test");
        assert_eq!(steady(4, &test, true), [8], "{profile} after rewriting tunable_scaling");
        assert_eq!(steady(2, &[(Tunable::Latency, 16)], false), [12], "{profile} latency 16 ms");
    }
}

/// Equal shares, and turns of the hog that shorten as the wakeup granularity grows.
#[test]
fn a_yielding_spinner_and_a_hog() {
    for profile in profiles() {
        let mut before = u64::MAX;
        for granularity in [0, 4_000_000, 20_000_000] {
            let mut c = measured(profile);
            set(&mut c, Tunable::WakeupGranularity, granularity);
            c.duration = Some(Nanos::from_secs(2));
            let mut sim = Simulation::new(c, Objects::default(), Log::default());
            sim.add_task(task("hog", 0, hog()));
            let mut yields = false;
            sim.add_task(task(
                "yielder",
                0,
                Box::new(move |_: &_| {
                    yields = !yields;
                    if yields { run(20_000) } else { Action::Yield }
                }),
            ));
            sim.run().unwrap();
            let log = sim.observer;
            let share = log.share(0, 2);
            assert!((share - 0.5).abs() < 0.01, "{profile} granularity {granularity}: {share}");
            let of_hog: Vec<u64> = log.turns().iter().filter(|(t, _)| *t == 0).map(|(_, ns)| *ns).collect();
            let mean = of_hog.iter().sum::<u64>() / of_hog.len() as u64;
            assert!(mean < before, "{profile} granularity {granularity}: turns of {mean} after {before}");
            before = mean;
        }
    }
}

/// A sleep ends late by the timer slack; with a slack of 1 ns, at once.
#[test]
fn a_sleep_takes_the_timer_slack() {
    for slack in [50_000, 1] {
        let mut c = measured("6.1");
        c.machine.costs.timer_slack = Nanos(slack);
        c.duration = Some(Nanos::from_millis(50));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        sim.add_task(task("sleeper", 0, run_sleep(1_000_000, 1_000_000)));
        sim.run().unwrap();
        let events = &sim.observer.events;
        let blocked: Vec<u64> = events
            .iter()
            .filter(|(_, e)| matches!(e, Event::Switch { kind: SwitchKind::Blocked, .. }))
            .map(|(at, _)| at.0)
            .collect();
        let woken: Vec<u64> = events
            .iter()
            .filter(|(_, e)| matches!(e, Event::Wakeup { .. }))
            .skip(1)
            .map(|(at, _)| at.0)
            .collect();
        assert!(woken.len() > 20);
        assert!(woken.iter().zip(&blocked).all(|(w, b)| w - b == 1_000_000 + slack));
    }
}
