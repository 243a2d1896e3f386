//! Single rules of placement, by version.

use super::{FULL, Rig, SelectFor, profiles};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::kernel::features::Feature;
use crate::kernel::{Policy, Schedule, Wake};
use crate::observe::{AffineRule, Select, SelectRule};
use crate::time::{Instant, Nanos};
use proptest::prelude::*;

fn mask(cpus: &[u32]) -> CpuMask {
    cpus.iter().map(|c| CpuId(*c)).collect()
}

fn chosen(d: &Select) -> (u32, SelectRule) {
    (d.chosen.0, d.rule)
}

/// Hogs everywhere but on `free`, the waker on CPU 0.
fn crowded(profile: &str, free: &[u32]) -> (Rig, TaskId) {
    let mut r = Rig::i7(profile);
    let waker = r.running(0);
    r.task_avg(waker, FULL, FULL);
    r.cpu_avg(0, FULL, FULL, FULL);
    r.hogs((1..12).filter(|c| !free.contains(c)));
    (r, waker)
}

fn avg_idle(r: &mut Rig, cpu: usize, idle: u64, cost: u64) {
    let jiffies = r.k.jiffies(r.now);
    let rq = &mut r.k.rqs[cpu].balance;
    (rq.avg_idle, rq.wake_avg_idle, rq.avg_scan_cost, rq.wake_stamp) = (idle, idle, cost, jiffies);
}

/// CPU 2 runs a SCHED_IDLE task, all others run hogs. 5.4 and 5.5 remember it for the case that the budget ends (n = 4: 0, 1
/// and 2 are looked at), and forget it at the end of the walk (n = 23).
#[test]
fn a_cpu_with_idle_policy_tasks_only() {
    let search = |profile: &str, idle, cost| {
        let (mut r, waker) = crowded(profile, &[2]);
        r.running_as(2, Policy::Idle);
        let p = r.sleeper(3, 200);
        avg_idle(&mut r, 0, idle, cost);
        chosen(&r.wake(p, 0, Some(waker), true))
    };
    let both = |profile| (search(profile, 20_000, 500), search(profile, 1_000_000, 1000));
    let (found, not) = ((2, SelectRule::IdleCpu), (0, SelectRule::Target));
    assert_eq!(both("4.19"), (not, not));
    for profile in ["5.4", "5.5"] {
        assert_eq!(both(profile), (found, not), "{profile}");
    }
    for profile in profiles("5.6", "5.13") {
        assert_eq!(both(profile), (found, found), "{profile}");
    }
}

#[test]
fn a_target_with_idle_policy_tasks_only_is_idle_from_5_4_on() {
    for profile in profiles("4.19", "6.5") {
        let (mut r, waker) = crowded(profile, &[3, 4]);
        r.running_as(3, Policy::Idle);
        let p = r.sleeper(3, 200);
        let at = chosen(&r.wake(p, 0, Some(waker), false));
        assert_eq!(at == (3, SelectRule::TargetIdle), profile != "4.19", "{profile}: {at:?}");
    }
}

/// Groups made idle (5.15 and later) count all their tasks; policy changes and moves keep count.
#[test]
fn idle_tasks_are_counted_through_groups() {
    let mut r = Rig::i7("6.1");
    let (outer, now) = (r.k.add_group(crate::id::GroupId::ROOT, 1024 << 10, false), r.now);
    let inner = r.k.add_group(outer, 1024 << 10, false);
    let t = r.running(5);
    let cpu = CpuId(5);
    assert!(!r.k.sched_idle_cpu(cpu));
    r.k.set_policy(t, Policy::Idle, now, &mut ());
    assert!(r.k.sched_idle_cpu(cpu));
    r.k.attach_to_group(t, inner, now, &mut ());
    assert!(r.k.sched_idle_cpu(cpu));
    r.k.set_policy(t, Policy::Normal, now, &mut ());
    assert!(!r.k.sched_idle_cpu(cpu));
    for (group, idle, counts) in
        [(inner, true, true), (outer, true, true), (inner, false, true), (outer, false, false)]
    {
        r.k.set_group_idle(group, idle, now, &mut ()).unwrap();
        assert_eq!(r.k.sched_idle_cpu(cpu), counts, "{group:?} {idle}");
    }
    r.k.set_group_idle(outer, true, now, &mut ()).unwrap();
    r.k.set_sleeping(t);
    r.k.schedule(cpu, now, Schedule::Call, &mut ());
    assert_eq!(r.k.cfs_rq(r.k.rq(cpu).cfs).idle_h_nr_running, 0);
    assert!(!r.k.sched_idle_cpu(cpu), "an idle CPU has no tasks");
}

