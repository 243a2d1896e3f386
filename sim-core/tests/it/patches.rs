//! A user's patch changes what it says and nothing else: a hook, a row of the list of changes, one decision by number.

use crate::support::{Log, config, hog, run_sleep, task};
use sim_core::kernel::changes::Change;
use sim_core::kernel::hooks::{Hooks, NoHooks};
use sim_core::kernel::patches::RunBeforePreempt;
use sim_core::kernel::version::Release;
use sim_core::observe::{Decision, Event, WakeupPreempt};
use sim_core::program::Objects;
use sim_core::{Instant, Nanos, SimConfig, Simulation, TaskId};

const SLEEPER: TaskId = TaskId(1);
const DELTA: u64 = 2_000;

/// A hog, and a task that runs 0.1 ms and sleeps 2.3 ms, for 0.5 s.
fn hog_and_sleeper<H: Hooks>(hooks: H) -> Log {
    let mut c = config("6.1", 1, 250, DELTA);
    c.duration = Some(Nanos::from_millis(500));
    let mut sim = Simulation::with_hooks(c, Objects::default(), Log::default(), hooks);
    sim.add_task(task("hog", 0, hog()));
    sim.add_task(task("sleeper", 0, run_sleep(100_000, 2_300_000)));
    sim.run().unwrap();
    sim.observer
}

/// When the sleeper preempts, and for how long the hog had run since it was switched in.
fn preempting_wakeups(log: &Log) -> Vec<(u64, u64)> {
    let (mut since, mut found) = (0, Vec::new());
    for (at, e) in &log.events {
        match *e {
            Event::Switch { next: Some(TaskId(0)), .. } => since = at.0,
            Event::Wakeup {
                task: SLEEPER,
                resched_before: false,
                resched_after: true,
                curr: Some(_),
                ..
            } => {
                found.push((at.0, at.0 - since));
            }
            _ => (),
        }
    }
    found
}

#[test]
fn a_hook_spares_a_task_that_has_just_been_switched_in() {
    let at_least_ns = 5_000_000;
    let (plain, patched) = (hog_and_sleeper(NoHooks), hog_and_sleeper(RunBeforePreempt { at_least_ns }));
    let (before, after) = (preempting_wakeups(&plain), preempting_wakeups(&patched));
    assert!(before.iter().filter(|(_, ran)| *ran < at_least_ns).count() > 100);
    assert!(after.iter().all(|(_, ran)| *ran >= at_least_ns), "{after:?}");
    // Observers are told what the kernel itself would have done.
    let wanted = |(_, d): &&(Instant, Decision)| {
        matches!(d, Decision::WakeupPreempt(WakeupPreempt { preempt: true, wakee: SLEEPER, .. }))
    };
    assert!(patched.decisions.iter().filter(wanted).count() > after.len());
}

#[test]
fn a_change_of_rules_on_top_of_a_profile() {
    const CAP: Change = Change {
        id: "my-cap",
        commit: None,
        since: Release::new(6, 1, 0),
        stable: &[],
        what: "slices are capped by the latency",
        apply: |r| r.slice_capped_by_latency = true,
    };
    let run = |mut c: SimConfig| {
        c.duration = Some(Nanos::from_secs(2));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        for i in 0..20 {
            sim.add_task(task(&format!("T{i}"), if i == 0 { -20 } else { 0 }, hog()));
        }
        sim.run().unwrap();
        sim.observer
    };
    let mut patched = config("6.1", 1, 250, DELTA);
    (CAP.apply)(&mut patched.kernel.rules);
    patched.kernel.features = patched.kernel.rules.features;
    let (plain, patched) = (run(config("6.1", 1, 250, DELTA)), run(patched));
    // For always-runnable tasks on one CPU the cap is all that 6.5 does differently.
    assert_eq!(patched.events, run(config("6.5", 1, 250, DELTA)).events);
    assert_eq!(patched.decisions, run(config("6.5", 1, 250, DELTA)).decisions);
    assert_ne!(patched.decisions, plain.decisions);
}

/// Turns one wakeup preemption decision round.
#[derive(Default)]
struct WhatIfNot {
    which: usize,
    seen: usize,
}

impl Hooks for WhatIfNot {
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, _curr_ran: u64) -> bool {
        self.seen += 1;
        d.preempt ^ (self.seen == self.which)
    }
}

/// Times at which the sleeper is switched in.
fn comes(log: &Log) -> Vec<u64> {
    log.switches().into_iter().filter(|(_, t)| *t == SLEEPER.0).map(|(at, _)| at).collect()
}

#[test]
fn one_decision_turned_round() {
    let plain = hog_and_sleeper(NoHooks);
    let preempting: Vec<(u64, usize)> = plain
        .decisions
        .iter()
        .filter_map(|(at, d)| if let Decision::WakeupPreempt(w) = d { Some((at.0, w)) } else { None })
        .filter(|(_, w)| w.curr.is_some())
        .enumerate()
        .filter(|(_, (_, w))| w.preempt)
        .map(|(i, (at, _))| (at, i + 1))
        .collect();
    assert!(preempting.len() > 100);
    for (at, which) in preempting.into_iter().step_by(10) {
        let what_if = hog_and_sleeper(WhatIfNot { which, seen: 0 });
        // The same until then.
        let until = |log: &Log| log.events.iter().take_while(|(t, _)| t.0 < at).copied().collect::<Vec<_>>();
        assert_eq!(until(&plain), until(&what_if));
        // With the decision, the sleeper comes at once; without it, at the first tick at which the hog's time is up.
        assert!(comes(&plain).contains(&at), "{at}");
        let later = comes(&what_if).into_iter().find(|t| *t >= at).unwrap();
        assert!(later > at, "{at}");
        assert_eq!(later % 4_000_000, DELTA, "{at}: comes at a tick's switch");
        let verdicts = what_if.decisions.iter().filter(|(t, _)| t.0 < later && t.0 > at);
        let ticks_before: Vec<bool> = verdicts
            .filter_map(|(_, d)| if let Decision::TickPreempt(t) = d { Some(t.preempt) } else { None })
            .collect();
        assert_eq!(ticks_before.iter().filter(|p| **p).count(), 1, "{at}: {ticks_before:?}");
    }
}

/// A hook that counts from zero never fires: same run.
#[test]
fn an_idle_hook_changes_nothing() {
    let (plain, idle) = (hog_and_sleeper(NoHooks), hog_and_sleeper(WhatIfNot::default()));
    assert_eq!((plain.events, plain.decisions), (idle.events, idle.decisions));
}
