//! Changing groups while tasks are in them: weights, `cpu.idle`, moves, sessions. core.md §5.4, §9.2 to §9.5, §15.13.

use crate::hand::{CPU0, Hand, MS};
use crate::support::{Log, config, hog, profiles, task};
use sim_core::kernel::rules::IdleEntities;
use sim_core::kernel::weight::{shares_from_cgroup_weight, shares_from_nice};
use sim_core::kernel::{GroupError, Policy, Profile};
use sim_core::observe::{Decision, Place, PreemptRule};
use sim_core::program::Objects;
use sim_core::{CfsRqId, GroupId, Instant, Nanos, Simulation, TaskId};

const SHARES: u64 = 1024 << 10;

fn idle_groups(profile: &str) -> bool {
    Profile::by_name(profile).unwrap().rules().idle_entities == IdleEntities::EveryLevel
}

impl Hand {
    fn group(&mut self) -> GroupId {
        self.k.add_group(GroupId::ROOT, SHARES, false)
    }
    fn set_weight(&mut self, group: GroupId, weight: u64) -> Result<(), GroupError> {
        self.k.set_group_shares(group, shares_from_cgroup_weight(weight), self.now, &mut self.log)
    }
    fn set_idle(&mut self, group: GroupId, idle: bool) -> Result<(), GroupError> {
        self.k.set_group_idle(group, idle, self.now, &mut self.log)
    }
    fn move_to(&mut self, task: TaskId, group: GroupId) {
        self.k.attach_to_group(task, group, self.now, &mut self.log);
    }
    fn member(&mut self, group: GroupId) -> TaskId {
        self.add_in(0, Policy::Normal, CPU0, group)
    }
    /// A hog in `group` that has run alone for `ns`.
    fn hog_in(&mut self, group: GroupId, ns: u64) -> TaskId {
        let t = self.member(group);
        self.wake(t);
        self.schedule(CPU0);
        self.pass(ns);
        self.tick(CPU0);
        t
    }
    fn queue(&self, group: GroupId) -> CfsRqId {
        self.k.group(group).cfs_rq[0]
    }
    fn root_idle(&self) -> u32 {
        self.k.cfs_rq(self.k.rq(CPU0).cfs).idle_nr_running
    }
    fn last_group_place(&self) -> Place {
        let place = |(_, d): &(Instant, Decision)| match d {
            Decision::Place(p) if p.task.is_none() => Some(*p),
            _ => None,
        };
        self.log.decisions.iter().rev().find_map(place).unwrap()
    }
}

/// core.md §9.2: what the group has run counts by its old weight, what comes by the new one.
#[test]
fn a_new_weight_counts_from_now() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let a = h.group();
        let t = h.hog_in(a, 10 * MS);
        h.pass(10 * MS);
        h.set_weight(a, 50).unwrap();
        let of_a = h.k.task_entity(t).parent.unwrap();
        assert_eq!(h.k.entity(of_a).vruntime, 20 * MS, "{profile}");
        assert_eq!(h.k.cfs_rq(h.k.rq(CPU0).cfs).load.weight, 512 << 10, "{profile}");
        h.pass(10 * MS);
        h.tick(CPU0);
        // Twice as fast, by the computed inverse of 512.
        assert_eq!(h.k.entity(of_a).vruntime, 20 * MS + 19_999_997, "{profile}");
        assert_eq!(h.v(t), 30 * MS, "{profile}: the task's own vruntime does not know");
    }
}

/// core.md §9.3: `cpu.idle` fixes the weight at 3; before 5.15 there is none.
#[test]
fn an_idle_group_has_weight_three_and_refuses_others() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let a = h.group();
        h.hog_in(a, MS);
        assert_eq!(h.set_weight(GroupId::ROOT, 50), Err(GroupError::Root));
        assert_eq!(h.set_idle(GroupId::ROOT, true), Err(GroupError::Root));
        if !idle_groups(profile) {
            assert_eq!(h.set_idle(a, true), Err(GroupError::NoIdleGroups), "{profile}");
            continue;
        }
        h.set_weight(a, 500).unwrap();
        h.set_idle(a, true).unwrap();
        assert_eq!((h.k.group(a).shares, h.root_idle()), (3 << 10, 1), "{profile}");
        assert_eq!(h.set_weight(a, 100), Err(GroupError::Idle), "{profile}");
        h.set_idle(a, true).unwrap();
        assert_eq!(h.root_idle(), 1);
        h.set_idle(a, false).unwrap();
        assert_eq!((h.k.group(a).shares, h.root_idle()), (SHARES, 0), "{profile}");
        h.set_weight(a, 100).unwrap();
    }
}

