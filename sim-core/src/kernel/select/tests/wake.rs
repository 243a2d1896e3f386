//! smp.md §9.3: i7-8700, siblings i and i + 6, the waker on CPU 0.

use super::{FULL, Rig, profiles};
use crate::id::{CpuId, TaskId};
use crate::observe::{AffineRule, Select, SelectRule};

const ALL: (&str, &str) = ("4.19", "6.5");
/// Profiles that search core, CPU and thread one after the other.
const SEPARATE: (&str, &str) = ("4.19", "5.10-debian");
/// Profiles that search in one walk.
const COMBINED: (&str, &str) = ("5.12", "6.5");
/// Profiles where the previous CPU's idleness settles `wake_affine`.
const PREV_IDLE: (&str, &str) = ("5.12", "6.5");

/// Runs a case on all profiles of a range.
fn each((from, to): (&str, &str), case: impl Fn(&str)) {
    profiles(from, to).into_iter().for_each(case);
}

/// A rig with the waker on CPU 0 and the given hogs.
fn rig(profile: &str, hogs: impl IntoIterator<Item = u32>) -> (Rig, TaskId) {
    let mut r = Rig::i7(profile);
    let waker = r.running(0);
    r.task_avg(waker, FULL, FULL);
    r.cpu_avg(0, FULL, FULL, FULL);
    r.hogs(hogs);
    (r, waker)
}

/// Capacity of a thread: up to 5.0 two share 1178.
fn capacity(profile: &str) -> i64 {
    if profile == "4.19" { 589 } else { 1024 }
}

fn expect(d: &Select, cpu: u32, rule: SelectRule, profile: &str) {
    assert_eq!((d.chosen, d.rule), (CpuId(cpu), rule), "{profile}: {d:?}");
}

#[test]
fn w1_an_idle_previous_cpu_is_kept() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, [9]);
        let p = r.sleeper(3, 200);
        r.blocked(3, 200);
        let d = r.wake(p, 0, Some(waker), false);
        expect(&d, 3, SelectRule::TargetIdle, profile);
        let affine = d.affine.unwrap();
        if profiles(PREV_IDLE.0, PREV_IDLE.1).contains(&profile) {
            assert_eq!(affine.rule, AffineRule::PrevIdle, "{profile}");
        } else {
            // Up to 5.4 the sleeper's own load is not in the load of CPU 3 and yet is taken off it; h_load of a queue
            // with load_avg L is L, so that a load of 200 counts 200 · L / (L + 1).
            let (w, cap) = (affine.weight.unwrap(), capacity(profile));
            let this = (1024 + w.task_load.cast_signed()) * 100 * cap;
            assert_eq!((affine.rule, w.this), (AffineRule::Weight, this), "{profile}");
            let prev_load = if profiles("4.19", "5.4").contains(&profile) { 0 } else { 200 };
            assert_eq!(w.prev_load.cast_signed(), prev_load, "{profile}");
            assert_eq!(w.prev, (prev_load - w.task_load.cast_signed()) * 108 * cap, "{profile}");
        }
    });
}

#[test]
fn w2_a_sync_waker_is_the_target_but_the_idle_previous_cpu_is_taken() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, [9]);
        let p = r.sleeper(3, 200);
        let d = r.wake(p, 0, Some(waker), true);
        expect(&d, 3, SelectRule::PrevIdle, profile);
        assert_eq!((d.target, d.affine.unwrap().rule), (CpuId(0), AffineRule::SyncAlone), "{profile}");
    });
}

#[test]
fn w3_the_search_for_an_idle_core_begins_at_the_waker() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, [3]);
        let p = r.sleeper(3, 200);
        r.idle_cores(true);
        r.k.llc_shared[0].nr_idle_scan = 11;
        let d = r.wake(p, 0, Some(waker), true);
        expect(&d, 1, SelectRule::IdleCore, profile);
        assert!(r.k.llc_shared[0].has_idle_cores, "a search that succeeds keeps the hint");
    });
}

/// CPUs 0–5 each run a hog, no idle core; the idle time of CPU 0 allows `n`.
fn w4(profile: &str, avg_idle: u64, avg_scan_cost: u64) -> Select {
    let (mut r, waker) = rig(profile, 1..=5);
    let p = r.sleeper(3, 200);
    let rq = &mut r.k.rqs[0].balance;
    (rq.avg_idle, rq.avg_scan_cost) = (avg_idle, avg_scan_cost);
    r.wake(p, 0, Some(waker), true)
}