/// A kernel thread bound to CPU 3 wakes a task that ran there; the other CPUs idle.
#[test]
fn kthread_stacking_by_version() {
    let wake = |profile: &str, kthread: bool, irq: bool| {
        let mut r = Rig::i7(profile);
        let w = r.running(3);
        r.k.tasks[w.index()].cpus_allowed = CpuMask::one(CpuId(3));
        if kthread {
            r.k.set_kthread(w);
        }
        r.k.llc_shared[0].nr_idle_scan = 11;
        let p = r.sleeper(3, 200);
        let d = r.wake(p, 3, (!irq).then_some(w), false);
        assert_ne!(d.chosen.0 == 3, d.rule != SelectRule::KthreadStacking, "{profile}: CPU 3 is busy");
        d.chosen.0 == 3
    };
    let by_version = |p: &str| (wake(p, true, false), wake(p, true, true), wake(p, false, false));
    for profile in profiles("4.19", "5.5") {
        assert_eq!(by_version(profile), (false, false, false), "{profile}");
    }
    for profile in ["5.6", "5.7", "5.10", "5.12", "5.13", "5.15"] {
        assert_eq!(by_version(profile), (true, true, false), "{profile}");
    }
    for profile in ["5.10-debian", "6.1", "6.1-debian", "6.5"] {
        assert_eq!(by_version(profile), (true, false, false), "{profile}");
    }
}

/// Timers wake two tasks at once on CPU 3, where both slept and nobody runs: the idle task is a bound kernel thread.
#[test]
fn a_timer_on_an_idle_cpu_stacks_by_version() {
    for profile in profiles("4.19", "6.5") {
        let mut r = Rig::i7(profile);
        r.k.llc_shared[0].nr_idle_scan = 11;
        let (first, second) = (r.sleeper(3, 200), r.sleeper(3, 200));
        assert_eq!(chosen(&r.wake(first, 3, None, false)), (3, SelectRule::TargetIdle), "{profile}");
        // The first is queued now, and the idle task still current.
        r.k.rqs[3].nr_running = 1;
        let stacks = ["5.6", "5.7", "5.10", "5.12", "5.13", "5.15"].contains(&profile);
        let at = chosen(&r.wake(second, 3, None, false));
        assert_eq!(at == (3, SelectRule::KthreadStacking), stacks, "{profile}: {at:?}");
        assert!(stacks || at.0 != 3, "{profile}: {at:?}");
    }
}

/// The task was on CPU 5 before CPU 3; 5 is idle, 3 and the waker's CPU 0 are busy.
#[test]
fn recent_used_cpu_by_version() {
    for profile in profiles("4.19", "6.5") {
        let (mut r, waker) = crowded(profile, &[5]);
        let p = r.sleeper(3, 200);
        r.k.tasks[p.index()].recent_used_cpu = CpuId(5);
        assert_eq!(chosen(&r.wake(p, 0, Some(waker), true)), (5, SelectRule::RecentIdle), "{profile}");
        assert_eq!(r.k.tasks[p.index()].recent_used_cpu, CpuId(3), "{profile}: replaced by the previous one");

        // Of no use when it is the target; from 5.15 on it is replaced all the same.
        r.k.tasks[p.index()].recent_used_cpu = CpuId(0);
        r.k.tasks[waker.index()].recent_used_cpu = CpuId(11);
        r.wake(p, 0, Some(waker), true);
        let later = profiles("5.15", "6.5").contains(&profile);
        let expected = if later { (3, 11) } else { (0, 0) };
        let recent = |t: TaskId| r.k.tasks[t.index()].recent_used_cpu.0;
        assert_eq!((recent(p), recent(waker)), expected, "{profile}: from 5.15 on the waker's stays");
    }
}

