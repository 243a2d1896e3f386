//! Fork and migration arithmetic: core.md §15.5 and §15.6, and the fork slice of §15.1.

use crate::hand::{CPU0, Hand, MS};
use crate::support::Log;
use crate::support::{config, has_base_slice, hog, profiles, run, script, task};
use sim_core::kernel::tunables::Tunable;
use sim_core::observe::{Event, MigrateReason};
use sim_core::program::{Action, ChildSpec, Objects};
use sim_core::{CpuId, CpuMask, Nanos, Simulation, TaskId};

const CPU1: CpuId = CpuId(1);

/// A nice-`nice` parent that has run alone for 100 ms, among `k` runnable tasks of its kind, and its child.
fn fork_among(h: &mut Hand, k: usize, nice: i8) -> (TaskId, TaskId) {
    let parent = h.start(nice);
    h.schedule(CPU0);
    h.pass(100 * MS);
    h.tick(CPU0);
    for _ in 1..k {
        let v = h.v(parent);
        h.start_at(nice, v);
    }
    h.k.hooks.slices.clear();
    (parent, h.fork(parent))
}

#[test]
fn a_child_starts_one_virtual_slice_behind() {
    // Runnable tasks before the fork, slice without and with the floor.
    let table = [
        (1, 11_999_994, 11_999_994),
        (2, 7_999_998, 7_999_998),
        (3, 5_999_994, 5_999_994),
        (7, 2_999_994, 3_000_000),
        (8, 2_999_994, 3_000_000),
        (10, 2_999_997, 3_000_000),
    ];
    for profile in profiles() {
        for (k, plain, floored) in table {
            let mut h = Hand::new(profile, 1);
            let (parent, child) = fork_among(&mut h, k, 0);
            let slice = if has_base_slice(profile) { floored } else { plain };
            assert_eq!(h.v(child), h.v(parent) + slice, "{profile} {k} tasks");
            assert!(!h.need_resched(CPU0), "{profile}: a child does not preempt its parent");
        }
    }
}

/// core.md §15.1: the virtual slice of a nice-5 child.
#[test]
fn a_light_child_starts_further_behind() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        fork_among(&mut h, 1, 5);
        assert_eq!(h.k.hooks.slices[0].1, 11_999_998, "{profile}");
        let p = h.last_place();
        assert!(p.initial);
        assert_eq!(p.base - p.min_vruntime, 36_680_591, "{profile}");
    }
}

#[test]
fn child_runs_first_swaps_and_reschedules() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        h.set(Tunable::ChildRunsFirst, 1);
        let (parent, child) = fork_among(&mut h, 1, 0);
        assert_eq!((h.v(child), h.v(parent)), (100 * MS, 100 * MS + 11_999_994), "{profile}");
        assert!(h.need_resched(CPU0));
        assert_eq!(h.schedule(CPU0), Some(child), "{profile}");
    }
}

/// core.md §15.5: on one busy CPU the child first runs at the first tick at which the parent has advanced by a virtual
/// slice past the fork point.
#[test]
fn a_child_runs_when_its_parent_has_advanced_by_a_slice() {
    for profile in profiles() {
        for forked_at_us in [400u64, 2_000, 3_999] {
            let mut c = config(profile, 1, 250, 1000);
            c.duration = Some(Nanos::from_millis(100));
            let mut sim = Simulation::new(c, Objects::default(), Log::default());
            let child = ChildSpec { name: "child".into(), path: "child".into(), program: hog() };
            let program =
                script(vec![run(forked_at_us * 1000), Action::Fork(Box::new(child)), run(10_000 * MS)]);
            sim.add_task(task("parent", 0, program));
            sim.run().unwrap();
            let first = sim.observer.switches()[0];
            let ready = forked_at_us * 1000 + 11_999_994;
            let tick = ready.div_ceil(4 * MS) * 4 * MS;
            assert_eq!(first, (tick + 1000, 1), "{profile}, forked at {forked_at_us} us");
        }
    }
}

