//! Every limit is reached by some program, and reported; no number in a program brings the engine down.

use crate::support::{config, hog, run, script, task};
use sim_core::program::{Action, ChildSpec, Objects, Program, Work};
use sim_core::{CpuMask, End, Instant, MutexId, Nanos, Outcome, PipeId, SimConfig, SimError, Simulation};

fn outcome(config: SimConfig, programs: Vec<Box<dyn Program>>) -> Result<Outcome, SimError> {
    let mut sim = Simulation::new(config, Objects::default(), ());
    for (i, p) in programs.into_iter().enumerate() {
        sim.add_task(task(&format!("T{i}"), 0, p));
    }
    sim.run()
}

fn plain() -> SimConfig {
    config("6.1", 1, 250, 0)
}

#[test]
fn events() {
    let mut c = plain();
    c.limits.events = 1000;
    let err = outcome(c, vec![hog()]).unwrap_err();
    assert!(matches!(err, SimError::Events { limit: 1000, at } if at > Instant::ZERO), "{err:?}");
    assert!(err.to_string().contains("1000 events"), "{err}");
}

/// Timers of one instant wait for each other's handlers; each waits once, not once per handler before its own.
#[test]
fn tasks_that_start_together_take_a_few_events_each() {
    let (tasks, each) = (2000, 10);
    let mut c = plain();
    c.machine.costs.wakeup = Nanos(1000);
    c.limits.events = tasks * each;
    c.duration = Some(Nanos(tasks * 1000));
    let sleeps = |_| -> Box<dyn Program> { Box::new(|_: &_| Action::Sleep(Nanos::from_secs(1))) };
    assert_eq!(outcome(c, (0..tasks).map(sleeps).collect()).map(|o| o.end), Ok(End::Duration));
}

#[test]
fn time() {
    let mut c = plain();
    c.limits.time = Nanos::from_secs(2);
    let err = outcome(c.clone(), vec![hog()]).unwrap_err();
    assert_eq!(err, SimError::Time { limit: Nanos::from_secs(2) });
    // A run that ends in time does not meet it.
    c.duration = Some(Nanos::from_secs(2));
    assert_eq!(outcome(c, vec![hog()]).unwrap().end, End::Duration);
}

#[test]
fn a_program_in_which_no_time_passes() {
    let err = outcome(plain(), vec![Box::new(|_: &_| Action::Count(1))]).unwrap_err();
    let SimError::Livelock { limit, at, task } = &err else { panic!("{err:?}") };
    assert_eq!((*limit, *at, task.as_deref()), (plain().limits.at_one_instant, Instant::ZERO, Some("T0")));
    assert!(err.to_string().contains("'T0'"), "{err}");
}

#[test]
fn two_tasks_that_yield_for_ever_in_no_time() {
    let yields = || -> Box<dyn Program> { Box::new(|_: &_| Action::Yield) };
    let err = outcome(plain(), vec![yields(), yields()]).unwrap_err();
    assert!(matches!(err, SimError::Livelock { task: None, .. }), "{err:?}");
}

#[test]
fn a_sleep_of_nothing_for_ever() {
    let err = outcome(plain(), vec![Box::new(|_: &_| Action::Sleep(Nanos::ZERO))]).unwrap_err();
    assert!(matches!(err, SimError::Livelock { .. }), "{err:?}");
}

/// Forks children that do the same.
fn bomb(generation: u32) -> Box<dyn Program> {
    Box::new(move |_: &_| {
        let name = format!("bomb{generation}");
        Action::Fork(Box::new(ChildSpec { path: name.clone(), name, program: bomb(generation + 1) }))
    })
}

#[test]
fn a_fork_bomb() {
    let mut c = plain();
    c.limits.tasks = 50;
    let err = outcome(c, vec![bomb(0)]).unwrap_err();
    assert!(matches!(err, SimError::Tasks { limit: 50, .. }), "{err:?}");
}

#[test]
fn what_does_not_exist_or_cannot_be() {
    for (action, what) in [
        (Action::PipeRead { pipe: PipeId(3), bytes: 1 }, "pipe that does not exist"),
        (Action::Lock(MutexId(0)), "mutex that does not exist"),
        (Action::SetNice(20), "nice 20: allowed is -20..=19"),
        (Action::SetAffinity(CpuMask::default()), "affinity"),
        (Action::SetAffinity(CpuMask::first(2)), "online are CPUs 0"),
        (Action::SetSiblingsAffinity(CpuMask::first(2)), "online are CPUs 0"),
    ] {
        let err = outcome(plain(), vec![script(vec![action])]).unwrap_err();
        let SimError::Program { task, .. } = &err else { panic!("{err:?}") };
        assert_eq!(task, "T0");
        assert!(err.to_string().contains(what), "{err}");
    }
}

#[test]
fn tasks_that_wait_for_what_never_comes() {
    let mut objects = Objects::default();
    let sem = objects.add_semaphore("s", 0);
    let mut sim = Simulation::new(plain(), objects, ());
    let waits = sim.add_task(task("waits", 0, script(vec![run(5), Action::SemWait(sem)])));
    sim.add_task(task("ends", 0, script(vec![run(1_000_000)])));
    assert_eq!(sim.run().unwrap().end, End::Stalled(vec![waits]));
}

/// Durations up to the largest number there is.
#[test]
fn huge_durations_end_at_a_limit() {
    let makes: [fn(Nanos) -> Action; 6] = [
        |d| Action::Run(Work::Capacity(d)),
        |d| Action::Run(Work::CpuTime(d)),
        |d| Action::Run(Work::Clock(d)),
        Action::KernelRun,
        Action::Sleep,
        |d| Action::SleepUntil(Instant(d.0)),
    ];
    for ns in [u64::MAX, u64::MAX / 2, u64::MAX / 1024 + 1] {
        for make in makes {
            let mut c = plain();
            c.limits.time = Nanos::from_secs(3);
            c.machine.costs.syscall_entry = Nanos(5);
            let program = script(vec![run(1_000_000), make(Nanos(ns))]);
            let err = outcome(c, vec![program, hog()]).unwrap_err();
            assert_eq!(err, SimError::Time { limit: Nanos::from_secs(3) }, "{:?}", make(Nanos(ns)));
        }
    }
}

#[test]
fn huge_speeds_and_interference_end_at_a_limit() {
    use sim_core::CpuId;
    use sim_core::machine::{Interference, SourceKind, SpeedChange};
    let mut c = plain();
    c.limits.time = Nanos::from_secs(3);
    c.machine.speed_changes = vec![SpeedChange { at: Instant(7), cpu: CpuId(0), speed: u32::MAX }];
    let fast = outcome(c.clone(), vec![script(vec![run(1_000_000_000)])]).unwrap();
    assert!(fast.at < Instant(1_000), "{fast:?}");
    assert!(matches!(outcome(c, vec![hog()]).unwrap_err(), SimError::Time { .. }));
    let mut c = plain();
    c.limits.time = Nanos::from_secs(3);
    let (cpu, kind) = (CpuId(0), SourceKind::Steal);
    for (period, time) in [(1, u64::MAX), (u64::MAX, u64::MAX / 2)] {
        let (period, time) = (Nanos(period), Nanos(time));
        c.machine.interference = vec![Interference::regular(cpu, kind, Instant(5), period, time)];
        c.limits.events = 100_000;
        let err = outcome(c.clone(), vec![hog()]).unwrap_err();
        assert!(!matches!(err, SimError::Program { .. }), "{err}");
    }
}