/// From 5.15 to 6.4 affinity is tested for the previous CPU: a recent CPU that is not allowed is chosen, and the fallback
/// sends the task to its lowest allowed one.
#[test]
fn recent_used_cpu_and_affinity() {
    for profile in profiles("4.19", "6.5") {
        let (mut r, waker) = crowded(profile, &[5]);
        let p = r.sleeper(3, 200);
        r.k.tasks[p.index()].cpus_allowed = mask(&[1, 2, 3]);
        r.k.tasks[p.index()].recent_used_cpu = CpuId(5);
        let wrong = ["5.15", "6.1", "6.1-debian"].contains(&profile);
        let expected = if wrong { (1, SelectRule::Fallback) } else { (3, SelectRule::Target) };
        assert_eq!(chosen(&r.wake(p, 0, Some(waker), true)), expected, "{profile}");
    }
}

#[test]
fn wake_affine_features_off() {
    let wake = |off: Feature| {
        let (mut r, waker) = crowded("5.4", &[]);
        r.cpu_avg(0, 0, 0, 0);
        r.k.config.features.set(off, false);
        let p = r.sleeper(3, 200);
        let d = r.wake(p, 0, Some(waker), true);
        (d.target.0, d.affine.unwrap().rule)
    };
    assert_eq!(wake(Feature::WaBias), (0, AffineRule::SyncAlone));
    let (target, rule) = wake(Feature::WaIdle);
    assert_eq!((target, rule), (0, AffineRule::Weight), "an empty CPU 0 by load");
    let (mut r, waker) = crowded("5.4", &[]);
    r.k.config.features.set(Feature::WaWeight, false);
    let p = r.sleeper(3, 200);
    let d = r.wake(p, 0, Some(waker), false);
    assert_eq!((d.target.0, d.affine.unwrap().rule), (3, AffineRule::None));
}

/// CPU 3 alone is idle, the task was on 4. Three CPUs may be looked at: 0, 1, 2 to 5.14, then 1, 2, 3.
#[test]
fn searches_begin_after_the_target_from_5_15_on() {
    let wake = |profile: &str| {
        let (mut r, waker) = crowded(profile, &[3]);
        let p = r.sleeper(4, 200);
        let idle = if profile == "5.15" { 300 } else { 20_000 };
        avg_idle(&mut r, 0, idle, 1000);
        r.k.llc_shared[0].nr_idle_scan = 3;
        let d = r.wake(p, 0, Some(waker), true);
        assert_eq!(d.search.unwrap().examined, 3, "{profile}");
        chosen(&d)
    };
    for profile in profiles("4.19", "5.13") {
        assert_eq!(wake(profile), (0, SelectRule::Target), "{profile}");
    }
    for profile in profiles("5.15", "6.5") {
        assert_eq!(wake(profile), (3, SelectRule::IdleCpu), "{profile}");
    }
}

/// `SIS_UTIL` with nothing to scan: neither CPU nor core search, though a core is idle.
#[test]
fn sis_util_zero_is_no_search() {
    let (mut r, waker) = crowded("6.1", &[2, 8]);
    r.idle_cores(true);
    let p = r.sleeper(3, 200);
    let d = r.wake(p, 0, Some(waker), true);
    assert_eq!((chosen(&d), d.search), ((0, SelectRule::Target), None));
    r.k.llc_shared[0].nr_idle_scan = 1;
    assert_eq!(chosen(&r.wake(p, 0, Some(waker), true)), (2, SelectRule::IdleCore));
}

