//! Groups: shares over CPUs, what members do reaches the levels above.

use super::{CPU0, CPU1, Hand, PERIOD_NS};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::PROFILES;
use crate::kernel::weight::NICE_0_LOAD;

fn group(h: &mut Hand) -> GroupId {
    h.k.add_group(GroupId::ROOT, NICE_0_LOAD, false)
}

fn hog(h: &mut Hand, group: GroupId, cpu: CpuId) -> TaskId {
    let t = h.task(0, group, CpuMask::one(cpu));
    h.wake(t);
    t
}

fn weight_on(h: &Hand, group: GroupId, cpu: CpuId) -> u64 {
    h.k.entity(h.k.group(group).se[cpu.index()]).load.weight
}

/// core.md §9.2: all tasks CPU-bound, shares by what each CPU has of the group's weight.
#[test]
fn shares_follow_weights_in_the_steady_state() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let g = group(&mut h);
        hog(&mut h, g, CPU0);
        for _ in 0..3 {
            hog(&mut h, g, CPU1);
        }
        h.pass(600);
        for (cpu, part) in [(CPU0, NICE_0_LOAD / 4), (CPU1, 3 * NICE_0_LOAD / 4)] {
            let weight = weight_on(&h, g, cpu);
            // Contributions are published when they differ by 1/64.
            assert!(weight.abs_diff(part) <= part / 32, "{}: {weight} on {cpu:?}", p.name);
        }
    }
}

/// core.md §9.2: a group with all its runnable tasks on one CPU has all its shares there, once the others have decayed.
#[test]
fn shares_of_a_group_on_one_cpu_are_exact() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let g = group(&mut h);
        hog(&mut h, g, CPU0);
        hog(&mut h, g, CPU1);
        h.pass(300);
        assert!(weight_on(&h, g, CPU0) < NICE_0_LOAD * 6 / 10, "{}", p.name);
        h.block(CPU1);
        h.pass(1);
        assert!(weight_on(&h, g, CPU0) < NICE_0_LOAD * 6 / 10, "{}: not before it decayed", p.name);
        for _ in 0..1200 {
            h.pass(1);
            let at = h.at();
            h.k.update_blocked_averages(CPU1, at);
        }
        assert_eq!(weight_on(&h, g, CPU0), NICE_0_LOAD, "{}", p.name);
        assert!(h.k.rqs[1].pelt.leaf_cfs_rqs.is_empty(), "{}: decayed queues are forgotten", p.name);
    }
}

/// core.md §9.2, and its example in §15.8.
#[test]
fn the_formula_of_shares() {
    let mut h = Hand::new("6.1", 2);
    let g = group(&mut h);
    let q = h.k.group(g).cfs_rq[0];
    let mut shares = |load: u64, load_avg, contrib, total| {
        let queue = &mut h.k.cfs_rqs[q.index()];
        queue.load = crate::kernel::weight::LoadWeight::of_load(load << 10);
        (queue.avg.load_avg, queue.pelt.tg_load_avg_contrib) = (load_avg, contrib);
        h.k.groups[g.index()].load_avg = total;
        h.k.calc_group_shares(q)
    };
    // core.md §15.8: one of four hogs here, three of them elsewhere; and the other way round.
    assert_eq!(shares(1024, 1024, 1024, 4096), 262_144);
    assert_eq!(shares(3072, 3072, 3072, 4096), 786_432);
    assert_eq!(shares(1024, 500, 500, 1500), NICE_0_LOAD * 1024 / 2024);
    assert_eq!(shares(0, 500, 400, 1500), NICE_0_LOAD * 500 / 1600);
    assert_eq!(shares(0, 0, 0, 0), 2);
    assert_eq!(shares(0, 0, 0, 900), 2);
    assert_eq!(shares(1024, 0, 0, 0), NICE_0_LOAD);
}

/// What runs in a nested group uses the CPU as much as the CPU is used, and takes that along.
#[test]
fn members_count_for_their_cpu() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let outer = group(&mut h);
        let inner = h.k.add_group(outer, NICE_0_LOAD, false);
        let t = hog(&mut h, inner, CPU0);
        let rest = hog(&mut h, GroupId::ROOT, CPU0);
        h.pass(500);
        let util = h.k.task_util(t);
        let at = h.at();
        // The task is moved while it waits.
        if h.k.rq(CPU0).curr == Some(t) {
            h.pass(30);
        }
        h.k.set_cpus_allowed(t, &CpuMask::one(CPU1), at.max(h.at()), &mut ());
        h.resched();
        let now = h.at();
        for cpu in [CPU0, CPU1] {
            h.k.update_blocked_averages(cpu, now);
        }
        let (left, came) = (h.root(CPU0).util_avg, h.root(CPU1).util_avg);
        assert!(came.abs_diff(h.k.task_util(t)) <= 25, "{}: {came} of {util}", p.name);
        assert!(left.abs_diff(h.k.task_util(rest)) <= 25, "{}: {left}", p.name);
        let h_load = h.k.task_h_load(t, now);
        assert!(h_load.abs_diff(h.root(CPU1).load_avg) <= 25, "{}: {h_load} {:?}", p.name, h.root(CPU1));
        h.now += 400 * PERIOD_NS;
    }
}

/// A sleeping task is moved to another group with what it left on its CPU.
#[test]
fn sleepers_change_groups() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let g = group(&mut h);
        let t = hog(&mut h, g, CPU0);
        h.pass(300);
        h.block(CPU0);
        let at = h.at();
        let util = h.k.task_util(t);
        h.k.attach_to_group(t, GroupId::ROOT, at, &mut ());
        let inner = h.k.group(g).cfs_rq[0];
        assert!(h.k.cfs_rq(inner).avg.util_avg <= 1, "{}", p.name);
        assert!(h.root(CPU0).util_avg.abs_diff(util) <= 2, "{}: {:?}", p.name, h.root(CPU0));
    }
}
