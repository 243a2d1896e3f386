//! Observers: they see everything and change nothing.

mod balance;
mod decision;
mod digest;
mod idle;
mod latencies;
mod metrics;
mod pace;
mod placement;
mod schedstat;
mod spread;
mod tick;
mod walltime;

pub use balance::{
    Balance, BalanceAttempt, BalanceOutcome, BalancedBecause, GroupType, GroupView, IdleType, MigrationType,
};
pub use decision::{Buddy, Decision, Pick, PickRule, Place, PreemptRule, WakeupPreempt};
pub use digest::Digest;
pub use idle::{IdleStats, StateUse};
pub use latencies::Latencies;
pub use metrics::{Metrics, NetCounts, TaskMetrics};
pub use pace::{PaceMetrics, PaceSums, Refills};
pub use placement::{
    Affine, AffineRule, AffineWeight, Flips, IDLEST_LEVELS, IdlestFigures, IdlestLevel, IdlestRule, Search,
    Select, SelectReason, SelectRule,
};
pub use schedstat::{BalanceCounters, CpuCounters, DomainCounters, Schedstat};
pub use spread::{Attempts, ByReason, LEVELS, Near, Spread};
pub use tick::{Share, Shares, SliceFloor, TickPreempt, TickRule};
pub use walltime::{Spent, Walltime};

use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::kernel::KernelConfig;
use crate::machine::cache::Refill;
use crate::machine::{NonTaskKind, WorkClass};
use crate::time::{Instant, Nanos};
use serde::Serialize;

/// How a task left the CPU (`prev_state` of `sched_switch`, and which counter it raised).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchKind {
    /// It blocked: voluntary.
    Blocked,
    /// It was preempted: involuntary.
    Preempted,
    /// It yielded: counted as involuntary by the kernel.
    Yielded,
    /// It exited: voluntary.
    Exited,
    /// The idle task left.
    FromIdle,
}

/// Why a task changed CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrateReason {
    /// A wake-up chose another CPU than its last.
    Wake,
    /// A new task starts elsewhere than its parent runs. The kernel does not count these as migrations.
    Fork,
    /// It was about to exec.
    Exec,
    /// The periodic balance of a CPU with a tick.
    Periodic,
    /// A CPU about to idle.
    NewIdle,
    /// The balance done for tickless idle CPUs.
    Nohz,
    /// A stopper thread pushed it while it ran.
    Active,
    /// Its CPU was taken from its mask.
    Affinity,
}

impl MigrateReason {
    /// All reasons.
    pub const ALL: [MigrateReason; 8] = [
        MigrateReason::Wake,
        MigrateReason::Fork,
        MigrateReason::Exec,
        MigrateReason::Periodic,
        MigrateReason::NewIdle,
        MigrateReason::Nohz,
        MigrateReason::Active,
        MigrateReason::Affinity,
    ];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            MigrateReason::Wake => "wake",
            MigrateReason::Fork => "fork",
            MigrateReason::Exec => "exec",
            MigrateReason::Periodic => "periodic",
            MigrateReason::NewIdle => "newly_idle",
            MigrateReason::Nohz => "nohz",
            MigrateReason::Active => "active",
            MigrateReason::Affinity => "affinity",
        }
    }
}

/// What a CPU executes when it calls the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The running task: a system call, or the way back to user mode.
    Task,
    /// The running task, preempted in kernel mode (`R+` of `sched_switch`).
    KernelPreempt,
    /// The hard interrupt of a tick.
    Tick,
    /// The hard interrupt of another timer.
    Timer,
    /// The hard interrupt another CPU, or a device, sent.
    Ipi,
    /// A softirq at the end of an interrupt.
    Softirq,
}

/// What keeps a running task from going on, beside interrupts and the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overhead {
    /// A context switch.
    Switch,
    /// It is to be rescheduled: the way from the interrupt to `__schedule`.
    Delay,
    /// A balancing pass in `__schedule`.
    Balance,
    /// An idle state is being left, or its stopped tick started again.
    IdleExit,
}

/// What the thread of a virtual CPU does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VcpuState {
    /// It executes the guest's code.
    Runs,
    /// It waits for a host CPU: what a guest's steal clock counts.
    Waits,
    /// It has a host CPU, which an interrupt or a switch of the host keeps busy.
    Held,
    /// It has halted.
    Halts,
    /// It has seen an interrupt and is on its way into the guest.
    Wakes,
}

/// What happens to what comes over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetEvent {
    /// The card interrupts.
    Interrupt,
    /// So many frames went through the protocols.
    Frames(u32),
    /// A round of the receiving softirq ended with frames left (`time_squeeze`).
    Squeezed,
    /// Work is left to the CPU's `ksoftirqd`.
    Ksoftirqd,
    /// A datagram found the receive queue of the card full.
    RingDrop,
    /// A datagram found its socket's buffer full.
    SocketDrop,
    /// A datagram reached its socket.
    Datagram,
}

