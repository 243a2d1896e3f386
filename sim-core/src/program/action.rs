//! The actions a task can ask for.

use super::Program;
use crate::cpumask::CpuMask;
use crate::id::{BarrierId, ConditionId, EpollId, GroupId, MutexId, PipeId, SemId, SocketId, TimerId};
use crate::kernel::Policy;
use crate::time::{Instant, Nanos};

/// How the length of a burst is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Work that takes this long on an undisturbed CPU of capacity 1024. Switches, interrupts and slow CPUs stretch it.
    Capacity(Nanos),
    /// Until the task's own CPU clock has advanced by this much (as a loop around `CLOCK_THREAD_CPUTIME_ID` does):
    /// everything charged to the task counts, switch costs and interrupts included.
    CpuTime(Nanos),
    /// Until the clock shows this much later, as a loop around `clock_gettime(2)` does: on a CPU or waiting for one, time
    /// passes.
    Clock(Nanos),
}

/// What becomes of a periodic timer whose expiry has passed when a task comes to wait for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// It starts anew: the next expiry is a period from now.
    Restart,
    /// The next expiry is a period after the missed one.
    CatchUp,
}

/// One step of a task's program.
#[derive(Debug)]
pub enum Action {
    /// Compute in user mode.
    Run(Work),
    /// Work in kernel mode: under `PREEMPT_NONE` and `VOLUNTARY` a reschedule waits for its end.
    KernelRun(Nanos),
    /// Sleep for a duration from now.
    Sleep(Nanos),
    /// Sleep until a point in time; returns at once if it has passed.
    SleepUntil(Instant),
    /// Wait so long for a device (`io_schedule()`): its interrupt ends the wait on the CPU that asked for it.
    Io(Nanos),
    /// Write bytes into a pipe; blocks while it is full.
    PipeWrite {
        /// The pipe.
        pipe: PipeId,
        /// How many bytes; written in pieces when they do not fit.
        bytes: u64,
    },
    /// Read exactly this many bytes from a pipe; blocks while it is empty.
    PipeRead {
        /// The pipe.
        pipe: PipeId,
        /// How many bytes.
        bytes: u64,
    },
    /// Send a message from a socket; blocks while the send buffer is full. Datagrams are lost instead.
    Send {
        /// The socket.
        socket: SocketId,
        /// How many bytes, at least 1.
        bytes: u64,
    },
    /// Receive what is there, a datagram at a time; blocks while there is nothing. How much came is
    /// [`ProgramContext::received`](super::ProgramContext::received).
    Receive {
        /// The socket.
        socket: SocketId,
        /// How many bytes at most, at least 1.
        max: u64,
    },
    /// Send nothing more from a socket: who reads to the end at the other receives 0 bytes.
    Shutdown(SocketId),
    /// Add `n` to a semaphore and wake as many waiters.
    SemPost {
        /// The semaphore.
        sem: SemId,
        /// How much to add.
        n: u32,
    },
    /// Adds to a semaphore in a system call that goes on: the task stays in the kernel up to the end of its next system call,
    /// so that a wake-up preempts it no sooner unless the kernel preempts itself.
    SemPostAndStay {
        /// The semaphore.
        sem: SemId,
        /// How much to add.
        n: u32,
    },
    /// Take one from a semaphore; blocks at zero.
    SemWait(SemId),
    /// Take a mutex; blocks while another task holds it.
    Lock(MutexId),
    /// Release a mutex and wake one waiter.
    Unlock(MutexId),
    /// Wait until the barrier's number of tasks has arrived.
    Barrier(BarrierId),
    /// An event becomes ready on a descriptor that an epoll instance watches, as by a write to an eventfd: one waiter wakes.
    EpollPost(EpollId),
    /// `epoll_wait(2)` for one event; blocks while none is ready.
    EpollWait {
        /// The epoll instance.
        epoll: EpollId,
        /// How long it waits at most; `None` is without end, zero returns at once.
        timeout: Option<Nanos>,
    },
    /// Release the mutex, if there is one, wait for a signal, and take the mutex again.
    CondWait {
        /// The condition variable.
        condition: ConditionId,
        /// The mutex, which the task holds.
        mutex: Option<MutexId>,
    },
    /// Wake the task that has waited longest for the condition; without one, nothing happens and nothing is kept.
    Signal(ConditionId),
    /// Wake all tasks that wait for the condition.
    Broadcast(ConditionId),
    /// Sleep until the next expiry of a periodic timer that starts when it is used first.
    TimerWait {
        /// The timer.
        timer: TimerId,
        /// From one expiry to the next.
        period: Nanos,
        /// What happens when the expiry has passed; in neither case does the task sleep.
        missed: Missed,
    },
    /// Create a child; the parent goes on.
    Fork(Box<ChildSpec>),
    /// As [`Action::Fork`], but the child is a thread of the same process.
    Thread(Box<ChildSpec>),
    /// `vfork(2)`, `posix_spawn(3)`: create a child and sleep until it execs or exits.
    Vfork(Box<ChildSpec>),
    /// Wait for one child to exit; returns at once when there is none.
    WaitChild,
    /// Wait until no child is left.
    WaitChildren,
    /// Replace the program image (a cost and a balancing opportunity); the actions go on.
    Exec {
        /// The task's new name.
        name: String,
    },
    /// `sched_yield(2)`.
    Yield,
    /// `setpriority(2)` on itself: nice −20 … 19.
    SetNice(i8),
    /// `sched_setscheduler(2)` on itself, among the fair policies.
    SetPolicy(Policy),
    /// `sched_setaffinity(2)` on itself.
    SetAffinity(CpuMask),
    /// `sched_setaffinity(2)` on every living child of its parent, itself included, oldest first.
    SetSiblingsAffinity(CpuMask),
    /// Move itself to a group by writing to its `cgroup.procs`.
    MoveToGroup(GroupId),
    /// `prctl(PR_SET_TIMERSLACK)`: how late its sleeps may end from now on.
    SetTimerSlack(Nanos),
    /// Count units of finished work (iterations, objects, bytes): no time passes.
    Count(u64),
    /// Record a time the program measured, such as the latency of a request: no time passes.
    Record {
        /// Which of its measurements, below [`Action::MAX_SERIES`].
        series: u8,
        /// The time.
        time: Nanos,
    },
    /// The end of the task.
    Exit,
}