/// core.md §15.5: a child sent to an idle CPU is placed by its parent's queue, then moved to the other's floor. Affinity
/// sends it: by load alone CPU 1, which was busy until now, would not be chosen to 5.4.
#[test]
fn a_child_on_an_idle_cpu_raises_its_floor() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 2);
        floor(&mut h, CPU1, 500 * MS);
        let parent = h.start(0);
        h.schedule(CPU0);
        h.pass(7 * MS);
        let child = h.k.sched_fork(parent, h.now, &mut h.log);
        h.k.set_cpus_allowed(child, &CpuMask::one(CPU1), h.now, &mut h.log);
        h.k.wake_up_new_task(child, h.now, &mut h.log);
        assert_eq!((h.k.task(child).cpu, h.v(child)), (CPU1, 511_999_994), "{profile}");
        assert_eq!(h.min_vruntime(CPU1), 500 * MS);
        assert_eq!(h.schedule(CPU1), Some(child));
        h.pass(1);
        h.tick(CPU1);
        assert_eq!(h.min_vruntime(CPU1), 511_999_995, "{profile}: its first charge raises the floor");
    }
}

/// Leaves a CPU idle with this `min_vruntime`.
fn floor(h: &mut Hand, cpu: CpuId, v: u64) {
    let t = h.add_in(0, sim_core::kernel::Policy::Normal, cpu, sim_core::GroupId::ROOT);
    h.wake(t);
    h.schedule(cpu);
    h.pass(v);
    h.block(cpu);
    assert_eq!(h.min_vruntime(cpu), v);
}

#[test]
fn a_queued_task_keeps_its_distance_to_the_floor() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 2);
        floor(&mut h, CPU1, 500 * MS);
        let a = h.start(0);
        h.schedule(CPU0);
        h.pass(100 * MS);
        let x = h.start(0);
        assert_eq!(h.schedule(CPU0), Some(x), "woken 12 ms behind");
        h.pass(17 * MS);
        h.tick(CPU0);
        assert_eq!(h.schedule(CPU0), Some(a));
        assert_eq!((h.v(x), h.min_vruntime(CPU0)), (105 * MS, 100 * MS));
        h.k.set_cpus_allowed(x, &CpuMask::one(CPU1), h.now, &mut h.log);
        assert_eq!((h.k.task(x).cpu, h.v(x)), (CPU1, 505 * MS), "{profile}");
        let reason = MigrateReason::Affinity;
        let migrate = Event::Migrate { task: x, from: CPU0, to: CPU1, reason };
        assert!(h.log.events.iter().any(|(_, e)| *e == migrate));
    }
}

/// core.md §15.6: a sleeper that wakes elsewhere, and one that wakes where it slept.
#[test]
fn a_sleeper_is_placed_by_the_floor_of_its_new_cpu() {
    for profile in profiles() {
        for (slept_at, allowed, woken_at) in [(95, CPU1, 488), (125, CPU0, 125)] {
            let mut h = Hand::new(profile, 2);
            floor(&mut h, CPU1, 500 * MS);
            let x = h.start(0);
            h.schedule(CPU0);
            h.pass(slept_at * MS);
            h.block(CPU0);
            assert_eq!(h.v(x), slept_at * MS);
            let a = h.start(0);
            h.schedule(CPU0);
            let to_go = 130 * MS - h.v(a);
            h.pass(to_go);
            h.tick(CPU0);
            assert_eq!(h.min_vruntime(CPU0), 130 * MS);
            h.k.set_cpus_allowed(x, &CpuMask::one(allowed), h.now, &mut h.log);
            h.wake(x);
            let came_with = if allowed == CPU1 { 465 * MS } else { slept_at * MS };
            assert_eq!(h.last_place().before, came_with, "{profile}");
            assert_eq!((h.k.task(x).cpu, h.v(x)), (allowed, woken_at * MS), "{profile}");
            // §5.1 step 7 and §5.3: after a migration nobody knows any more since when it has slept.
            assert_eq!(h.k.task_entity(x).exec_start == 0, allowed == CPU1, "{profile}");
        }
    }
}