/// Seven CPUs looked at cost 350 ns: an eighth of 350 − 1000 goes to the average, rounded by version. A search that gives
/// up is not accounted.
#[test]
fn searches_are_accounted() {
    for profile in profiles("4.19", "5.10-debian") {
        let (mut r, waker) = crowded(profile, &[6]);
        r.k.config.searches.scan_cpu = Nanos(50);
        let p = r.sleeper(3, 200);
        avg_idle(&mut r, 0, 1_000_000, 1000);
        assert_eq!(chosen(&r.wake(p, 0, Some(waker), true)), (6, SelectRule::IdleCpu));
        let expected = if profiles("4.19", "5.6").contains(&profile) { 918 } else { 919 };
        assert_eq!((r.k.rqs[0].balance.avg_scan_cost, r.k.work_ns), (expected, 350), "{profile}");
        avg_idle(&mut r, 0, 20_000, 500);
        r.wake(p, 0, Some(waker), true);
        assert_eq!((r.k.rqs[0].balance.avg_scan_cost, r.k.work_ns), (500, 500), "{profile}: gave up after 3");
    }
}

/// With `NO_SIS_PROP` every CPU is looked at.
#[test]
fn without_sis_prop_there_is_no_budget() {
    let (mut r, waker) = crowded("5.7", &[11]);
    r.k.config.features.set(Feature::SisProp, false);
    let p = r.sleeper(3, 200);
    avg_idle(&mut r, 0, 0, 1_000_000);
    let d = r.wake(p, 0, Some(waker), true);
    assert_eq!((chosen(&d), d.search.unwrap().budget), ((11, SelectRule::IdleCpu), None));
}

/// A core search without success clears the hint; a core whose last thread goes idle sets it.
#[test]
fn the_idle_core_hint() {
    for profile in profiles("4.19", "6.5") {
        let (mut r, waker) = crowded(profile, &[7]);
        r.idle_cores(true);
        r.k.llc_shared[0].nr_idle_scan = 12;
        let p = r.sleeper(3, 200);
        assert_eq!(chosen(&r.wake(p, 0, Some(waker), true)).0, 7, "{profile}");
        assert!(!r.k.llc_shared[0].has_idle_cores, "{profile}: CPU 1 is busy");

        let now = Instant(r.now.0 + 1000);
        for (cpu, whole) in [(2, false), (8, true)] {
            let t = r.k.rq(CpuId(cpu)).curr.unwrap();
            r.k.set_sleeping(t);
            r.k.schedule(CpuId(cpu), now, Schedule::Call, &mut ());
            assert_eq!(r.k.llc_shared[0].has_idle_cores, whole, "{profile}: CPU {cpu} idles");
        }
    }
}

/// Without hardware threads there are no cores to speak of.
#[test]
fn no_idle_core_hint_without_smt() {
    let mut r = Rig::on("5.4", crate::machine::topology::Topology::uniform(4).unwrap());
    let t = r.running(1);
    r.k.set_sleeping(t);
    r.k.schedule(CpuId(1), Instant(r.now.0 + 1000), Schedule::Call, &mut ());
    assert!(!r.k.llc_shared[0].has_idle_cores);
}

/// smp.md §3.7: another cache always by wake list; an idle CPU of the same cache from 6.0 on.
#[test]
fn wake_ups_are_queued_by_version() {
    for profile in profiles("4.19", "6.5") {
        let wake = |mut r: Rig| {
            let waker = r.running(0);
            let p = r.sleeper(3, 200);
            r.k.try_to_wake_up(p, CpuId(0), Some(waker), false, r.now, &mut ())
        };
        let (queued, enqueued) = (Wake::Queued(CpuId(3), true), Wake::Enqueued(CpuId(3)));
        assert_eq!(wake(Rig::vm4(profile)), queued, "{profile}");
        let later = profiles("6.1", "6.5").contains(&profile);
        assert_eq!(wake(Rig::i7(profile)), if later { queued } else { enqueued }, "{profile}");
    }
}

