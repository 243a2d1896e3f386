//! Run queues: the fair timeline, one fair queue, one CPU.

use super::balance::RqBalance;
use super::entity::before;
use super::pelt::{CfsRqPelt, RqPelt, SchedAvg};
use super::select::WakeeFlips;
use super::stop::StopWork;
use super::task_list::TaskList;
use super::weight::LoadWeight;
use crate::id::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::time::Instant;

/// Room made at boot in each table of a CPU, so that small runs never grow them later.
pub(crate) const ROOM: usize = 16;

/// Queued entities by vruntime; equal keys stay first-in first-out. Behaves as the kernel's tree with its cached
/// leftmost (core.md §3.3). Stored latest first, so that the leftmost is popped from the end.
#[derive(Clone, Debug, Default)]
pub struct Timeline(Vec<(u64, EntityId)>);

impl Timeline {
    /// Queues an entity; its key must not change while it is queued.
    pub fn insert(&mut self, vruntime: u64, se: EntityId) {
        // Most entities are put back near the right end: the latest vruntime comes first.
        let at = self.0.partition_point(|(key, _)| before(vruntime, *key));
        self.0.insert(at, (vruntime, se));
    }

    /// Takes an entity out.
    pub fn remove(&mut self, vruntime: u64, se: EntityId) {
        // Mostly the leftmost is taken, which stands last among many equals.
        if self.leftmost() == Some(se) {
            self.0.pop();
            return;
        }
        let from = self.0.partition_point(|(key, _)| before(vruntime, *key));
        let at = self.0[from..].iter().position(|(_, e)| *e == se);
        let at = from + at.expect("a queued entity is in its timeline under its vruntime");
        self.0.remove(at);
    }

    /// The entity with the smallest vruntime, first queued among equals.
    pub fn leftmost(&self) -> Option<EntityId> {
        self.0.last().map(|(_, e)| *e)
    }

    /// The entity after the leftmost.
    pub fn second(&self) -> Option<EntityId> {
        self.0.iter().nth_back(1).map(|(_, e)| *e)
    }

    /// Queued entities, leftmost first.
    pub fn iter(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.0.iter().rev().map(|(_, e)| *e)
    }
}

/// A fair run queue (`struct cfs_rq`): a CPU's root queue, or a group's queue on one CPU.
#[derive(Clone, Debug)]
pub struct CfsRq {
    /// The CPU.
    pub cpu: CpuId,
    /// The group whose members it holds.
    pub group: GroupId,
    /// Sum of weights of queued entities, the running one included.
    pub load: LoadWeight,
    /// Entities queued at this level, the running one included.
    pub nr_running: u32,
    /// Tasks queued in the whole subtree.
    pub h_nr_running: u32,
    /// Tasks among `h_nr_running` that are SCHED_IDLE or below a `cpu.idle` group of the subtree.
    pub idle_h_nr_running: u32,
    /// Idle entities among `nr_running`.
    pub idle_nr_running: u32,
    /// Monotonic floor of vruntimes.
    pub min_vruntime: u64,
    /// Queued entities except the running one.
    pub tree: Timeline,
    /// The running entity.
    pub curr: Option<EntityId>,
    /// Buddy to prefer: woken last, yielded to, or of the same group.
    pub next: Option<EntityId>,
    /// Buddy to prefer: preempted by the wake-up of `next`.
    pub last: Option<EntityId>,
    /// Entity to pass over: it yielded.
    pub skip: Option<EntityId>,
    /// The group entity that owns this queue; none for a root queue.
    pub owner: Option<EntityId>,
    /// Load tracking; all zero on a machine with one CPU.
    pub avg: SchedAvg,
    /// Load tracking beside the averages.
    pub pelt: CfsRqPelt,
}

impl CfsRq {
    /// An empty queue.
    pub fn new(cpu: CpuId, group: GroupId, owner: Option<EntityId>) -> CfsRq {
        CfsRq {
            cpu,
            group,
            load: LoadWeight::of_load(0),
            nr_running: 0,
            h_nr_running: 0,
            idle_h_nr_running: 0,
            idle_nr_running: 0,
            min_vruntime: 0,
            tree: Timeline(Vec::with_capacity(ROOM)),
            curr: None,
            next: None,
            last: None,
            skip: None,
            owner,
            avg: SchedAvg::default(),
            pelt: CfsRqPelt::default(),
        }
    }
}

/// Scheduling classes, highest first: a runnable task of a higher class always runs before lower ones.
///
/// Only fair and idle have rules; stop and RT keep their places for the many-CPU and real-time models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchedClass {
    /// Stopper threads.
    Stop,
    /// `SCHED_FIFO`, `SCHED_RR`.
    Rt,
    /// `SCHED_NORMAL`, `SCHED_BATCH`, `SCHED_IDLE`.
    Fair,
    /// The idle task.
    Idle,
}

