//! The workload language of the captures (`spec.wl`), as typed values.
//!
//! The language is the one the capturing lab's driver `wl` reads; its meaning here is that driver's, except that what
//! the driver would silently ignore or clamp (an unknown unit, a count of zero, a range where none is drawn) is refused.

mod body;
mod error;
mod parse;
mod random;
#[cfg(test)]
mod tests;
mod token;

pub use error::{Limits, SpecError, SpecProblem};
pub use parse::parse_spec;
pub use random::LabRandom;

use sim_core::cpumask::CpuMask;
use sim_core::kernel::Policy;

/// A duration in nanoseconds, constant (`lo == hi`) or drawn uniformly from `lo..=hi`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Shortest, ns.
    pub lo: u64,
    /// Longest, ns.
    pub hi: u64,
}

impl Span {
    /// The duration when it is not random.
    pub fn constant(self) -> Option<u64> {
        (self.lo == self.hi).then_some(self.lo)
    }
}

/// When T0, the common start, lies relative to the kernel's tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// So many ns after a tick.
    AfterTick(u64),
    /// Anywhere.
    Off,
}

/// How `run` measures its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// By the task's CPU clock, looked at once per `chunk`.
    Cpu,
    /// By turns of a calibrated loop, without system calls.
    Loops,
}

/// What kind of object a name stands for. Names of different kinds do not collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectKind {
    /// A futex semaphore (`post`, `wait`).
    Semaphore,
    /// A pipe (`read`, `write`).
    Pipe,
    /// A barrier.
    Barrier,
}

/// A semaphore, pipe or barrier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name, `%` already replaced by the task's index.
    pub name: String,
}

/// Index into [`Spec::objects`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectIx(pub u16);

/// One step of a task's body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Spin until the task's own CPU clock has advanced by the span.
    Run(Span),
    /// So many turns of the calibrated loop.
    Spin(u64),
    /// Sleep relative to now.
    Sleep(Span),
    /// Sleep until the next multiple of the period (ns) since the task's start.
    Period(u64),
    /// Add to a semaphore, waking as many waiters.
    Post(ObjectIx, u32),
    /// Take one from a semaphore, blocking at zero.
    Wait(ObjectIx),
    /// Write bytes into a pipe.
    Write(ObjectIx, u32),
    /// Read exactly so many bytes from a pipe.
    Read(ObjectIx, u32),
    /// Wait until so many tasks have come.
    Barrier(ObjectIx, u32),
    /// `sched_yield`.
    Yield,
    /// One more iteration done.
    Count,
    /// The block so many times, unless the spec's `limit` has passed.
    Loop(u64, Vec<Step>),
    /// The block until so many ns of wall time have passed, looked at before each turn.
    For(u64, Vec<Step>),
    /// A child runs the block and exits.
    Fork(Vec<Step>),
    /// Wait for one child, if there is any.
    Join,
    /// Wait for all children.
    JoinAll,
    /// `count` children run the block, at most `parallel` at a time; then wait for all.
    Jobs {
        /// Most children at a time.
        parallel: u64,
        /// Children in all.
        count: u64,
        /// What each does.
        body: Vec<Step>,
    },
    /// So many `getppid` system calls.
    SysIo(u64),
    /// `sched_setaffinity` of the running task.
    Affinity(CpuMask),
    /// `sched_setaffinity` of every task.
    AffinityAll(CpuMask),
}

/// A control group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its path below the root: `parent/name`, or `name`.
    pub path: String,
    /// `cpu.weight`, if set.
    pub weight: Option<u32>,
    /// `cpu.max`, if set.
    pub max: Option<Bandwidth>,
}

/// A group's `cpu.max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bandwidth {
    /// CPU time per period, ns; `None` is no bound.
    pub quota: Option<u64>,
    /// Period, ns.
    pub period: u64,
}

/// One task: a `task` line with `count=N` gives N of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its comm: at most 15 bytes, with the index appended when `count` is above one.
    pub name: String,
    /// Its index within its line's `count`.
    pub instance: u32,
    /// nice −20 … 19.
    pub nice: i8,
    /// CPUs it may use; `None` is all.
    pub cpus: Option<CpuMask>,
    /// When it starts, ns after T0.
    pub start: u64,
    /// Path of its group; `None` is the root.
    pub group: Option<String>,
    /// Scheduling policy.
    pub policy: Policy,
    /// What it does.
    pub body: Vec<Step>,
}

/// A whole workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Seed of the random spans (see [`LabRandom`]).
    pub seed: u64,
    /// Timer slack of the tasks, ns.
    pub slack: u64,
    /// From the tasks' fork to T0, ns.
    pub lead: u64,
    /// T0 against the tick.
    pub phase: Phase,
    /// When tasks are told to stop, ns after T0.
    pub limit: Option<u64>,
    /// Longest spin between two looks at the clock, ns.
    pub chunk: u64,
    /// How `run` measures.
    pub clock: Clock,
    /// Groups in the order written.
    pub groups: Vec<Group>,
    /// Tasks in the order in which the driver forks them.
    pub tasks: Vec<Task>,
    /// Semaphores, pipes and barriers.
    pub objects: Vec<Object>,
}

impl Spec {
    /// The random stream of each task, in order (see [`LabRandom`]).
    pub fn task_streams(&self) -> Vec<LabRandom> {
        let mut parent = LabRandom::for_seed(self.seed);
        self.tasks.iter().map(|_| parent.child()).collect()
    }
}
