//! Placement decisions as data: where a task goes when it wakes, is forked or execs.

use crate::id::{CpuId, TaskId};
use serde::Serialize;

/// Why a task is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectReason {
    /// It wakes.
    Wake,
    /// It is new.
    Fork,
    /// It execs.
    Exec,
}

/// The rule that chose the CPU (smp.md §3.4, §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectRule {
    /// The only CPU allowed.
    OnlyAllowed,
    /// The lowest-numbered allowed CPU: the rules' own choice is not allowed.
    Fallback,
    /// The target is idle.
    TargetIdle,
    /// The previous CPU is idle and shares the target's cache.
    PrevIdle,
    /// The waker is a kernel thread of the previous CPU and has done its work.
    KthreadStacking,
    /// The CPU used before the previous one is idle and shares the target's cache.
    RecentIdle,
    /// The target shares its cache with no other CPU: nothing to search.
    NoSharedCache,
    /// The search found a CPU whose whole core is idle.
    IdleCore,
    /// The search found an idle CPU.
    IdleCpu,
    /// A hardware thread of the same core is idle.
    IdleSibling,
    /// Nothing idle was found: the target itself.
    Target,
    /// The idlest CPU of the idlest group, level by level.
    Idlest,
    /// The CPU has no domain to look in: the task stays.
    NoDomain,
}

/// The rule that chose between the waker's and the previous CPU (smp.md §3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AffineRule {
    /// The waker's CPU is idle (an interrupt wakes) and shares cache with the previous one: that one if idle, else this.
    ThisIdle,
    /// A synchronous waker is alone on its CPU.
    SyncAlone,
    /// The previous CPU is idle.
    PrevIdle,
    /// A synchronous waker carries more load than its CPU shows.
    SyncWakerIsAll,
    /// Compared by load.
    Weight,
    /// Nothing decided: the previous CPU.
    None,
}

/// The loads `wake_affine` compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AffineWeight {
    /// Load of the waker's CPU.
    pub this_load: u64,
    /// Share of it that leaves with a synchronous waker.
    pub waker_load: Option<u64>,
    /// The wakee's load.
    pub task_load: u64,
    /// Load of the previous CPU.
    pub prev_load: u64,
    /// Weighed load of the waker's CPU with the wakee.
    pub this: i64,
    /// Weighed load of the previous CPU without it; the wakee is pulled if it is larger.
    pub prev: i64,
}

/// The choice between the waker's CPU and the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Affine {
    /// The rule that decided.
    pub rule: AffineRule,
    /// What was compared, if loads were.
    pub weight: Option<AffineWeight>,
}

/// How often waker and wakee change partners (`wake_wide`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Flips {
    /// Of the waker.
    pub waker: u32,
    /// Of the wakee.
    pub wakee: u32,
    /// CPUs sharing the waker's cache.
    pub factor: u32,
    /// Whether that is so wide that the wakee is left near its previous CPU.
    pub wide: bool,
}

/// A search for an idle CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Search {
    /// CPUs looked at.
    pub examined: u32,
    /// CPUs the budget allowed; none when there was no limit.
    pub budget: Option<u64>,
    /// Whether an idle core was believed to exist.
    pub has_idle_cores: bool,
}

/// Why the slow path left, or stayed in, a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdlestRule {
    /// No other group can take the task, or none is better.
    NoOther,
    /// The task may not use its own group.
    NoLocal,
    /// The own group has room enough for the task (4.19 to 5.4, not for new tasks).
    LocalSpare,
    /// Another group has most room (4.19 to 5.4, not for new tasks).
    MostSpare,
    /// Within what a NUMA level tolerates.
    NumaTolerance,
    /// Decided by load.
    Load,
    /// Decided by the type of the groups.
    GroupType,
    /// Decided by the number of idle CPUs.
    IdleCpus,
}

/// A scheduling group as the slow path sees it. Figures a version does not use are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IdlestFigures {
    /// A CPU of the group: its lowest-numbered.
    pub cpu: CpuId,
    /// Load by capacity: runnable load up to 5.4, average load from 5.5 on.
    pub load: u64,
    /// Load with blocked tasks by capacity (up to 5.4).
    pub load_with_blocked: u64,
    /// Most unused capacity of one CPU (up to 5.4).
    pub spare: u64,
    /// Idle CPUs (from 5.5 on).
    pub idle_cpus: u32,
    /// Runnable tasks (from 5.5 on).
    pub nr_running: u32,
}

/// One level of the slow path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IdlestLevel {
    /// CPUs of the domain.
    pub weight: u32,
    /// The group the walk stood in, unless the task may not use it.
    pub local: Option<IdlestFigures>,
    /// The best of the others.
    pub best: Option<IdlestFigures>,
    /// The rule that decided.
    pub rule: IdlestRule,
    /// Whether the task goes to the other group.
    pub moves: bool,
}

/// Levels of the slow path that a record holds; a walk over more reports the first ones.
pub const IDLEST_LEVELS: usize = 4;

/// The CPU for a waking, new or exec'ing task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Select {
    /// The task.
    pub task: TaskId,
    /// Why it is placed.
    pub reason: SelectReason,
    /// The CPU that places it.
    pub by: CpuId,
    /// Whether the waker said that it is about to sleep.
    pub sync: bool,
    /// The CPU it comes from.
    pub prev: CpuId,
    /// Runnable tasks on the CPU it comes from.
    pub prev_nr_running: u32,
    /// Whether waker and wakee flip widely, if a wake-up asked.
    pub flips: Option<Flips>,
    /// The choice between waker's and previous CPU, if there was one.
    pub affine: Option<Affine>,
    /// The CPU around which an idle one was looked for.
    pub target: CpuId,
    /// The search, if there was one.
    pub search: Option<Search>,
    /// The levels of the slow path, if it was taken.
    pub idlest: [Option<IdlestLevel>; IDLEST_LEVELS],
    /// Runnable tasks on the CPU the rule chose.
    pub chosen_nr_running: u32,
    /// The choice, unless a hook changes it.
    pub chosen: CpuId,
    /// The rule that decided.
    pub rule: SelectRule,
}
