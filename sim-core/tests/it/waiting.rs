//! Sleeping and waiting: timer slack, pipes, futexes, epoll, vfork. core.md §12.

use crate::support::{Log, config, hog, profiles, run, script, task};
use sim_core::kernel::Profile;
use sim_core::kernel::rules::PipeWake;
use sim_core::observe::{Event, SwitchKind};
use sim_core::program::{Action, ChildSpec, Objects, Program};
use sim_core::{Instant, Nanos, Simulation, TaskId};

const US: u64 = 1000;
const MS: u64 = 1_000_000;

/// Wake-ups in order: when, who, by whom.
fn wakings(log: &Log) -> Vec<(u64, u32, Option<u32>)> {
    let waking = |(at, e): &(Instant, Event)| match e {
        Event::Waking { task, waker, .. } => Some((at.0, task.0, waker.map(|w| w.0))),
        _ => None,
    };
    log.events.iter().filter_map(waking).collect()
}

fn simulate(profile: &str, slack: u64, objects: Objects, programs: Vec<Box<dyn Program>>) -> Log {
    let mut c = config(profile, 1, 250, 0);
    c.machine.costs.timer_slack = Nanos(slack);
    c.duration = Some(Nanos::from_secs(1));
    let mut sim = Simulation::new(c, objects, Log::default());
    for (i, p) in programs.into_iter().enumerate() {
        sim.add_task(task(&format!("T{i}"), 0, p));
    }
    sim.run().unwrap();
    sim.observer
}

fn sleep(ns: u64) -> Box<dyn Program> {
    script(vec![Action::Sleep(Nanos(ns))])
}

/// When task 0 wakes from its sleep.
fn woken_at(log: &Log) -> u64 {
    wakings(log).iter().filter(|(at, t, _)| *t == 0 && *at > 0).map(|(at, ..)| *at).next().unwrap()
}

/// core.md §12.2: a sleep ends with its slack, or at the first timer interrupt within it.
#[test]
fn a_sleep_ends_at_the_first_timer_interrupt_within_its_slack() {
    for profile in profiles() {
        let none = Objects::default;
        // Nothing else: the end of the slack, or 1 ns.
        assert_eq!(woken_at(&simulate(profile, 50 * US, none(), vec![sleep(3_980 * US)])), 4_030 * US);
        assert_eq!(woken_at(&simulate(profile, 1, none(), vec![sleep(3_980 * US)])), 3_980_001);
        // Beside a hog the CPU ticks: at 4 ms, within the slack; 3.94 ms + 50 us is before it, 4.01 ms after it.
        for (asked, woken) in [(3_980, 4_000), (3_940, 3_990), (4_010, 4_060)] {
            let log = simulate(profile, 50 * US, none(), vec![sleep(asked * US), hog()]);
            assert_eq!(woken_at(&log), woken * US, "{profile}: {asked} us");
        }
        // The timer of another sleeper does as well: it fires at 1.05 ms, when the slack of the other has begun.
        let log = simulate(profile, 50 * US, none(), vec![sleep(1_020 * US), sleep(1_000 * US)]);
        assert_eq!(woken_at(&log), 1_050 * US, "{profile}");
        let log = simulate(profile, 50 * US, none(), vec![sleep(1_051 * US), sleep(1_000 * US)]);
        assert_eq!(woken_at(&log), 1_101 * US, "{profile}: not before what was asked for");
    }
}

#[test]
fn timer_slack_is_inherited() {
    let child = script(vec![Action::Sleep(Nanos(MS))]);
    let child = ChildSpec { name: "child".into(), path: "child".into(), program: child };
    let parent =
        script(vec![Action::SetTimerSlack(Nanos(7)), Action::Fork(Box::new(child)), Action::WaitChildren]);
    let log = simulate("6.1", 50 * US, Objects::default(), vec![parent]);
    assert!(wakings(&log).contains(&(MS + 7, 1, None)), "{:?}", wakings(&log));
}

/// Three readers wait for a byte each; one write brings three.
fn three_readers(profile: &str) -> Log {
    let mut objects = Objects::default();
    let pipe = objects.add_pipe("p", Objects::PIPE_CAPACITY, 0);
    let mut programs: Vec<Box<dyn Program>> =
        (0..3).map(|_| script(vec![Action::PipeRead { pipe, bytes: 1 }])).collect();
    programs.push(script(vec![run(MS), Action::PipeWrite { pipe, bytes: 3 }]));
    simulate(profile, 0, objects, programs)
}

