//! smp.md §9.4: fork and exec on an i7-8700, the parent on CPU 0.

use super::{FULL, Rig, SelectFor, profiles};
use crate::id::{CpuId, TaskId};
use crate::observe::{IdlestRule, Select};

const BY_LOAD: (&str, &str) = ("4.19", "5.4");
const BY_TYPE: (&str, &str) = ("5.5", "6.5");
/// Of equally idle groups the first one.
const FIRST: (&str, &str) = ("5.5", "5.7");
/// Of equally idle groups the least utilised.
const LEAST_UTIL: (&str, &str) = ("5.10", "6.5");

fn each((from, to): (&str, &str), case: impl Fn(&str)) {
    profiles(from, to).into_iter().for_each(case);
}

/// The CPU a new child of `parent` is placed on.
fn fork(r: &mut Rig, parent: TaskId) -> Select {
    let child = r.k.sched_fork(parent, r.now, &mut ());
    r.select(child, SelectFor::Fork)
}

/// A parent of this load on CPU 0.
fn parent(profile: &str, load: u64) -> (Rig, TaskId) {
    let mut r = Rig::i7(profile);
    let p = r.running(0);
    r.task_avg(p, load, load);
    r.cpu_avg(0, load, load, load);
    (r, p)
}

fn expect(d: &Select, cpu: u32, profile: &str) {
    assert_eq!(d.chosen, CpuId(cpu), "{profile}: {d:?}");
}

#[test]
fn f1_a_heavy_parent_and_an_empty_machine() {
    each(BY_LOAD, |profile| {
        let (mut r, p) = parent(profile, FULL);
        let d = fork(&mut r, p);
        // Core (1, 7), its CPU 1; then the thread next to it, since 0 < 0 does not keep the child.
        expect(&d, 7, profile);
        let (machine, core) = (d.idlest[0].unwrap(), d.idlest[1].unwrap());
        assert_eq!(
            (machine.local.unwrap().load, machine.best.unwrap().cpu),
            (if profile == "4.19" { 890 } else { 512 }, CpuId(1))
        );
        assert_eq!((machine.weight, core.weight, d.idlest[2]), (12, 2, None));
        // If CPU 7 idled last it is tried first, and CPU 1 is the thread next to it.
        r.k.rqs[7].balance.idle_stamp = 5;
        expect(&fork(&mut r, p), 1, profile);
    });
    each(BY_TYPE, |profile| {
        let (mut r, p) = parent(profile, FULL);
        let d = fork(&mut r, p);
        expect(&d, 1, profile);
        let machine = d.idlest[0].unwrap();
        assert_eq!(
            (machine.rule, machine.local.unwrap().idle_cpus, machine.best.unwrap().idle_cpus),
            (IdlestRule::IdleCpus, 1, 2)
        );
        r.k.rqs[7].balance.idle_stamp = 5;
        expect(&fork(&mut r, p), 7, profile);
    });
    each(LEAST_UTIL, |profile| {
        let (mut r, p) = parent(profile, FULL);
        (1..=5).for_each(|cpu| r.cpu_avg(cpu, 0, 0, 100 - 10 * u64::from(cpu % 4)));
        expect(&fork(&mut r, p), 3, profile);
    });
}

/// Other cores idle now with blocked load, by capacity of a core: 300, 250, 400, 180, 300.
#[test]
fn f2_a_light_parent_and_cores_that_were_busy() {
    let blocked = |r: &mut Rig| {
        for (cpu, load) in (1..=5).zip([300, 250, 400, 180, 300]) {
            let of_core = load * 2 * r.k.capacity_of(CpuId(cpu)) / 1024;
            r.cpu_avg(cpu, 0, of_core, 0);
        }
    };
    each(("5.4", "5.4"), |profile| {
        let (mut r, p) = parent(profile, 300);
        blocked(&mut r);
        let d = fork(&mut r, p);
        expect(&d, 6, profile);
        let machine = d.idlest[0].unwrap();
        assert_eq!(
            (machine.local.unwrap().load, machine.rule, machine.moves),
            (150, IdlestRule::Load, false)
        );
        assert_eq!(machine.best.unwrap().load_with_blocked, 180);
    });
    each(BY_TYPE, |profile| {
        let (mut r, p) = parent(profile, 300);
        blocked(&mut r);
        expect(&fork(&mut r, p), 1, profile);
    });
}