/// core.md §15.13: a wakee of group B against a hog in A, by the weight of B.
#[test]
fn a_light_groups_wakee_does_not_preempt() {
    for profile in profiles() {
        for (weight, granularity, preempt) in
            [(100, 4_000_000, true), (50, 7_999_999, true), (25, 15_999_999, false)]
        {
            let mut h = Hand::new(profile, 1);
            let (a, b) = (h.group(), h.group());
            h.set_weight(b, weight).unwrap();
            h.hog_in(a, 1000 * MS);
            let wakee = h.member(b);
            h.wake(wakee);
            let d = h.last_preempt();
            assert_eq!(
                (d.rule, d.lead, d.granularity, d.preempt),
                (PreemptRule::Granularity, 12_000_000, granularity, preempt),
                "{profile} weight {weight}"
            );
        }
    }
}

/// core.md §9.4 and §15.13: idleness counts among siblings, not within the group.
#[test]
fn idle_groups_give_way_to_others() {
    for profile in profiles().filter(|p| idle_groups(p)) {
        let mut h = Hand::new(profile, 1);
        let idle = h.group();
        h.set_idle(idle, true).unwrap();
        let hog = h.hog_in(idle, 100 * MS);
        let sibling = h.member(idle);
        h.wake(sibling);
        assert_eq!(h.last_preempt().rule, PreemptRule::Granularity, "{profile}: in the group, by vruntime");
        h.block(CPU0);
        let normal = h.start(0);
        assert_eq!((h.last_preempt().rule, h.last_preempt().preempt), (PreemptRule::IdleEntity, true));
        assert_eq!(h.schedule(CPU0), Some(normal), "{profile}");
        h.wake(hog);
        assert_eq!((h.last_preempt().rule, h.last_preempt().preempt), (PreemptRule::WakeeEntityIdle, false));
    }
}

/// core.md §5.3 and §9.4: from 5.16 on the group's entity gets credit by half the minimum granularity.
#[test]
fn an_idle_groups_entity_gets_less_credit() {
    for profile in profiles().filter(|p| idle_groups(p)) {
        let mut h = Hand::new(profile, 1);
        let idle = h.group();
        h.set_idle(idle, true).unwrap();
        h.start(0);
        h.schedule(CPU0);
        h.pass(100 * MS);
        h.tick(CPU0);
        let wakee = h.member(idle);
        h.wake(wakee);
        let p = h.last_group_place();
        let credit = if profile == "5.15" { 12_000_000 } else { 1_500_000 };
        assert_eq!(p.min_vruntime - p.base, credit, "{profile}");
    }
}

/// core.md §4.2: from 5.16 on an idle group beside others has the slice floor of idle entities.
#[test]
fn an_idle_group_beside_others_has_a_lower_floor() {
    for profile in profiles().filter(|p| idle_groups(p)) {
        let mut h = Hand::new(profile, 1);
        let idle = h.group();
        h.set_idle(idle, true).unwrap();
        let t = h.hog_in(idle, 100 * MS);
        let of_group = h.k.task_entity(t).parent.unwrap();
        let slice_at_tick = |h: &mut Hand| {
            h.k.hooks.slices.clear();
            h.tick(CPU0);
            h.k.hooks.slices.iter().find(|(e, _)| *e == of_group).map(|(_, slice)| *slice)
        };
        assert_eq!(slice_at_tick(&mut h), None, "alone there is nothing to compare");
        h.start_at(0, 200 * MS);
        let floor = if profile == "5.15" { 3_000_000 } else { 750_000 };
        assert_eq!(slice_at_tick(&mut h), Some(floor), "{profile}");
    }
}

/// core.md §5.4: a queued task keeps its distance from the floor.
#[test]
fn a_queued_task_moves_with_its_distance() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let (a, b) = (h.group(), h.group());
        h.hog_in(a, 100 * MS);
        let t = h.member(a);
        h.k.hooks.place_at.insert(t, 105 * MS);
        h.wake(t);
        h.move_to(t, b);
        assert_eq!(h.v(t), 5 * MS, "{profile}: B's queue starts at 0");
        assert_eq!((h.k.cfs_rq(h.queue(a)).nr_running, h.k.cfs_rq(h.queue(b)).nr_running), (1, 1));
        assert_eq!(h.k.cfs_rq(h.k.rq(CPU0).cfs).h_nr_running, 2);
        let of_b = h.k.task_entity(t).parent.unwrap();
        assert_eq!(h.k.entity(of_b).vruntime, 88 * MS, "{profile}: the emptied group wakes");
        assert!(!h.need_resched(CPU0), "{profile}: moving checks no preemption");
    }
}

