//! Invariants of the fair queues after every step of random histories, with the kernel driven by hand.

use crate::hand::{CPU0, Hand};
use proptest::collection::vec;
use proptest::prelude::*;
use sim_core::kernel::entity::before;
use sim_core::kernel::tunables::Tunable;
use sim_core::kernel::{PROFILES, Policy};
use sim_core::{CpuId, GroupId, TaskId};

const TASKS: usize = 6;

/// One thing that happens to the kernel. Numbers choose among tasks; impossible steps do nothing.
#[derive(Debug, Clone)]
enum Step {
    Pass(u64),
    Tick,
    Schedule,
    Block,
    Wake(usize),
    Yield,
    Fork,
    Renice(usize, i8),
    SetPolicy(usize, Policy),
}

fn step() -> impl Strategy<Value = Step> {
    let policy = prop_oneof![Just(Policy::Normal), Just(Policy::Batch), Just(Policy::Idle)];
    prop_oneof![
        4 => (0u64..30_000_000).prop_map(Step::Pass),
        3 => Just(Step::Tick),
        3 => Just(Step::Schedule),
        2 => Just(Step::Block),
        4 => (0..TASKS).prop_map(Step::Wake),
        1 => Just(Step::Yield),
        1 => Just(Step::Fork),
        1 => (0..TASKS, -20i8..20).prop_map(|(t, n)| Step::Renice(t, n)),
        1 => (0..TASKS, policy).prop_map(|(t, p)| Step::SetPolicy(t, p)),
    ]
}

fn take(h: &mut Hand, step: &Step) {
    let running = h.k.rq(CPU0).curr;
    match *step {
        Step::Pass(ns) => h.pass(ns),
        Step::Tick if running.is_some() => h.tick(CPU0),
        Step::Schedule => {
            h.schedule(CPU0);
        }
        Step::Block if running.is_some() => {
            h.block(CPU0);
        }
        Step::Yield if running.is_some() => {
            h.yield_(CPU0);
        }
        Step::Wake(t) => h.wake(TaskId::new(t)),
        Step::Fork if h.k.nr_tasks() < 2 * TASKS => {
            if let Some(parent) = running {
                h.fork(parent);
            }
        }
        Step::Renice(t, nice) => h.k.set_user_nice(TaskId::new(t), nice, h.now, &mut h.log),
        Step::SetPolicy(t, p) => h.k.set_policy(TaskId::new(t), p, h.now, &mut h.log),
        _ => (),
    }
}

/// vruntime of every task, and whether it is queued.
fn vruntimes(h: &Hand) -> Vec<(u64, bool)> {
    let of = |i| h.k.task_entity(TaskId::new(i));
    (0..h.k.nr_tasks()).map(|i| (of(i).vruntime, of(i).on_rq)).collect()
}

/// What holds of one CPU's root queue at any time.
fn check_queue(h: &Hand, cpu: CpuId) -> Result<(), TestCaseError> {
    let (rq, q) = (h.k.rq(cpu), h.k.cfs_rq(h.k.rq(cpu).cfs));
    let queued: Vec<_> = (0..h.k.nr_tasks())
        .map(|i| h.k.task_entity(TaskId::new(i)))
        .filter(|e| e.on_rq && h.k.cfs_rq(e.cfs_rq).cpu == cpu)
        .collect();
    prop_assert_eq!(q.nr_running as usize, queued.len());
    prop_assert_eq!((q.h_nr_running, rq.nr_running), (q.nr_running, q.nr_running));
    prop_assert_eq!(q.load.weight, queued.iter().map(|e| e.load.weight).sum::<u64>());
    prop_assert_eq!(q.idle_nr_running as usize, queued.iter().filter(|e| e.idle).count());
    let tree: Vec<u64> = q.tree.iter().map(|e| h.k.entity(e).vruntime).collect();
    prop_assert!(tree.windows(2).all(|w| !before(w[1], w[0])), "out of order: {tree:?}");
    prop_assert_eq!(tree.len() + usize::from(q.curr.is_some()), queued.len());
    prop_assert_eq!(q.curr.and_then(|e| h.k.entity(e).task), rq.curr);
    prop_assert!(queued.iter().all(|e| e.prev_sum_exec_runtime <= e.sum_exec_runtime));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// vruntime never falls while a task stays queued, `min_vruntime` never falls at all, and the queue's sums are those
    /// of its entities. `child_runs_first` may swap a parent's vruntime with its child's: that raises the parent's, and
    /// the child was not queued before.
    #[test]
    fn queues_keep_their_invariants(
        profile in 0..PROFILES.len(),
        child_first in 0u64..2,
        nices in vec(-20i8..20, TASKS),
        steps in vec(step(), 1..120),
    ) {
        let mut h = Hand::new(PROFILES[profile].name, 1);
        h.set(Tunable::ChildRunsFirst, child_first);
        for n in &nices {
            h.add_in(*n, Policy::Normal, CPU0, GroupId::ROOT);
        }
        for s in &steps {
            let (before_v, floor) = (vruntimes(&h), h.min_vruntime(CPU0));
            take(&mut h, s);
            prop_assert!(!before(h.min_vruntime(CPU0), floor), "min_vruntime fell at {s:?}");
            for (i, ((was, queued), (is, still))) in before_v.iter().zip(vruntimes(&h)).enumerate() {
                prop_assert!(!(*queued && still && before(is, *was)), "vruntime of task {i} fell at {s:?}");
            }
            check_queue(&h, CPU0)?;
        }
    }

    /// A queued task moved from CPU to CPU keeps its distance to the floor, whatever the floors.
    #[test]
    fn migration_keeps_the_distance_to_the_floor(
        profile in 0..PROFILES.len(),
        ran in vec(1u64..1_000_000_000, 2),
        moves in vec(0u64..20_000_000, 1..8),
    ) {
        let mut h = Hand::new(PROFILES[profile].name, 2);
        let cpus = [CPU0, CpuId(1)];
        for (cpu, ns) in cpus.iter().zip(ran) {
            let t = h.add_in(0, Policy::Normal, *cpu, GroupId::ROOT);
            h.wake(t);
            h.schedule(*cpu);
            h.pass(ns);
            h.tick(*cpu);
        }
        let t = h.add_in(0, Policy::Batch, CPU0, GroupId::ROOT);
        h.wake(t);
        for (i, ns) in moves.into_iter().enumerate() {
            let (from, to) = (cpus[i % 2], cpus[(i + 1) % 2]);
            h.pass(ns);
            h.tick(from);
            let distance = h.v(t).wrapping_sub(h.min_vruntime(from));
            h.k.set_cpus_allowed(t, &sim_core::CpuMask::one(to), h.now, &mut h.log);
            prop_assert_eq!(h.k.task(t).cpu, to);
            prop_assert_eq!(h.v(t).wrapping_sub(h.min_vruntime(to)), distance);
            check_queue(&h, from)?;
            check_queue(&h, to)?;
        }
    }
}
