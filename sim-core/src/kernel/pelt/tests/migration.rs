//! Creation, attach, detach, migration (smp.md §2.4).

use super::{CPU0, CPU1, Hand, MS, PERIOD_NS};
use crate::cpumask::CpuMask;
use crate::id::{GroupId, TaskId};
use crate::kernel::pelt::SchedAvg;
use crate::kernel::{PROFILES, Schedule};

/// A running parent and its child, not woken yet.
fn forked(profile: &str) -> (Hand, TaskId) {
    let mut h = Hand::new(profile, 2);
    let parent = h.pinned(CPU0);
    h.now = 7 * PERIOD_NS;
    h.wake(parent);
    let at = h.at();
    let child = h.k.sched_fork(parent, at, &mut ());
    (h, child)
}

#[test]
fn first_utilisation() {
    for p in PROFILES {
        for (queue, util) in [(0, 512), (100, 462), (512, 256), (800, 112), (1024, 0), (1100, 0)] {
            let (mut h, child) = forked(p.name);
            (h.k.cfs_rqs[0].avg.util_avg, h.k.cfs_rqs[0].avg.load_avg) = (queue, queue);
            h.k.post_init_entity_util_avg(child);
            assert_eq!(h.avg(child).util_avg, util, "{}: queue {queue}", p.name);
            let runnable = if h.k.config.rules.pelt.runnable_is_time { util } else { 1024 };
            assert_eq!(h.avg(child).runnable_avg, runnable, "{}", p.name);
            assert_eq!((h.avg(child).load_avg, h.avg(child).load_sum), (1024, 0), "{}", p.name);
        }
    }
}

/// The stated formulas, with the queue in the middle of a period.
#[test]
fn attaching_rounds_as_stated() {
    for (nice, load, load_sum) in [(0, 1024, 47018), (19, 7, 21941), (19, 15, 47018), (-20, 88761, 47018)] {
        let mut h = Hand::new("5.7", 2);
        let t = h.task(nice, GroupId::ROOT, CpuMask::one(CPU0));
        let se = h.k.task(t).se;
        h.k.cfs_rqs[0].avg = SchedAvg {
            last_update: 77 << 10,
            period_contrib: 300,
            load_avg: 10,
            util_sum: 5,
            ..SchedAvg::default()
        };
        let a = &mut h.k.entities[se.index()].avg;
        (a.load_avg, a.util_avg, a.runnable_avg) = (load, 300, 310);
        h.k.attach_entity_load_avg(crate::id::CfsRqId::new(0), se);
        // D = 47742 − 1024 + 300 = 47018.
        let (a, q) = (h.avg(t), h.root(CPU0));
        assert_eq!((a.last_update, a.period_contrib), (77 << 10, 300));
        assert_eq!((a.load_sum, a.util_sum, a.runnable_sum), (load_sum, 300 * 47018, 310 * 47018));
        let weight = h.k.task_entity(t).load.weight >> 10;
        assert_eq!((q.load_avg, q.load_sum), (10 + load, weight * load_sum));
        assert_eq!((q.util_avg, q.util_sum), (300, 5 + 300 * 47018));
        assert_eq!((q.runnable_avg, q.runnable_sum), (310, 310 * 47018));
        // And off again: exactly what came.
        h.k.detach_entity_load_avg(crate::id::CfsRqId::new(0), se);
        assert_eq!((h.root(CPU0).load_avg, h.root(CPU0).load_sum), (10, 0));
        assert_eq!((h.root(CPU0).util_avg, h.root(CPU0).util_sum), (0, 5));
        assert!(!h.k.is_attached_entity(se));
    }
}

/// smp.md §2.4: at least 1 in 5.10 stable; sums not below avg · (MAX − 1024) in newer kernels; else floors of 0.
#[test]
fn rounding_by_version() {
    for (profile, least, kept) in [("4.19", 0, 0), ("5.10", 0, 0), ("5.10-debian", 1, 0), ("6.1", 1, 46718)] {
        let mut h = Hand::new(profile, 2);
        let t = h.task(0, GroupId::ROOT, CpuMask::one(CPU0));
        let se = h.k.task(t).se;
        h.k.attach_entity_load_avg(crate::id::CfsRqId::new(0), se);
        assert_eq!(h.avg(t).load_sum, least, "{profile}");
        let a = SchedAvg { last_update: 1024, util_avg: 4, util_sum: 9_000_000, ..SchedAvg::default() };
        h.k.entities[se.index()].avg = a;
        (h.k.cfs_rqs[0].avg.util_avg, h.k.cfs_rqs[0].avg.util_sum) = (5, 200_000);
        h.k.detach_entity_load_avg(crate::id::CfsRqId::new(0), se);
        assert_eq!((h.root(CPU0).util_avg, h.root(CPU0).util_sum), (1, kept), "{profile}");
    }
}

