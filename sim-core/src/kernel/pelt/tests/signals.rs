//! What readers see, by version, and the clocks.

use super::{CPU0, CPU1, Hand, MS, PERIOD_NS};
use crate::id::CpuId;
use crate::kernel::PROFILES;
use crate::kernel::features::Feature;

/// smp.md §2.5: blocked load counts from 5.5 on, and runnable load is gone with the task.
#[test]
fn the_load_of_a_cpu_whose_task_sleeps() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let t = h.pinned(CPU0);
        h.wake(t);
        h.pass(200);
        assert!((1000..=1026).contains(&h.k.cpu_load(CPU0)), "{}: {}", p.name, h.k.cpu_load(CPU0));
        assert!((1000..=1024).contains(&h.k.cpu_util(CPU0)), "{}", p.name);
        h.block(CPU0);
        let blocked = h.k.cpu_load(CPU0);
        if p.release < crate::kernel::version::Release::new(5, 5, 0) {
            // But for the rounding of the queue's sum against the task's.
            assert!(blocked <= 2, "{}: {blocked}", p.name);
        } else {
            assert!(blocked > 1000, "{}: {blocked}", p.name);
            assert_eq!(h.k.cpu_load_without(CPU0, t, h.at()), blocked - h.k.task_h_load(t, h.at()));
        }
        assert!(h.root(CPU0).load_avg > 1000, "{}: blocked load stays attached", p.name);
        assert_eq!(h.k.cpu_util_without(CPU0, t), 0, "{}", p.name);
        assert_eq!(h.k.cpu_util_without(CPU1, t), h.k.cpu_util(CPU1));
        h.now += 32 * PERIOD_NS;
        let (before, at) = (*h.root(CPU0), h.at());
        h.k.update_blocked_averages(CPU0, at);
        assert!(h.root(CPU0).load_avg.abs_diff(before.load_avg / 2) <= 1, "{}: halves", p.name);
        assert!(h.root(CPU0).util_avg.abs_diff(before.util_avg / 2) <= 1, "{}", p.name);
    }
}

/// smp.md §2.2: from 5.7 on a queue's runnable average counts tasks, to 5.6 their load.
#[test]
fn runnable_load_and_runnable_tasks() {
    for (profile, weight) in [("5.6", 3121), ("5.7", 1024)] {
        let mut h = Hand::new(profile, 2);
        for _ in 0..2 {
            let t = h.task(-5, crate::id::GroupId::ROOT, crate::cpumask::CpuMask::one(CPU0));
            h.wake(t);
        }
        h.pass(400);
        let runnable = h.k.cpu_runnable(CPU0);
        assert!((2 * weight - weight / 100..=2 * weight + 2).contains(&runnable), "{profile}: {runnable}");
        assert!((6200..=6244).contains(&h.root(CPU0).load_avg), "{profile}");
    }
}

/// smp.md §2.5: 1023 for a lone nice-0 task, 1023 each for two.
#[test]
fn hierarchical_load() {
    let mut h = Hand::new("6.1", 2);
    let (a, b) = (h.pinned(CPU0), h.pinned(CPU0));
    for (n, tasks) in [(1, vec![a]), (2, vec![a, b])] {
        h.k.cfs_rqs[0].avg.load_avg = n * 1024;
        h.now += 10 * MS;
        for t in tasks {
            let se = h.k.task(t).se;
            h.k.entities[se.index()].avg.load_avg = 1024;
            assert_eq!(h.k.task_h_load(t, h.at()), 1023);
        }
    }
    // Within one jiffy the CPU's part is not looked at again.
    h.k.cfs_rqs[0].avg.load_avg = 1024;
    assert_eq!(h.k.task_h_load(a, h.at()), 1024 * 2048 / 1025);
}

/// smp.md §2.5: the estimate follows by a quarter, from 5.5 on upwards at once; differences below 10 are not followed.
#[test]
fn estimates_by_version() {
    for (profile, first) in [("4.19", 25), ("5.4", 25), ("5.5", 100), ("6.5", 100)] {
        let mut h = Hand::new(profile, 2);
        let t = h.pinned(CPU0);
        let mut sleep_with = |util, ewma| {
            let se = h.k.task(t).se;
            let avg = &mut h.k.entities[se.index()].avg;
            (avg.util_avg, avg.util_est.ewma, avg.util_est.unchanged) = (util, ewma, false);
            h.k.util_est_dequeue(t, true);
            h.avg(t).util_est
        };
        assert_eq!(sleep_with(100, 0).ewma, first, "{profile}");
        let e = sleep_with(40, 100);
        assert_eq!((e.ewma, e.enqueued, e.estimate()), (85, 40, 85), "{profile}: (4 · 100 − 60) / 4");
        let e = sleep_with(91, 100);
        assert_eq!((e.ewma, e.enqueued), (100, 40), "{profile}: within 1 %");
        let e = sleep_with(90, 100);
        assert_eq!((e.ewma, e.enqueued), (97, 90), "{profile}: ⌊390/4⌋");
        let over = sleep_with(1025, 100);
        assert_eq!(over.enqueued == 90, profile != "4.19", "{profile}: above the capacity");
    }
}

