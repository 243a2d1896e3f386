//! Spread, fed by hand.

use super::*;
use crate::machine::topology::Shape;

const MS: u64 = 1_000_000;

/// Two caches of two cores of two threads; CPUs i and i+4 are siblings.
fn spread(warmup: u64) -> Spread {
    Spread::new(Nanos(warmup), &Shape::new(1, 2, 2, 2).topology().unwrap())
}

fn at(s: &mut Spread, ms: u64, event: Event) {
    s.event(Instant(ms * MS), &event);
}

fn run(cpu: u32, task: u32) -> Event {
    let kind = SwitchKind::FromIdle;
    Event::Switch { cpu: CpuId(cpu), prev: None, kind, next: Some(TaskId(task)) }
}

fn wakeup(task: u32, cpu: u32) -> Event {
    let (task, cpu) = (TaskId(task), CpuId(cpu));
    Event::Wakeup { task, cpu, new: false, curr: None, resched_before: false, resched_after: true }
}

/// Task 0 runs on CPU 0, task 1 waits there from 10 ms on; siblings, cache and machine fill up in turn.
fn crowded(s: &mut Spread) {
    (0..8).for_each(|t| at(s, 0, Event::Fork { parent: None, child: TaskId(t) }));
    at(s, 0, run(0, 0));
    at(s, 10, wakeup(1, 0));
    at(s, 11, run(4, 2)); // the sibling is busy now
    at(s, 13, run(1, 3));
    at(s, 13, run(5, 4)); // the cache is full
    at(s, 16, run(2, 5)); // three CPUs of the other cache idle still
    at(
        s,
        20,
        Event::Switch {
            cpu: CpuId(0),
            prev: Some(TaskId(0)),
            kind: SwitchKind::Blocked,
            next: Some(TaskId(1)),
        },
    );
    s.finish(Instant(30 * MS));
}

#[test]
fn waiting_counts_by_the_nearest_idle_cpu() {
    let mut s = spread(0);
    crowded(&mut s);
    let wasted = Near::ALL.map(|n| s.wasted(n).0 / MS);
    assert_eq!(wasted, [1, 2, 7, 0], "a node is the whole machine here");
    assert_eq!(s.wasted_in_all(), Nanos(10 * MS));
    // Cores 0 and 1 have two busy threads from 11 and 13 ms on.
    assert_eq!(s.shared_core_time(), Nanos((19 + 17) * MS));
    assert_eq!(s.idle_time[4], Nanos(11 * MS));
    assert_eq!(s.idle_time[7], Nanos(30 * MS));
}

#[test]
fn what_came_before_the_warm_up_does_not_count() {
    let mut s = spread(12 * MS);
    crowded(&mut s);
    assert_eq!(Near::ALL.map(|n| s.wasted(n).0 / MS), [0, 1, 7, 0]);
    assert_eq!((s.wakeups, s.idle_time[4], s.idle_time[7]), (0, Nanos::ZERO, Nanos(18 * MS)));
}

#[test]
fn a_pinned_task_waits_beside_no_idle_cpu() {
    let mut s = spread(0);
    at(&mut s, 0, Event::Fork { parent: None, child: TaskId(0) });
    s.affinity(TaskId(0), &CpuMask::one(CpuId(0)));
    at(&mut s, 0, wakeup(0, 0));
    s.finish(Instant(5 * MS));
    assert_eq!(s.wasted_in_all(), Nanos::ZERO);
    // One that may use the cache counts within it only.
    s.affinity(TaskId(0), &"0-1,4-5".parse().unwrap());
    at(&mut s, 5, wakeup(0, 0));
    s.finish(Instant(8 * MS));
    assert_eq!(Near::ALL.map(|n| s.wasted(n).0 / MS), [3, 0, 0, 0]);
}

#[test]
fn migrations_count_by_reason_and_wake_ups_by_where_they_lead() {
    let mut s = spread(0);
    at(&mut s, 0, Event::Fork { parent: None, child: TaskId(0) });
    let moved = |reason| Event::Migrate { task: TaskId(0), from: CpuId(0), to: CpuId(1), reason };
    at(&mut s, 1, moved(MigrateReason::Wake));
    for cpu in [1, 1, 1, 1] {
        at(&mut s, 1, wakeup(0, cpu));
    }
    at(&mut s, 2, moved(MigrateReason::NewIdle));
    assert_eq!((s.migrations[MigrateReason::Wake], s.migrations[MigrateReason::NewIdle]), (1, 1));
    assert_eq!(s.on_previous_cpu(), Some(0.75));
}
