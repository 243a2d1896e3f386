//! HRTICK, skewed ticks, and changes from outside while a run goes on. core.md §2.3, §6.4, §11, §15.13.

use crate::hand::{CPU0, Hand, MS};
use crate::support::{Log, config, hog, profiles, run_hogs, task};
use sim_core::kernel::Policy;
use sim_core::kernel::features::Feature;
use sim_core::kernel::tunables::{Tunable, TunableScaling};
use sim_core::observe::Event;
use sim_core::program::Objects;
use sim_core::{Control, CpuId, CpuMask, GroupId, Instant, Nanos, SimError, Simulation, TaskId};
use std::collections::BTreeMap;

/// core.md §6.4: turns end with the slice, not with a tick.
#[test]
fn hrtick_ends_turns_with_the_slice() {
    for profile in profiles() {
        let mut c = config(profile, 1, 250, 0);
        c.kernel.features.write("HRTICK").unwrap();
        let log = run_hogs(c, &[0, 0], Nanos::from_secs(1));
        assert!(log.turns().len() > 80);
        assert!(log.turns().iter().all(|(_, ns)| *ns == 11_999_994), "{profile}: {:?}", log.turns());
    }
}

/// core.md §6.4: while the timer is armed, ticks check nothing, unless DOUBLE_TICK is on.
#[test]
fn ticks_check_nothing_while_the_timer_is_armed() {
    for profile in profiles() {
        for (double, resched) in [(false, false), (true, true)] {
            let mut h = Hand::new(profile, 1);
            h.k.config.features.write("HRTICK").unwrap();
            h.k.config.features.write(if double { "DOUBLE_TICK" } else { "NO_DOUBLE_TICK" }).unwrap();
            let (_, _) = (h.start(0), h.start(0));
            h.schedule(CPU0);
            assert_eq!(h.k.rq(CPU0).hrtick, Some(Instant(11_999_994)), "{profile}");
            h.pass(16 * MS);
            h.tick(CPU0);
            assert_eq!(h.need_resched(CPU0), resched, "{profile}");
            h.k.hrtick(CPU0, h.now, &mut h.log);
            assert!(h.need_resched(CPU0), "{profile}");
            assert_eq!(h.k.rq(CPU0).hrtick, None);
        }
    }
}

/// core.md §6.4: with `sched_nr_latency` entities or more a wake-up does not set the timer anew.
#[test]
fn the_timer_follows_wakeups_while_they_are_few() {
    for (profile, armed) in [("5.10", false), ("6.1", true)] {
        let mut h = Hand::new(profile, 1);
        h.k.config.features.write("HRTICK").unwrap();
        h.set(Tunable::Latency, 8 * MS);
        h.set(Tunable::MinGranularity, 4 * MS);
        let t = h.start(0);
        h.schedule(CPU0);
        assert_eq!(h.k.rq(CPU0).hrtick, None, "alone");
        h.pass(MS);
        let v = h.v(t);
        h.start_at(0, v + MS);
        assert_eq!(h.k.rq(CPU0).hrtick.is_some(), armed, "{profile}: {}", h.k.config.tunables.nr_latency);
    }
}

/// core.md §6.4: the timer is set to the rest of the slice (7 999 998 ns beside two others, §15.5), to 10 µs at least; a
/// slice that is over asks for a reschedule.
#[test]
fn the_timer_is_set_to_the_rest_of_the_slice() {
    let rows = [(5 * MS, Some(7_999_998), false), (7_995_000, Some(8_005_000), false), (9 * MS, None, true)];
    for profile in profiles() {
        for (ran, due, resched) in rows {
            let mut h = Hand::new(profile, 1);
            h.k.config.features.write("HRTICK").unwrap();
            let (t, _) = (h.start(0), h.start(0));
            assert_eq!(h.schedule(CPU0), Some(t));
            h.pass(ran);
            // Ahead of both: it does not preempt.
            h.start_at(0, 100 * MS);
            let before = Some(Instant(11_999_994));
            assert_eq!(h.k.rq(CPU0).hrtick, due.map(Instant).or(before), "{profile}: after {ran} ns");
            assert_eq!(h.need_resched(CPU0), resched, "{profile}: after {ran} ns");
        }
    }
}

/// core.md §11: CPU i ticks i · (T/2)/CPUs later.
#[test]
fn skewed_ticks_come_later_on_later_cpus() {
    for (skew, later) in [(false, 0), (true, MS)] {
        let mut c = config("6.1", 2, 250, 0);
        c.kernel.skew_tick = skew;
        c.duration = Some(Nanos::from_secs(1));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        for i in 0..4u32 {
            let mut spec = task(&format!("T{i}"), 0, hog());
            spec.affinity = Some(CpuMask::one(CpuId(i % 2)));
            sim.add_task(spec);
        }
        sim.run().unwrap();
        let mut seen = [0; 2];
        for (at, event) in &sim.observer.events {
            if let Event::TickPreempt { cpu, .. } = event {
                let phase = if cpu.0 == 1 { later } else { 0 };
                assert_eq!(at.0 % (4 * MS), phase, "CPU {}", cpu.0);
                seen[cpu.index()] += 1;
            }
        }
        assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
    }
}