#[test]
fn f3_one_parent_on_every_core_keeps_its_child_on_the_sibling() {
    each(("4.19", "6.5"), |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs(1..=5);
        let d = fork(&mut r, p);
        expect(&d, 6, profile);
        assert!(!d.idlest[0].unwrap().moves && d.idlest[1].unwrap().moves, "{profile}");
    });
}

#[test]
fn f4_all_busy_alike_keep_the_child() {
    each(("4.19", "6.5"), |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs(1..=11);
        let d = fork(&mut r, p);
        expect(&d, 0, profile);
        let buggy = ["5.5", "5.6"].contains(&profile);
        let load = d.idlest[0].unwrap().local.unwrap().load;
        // Bug (a) of 5.5 and 5.6: busy groups have no load. Up to 5.0 threads have less capacity.
        let expected = if profile == "4.19" { 2048 * 1024 / 1178 } else { 1024 };
        assert_eq!(load, if buggy { 0 } else { expected }, "{profile}");
    });
}

/// The bug shows when the parent's core is loaded more than another: from 5.7 on the child leaves.
#[test]
fn f4_with_unequal_loads_tells_the_bug() {
    each(BY_TYPE, |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs(1..=11);
        r.blocked(0, 4 * FULL);
        let leaves = fork(&mut r, p).chosen != CpuId(0);
        // At the SMT level the lower loaded sibling is found in any case, unless the loads are missing.
        assert_eq!(leaves, !["5.5", "5.6"].contains(&profile), "{profile}");
    });
}

/// Bug (b) of 5.5: a group counts as having no CPUs, so that one with a task is overloaded once its utilisation passes the
/// margin, and then has no room in spite of its idle CPU.
#[test]
fn without_its_weight_a_core_with_an_idle_thread_is_overloaded() {
    each(BY_TYPE, |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs(1..=5);
        // CPU 0 and its idle sibling carry 2 · 900 in recent use: 1800 · 117 > 2048 · 100.
        r.cpu_avg(0, FULL, FULL, 900);
        r.cpu_avg(6, 0, 0, 900);
        let d = fork(&mut r, p);
        let machine = d.idlest[0].unwrap();
        if profile == "5.5" {
            assert_eq!((machine.rule, d.chosen), (IdlestRule::GroupType, CpuId(7)), "{profile}");
        } else {
            assert_eq!((machine.rule, d.chosen), (IdlestRule::IdleCpus, CpuId(6)), "{profile}");
        }
    });
}

#[test]
fn e1_exec_beside_an_idle_sibling_stays() {
    each(("4.19", "6.5"), |profile| {
        let (mut r, p) = parent(profile, FULL);
        expect(&r.select(p, SelectFor::Exec), 0, profile);
    });
}

#[test]
fn e2_exec_beside_a_busy_sibling_moves_from_5_5_on() {
    each(BY_LOAD, |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs([6]);
        let d = r.select(p, SelectFor::Exec);
        expect(&d, 0, profile);
        assert_eq!(d.idlest[0].unwrap().rule, IdlestRule::LocalSpare, "{profile}");
    });
    each(FIRST, |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs([6]);
        let d = r.select(p, SelectFor::Exec);
        expect(&d, 1, profile);
        let machine = d.idlest[0].unwrap();
        assert_eq!((machine.local.unwrap().idle_cpus, machine.best.unwrap().idle_cpus), (1, 2), "{profile}");
    });
    each(LEAST_UTIL, |profile| {
        let (mut r, p) = parent(profile, FULL);
        r.hogs([6]);
        (1..=5).for_each(|cpu| r.cpu_avg(cpu, 0, 0, if cpu == 4 { 1 } else { 2 }));
        expect(&r.select(p, SelectFor::Exec), 4, profile);
    });
}