/// smp.md §2.5: the queue's estimate is the sum over runnable tasks; one that sleeps unchanged keeps its own.
#[test]
fn estimates_of_runnable_tasks() {
    let mut h = Hand::new("5.7", 2);
    let t = h.pinned(CPU0);
    h.wake(t);
    h.pass(20);
    h.block(CPU0);
    let est = h.avg(t).util_est;
    assert!(est.unchanged && est.enqueued == h.avg(t).util_avg && est.ewma == est.enqueued);
    assert_eq!(h.root(CPU0).util_est.enqueued, 0);
    h.now += 200 * MS;
    h.wake(t);
    assert_eq!(h.root(CPU0).util_est.enqueued, est.estimate());
    assert_eq!(h.k.cpu_util(CPU0), est.estimate(), "the estimate is above what is left");
    assert_eq!(h.k.task_util_est(t), est.estimate());
    h.k.config.features.write("NO_UTIL_EST").unwrap();
    assert!(!h.k.config.features.enabled(Feature::UtilEst));
    assert_eq!(h.k.cpu_util(CPU0), h.root(CPU0).util_avg);
}

/// smp.md §2.3: the clock of a CPU at half speed passes half as fast, and catches up when it idles; if the CPU was never
/// idle, what it missed was no idle time.
#[test]
fn the_scaled_clock() {
    for (busy_ms, lost) in [(10, false), (2000, true)] {
        let mut h = Hand::new("5.10", 2);
        h.k.set_freq_scale(CPU0, 512);
        let t = h.pinned(CPU0);
        h.wake(t);
        h.pass(busy_ms);
        let clock = |h: &Hand| h.k.rqs[0].pelt.clock_pelt;
        assert_eq!(clock(&h), busy_ms * MS / 2);
        let before = h.k.pelt_now(CPU0);
        h.block(CPU0);
        let missed = busy_ms * MS / 2;
        assert_eq!(h.k.rqs[0].pelt.lost_idle_time, if lost { missed } else { 0 });
        h.now += MS;
        h.k.update_blocked_averages(CPU0, crate::time::Instant(h.now));
        assert_eq!(clock(&h), h.now);
        assert_eq!(h.k.pelt_now(CPU0) - before, MS + if lost { 0 } else { missed });
    }
}

/// smp.md §2.3: no frequency invariance on x86 to 5.6.
#[test]
fn frequency_is_heard_from_5_7_on() {
    for (profile, scale) in [("4.19", 1024), ("5.6", 1024), ("5.7", 762), ("6.5", 762)] {
        let mut h = Hand::new(profile, 2);
        h.k.set_freq_scale(CPU0, 762);
        assert_eq!(h.k.rqs[0].pelt.freq_scale, scale, "{profile}");
    }
}

/// smp.md §1.5: 589 per thread of two to 5.0.
#[test]
fn capacity_of_a_hardware_thread() {
    for (profile, capacity) in [("4.19", 589), ("5.4", 1024), ("6.5", 1024)] {
        let mut h = Hand::new(profile, 2);
        h.k.set_cpu_scale(CPU0, 1024, 2);
        assert_eq!((h.k.capacity_orig_of(CPU0), h.k.capacity_of(CPU0)), (capacity, capacity), "{profile}");
        h.k.cfs_rqs[0].avg.util_avg = 700;
        assert_eq!(h.k.cpu_util(CPU0), 700.min(capacity), "{profile}");
    }
}

/// smp.md §2.7: bias by the past on 4.19 only.
#[test]
fn biased_loads() {
    let mut h = Hand::new("4.19", 2);
    let t = h.pinned(CPU0);
    h.wake(t);
    h.pass(400);
    let load = h.k.cpu_load(CPU0);
    assert!(h.k.source_load(CPU0, 1) >= load - 1 && h.k.target_load(CPU0, 1) >= load - 1);
    h.block(CPU0);
    assert!(h.k.source_load(CPU0, 2) <= 2 && h.k.source_load(CPU0, 0) <= 2);
    assert!(h.k.target_load(CPU0, 2) > 900, "remembered");
    assert!(h.k.target_load(CPU0, 0) <= 2);
    h.now += 1000 * MS;
    let at = h.at();
    h.k.update_blocked_averages(CPU0, at);
    h.k.cpu_load_update(CPU0, at);
    assert_eq!(h.k.target_load(CPU0, 4), 0, "forgotten");
    h.k.config.features.write("NO_LB_BIAS").unwrap();
    h.k.rqs[0].pelt.cpu_load = [9; 5];
    assert_eq!(h.k.target_load(CPU0, 4), 0);
}

/// Nothing is tracked where nothing reads it.
#[test]
fn one_cpu_tracks_nothing() {
    let mut h = Hand::new("6.1", 1);
    let t = h.pinned(CPU0);
    h.wake(t);
    h.pass(50);
    h.block(CPU0);
    assert_eq!(*h.root(CPU0), super::super::SchedAvg::default());
    assert_eq!(*h.avg(t), super::super::SchedAvg::default());
    assert_eq!(h.k.jiffies(crate::time::Instant(50 * MS)), 12);
    assert_eq!(CpuId::new(0), CPU0);
}

/// smp.md §1.5: interrupts that take a quarter of the time take a quarter of the capacity, where they are accounted for.
#[test]
fn interrupts_take_capacity() {
    for (accounted, left) in [(true, 768), (false, 1024)] {
        let mut h = Hand::new("5.10", 2);
        h.k.config.irq_time_accounting = accounted;
        let t = h.pinned(CPU0);
        h.wake(t);
        for _ in 0..500 {
            h.k.account_nontask(CPU0, crate::time::Nanos(MS / 4), false);
            h.pass(1);
        }
        h.k.update_cpu_capacity(CPU0);
        // The average moves by up to a quarter of a period's part (22) between two updates.
        assert!(h.k.capacity_of(CPU0).abs_diff(left) <= 6, "{accounted}: {}", h.k.capacity_of(CPU0));
        h.k.rqs[0].pelt.avg_irq.util_avg = 1024;
        h.k.update_cpu_capacity(CPU0);
        assert_eq!(h.k.capacity_of(CPU0), 1);
    }
}