/// How a stay in an idle state compares with target residencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdleFit {
    /// Too short for the state, and there is a shallower one (`above`).
    Above,
    /// Long enough for the next deeper state (`below`).
    Below,
    /// Neither.
    Good,
}

/// A piece of work at constant speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How long.
    pub time: Nanos,
    /// Work per ns, [`FULL_SPEED`](crate::machine::FULL_SPEED) at full speed.
    pub speed: u64,
    /// The clock, kHz.
    pub khz: u32,
    /// Whether another thread of the core was busy.
    pub shared: bool,
    /// Whether the task was loading its working set.
    pub cold: bool,
}

/// What happened. Tasks are named by id; names come from the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A CPU switched; none is the idle task.
    Switch {
        /// The CPU.
        cpu: CpuId,
        /// Who left.
        prev: Option<TaskId>,
        /// How it left.
        kind: SwitchKind,
        /// Who came.
        next: Option<TaskId>,
    },
    /// A wake-up began (`sched_waking`).
    Waking {
        /// The wakee.
        task: TaskId,
        /// The waker's CPU.
        by: CpuId,
        /// The task running there, if the wake-up came from a task.
        waker: Option<TaskId>,
    },
    /// A woken task was enqueued (`sched_wakeup`, `sched_wakeup_new`).
    Wakeup {
        /// The wakee.
        task: TaskId,
        /// The CPU it was enqueued on.
        cpu: CpuId,
        /// Whether the task is new.
        new: bool,
        /// The task running there; none is the idle task.
        curr: Option<TaskId>,
        /// need_resched of that CPU before the preemption check.
        resched_before: bool,
        /// need_resched of that CPU after it.
        resched_after: bool,
    },
    /// A task changed CPU (`sched_migrate_task`, but for new tasks).
    Migrate {
        /// The task.
        task: TaskId,
        /// From.
        from: CpuId,
        /// To.
        to: CpuId,
        /// Why.
        reason: MigrateReason,
    },
    /// Run time was charged to a task (`sched_stat_runtime`).
    StatRuntime {
        /// The task.
        task: TaskId,
        /// How much.
        runtime: Nanos,
        /// Its vruntime after the charge.
        vruntime: u64,
    },
    /// Run time was charged to a stopper thread.
    StopRuntime {
        /// The task.
        task: TaskId,
        /// How much.
        runtime: Nanos,
    },
    /// A tick asked for a reschedule of the running task.
    TickPreempt {
        /// The CPU.
        cpu: CpuId,
        /// The running task.
        task: TaskId,
    },
    /// A task was created.
    Fork {
        /// The parent; none for a task of the scenario.
        parent: Option<TaskId>,
        /// The child.
        child: TaskId,
    },
    /// A task replaced its program.
    Exec {
        /// The task.
        task: TaskId,
    },
    /// A task ended.
    Exit {
        /// The task.
        task: TaskId,
    },
    /// A task finished units of work.
    Count {
        /// The task.
        task: TaskId,
        /// How many.
        units: u64,
    },
    /// A task recorded a time it measured.
    Record {
        /// The task.
        task: TaskId,
        /// Which of its measurements.
        series: u8,
        /// The time.
        time: Nanos,
    },
    /// A CPU's time went to something other than a task.
    NonTask {
        /// The CPU.
        cpu: CpuId,
        /// How much, from now on or from the end of what has the CPU now.
        time: Nanos,
        /// To what.
        kind: NonTaskKind,
        /// The source of interference it comes from, by number; none for the kernel's own interrupts.
        source: Option<u32>,
    },
    /// Something other than an interrupt keeps the running task from going on.
    Overhead {
        /// The CPU.
        cpu: CpuId,
        /// How long, from now on or from the end of what has the CPU now; a switch ends it.
        time: Nanos,
        /// What.
        kind: Overhead,
    },
    /// Something happened to what comes over the network.
    Net {
        /// The CPU.
        cpu: CpuId,
        /// What.
        what: NetEvent,
    },
    /// A virtual CPU executes, or not any more.
    Vcpu {
        /// The CPU.
        cpu: CpuId,
        /// What its thread on the host does.
        state: VcpuState,
    },
    /// A CPU begins to do something: what follows, up to the next one, is done by it.
    Context {
        /// The CPU.
        cpu: CpuId,
        /// What it does.
        context: Context,
    },
    /// `__schedule` chose the task that ran already: no switch.
    Repick {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: TaskId,
    },
    /// need_resched of a CPU was set; its next [`Event::Switch`] or [`Event::Repick`] clears it.
    NeedResched {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU tried to balance one of its domains, or another did so for it (`load_balance`).
    LoadBalance {
        /// The CPU.
        cpu: CpuId,
        /// The domain's place in the CPU's chain, 0 the smallest.
        level: u8,
        /// For what kind of CPU.
        idle: IdleType,
        /// What it came to.
        outcome: BalanceOutcome,
        /// Tasks moved.
        moved: u32,
        /// Unit of the imbalance.
        kind: MigrationType,
        /// What is left of the imbalance.
        imbalance: i64,
    },
    /// A stopper thread was to push a task to a CPU that asked for it.
    ActiveBalance {
        /// The stopper's CPU.
        cpu: CpuId,
        /// The CPU that asked.
        to: CpuId,
        /// The task pushed, if there was any.
        task: Option<TaskId>,
    },
    /// A task has worked up to now; told only where speed depends on clock, sibling threads or caches.
    Progress {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: TaskId,
        /// The class of its work.
        class: WorkClass,
        /// For how long and how fast.
        pace: Progress,
    },
    /// A task has to load its working set, or some of it, where it runs now.
    Refill {
        /// The CPU.
        cpu: CpuId,
        /// The task.
        task: TaskId,
        /// What, and why.
        refill: Refill,
        /// The time that costs it.
        lost: Nanos,
    },
    /// A CPU's idle task halted the CPU, or goes on (`cpu_idle`).
    CpuIdle {
        /// The CPU.
        cpu: CpuId,
        /// Whether it halted.
        enter: bool,
        /// In which idle state; none on machines without idle states.
        state: Option<u8>,
    },
    /// A CPU has left an idle state.
    IdleLeft {
        /// The CPU.
        cpu: CpuId,
        /// The state.
        state: u8,
        /// From entering to having left.
        residency: Nanos,
        /// When it was called back: what lies between is left of entering, and leaving.
        kicked: Instant,
        /// How the stay compares with the state's target residency.
        fit: IdleFit,
    },
    /// Every thread of a core is in a state in which the core loses what its own caches hold (C3 and deeper), or one has
    /// left it.
    CoreDepth {
        /// The thread with which that came.
        cpu: CpuId,
        /// Whether all are.
        deep: bool,
    },
}