/// A task that wakes elsewhere stays in its old queue's averages until that queue is updated; it arrives as it slept in,
/// decayed to the old queue's last update, from 6.0 on to now if the old CPU idles.
#[test]
fn waking_elsewhere() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let t = h.task(0, GroupId::ROOT, CpuMask::first(2));
        h.wake(t);
        h.pass(300);
        assert_eq!(h.k.task(t).cpu, CPU0);
        h.block(CPU0);
        let (slept, queue) = (*h.avg(t), *h.root(CPU0));
        h.now += 32 * PERIOD_NS;
        h.leave_for(t, CPU1);
        assert_eq!(*h.root(CPU0), queue, "{}: taken off later", p.name);
        let removed = h.k.cfs_rqs[0].pelt.removed;
        assert_eq!((removed.load_avg, removed.util_avg), (slept.load_avg, slept.util_avg), "{}", p.name);
        assert_eq!(h.avg(t).last_update, 0, "{}", p.name);
        let arrives = if h.k.config.rules.pelt.idle_lag_estimated { 2 } else { 1 };
        assert!(h.avg(t).util_avg.abs_diff(slept.util_avg / arrives) <= 1, "{}", p.name);
        let at = h.at();
        h.k.update_blocked_averages(CPU0, at);
        let left = h.root(CPU0);
        // What a partial period had added to the sum but not yet to the average stays: below 1024/46718 of the weight.
        assert!(left.load_avg <= 1024 * 1024 / 46718 && left.util_avg <= 1024 * 1024 / 46718, "{}", p.name);
        assert_eq!(h.k.cfs_rqs[0].pelt.removed, super::super::Removed::default());
    }
}

/// A runnable task takes its averages along at once.
#[test]
fn balancing_moves_averages() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let a = h.pinned(CPU0);
        let b = h.task(0, GroupId::ROOT, CpuMask::one(CPU0));
        h.wake(a);
        h.wake(b);
        h.pass(400);
        let total = h.root(CPU0).load_avg;
        let moving = if h.k.rq(CPU0).curr == Some(a) { b } else { a };
        let at = h.at();
        h.k.set_cpus_allowed(moving, &CpuMask::one(CPU1), at, &mut ());
        let (from, to) = (h.root(CPU0).load_avg, h.root(CPU1).load_avg);
        assert!((2000..=2050).contains(&total), "{}: {total}", p.name);
        assert!((1000..=1026).contains(&from) && (1000..=1026).contains(&to), "{}: {from} {to}", p.name);
        assert!(h.k.cpu_load(CPU1) == h.avg(moving).load_avg, "{}", p.name);
        assert_eq!(h.root(CPU1).util_avg, h.avg(moving).util_avg, "{}", p.name);
    }
}

/// A task that ends leaves nothing behind but rounding; its weight can change while it is attached.
#[test]
fn exit_and_nice() {
    for p in PROFILES {
        let mut h = Hand::new(p.name, 2);
        let (a, b) = (h.pinned(CPU0), h.pinned(CPU0));
        h.wake(a);
        h.wake(b);
        h.pass(400);
        let at = h.at();
        h.k.set_user_nice(b, -5, at, &mut ());
        assert!((4100..=4145).contains(&h.root(CPU0).load_avg), "{}: {}", p.name, h.root(CPU0).load_avg);
        while let Some(curr) = h.k.rq(CPU0).curr {
            h.k.set_dead(curr);
            h.k.schedule(CPU0, at, Schedule::Call, &mut ());
        }
        h.now += MS;
        let at = h.at();
        h.k.update_blocked_averages(CPU0, at);
        // As in `waking_elsewhere`, for weights of 1024 and 3121.
        assert!(h.root(CPU0).load_avg <= (1024 + 3121) * 1024 / 46718, "{}: {:?}", p.name, h.root(CPU0));
    }
}
