//! What a task is doing: the burst it runs and what comes after it.

use super::Simulation;
use super::pipe::Side;
use super::sleep::Timeout;
use crate::id::{BarrierId, ConditionId, CpuId, EpollId, MutexId, PipeId, SemId, SocketId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::machine::cache::Footprint;
use crate::machine::{FULL_SPEED, WorkKind};
use crate::observe::Observer;
use crate::program::{Action, Program};
use crate::time::{Instant, Nanos};

/// CPU demand of the running step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Burst {
    /// Work left, in ns at full speed times [`FULL_SPEED`]; what is more than 78 hours does not end within any run.
    Work(u64),
    /// Until the task's CPU clock shows this, ns.
    CpuClock(u64),
    /// Until this time.
    Until(Instant),
}

impl Burst {
    pub(super) const NONE: Burst = Burst::Work(0);

    pub(super) const fn work_ns(ns: u64) -> Burst {
        Burst::Work(ns.saturating_mul(FULL_SPEED as u64))
    }
}

/// A system call's effect, tried when its entry work is done and again after each wake-up.
#[derive(Debug)]
pub(super) enum Op {
    /// `slept`: it has waited in this call, and wakes the next of its kind when it leaves something.
    Pipe {
        pipe: PipeId,
        side: Side,
        left: u64,
        slept: bool,
    },
    /// `slept`: it has waited in this call.
    Send {
        socket: SocketId,
        left: u64,
        slept: bool,
    },
    /// What a send took into the buffer goes to the other end; `left`: of the message, what is still to be taken.
    Deliver {
        socket: SocketId,
        bytes: u64,
        left: u64,
    },
    Receive {
        socket: SocketId,
        max: u64,
        slept: bool,
    },
    Acknowledge {
        socket: SocketId,
    },
    Shutdown(SocketId),
    SemPost {
        sem: SemId,
        n: u32,
        /// The call goes on.
        stay: bool,
    },
    SemWait(SemId),
    Lock(MutexId),
    Unlock(MutexId),
    Barrier(BarrierId),
    EpollPost(EpollId),
    EpollWait {
        epoll: EpollId,
        /// The end of its wait.
        timeout: Option<Timeout>,
    },
    /// Still holding the mutex, if there is one.
    CondWait {
        condition: ConditionId,
        mutex: Option<MutexId>,
    },
    /// At most this many waiters wake.
    Notify(ConditionId, u32),
    /// A sleep whose timer may fire from this time on.
    SleepUntil(Instant),
    /// A device answers at this time.
    Io(Instant),
    /// The parent of a vfork waits for this child's exec or exit.
    VforkWait(TaskId),
    WaitChild,
    WaitChildren,
    /// A stopper thread does what it was asked to.
    Stopper,
    /// A thread of a source of interference looks for work; row of the engine's arrivals.
    Kthread(u32),
    /// A CPU's `ksoftirqd`.
    Softirqd(CpuId),
    /// The thread of a virtual CPU, out of the guest; its number.
    Vcpu(u32),
    /// `execve` begins: the scheduler may move the task first.
    SchedExec(Action),
    Kernel(Action),
    Exit,
}

/// What follows the burst.
#[derive(Debug)]
pub(super) enum Then {
    /// The next action.
    Next,
    /// Return to user mode, then the next action.
    Return,
    /// The effect of a system call.
    Attempt(Op),
}

impl Then {
    /// Softirqs are not preempted, whatever the kernel's model of preemption.
    pub(super) fn disables_preemption(&self) -> bool {
        matches!(self, Then::Attempt(Op::Softirqd(_)))
    }
}

/// A task as the engine sees it.
pub(super) struct Exec {
    pub(super) program: Box<dyn Program>,
    pub(super) burst: Burst,
    pub(super) then: Then,
    /// In kernel mode: a reschedule may have to wait.
    pub(super) in_kernel: bool,
    pub(super) parent: Option<TaskId>,
    /// Children alive.
    pub(super) children: u32,
    /// Children that ended and were not waited for.
    pub(super) zombies: u32,
    /// It waits for a child.
    pub(super) waits_for_child: bool,
    /// The parent that vforked it, until it execs or exits.
    pub(super) vforked_by: Option<TaskId>,
    /// How late its sleeps may end.
    pub(super) timer_slack: Nanos,
    /// Guards timers: a sleep that ended early leaves a stale one.
    pub(super) timer_generation: u32,
    /// The process it is a thread of, where that is known to have several.
    pub(super) process: Option<u32>,
    /// What kind of work it does.
    pub(super) kind: WorkKind,
    /// Where its working set is.
    pub(super) footprint: Footprint,
    /// When the running action first blocked.
    pub(super) blocked_since: Option<Instant>,
    /// What its last receive returned.
    pub(super) received: u64,
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// A task is a thread of a process that has others: switches between them cost less.
    pub fn set_process(&mut self, task: TaskId, process: u32) {
        self.tasks[task.index()].process = Some(process);
    }

    /// A task starts a thread of its own process; numbers of processes that threads start count down from the highest.
    pub(super) fn share_process(&mut self, task: TaskId, thread: TaskId) {
        let process = *self.tasks[task.index()].process.get_or_insert(u32::MAX - task.0);
        self.tasks[thread.index()].process = Some(process);
    }
}

/// Who a task is, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Name; changed by exec.
    pub name: String,
    /// Path in the scenario.
    pub path: String,
    /// Who forked it.
    pub parent: Option<TaskId>,
    /// When it became runnable first.
    pub start: Instant,
    /// When it ended.
    pub end: Option<Instant>,
    /// A thread of the kernel itself, not of the scenario.
    pub kthread: bool,
}

impl TaskInfo {
    /// Whether it is a task of the scenario that has not ended: threads of the kernel never do.
    pub fn is_unfinished(&self) -> bool {
        self.end.is_none() && !self.kthread
    }
}