/// core.md §12.3: all at once up to 5.5; from 5.6 on one, and each that leaves something wakes the next.
#[test]
fn a_pipe_wakes_all_readers_or_chains() {
    for profile in profiles() {
        let exclusive = Profile::by_name(profile).unwrap().rules().pipe_wake == PipeWake::Exclusive;
        let log = three_readers(profile);
        let woken: Vec<_> =
            wakings(&log).into_iter().filter(|w| w.2.is_some()).map(|(_, t, by)| (t, by.unwrap())).collect();
        let expected = if exclusive { [(0, 3), (1, 0), (2, 1)] } else { [(0, 3), (1, 3), (2, 3)] };
        assert_eq!(woken, expected, "{profile}");
    }
}

/// A reader that finds data at once wakes nobody, whatever it leaves.
#[test]
fn only_a_reader_that_slept_chains() {
    let mut objects = Objects::default();
    let pipe = objects.add_pipe("p", Objects::PIPE_CAPACITY, 0);
    let read = || Action::PipeRead { pipe, bytes: 1 };
    let slow = script(vec![read(), run(MS)]);
    let second = script(vec![read()]);
    // Writes three bytes and takes one back before the woken reader runs.
    let writer = script(vec![run(MS), Action::PipeWrite { pipe, bytes: 3 }, read(), run(10 * MS)]);
    let log = simulate("6.1", 0, objects, vec![slow, second, writer]);
    let woken: Vec<_> =
        wakings(&log).into_iter().filter(|w| w.2.is_some()).map(|(_, t, by)| (t, by)).collect();
    assert_eq!(woken, [(0, Some(2)), (1, Some(0))]);
}

/// core.md §12.3: a writer that must block wakes a reader first.
#[test]
fn a_writer_that_must_block_wakes_a_reader_first() {
    for profile in profiles() {
        let mut objects = Objects::default();
        let pipe = objects.add_pipe("p", 4, 0);
        let reader = script(vec![Action::PipeRead { pipe, bytes: 6 }]);
        let writer = script(vec![run(MS), Action::PipeWrite { pipe, bytes: 6 }]);
        let log = simulate(profile, 0, objects, vec![reader, writer]);
        let woken = wakings(&log).into_iter().find(|w| w.2.is_some()).unwrap();
        assert_eq!((woken.1, woken.2), (0, Some(1)), "{profile}");
        let ended = log.events.iter().filter(|(_, e)| matches!(e, Event::Exit { .. })).count();
        assert_eq!(ended, 2, "{profile}: both come to their end");
    }
}

/// core.md §12.3: the oldest waiters, as many as were asked for.
#[test]
fn a_futex_wakes_its_oldest_waiters() {
    let mut objects = Objects::default();
    let sem = objects.add_semaphore("s", 0);
    let mut programs: Vec<Box<dyn Program>> = (0..3).map(|_| script(vec![Action::SemWait(sem)])).collect();
    programs.push(script(vec![run(MS), Action::SemPost { sem, n: 2 }]));
    let log = simulate("6.1", 0, objects, programs);
    let woken: Vec<_> = wakings(&log).into_iter().filter(|w| w.2.is_some()).map(|w| w.1).collect();
    assert_eq!(woken, [0, 1]);
}

/// core.md §12.3: waits are exclusive, one waiter per event; an event nobody waits for stays.
#[test]
fn an_event_wakes_one_waiter_of_an_epoll_instance() {
    let mut objects = Objects::default();
    let epoll = objects.add_epoll("e");
    let waiter = || script(vec![Action::EpollWait { epoll, timeout: None }]);
    let poster = script(vec![run(MS), Action::EpollPost(epoll), run(50 * MS), Action::EpollPost(epoll)]);
    let log = simulate("6.1", 0, objects.clone(), vec![waiter(), waiter(), waiter(), poster]);
    let woken: Vec<_> = wakings(&log).into_iter().filter(|w| w.2.is_some()).map(|w| w.1).collect();
    assert_eq!(woken, [2, 1], "last come, first woken");
    let wait = Action::EpollWait { epoll, timeout: None };
    let late = script(vec![Action::Sleep(Nanos(10 * MS)), wait, Action::Count(1)]);
    let log = simulate("6.1", 0, objects, vec![script(vec![Action::EpollPost(epoll)]), late]);
    assert!(log.events.iter().any(|(_, e)| matches!(e, Event::Count { .. })));
}

