//! Slices: core.md §1.1 (last column), §15.1, and the slices of §15.8.

use crate::hand::{CPU0, Hand};
use crate::support::{has_base_slice, profiles};
use sim_core::kernel::{Policy, Profile};
use sim_core::{GroupId, TaskId};

/// Slice of the first task of a set that is runnable on one CPU, at its own level and at each level above.
fn slices(profile: &str, tasks: &[(i8, Policy)]) -> Vec<u64> {
    let mut h = Hand::new(profile, 1);
    let ids: Vec<TaskId> =
        tasks.iter().map(|(nice, policy)| h.add_in(*nice, *policy, CPU0, GroupId::ROOT)).collect();
    slices_of_first(&mut h, &ids)
}

/// Wakes the first task, lets it run, wakes the others, and reads the slices its tick computes.
fn slices_of_first(h: &mut Hand, ids: &[TaskId]) -> Vec<u64> {
    h.wake(ids[0]);
    assert_eq!(h.schedule(CPU0), Some(ids[0]));
    ids[1..].iter().for_each(|t| h.wake(*t));
    h.k.hooks.slices.clear();
    h.tick(CPU0);
    h.k.hooks.slices.iter().map(|(_, s)| *s).collect()
}

fn normal(nices: &[i8]) -> Vec<(i8, Policy)> {
    nices.iter().map(|n| (*n, Policy::Normal)).collect()
}

/// core.md §15.1: the slice of the first of these nice levels, without the floor of the minimum granularity.
#[test]
fn slices_of_sets_of_nice_levels() {
    let table: [(&[i8], u64); 17] = [
        (&[0; 2], 11_999_994),
        (&[0; 3], 7_999_998),
        (&[0; 4], 5_999_994),
        (&[0; 5], 4_799_995),
        (&[0; 8], 2_999_994),
        (&[0; 9], 2_999_994),
        (&[0; 10], 2_999_997),
        (&[0; 16], 2_999_988),
        (&[0, 5], 18_083_885),
        (&[5, 0], 5_916_114),
        (&[-5, 0], 18_070_923),
        (&[0, -5], 5_929_069),
        (&[0, 1], 13_327_543),
        (&[0, 19], 23_653_512),
        (&[-20, 19], 23_995_535),
        (&[19, -20], 4_055),
        (&[10, 0, 0], 1_223_354),
    ];
    for profile in profiles() {
        for (nices, slice) in table {
            let floor = if has_base_slice(profile) { 3_000_000 } else { 0 };
            assert_eq!(slices(profile, &normal(nices)), [slice.max(floor)], "{profile} {nices:?}");
        }
        assert_eq!(slices(profile, &normal(&[0, 0, 10])), [11_388_319], "{profile}");
    }
}

/// core.md §1.1, last column: the slice of each nice level beside one nice-0 task.
#[test]
fn slice_of_each_nice_level_beside_nice_0() {
    const SLICE: [u64; 40] = [
        23726212, 23661988, 23572330, 23480273, 23341332, 23185609, 22987623, 22754302, 22461386, 22100772,
        21675329, 21156843, 20550251, 19854246, 19015007, 18070923, 17028078, 15848755, 14583905, 13319422,
        11999994, 10672446, 9362712, 8144514, 7015893, 5916114, 5037035, 4164647, 3451504, 2832040, 2328042,
        1879387, 1535648, 1244444, 1010289, 815094, 660968, 527220, 414587, 346487,
    ];
    for profile in profiles() {
        let floor = if has_base_slice(profile) { 3_000_000 } else { 0 };
        for (nice, slice) in (-20i8..).zip(SLICE) {
            assert_eq!(slices(profile, &normal(&[nice, 0])), [slice.max(floor)], "{profile} nice {nice}");
        }
    }
}

/// core.md §15.1 and §4.2: the floor of an idle task beside others by version.
#[test]
fn slice_of_an_idle_task_beside_a_normal_one() {
    for profile in profiles() {
        let rules = Profile::by_name(profile).unwrap().rules();
        let expected = match (has_base_slice(profile), rules.idle_min_granularity) {
            (false, _) => 70_107,
            (true, false) => 3_000_000,
            (true, true) => 750_000,
        };
        let (idle, norm) = ((0, Policy::Idle), (0, Policy::Normal));
        assert_eq!(slices(profile, &[idle, norm]), [expected], "{profile}");
        assert_eq!(slices(profile, &[norm, idle]), [23_929_887], "{profile}");
        // Among idle tasks only, the ordinary floor holds: nobody else is waiting.
        let alike = slices(profile, &[idle; 9])[0];
        assert_eq!(alike, if has_base_slice(profile) { 3_000_000 } else { 2_999_999 }, "{profile}");
    }
}

/// core.md §15.8: 1 hog in group A, `b` in group B, both of 1024 shares; a hog of A, then one of B.
fn group_hogs(profile: &str, b: usize) -> (Hand, TaskId, TaskId) {
    let mut h = Hand::new(profile, 1);
    let [ga, gb] = [(); 2].map(|()| h.k.add_group(GroupId::ROOT, 1024 << 10, false));
    let in_b: Vec<TaskId> = (0..b).map(|_| h.add_in(0, Policy::Normal, CPU0, gb)).collect();
    let a = h.add_in(0, Policy::Normal, CPU0, ga);
    in_b.iter().for_each(|t| h.wake(*t));
    h.wake(a);
    assert_eq!(h.schedule(CPU0), Some(in_b[0]));
    (h, a, in_b[0])
}

#[test]
fn slices_of_groups() {
    for profile in profiles() {
        let (mut h, a, b) = group_hogs(profile, 3);
        assert_eq!((h.k.slice_of(a), h.k.slice_of(b)), (11_999_991, 3_999_997), "{profile}");
        h.k.hooks.slices.clear();
        h.tick(CPU0);
        let ticked: Vec<u64> = h.k.hooks.slices.iter().map(|(_, s)| *s).collect();
        assert_eq!(ticked, [3_999_997, 11_999_994], "{profile}: the task's level, then its group's");
        let (mut h, a, b) = group_hogs(profile, 9);
        let expected = if has_base_slice(profile) {
            // ALT_PERIOD: ten tasks in the hierarchy make 30 ms; the floor raises 1 666 662.
            (14_999_988, 3_000_000)
        } else {
            (11_999_991, 1_499_996)
        };
        assert_eq!((h.k.slice_of(a), h.k.slice_of(b)), expected, "{profile}");
    }
}
