//! Posted patches of placement (patches.md §2, §11, §17).

use super::{FULL, Rig, SelectFor};
use crate::kernel::Policy;
use crate::observe::SelectRule;

fn patched(profile: &str, patch: Option<&str>) -> Rig {
    let mut r = Rig::i7(profile);
    if let Some(patch) = patch {
        r.k.config.switch_rule(patch).unwrap();
    }
    r
}

/// A task that execs beside an idle sibling stays, unless it sees its own CPU as busy.
#[test]
fn a_task_counts_itself() {
    let chosen = |patch| {
        let mut r = patched("5.6", patch);
        let p = r.running(0);
        r.task_avg(p, FULL, FULL);
        r.cpu_avg(0, FULL, FULL, FULL);
        r.select(p, SelectFor::Exec).chosen.0
    };
    assert_eq!(chosen(None), 0);
    assert_eq!(chosen(Some("idlest-counts-task")), 1);
}

/// A wakee with policy `SCHED_IDLE` whose previous CPU runs such a task.
#[test]
fn idle_policy_tasks_do_not_push_each_other_aside() {
    let rule = |patch, policy| {
        let mut r = patched("6.5", patch);
        let waker = r.running(0);
        r.hogs([1, 2, 4, 5, 6, 7, 8, 9, 10, 11]);
        r.running_as(3, Policy::Idle);
        let p = r.sleeper(3, 200);
        r.k.tasks[p.index()].policy = policy;
        r.wake(p, 0, Some(waker), false).rule
    };
    let patch = Some("sched-idle-cpu-for-others");
    assert_eq!(rule(None, Policy::Idle), SelectRule::TargetIdle);
    assert_ne!(rule(patch, Policy::Idle), SelectRule::TargetIdle);
    assert_eq!(rule(patch, Policy::Normal), SelectRule::TargetIdle);
}

#[test]
fn interrupts_make_no_synchronous_wakeups() {
    let sync = |patch, by_task| {
        let mut r = patched("6.1", patch);
        let waker = r.running(0);
        let p = r.sleeper(3, 200);
        r.wake(p, 0, Some(waker).filter(|_| by_task), true).sync
    };
    let patch = Some("no-sync-in-interrupt");
    assert!(sync(None, false) && sync(None, true) && sync(patch, true) && !sync(patch, false));
}
