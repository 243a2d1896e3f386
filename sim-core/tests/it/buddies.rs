//! Buddies and yield: core.md §15.7.

use crate::hand::{CPU0, Hand, MS};
use crate::support::profiles;
use sim_core::kernel::rules::BuddyClear;
use sim_core::kernel::{Policy, Schedule};
use sim_core::{GroupId, TaskId};

/// `n` tasks: A runs at vruntime 100 ms, L waits at `left`, all others far to the right. S wakes at 88 ms, preempts A,
/// runs for 0.5 ms and sleeps. Gives A, L, and who runs then.
fn after_a_short_wakeup(profile: &str, n: usize, left: u64) -> (TaskId, TaskId, Option<TaskId>) {
    let mut h = Hand::new(profile, 1);
    let a = h.start_at(0, 90 * MS);
    let l = h.start_at(0, left);
    for _ in 0..n - 3 {
        h.start_at(0, 500 * MS);
    }
    assert_eq!(h.schedule(CPU0), Some(a));
    h.pass(10 * MS);
    let s = h.start_at(0, 88 * MS);
    assert_eq!((h.v(a), h.last_preempt().lead), (100 * MS, 12_000_000));
    assert_eq!(h.schedule(CPU0), Some(s), "{profile}");
    h.pass(MS / 2);
    let then = h.block(CPU0);
    (a, l, then)
}

#[test]
fn the_preempted_task_is_preferred_within_a_granularity() {
    for profile in profiles() {
        let (a, _, then) = after_a_short_wakeup(profile, 9, 97 * MS);
        assert_eq!(then, Some(a), "{profile}: 3 ms behind the leftmost, within 4 ms");
        let (_, l, then) = after_a_short_wakeup(profile, 9, 96 * MS - 100_000);
        assert_eq!(then, Some(l), "{profile}: 4.1 ms behind the leftmost");
        let (_, l, then) = after_a_short_wakeup(profile, 7, 97 * MS);
        assert_eq!(then, Some(l), "{profile}: fewer than 8 tasks make no last buddy");
    }
}

/// A runs at 100 ms, B waits at `b`; A yields.
fn yield_against(profile: &str, b: u64) -> (Hand, TaskId, TaskId, Option<TaskId>) {
    let mut h = Hand::new(profile, 1);
    let a = h.start_at(0, 100 * MS);
    h.schedule(CPU0);
    let other = h.start_at(0, b);
    let runs = h.yield_(CPU0);
    (h, a, other, runs)
}

#[test]
fn a_yield_reaches_as_far_as_a_granularity() {
    for profile in profiles() {
        let (_, _, b, runs) = yield_against(profile, 103 * MS);
        assert_eq!(runs, Some(b), "{profile}");
        let (h, a, _, runs) = yield_against(profile, 105 * MS);
        assert_eq!(runs, Some(a), "{profile}");
        // From 5.14 on a task that is picked again keeps its mark.
        let stays = h.k.config.rules.buddy_clear == BuddyClear::OnSetNext;
        let mark = stays.then(|| h.k.task(a).se);
        assert_eq!(h.k.cfs_rq(h.k.rq(CPU0).cfs).skip, mark, "{profile}");
    }
}

/// core.md §8.5: alone on its CPU a task yields to nobody, and leaves no mark.
#[test]
fn a_yield_alone_does_nothing() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let a = h.start(0);
        h.schedule(CPU0);
        h.pass(MS);
        assert_eq!(h.yield_(CPU0), Some(a), "{profile}");
        assert_eq!(h.k.cfs_rq(h.k.rq(CPU0).cfs).skip, None, "{profile}");
        assert_eq!(h.k.task(a).nivcsw, 0, "not a switch");
    }
}

/// core.md §3.1: a yield leaves its clock to the `__schedule` that follows; that of a batch task (§8.5) samples none.
#[test]
fn a_yield_keeps_its_clock_for_the_switch() {
    for profile in profiles() {
        for (policy, charged) in [(Policy::Normal, 1000), (Policy::Batch, 1500)] {
            let mut h = Hand::new(profile, 1);
            let yields = h.add_in(0, policy, CPU0, GroupId::ROOT);
            h.wake(yields);
            h.start(0);
            assert_eq!(h.schedule(CPU0), Some(yields), "{profile}");
            h.pass(1000);
            h.k.sched_yield(CPU0, h.now, &mut h.log);
            h.pass(500);
            h.k.schedule(CPU0, h.now, Schedule::Call, &mut h.log);
            assert_eq!(h.k.task_entity(yields).sum_exec_runtime, charged, "{profile}, {policy:?}");
        }
    }
}