/// Listens to a run.
pub trait Observer {
    /// Whether decisions are wanted; when false they are not even put together.
    const DECISIONS: bool = false;

    /// What a task is called, its path and its nice value: told right after it was created and when one of them
    /// changes.
    fn identity(&mut self, _task: TaskId, _name: &str, _path: &str, _nice: i8) {}

    /// The CPUs a task may use: told when it may not use all of them, and when that changes.
    fn affinity(&mut self, _task: TaskId, _allowed: &CpuMask) {}
    /// How the kernel is configured: told at the start and after each change.
    fn configured(&mut self, _at: Instant, _kernel: &KernelConfig) {}

    /// An event. Times never go back.
    fn event(&mut self, at: Instant, event: &Event);

    /// A decision of the kernel model.
    fn decision(&mut self, _at: Instant, _decision: &Decision) {}
}

/// Nobody listens.
impl Observer for () {
    fn event(&mut self, _at: Instant, _event: &Event) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const DECISIONS: bool = A::DECISIONS || B::DECISIONS;
    fn identity(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        self.0.identity(task, name, path, nice);
        self.1.identity(task, name, path, nice);
    }
    fn affinity(&mut self, task: TaskId, allowed: &CpuMask) {
        self.0.affinity(task, allowed);
        self.1.affinity(task, allowed);
    }
    fn configured(&mut self, at: Instant, kernel: &KernelConfig) {
        self.0.configured(at, kernel);
        self.1.configured(at, kernel);
    }
    fn event(&mut self, at: Instant, event: &Event) {
        self.0.event(at, event);
        self.1.event(at, event);
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        self.0.decision(at, decision);
        self.1.decision(at, decision);
    }
}

impl<O: Observer> Observer for &mut O {
    const DECISIONS: bool = O::DECISIONS;
    fn identity(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        (**self).identity(task, name, path, nice);
    }
    fn affinity(&mut self, task: TaskId, allowed: &CpuMask) {
        (**self).affinity(task, allowed);
    }
    fn configured(&mut self, at: Instant, kernel: &KernelConfig) {
        (**self).configured(at, kernel);
    }
    fn event(&mut self, at: Instant, event: &Event) {
        (**self).event(at, event);
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        (**self).decision(at, decision);
    }
}

/// Somebody listens, or nobody.
impl<O: Observer> Observer for Option<O> {
    const DECISIONS: bool = O::DECISIONS;
    fn identity(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        self.iter_mut().for_each(|o| o.identity(task, name, path, nice));
    }
    fn affinity(&mut self, task: TaskId, allowed: &CpuMask) {
        self.iter_mut().for_each(|o| o.affinity(task, allowed));
    }
    fn configured(&mut self, at: Instant, kernel: &KernelConfig) {
        self.iter_mut().for_each(|o| o.configured(at, kernel));
    }
    fn event(&mut self, at: Instant, event: &Event) {
        self.iter_mut().for_each(|o| o.event(at, event));
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        self.iter_mut().for_each(|o| o.decision(at, decision));
    }
}