/// Hogs on one CPU with changes planned: turns that ended from `from` to `to`, by their length in ms.
fn turns(profile: &str, changes: &[(u64, Control)], spans: &[(u64, u64)]) -> Vec<u64> {
    let mut c = config(profile, 1, 250, 38_000);
    c.duration = Some(Nanos::from_secs(8));
    let mut sim = Simulation::new(c, Objects::default(), Log::default());
    for i in 0..4 {
        sim.add_task(task(&format!("T{i}"), 0, hog()));
    }
    for (at, change) in changes {
        sim.at(Instant(at * MS), change.clone());
    }
    sim.run().unwrap();
    let switches = sim.observer.switches();
    let most_common = |(from, to): &(u64, u64)| {
        let mut lengths: BTreeMap<u64, usize> = BTreeMap::new();
        for w in switches.windows(2).filter(|w| w[0].0 > from * MS && w[1].0 < to * MS) {
            *lengths.entry((w[1].0 - w[0].0 + MS / 2) / MS).or_insert(0) += 1;
        }
        lengths.into_iter().max_by_key(|(_, n)| *n).unwrap().0
    };
    spans.iter().map(most_common).collect()
}

/// core.md §15.13, the test of `sched_nr_latency`, as one run: values are written at 1 s, `tunable_scaling` at 3 s, CPUs
/// come and go at 5 s.
#[test]
fn tunables_written_while_running_act_by_version() {
    let write = |at| {
        [
            (at, Control::Tunable(Tunable::Latency, 8 * MS)),
            (at, Control::Tunable(Tunable::MinGranularity, 4 * MS)),
        ]
    };
    let spans = [(0, 1000), (1100, 3000), (3100, 5000), (5100, 8000)];
    for (profile, base_slice, expected) in [
        // nr_latency follows: period 16 ms, slice 4 ms: 8 ms turns; hotplug leaves the multiples of 4.
        ("5.10", false, [8, 8, 8, 8]),
        ("5.10-debian", true, [8, 8, 8, 8]),
        // Frozen at 8: period 8 ms, slice 2 ms: 4 ms turns, until tunable_scaling is written.
        ("6.1-debian", true, [8, 4, 8, 8]),
    ] {
        let mut changes: Vec<_> = write(1000).into();
        if base_slice {
            changes.push((1000, Control::Feature(Feature::BaseSlice, false)));
        }
        changes.push((3000, Control::Scaling(TunableScaling::Log)));
        changes.push((5000, Control::Hotplug));
        assert_eq!(turns(profile, &changes, &spans), expected, "{profile}");
    }
}

/// core.md §2.3: from 5.13 on CPUs that come and go undo what was written.
#[test]
fn hotplug_undoes_writes_from_5_13() {
    for (profile, after) in [("5.12", 16), ("6.1", 8)] {
        // 4 hogs, latency 48 ms: slice 12 ms, 16 ms turns; with the 24 ms of the boot 6 ms, 8 ms turns.
        let changes = [(1000, Control::Tunable(Tunable::Latency, 48 * MS)), (3000, Control::Hotplug)];
        let got = turns(profile, &changes, &[(1200, 3000), (3200, 8000)]);
        assert_eq!(got, [16, after], "{profile}");
    }
}

#[test]
fn tasks_change_while_running() {
    let mut c = config("6.1", 1, 250, 1000);
    c.duration = Some(Nanos::from_secs(40));
    let mut sim = Simulation::new(c, Objects::default(), Log::default());
    let group = sim.add_group(GroupId::ROOT, 1024 << 10, false);
    let t: Vec<TaskId> = (0..3).map(|i| sim.add_task(task(&format!("T{i}"), 0, hog()))).collect();
    let second = |s: u64| Instant(s * 1000 * MS);
    sim.at(second(10), Control::Nice(t[0], 5));
    sim.at(second(20), Control::Nice(t[0], 0));
    sim.at(second(20), Control::Attach(t[0], group));
    sim.at(second(20), Control::GroupShares(group, 3072 << 10));
    sim.at(second(30), Control::Policy(t[1], Policy::Idle));
    sim.run().unwrap();
    let shares = |from: u64, to: u64| {
        let mut ns = [0u64; 3];
        for (at, e) in &sim.observer.events {
            if let Event::StatRuntime { task, runtime, .. } = e
                && *at > second(from)
                && *at <= second(to)
            {
                ns[task.index()] += runtime.0;
            }
        }
        let all: u64 = ns.iter().sum();
        ns.map(|n| n as f64 / all as f64)
    };
    let third = 1.0 / 3.0;
    for (from, ideal) in [
        (0, [third; 3]),
        (10, [335.0 / 2383.0, 1024.0 / 2383.0, 1024.0 / 2383.0]),
        (20, [0.6, 0.2, 0.2]),
        (30, [3072.0 / 4099.0, 3.0 / 4099.0, 1024.0 / 4099.0]),
    ] {
        for (is, ideal) in shares(from, from + 10).into_iter().zip(ideal) {
            assert!((is - ideal).abs() < 0.006, "from {from} s: {is} instead of {ideal}");
        }
    }
}

#[test]
fn refused_changes_are_errors_that_say_when() {
    let cases = [
        (Control::Tunable(Tunable::ChildRunsFirst, 2), "sched_child_runs_first = 2"),
        (Control::Nice(TaskId(7), 0), "there is no task 7"),
        (Control::Nice(TaskId(0), 20), "nice 20"),
        (Control::Attach(TaskId(0), GroupId(3)), "there is no group 3"),
        (Control::GroupShares(GroupId::ROOT, 1024 << 10), "the root group"),
        (Control::Affinity(TaskId(0), CpuMask::one(CpuId(1))), "online are CPUs 0"),
        (Control::Feature(Feature::LbBias, true), "no feature LB_BIAS"),
    ];
    for (change, message) in cases {
        let mut sim = Simulation::new(config("6.1", 1, 250, 0), Objects::default(), ());
        sim.add_task(task("T", 0, hog()));
        sim.at(Instant(5 * MS), change.clone());
        let err = sim.run().unwrap_err();
        assert!(matches!(err, SimError::Timeline { at: Instant(5_000_000), .. }), "{change:?}: {err:?}");
        assert!(err.to_string().contains(message), "{err}");
    }
}
