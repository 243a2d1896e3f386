//! Task groups by weight on one CPU: core.md §15.8 (slices are in `slices`), §9.3.

use crate::hand::{CPU0, Hand, MS};
use crate::support::{Log, config, hog, profiles, task};
use sim_core::kernel::Policy;
use sim_core::kernel::weight::shares_from_cgroup_weight;
use sim_core::program::Objects;
use sim_core::{GroupId, Nanos, SimConfig, Simulation};
use std::collections::BTreeSet;

/// Hogs in groups: (cgroup weight, hogs) each. Tasks are numbered group by group.
pub(crate) fn run_groups(mut config: SimConfig, groups: &[(u64, usize)], for_: Nanos) -> Log {
    config.duration = Some(for_);
    let mut sim = Simulation::new(config, Objects::default(), Log::default());
    for (g, (weight, hogs)) in groups.iter().enumerate() {
        let group = sim.add_group(GroupId::ROOT, shares_from_cgroup_weight(*weight), false);
        for i in 0..*hogs {
            let mut spec = task(&format!("{g}/{i}"), 0, hog());
            spec.group = group;
            sim.add_task(spec);
        }
    }
    sim.run().unwrap();
    sim.observer
}

/// Shares: A 50 %, each of B's three 16.67 %.
#[test]
fn groups_share_equally_whatever_they_hold() {
    for profile in profiles() {
        let log = run_groups(config(profile, 1, 250, 1000), &[(100, 1), (100, 3)], Nanos::from_secs(10));
        for (t, ideal) in [0.5, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 6.0].into_iter().enumerate() {
            let share = log.share(t as u32, 4);
            assert!((share - ideal).abs() < 0.002, "{profile} task {t}: {share}");
        }
    }
}

/// core.md §15.13: A's turns are 16 ms, B's tasks' 8 ms, two in each of the group's turns.
#[test]
fn turns_of_groups_of_one_and_three() {
    for profile in profiles() {
        let log = run_groups(config(profile, 1, 250, 38_000), &[(100, 1), (100, 3)], Nanos::from_secs(4));
        let turns = log.turns();
        let rounded: Vec<(bool, u64)> =
            turns.iter().skip(8).map(|(t, ns)| (*t == 0, (ns + 500_000) / 1_000_000)).collect();
        let kinds: BTreeSet<_> = rounded.iter().copied().collect();
        assert_eq!(kinds, BTreeSet::from([(true, 16), (false, 8)]), "{profile}");
        let from = rounded.iter().position(|(a, _)| *a).unwrap();
        for cycle in rounded[from..].chunks_exact(3) {
            assert_eq!(cycle.iter().map(|(a, _)| *a).collect::<Vec<_>>(), [true, false, false], "{profile}");
        }
    }
}

/// core.md §15.13: weights 100 and 50 give 66.7 and 33.3 %.
#[test]
fn groups_share_by_weight() {
    for profile in profiles() {
        let log = run_groups(config(profile, 1, 250, 38_000), &[(100, 1), (50, 1)], Nanos::from_secs(10));
        let share = log.share(0, 2);
        assert!((share - 2.0 / 3.0).abs() < 0.002, "{profile}: {share}");
    }
}

/// core.md §9.1: a group in a group shares what its parent has.
#[test]
fn nested_groups_divide_their_parents_share() {
    for profile in profiles() {
        let mut c = config(profile, 1, 250, 1000);
        c.duration = Some(Nanos::from_secs(20));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        let outer = sim.add_group(GroupId::ROOT, 1024 << 10, false);
        let inner = sim.add_group(outer, 3072 << 10, false);
        for (i, group) in [GroupId::ROOT, outer, inner].into_iter().enumerate() {
            let mut spec = task(&format!("T{i}"), 0, hog());
            spec.group = group;
            sim.add_task(spec);
        }
        sim.run().unwrap();
        for (t, ideal) in [0.5, 0.125, 0.375].into_iter().enumerate() {
            let share = sim.observer.share(t as u32, 3);
            assert!((share - ideal).abs() < 0.002, "{profile} task {t}: {share}");
        }
    }
}

/// core.md §5.2 step 9: a change of nice takes an emptied group off and on without letting the floor jump to the others.
#[test]
fn renicing_the_only_task_of_a_group_leaves_the_floor() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let group = h.k.add_group(GroupId::ROOT, 1024 << 10, false);
        let x = h.add_in(0, Policy::Normal, CPU0, group);
        h.wake(x);
        h.schedule(CPU0);
        h.start_at(0, 100 * MS);
        h.pass(90 * MS);
        h.tick(CPU0);
        assert_eq!(h.min_vruntime(CPU0), 90 * MS);
        h.k.set_user_nice(x, 5, h.now, &mut h.log);
        assert_eq!(h.min_vruntime(CPU0), 90 * MS, "{profile}");
        let of_group = h.k.task_entity(x).parent.unwrap();
        assert_eq!(h.k.entity(of_group).vruntime, 90 * MS, "{profile}");
    }
}
