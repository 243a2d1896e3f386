//! Posted patches, by the check values of patches.md.

use crate::hand::{CPU0, Hand, MS};
use sim_core::observe::PreemptRule;

/// 5.15 with a patch: a hog that has run `ran` in its turn, and a sleeper that wakes beside `others` waiting tasks.
fn wake_beside(patch: &str, ran: u64, others: usize) -> Hand {
    let mut h = Hand::new("5.15", 1);
    h.k.config.switch_rule(patch).unwrap();
    let sleeper = h.start(0);
    h.schedule(CPU0);
    h.pass(MS / 10);
    h.block(CPU0);
    for _ in 0..=others {
        h.start(0);
    }
    h.schedule(CPU0);
    h.pass(ran);
    h.wake(sleeper);
    h
}

fn granularity_ms(patch: &str, ran: u64, nr_running: usize) -> u64 {
    // The sleeper and the hog count too.
    let d = wake_beside(patch, ran, nr_running - 2).last_preempt();
    assert_eq!(d.rule, PreemptRule::Granularity);
    d.granularity / MS
}

/// §1: half the queue's length times the granularity of 4 ms, at most 8 times.
#[test]
fn granularity_by_queue_length() {
    for (nr, ms) in [(2, 4), (3, 4), (4, 8), (5, 8), (6, 12), (7, 12), (8, 16), (16, 32), (40, 32)] {
        assert_eq!(granularity_ms("scalewakegran-v1", MS, nr), ms, "{nr} tasks");
    }
}

/// §5.1: half of 24 ms above 3 tasks, all of it above 6.
#[test]
fn granularity_by_two_thresholds() {
    for (nr, ms) in [(2, 4), (3, 4), (4, 12), (6, 12), (7, 24), (20, 24)] {
        assert_eq!(granularity_ms("scalewakegran-v2", MS, nr), ms, "{nr} tasks");
    }
}

/// §5.3: 3 ms more until current has run for 3 ms.
#[test]
fn granularity_until_a_minimum_run() {
    for (ran, ms) in [(MS, 7), (3 * MS - 1, 7), (3 * MS, 4), (5 * MS, 4)] {
        assert_eq!(granularity_ms("scalewakegran-v3", ran, 2), ms, "after {ran} ns");
    }
}

/// §5.2: not before 3 ms, whatever the lead.
#[test]
fn no_preemption_before_a_minimum_run() {
    let verdict = |ran| {
        let d = wake_beside("moveforward", ran, 0).last_preempt();
        (d.rule, d.preempt)
    };
    assert_eq!(verdict(3 * MS - 1), (PreemptRule::MinimumRun, false));
    assert_eq!(verdict(3 * MS).0, PreemptRule::Granularity);
    assert_eq!(verdict(30 * MS), (PreemptRule::Granularity, true));
}