impl Action {
    /// How many measurements a program may tell apart.
    pub const MAX_SERIES: u8 = 4;
}

/// A task that exists from the start of the simulation.
pub struct TaskSpec {
    /// Name shown in reports; need not be unique.
    pub name: String,
    /// Path in the scenario: unique, keys random streams.
    pub path: String,
    /// When the task first becomes runnable.
    pub start: Instant,
    /// nice −20 … 19.
    pub nice: i8,
    /// Scheduling policy.
    pub policy: Policy,
    /// CPUs the task may use; `None` is all.
    pub affinity: Option<CpuMask>,
    /// Task group the task sits in.
    pub group: GroupId,
    /// What the task does.
    pub program: Box<dyn Program>,
}

/// A task made by [`Action::Fork`], [`Action::Thread`] or [`Action::Vfork`]: nice, policy, affinity, group and timer slack come from the
/// parent.
pub struct ChildSpec {
    /// Name shown in reports.
    pub name: String,
    /// Path in the scenario: unique, keys random streams.
    pub path: String,
    /// What the child does.
    pub program: Box<dyn Program>,
}

impl std::fmt::Debug for TaskSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskSpec").field("path", &self.path).finish_non_exhaustive()
    }
}
impl std::fmt::Debug for ChildSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildSpec").field("path", &self.path).finish_non_exhaustive()
    }
}