/// core.md §5.4: a sleeper is placed by its old queue, then keeps its distance; one that has never run stays as it is.
#[test]
fn a_sleeping_task_is_placed_before_it_moves() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let (a, b) = (h.group(), h.group());
        let sleeper = h.hog_in(a, 10 * MS);
        let never_ran = h.member(a);
        h.block(CPU0);
        let other = h.member(a);
        h.k.hooks.place_at.insert(other, 40 * MS);
        h.wake(other);
        h.schedule(CPU0);
        h.pass(MS);
        h.tick(CPU0);
        assert_eq!(h.k.cfs_rq(h.queue(a)).min_vruntime, 41 * MS);
        h.move_to(sleeper, b);
        assert_eq!(h.v(sleeper), 0u64.wrapping_sub(12 * MS), "{profile}: 41 − 12 − 41 + 0");
        h.move_to(never_ran, b);
        assert_eq!(h.v(never_ran), 0, "{profile}");
    }
}

#[test]
fn a_running_task_moves_and_is_rescheduled() {
    for profile in profiles() {
        let mut h = Hand::new(profile, 1);
        let (a, b) = (h.group(), h.k.add_group(GroupId::ROOT, SHARES, false));
        let inner = h.k.add_group(b, SHARES, false);
        let t = h.hog_in(a, 10 * MS);
        h.move_to(t, inner);
        assert!(h.need_resched(CPU0), "{profile}");
        let e = h.k.task_entity(t);
        assert_eq!((e.vruntime, e.ran(), e.depth), (0, 0, 2), "{profile}: a new slice, at the new floor");
        assert_eq!(h.schedule(CPU0), Some(t), "{profile}");
        h.pass(MS);
        h.tick(CPU0);
        let child = h.fork(t);
        assert_eq!((h.k.task(child).group, h.k.task(child).cgroup), (inner, inner), "{profile}: inherited");
        h.move_to(t, inner);
        assert!(!h.need_resched(CPU0), "{profile}: nothing to move");
    }
}

/// core.md §9.5: sessions share equally, where autogroups are on: in mainline, not on Debian.
#[test]
fn sessions_share_equally_where_autogroups_are_on() {
    for profile in profiles() {
        let mut c = config(profile, 1, 250, 1000);
        assert_eq!(c.kernel.autogroup, !profile.ends_with("-debian"), "{profile}");
        let on = c.kernel.autogroup;
        c.duration = Some(Nanos::from_secs(10));
        let mut sim = Simulation::new(c, Objects::default(), Log::default());
        let sessions = [0; 2].map(|_| sim.add_group(GroupId::ROOT, shares_from_nice(0), false));
        for session in [0, 1, 1, 1] {
            let t = sim.add_task(task("T", 0, hog()));
            sim.join_session(t, sessions[session]);
        }
        sim.run().unwrap();
        let (ideal, share) = (if on { 0.5 } else { 0.25 }, sim.observer.share(0, 4));
        assert!((share - ideal).abs() < 0.003, "{profile}: {share}");
    }
}

#[test]
fn a_cgroup_comes_before_the_session() {
    let mut h = Hand::new("6.1", 1);
    let (session, cgroup) = (h.group(), h.group());
    let t = h.member(GroupId::ROOT);
    h.k.join_session(t, session, h.now, &mut h.log);
    assert_eq!(h.k.task(t).group, session);
    h.move_to(t, cgroup);
    assert_eq!(h.k.task(t).group, cgroup);
    h.move_to(t, GroupId::ROOT);
    assert_eq!(h.k.task(t).group, session);
    // Switched off, the session counts no more from the next move or fork on.
    h.wake(t);
    h.schedule(CPU0);
    h.k.config.autogroup = false;
    let child = h.fork(t);
    assert_eq!((h.k.task(t).group, h.k.task(child).group), (session, GroupId::ROOT));
    // An exiting task leaves its session.
    h.k.begin_exit(t, h.now, &mut h.log);
    assert_eq!(h.k.task(t).group, GroupId::ROOT);
    assert!(h.need_resched(CPU0));
}