#[test]
fn w4_a_short_search_ends_at_the_wakers_sibling() {
    each(SEPARATE, |profile| {
        let d = w4(profile, 20_000, 500);
        expect(&d, 6, SelectRule::IdleSibling, profile);
        let s = d.search.unwrap();
        assert_eq!((s.examined, s.budget), (3, Some(4)), "{profile}: looks at 0, 1, 2");
    });
    each(COMBINED, |profile| expect(&w4(profile, 20_000, 500), 9, SelectRule::IdleSibling, profile));
}

#[test]
fn w5_a_long_search_finds_the_first_idle_thread() {
    each(SEPARATE, |profile| {
        let d = w4(profile, 1_000_000, 1000);
        expect(&d, 6, SelectRule::IdleCpu, profile);
        let s = d.search.unwrap();
        assert_eq!((s.examined, s.budget), (7, Some(23)), "{profile}: 0 to 6");
    });
    each(COMBINED, |profile| expect(&w4(profile, 1_000_000, 1000), 9, SelectRule::IdleSibling, profile));
}

#[test]
fn w6_with_all_cpus_busy_a_sync_wakee_stacks_on_its_waker() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, 1..=11);
        let p = r.sleeper(3, 200);
        r.k.llc_shared[0].nr_idle_scan = 11;
        expect(&r.wake(p, 0, Some(waker), true), 0, SelectRule::Target, profile);
    });
}

/// The wakee's load of 200 is in the load of CPU 3 from 5.5 on only.
#[test]
fn w7_by_load_it_stays() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, 1..=11);
        let p = r.sleeper(3, 201);
        r.blocked(3, 200);
        let d = r.wake(p, 0, Some(waker), false);
        expect(&d, 3, SelectRule::Target, profile);
        let w = d.affine.unwrap().weight.unwrap();
        let v = if profiles("4.19", "5.4").contains(&profile) { 88_992 } else { 110_592 };
        let cap = capacity(profile);
        assert_eq!((w.task_load, w.this / cap, w.prev / cap), (200, 122_400, v), "{profile}");
    });
}

#[test]
fn w8_a_wide_waker_leaves_the_wakee_near_its_previous_cpu() {
    each(ALL, |profile| {
        let (mut r, waker) = rig(profile, [3]);
        let p = r.sleeper(3, 200);
        r.idle_cores(true);
        r.k.llc_shared[0].nr_idle_scan = 11;
        let jiffies = r.k.jiffies(r.now);
        let of = |flips| super::super::WakeeFlips { flips, flip_decay: jiffies, last_wakee: None };
        r.k.tasks[waker.index()].wakee_flips = of(143);
        r.k.tasks[p.index()].wakee_flips = of(12);
        let d = r.wake(p, 0, Some(waker), true);
        expect(&d, 4, SelectRule::IdleCore, profile);
        let f = d.flips.unwrap();
        assert_eq!((f.waker, f.wakee, f.factor, f.wide), (144, 12, 12, true), "{profile}");
        assert_eq!((d.target, d.affine), (CpuId(3), None), "{profile}");
    });
}

#[test]
fn w9_w10_an_interrupt_on_an_idle_cpu_keeps_the_wakee_only_from_a_busy_one() {
    each(ALL, |profile| {
        let (mut r, _) = rig(profile, []);
        let p = r.sleeper(3, 200);
        let d = r.wake(p, 2, None, false);
        expect(&d, 3, SelectRule::TargetIdle, profile);
        assert_eq!(d.affine.unwrap().rule, AffineRule::ThisIdle, "{profile}");
        r.hogs([3]);
        let d = r.wake(p, 2, None, false);
        expect(&d, 2, SelectRule::TargetIdle, profile);
        assert_eq!(d.affine.unwrap().rule, AffineRule::ThisIdle, "{profile}");
        assert_eq!(r.k.rq(CpuId(2)).idle_task_flips.flips, 1, "counted for the idle task, once");
    });
}

/// One socket per virtual CPU: no cache is shared, nothing is searched.
#[test]
fn w11_w12_without_a_shared_cache_it_is_target_or_nothing() {
    each(ALL, |profile| {
        let mut r = Rig::vm4(profile);
        let waker = r.running(0);
        r.task_avg(waker, FULL, FULL);
        r.cpu_avg(0, FULL, FULL, FULL);
        let p = r.sleeper(3, 200);
        r.blocked(3, 200);
        let idle_prev = r.wake(p, 0, Some(waker), false);
        expect(&idle_prev, 3, SelectRule::TargetIdle, profile);
        r.hogs([3]);
        let d = r.wake(p, 0, Some(waker), true);
        expect(&d, 0, SelectRule::NoSharedCache, profile);
        assert_eq!(d.flips.unwrap().factor, 1, "{profile}");
    });
}