/// When tasks wake from waits for an event that end after `timeout` at most: posted at the given times, seen at nice `nice`.
fn epoll_wakings(timeout: u64, nice: i8, slack: u64, posts: &[u64]) -> Vec<(u64, Option<u32>)> {
    let mut objects = Objects::default();
    let epoll = objects.add_epoll("e");
    let wait = || Action::EpollWait { epoll, timeout: Some(Nanos(timeout)) };
    let waiter = script(vec![Action::SetNice(nice), wait(), Action::Count(1), wait(), Action::Count(1)]);
    let post = |at: &u64| [Action::SleepUntil(Instant(*at)), Action::EpollPost(epoll)];
    let poster = posts.iter().flat_map(post).collect();
    let log = simulate("6.1", slack, objects, vec![waiter, script(poster)]);
    assert_eq!(log.events.iter().filter(|(_, e)| matches!(e, Event::Count { .. })).count(), 2);
    wakings(&log).into_iter().filter(|w| w.1 == 0 && w.0 > 0).map(|w| (w.0, w.2)).collect()
}

/// core.md §12.2: timeouts of epoll_wait have a slack of a thousandth, a two-hundredth for nice tasks, at least the task's
/// own and at most 100 ms.
#[test]
fn the_slack_of_an_epoll_timeout_grows_with_it() {
    let us = |at: u64| (at * US, None);
    assert_eq!(epoll_wakings(10 * MS, 0, 50 * US, &[]), [us(10_050), us(20_100)]);
    assert_eq!(epoll_wakings(200 * MS, 0, 50 * US, &[]), [us(200_200), us(400_400)]);
    assert_eq!(epoll_wakings(200 * MS, 1, 50 * US, &[]), [us(201_000), us(402_000)]);
    assert_eq!(epoll_wakings(200 * MS, -1, 50 * US, &[]), [us(200_200), us(400_400)]);
    assert_eq!(epoll_wakings(100 * MS, 0, 300 * MS, &[]), [us(200_000), us(400_000)], "at most 100 ms");
}

#[test]
fn an_event_ends_an_epoll_wait_before_its_timeout() {
    // Woken by the event at 4 ms, then by its own timer 10 ms (and a thousandth) after that: the first timer is gone.
    assert_eq!(epoll_wakings(10 * MS, 0, 0, &[4 * MS]), [(4 * MS, Some(1)), (14_010 * US, None)]);
    // An event after the timeout is there for the next wait.
    assert_eq!(epoll_wakings(10 * MS, 0, 0, &[25 * MS]), [(10_010 * US, None), (20_020 * US, None)]);
    assert_eq!(epoll_wakings(10 * MS, 0, 0, &[15 * MS]), [(10_010 * US, None), (15 * MS, Some(1))]);
    // A timeout of zero does not wait.
    assert_eq!(epoll_wakings(0, 0, 50 * US, &[]), []);
}

/// A task whose timeout has come is no waiter any more: the event is for the other.
#[test]
fn a_wait_that_timed_out_takes_no_event() {
    let mut objects = Objects::default();
    let epoll = objects.add_epoll("e");
    let patient = script(vec![Action::EpollWait { epoll, timeout: None }]);
    let hasty = script(vec![run(1), Action::EpollWait { epoll, timeout: Some(Nanos(MS)) }]);
    // Posts in the moment in which the timer has woken the hasty one, which came last and has not run yet.
    let poster =
        script(vec![Action::SetNice(-20), Action::SleepUntil(Instant(MS + 1)), Action::EpollPost(epoll)]);
    let log = simulate("6.1", 0, objects, vec![patient, hasty, poster]);
    let woken: Vec<_> = wakings(&log).into_iter().filter(|w| w.0 > MS / 2).map(|w| (w.1, w.2)).collect();
    assert_eq!(woken.last(), Some(&(0, Some(2))), "{woken:?}");
}

/// core.md §12.1: the parent sleeps until the child execs, or exits.
#[test]
fn a_vforking_parent_waits_for_exec_or_exit() {
    for (execs, woken_at) in [(true, 2 * MS), (false, 5 * MS)] {
        let mut steps = vec![run(2 * MS)];
        if execs {
            steps.push(Action::Exec { name: "cc1".into() });
        }
        steps.push(run(3 * MS));
        let child = ChildSpec { name: "child".into(), path: "child".into(), program: script(steps) };
        let parent = script(vec![Action::Vfork(Box::new(child)), run(MS), Action::WaitChildren]);
        let log = simulate("6.1", 0, Objects::default(), vec![parent]);
        let switched = log.events.iter().find_map(|(at, e)| match e {
            Event::Switch { prev: Some(TaskId(0)), kind, next, .. } => Some((at.0, *kind, *next)),
            _ => None,
        });
        assert_eq!(switched, Some((0, SwitchKind::Blocked, Some(TaskId(1)))));
        let woken = wakings(&log).into_iter().find(|w| w.2 == Some(1)).unwrap();
        assert_eq!(woken, (woken_at, 0, Some(1)), "execs: {execs}");
    }
}
