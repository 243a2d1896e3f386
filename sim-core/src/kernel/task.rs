//! The kernel's view of a task.

use super::Policy;
use super::runqueue::SchedClass;
use super::select::WakeeFlips;
use super::task_list::TaskLinks;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, EntityId, GroupId};

/// Where a task stands (`__state` and `on_rq` together).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Forked, not yet woken for the first time.
    New,
    /// Running or waiting for a CPU.
    Runnable,
    /// Blocked.
    Sleeping,
    /// Between a wake-up and its enqueueing.
    Waking,
    /// Exited.
    Dead,
}

/// A task (`struct task_struct`, as far as scheduling goes).
#[derive(Clone, Debug)]
pub struct SchedTask {
    /// State.
    pub state: TaskState,
    /// Class: fair, but for stopper threads.
    pub class: SchedClass,
    /// Policy.
    pub policy: Policy,
    /// nice −20 … 19.
    pub nice: i8,
    /// Its scheduling entity.
    pub se: EntityId,
    /// The CPU it runs on or last ran on.
    pub cpu: CpuId,
    /// Whether it is some CPU's current task.
    pub on_cpu: bool,
    /// CPUs it may use.
    pub cpus_allowed: CpuMask,
    /// The group it is scheduled in: its cgroup, or its session's autogroup.
    pub group: GroupId,
    /// The cgroup it sits in.
    pub cgroup: GroupId,
    /// Its session's autogroup; none for tasks of the session the system started with.
    pub autogroup: Option<GroupId>,
    /// Voluntary switches (`nvcsw`).
    pub nvcsw: u64,
    /// Involuntary switches (`nivcsw`).
    pub nivcsw: u64,
    /// Whether it is a kernel thread.
    pub kthread: bool,
    /// Whether it waits, or is about to wait, for input or output (`in_iowait`).
    pub in_iowait: bool,
    /// Whom it wakes.
    pub wakee_flips: WakeeFlips,
    /// A CPU it may find warm beside its previous one.
    pub recent_used_cpu: CpuId,
    /// Its place among the runnable fair tasks of its CPU.
    pub(super) links: TaskLinks,
}