impl SchedClass {
    /// All classes in the order in which they are asked for a task.
    pub const ORDER: [SchedClass; 4] = [SchedClass::Stop, SchedClass::Rt, SchedClass::Fair, SchedClass::Idle];
}

/// One CPU's run queue (`struct rq`).
#[derive(Clone, Debug)]
pub struct Rq {
    /// Wall clock of the queue as last sampled, ns.
    pub clock: u64,
    /// The same without interrupt and steal time, ns: what tasks are charged by.
    pub clock_task: u64,
    /// Interrupt and steal time not yet taken off the task clock, ns.
    pub nontask_pending: u64,
    /// The next `__schedule` keeps the clock of the wake-up that asked for it (`RQCF_REQ_SKIP`).
    pub skip_clock_update: bool,
    /// Runnable tasks of all classes.
    pub nr_running: u32,
    /// The running task; none is the idle task.
    pub curr: Option<TaskId>,
    /// Current is to be rescheduled (`TIF_NEED_RESCHED`).
    pub need_resched: bool,
    /// Wake-ups queued for this CPU by others (`wake_list`), oldest first, with whether the wakee changed CPU.
    pub wake_list: Vec<(TaskId, bool)>,
    /// Tasks that went to sleep here and wait for input or output (`nr_iowait`).
    pub nr_iowait: u32,
    /// Such a task has been woken up here since `schedutil` was last told (`SCHED_CPUFREQ_IOWAIT`).
    pub cpufreq_iowait: bool,
    /// The root fair queue.
    pub cfs: CfsRqId,
    /// When the high-resolution tick is due, while it is armed.
    pub hrtick: Option<Instant>,
    /// The CPU's stopper thread, once it has been needed.
    pub stopper: Option<TaskId>,
    /// What the stopper thread is asked to do, oldest first.
    pub stop_work: Vec<StopWork>,
    /// Its runnable fair tasks as balancing looks at them.
    pub cfs_tasks: TaskList,
    /// Whom interrupts wake while the CPU idles.
    pub idle_task_flips: WakeeFlips,
    /// Exit latency of the idle state the CPU is in, ns; none while it is in no state the kernel knows.
    pub idle_exit_latency: Option<u64>,
    /// Balancing.
    pub balance: RqBalance,
    /// Load tracking of the CPU.
    pub pelt: RqPelt,
}

impl Rq {
    /// An idle CPU's queue.
    pub fn new(cfs: CfsRqId) -> Rq {
        Rq {
            clock: 0,
            clock_task: 0,
            nontask_pending: 0,
            skip_clock_update: false,
            nr_running: 0,
            curr: None,
            need_resched: false,
            wake_list: Vec::with_capacity(ROOM),
            nr_iowait: 0,
            cpufreq_iowait: false,
            cfs,
            hrtick: None,
            stopper: None,
            stop_work: Vec::new(),
            cfs_tasks: TaskList::default(),
            idle_task_flips: WakeeFlips::default(),
            idle_exit_latency: None,
            balance: RqBalance::new(),
            pelt: RqPelt::default(),
        }
    }

    /// Idle, with no wake-up on its way (`idle_cpu()`).
    pub fn is_idle(&self) -> bool {
        self.curr.is_none() && self.nr_running == 0 && self.wake_list.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_keys_stay_first_in_first_out() {
        let mut t = Timeline::default();
        for (v, e) in [(5, 0), (3, 1), (5, 2), (3, 3), (4, 4)] {
            t.insert(v, EntityId(e));
        }
        let order: Vec<u32> = t.iter().map(|e| e.0).collect();
        assert_eq!(order, [1, 3, 4, 0, 2]);
        assert_eq!((t.leftmost(), t.second()), (Some(EntityId(1)), Some(EntityId(3))));
    }

    proptest! {
        /// Against a stable sort by signed difference, across the wrap of the 64-bit clock.
        #[test]
        fn orders_like_a_stable_sort(keys in proptest::collection::vec(0u64..50, 0..40), start in any::<u64>(), drop in any::<prop::sample::Index>()) {
            let mut t = Timeline::default();
            let mut slow: Vec<(u64, u32)> = Vec::new();
            for (i, k) in keys.iter().enumerate() {
                t.insert(start.wrapping_add(*k), EntityId(i as u32));
                slow.push((*k, i as u32));
            }
            if !slow.is_empty() {
                let (k, e) = slow.remove(drop.index(slow.len()));
                t.remove(start.wrapping_add(k), EntityId(e));
            }
            slow.sort_by_key(|(k, _)| *k);
            let fast: Vec<u32> = t.iter().map(|e| e.0).collect();
            prop_assert_eq!(fast, slow.iter().map(|(_, e)| *e).collect::<Vec<_>>());
        }
    }
}