/// Idle states decide before times do; a CPU in no known state compares by time alone.
#[test]
fn a_new_task_goes_to_the_shallowest_then_the_last_idled() {
    let fork = |states: [Option<u64>; 2], stamps: [u64; 2]| {
        let mut r = Rig::i7("5.5");
        let p = r.running(0);
        for (i, cpu) in [1, 7].into_iter().enumerate() {
            r.k.set_idle_state(CpuId(cpu), states[i].map(Nanos));
            r.k.rqs[cpu as usize].balance.idle_stamp = stamps[i];
        }
        let child = r.k.sched_fork(p, r.now, &mut ());
        r.select(child, SelectFor::Fork).chosen.0
    };
    assert_eq!(fork([Some(85_000), Some(2_000)], [9, 1]), 7);
    assert_eq!(fork([Some(2_000), Some(85_000)], [1, 9]), 1);
    assert_eq!(fork([Some(2_000), Some(2_000)], [1, 9]), 7);
    assert_eq!(fork([None, Some(2_000)], [9, 1]), 7, "a known state is better than none");
    assert_eq!(fork([Some(2_000), None], [1, 9]), 7, "later, whatever its state");
    assert_eq!(fork([Some(2_000), None], [9, 1]), 1);
    assert_eq!(fork([None, None], [1, 9]), 7);
}

#[test]
fn placement_within_the_mask() {
    for profile in profiles("4.19", "6.5") {
        let (mut r, p) = crowded(profile, &[4, 10]);
        r.k.tasks[p.index()].cpus_allowed = mask(&[0, 2]);
        let child = r.k.sched_fork(p, r.now, &mut ());
        let d = r.select(child, SelectFor::Fork);
        assert!([0, 2].contains(&d.chosen.0), "{profile}: {d:?}");
        r.k.tasks[child.index()].cpus_allowed = mask(&[9]);
        assert_eq!(chosen(&r.select(child, SelectFor::Fork)), (9, SelectRule::OnlyAllowed), "{profile}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever the state, a wakee goes where it may; and if every CPU is looked at, it waits for none while one that shares
    /// the target's cache and that it may use idles.
    #[test]
    fn a_full_search_never_misses_an_idle_cpu(
        version in 0usize..13,
        busy in proptest::bits::u32::masked(0xffe),
        allowed in 1u32..0x1000,
        (prev, recent) in (0u32..12, 0u32..12),
        sync in any::<bool>(),
        hint in any::<bool>(),
    ) {
        let profile = crate::kernel::PROFILES[version].name;
        let mut r = Rig::i7(profile);
        let waker = r.running(0);
        r.task_avg(waker, FULL, FULL);
        r.cpu_avg(0, FULL, FULL, FULL);
        r.hogs((1..12).filter(|c| busy >> c & 1 == 1));
        let p = r.sleeper(prev, 200);
        r.k.tasks[p.index()].recent_used_cpu = CpuId(recent);
        r.k.tasks[p.index()].cpus_allowed = (0..12).filter(|c| allowed >> c & 1 == 1).map(CpuId).collect();
        for off in [Feature::SisProp, Feature::SisUtil] {
            r.k.config.features.set(off, false);
        }
        r.idle_cores(hint);
        let d = r.wake(p, 0, Some(waker), sync);
        let idle = |c: u32| busy >> c & 1 == 0 && c != 0;
        prop_assert!(allowed >> d.chosen.0 & 1 == 1);
        let any_idle = (1..12).any(|c| idle(c) && allowed >> c & 1 == 1);
        if allowed.count_ones() > 1 && d.rule != SelectRule::Fallback {
            prop_assert_eq!(idle(d.chosen.0), any_idle, "{}: {:?}", profile, d);
        }
    }
}
