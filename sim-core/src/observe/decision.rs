//! Decisions of the kernel model as data: what was compared, what was chosen, by which rule.

use super::TickPreempt;
use super::balance::{Balance, BalanceAttempt};
use super::placement::Select;
use crate::id::{CpuId, EntityId, TaskId};
use crate::time::Nanos;
use serde::Serialize;

/// Placement of an entity on its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The CPU.
    pub cpu: CpuId,
    /// The entity.
    pub entity: EntityId,
    /// The task, unless the entity is a group's.
    pub task: Option<TaskId>,
    /// Whether the task is new (`initial`).
    pub initial: bool,
    /// The queue's `min_vruntime`.
    #[serde(rename = "min_vruntime_ns")]
    pub min_vruntime: u64,
    /// vruntime it came with.
    #[serde(rename = "before_ns")]
    pub before: u64,
    /// The floor (or debit) it is compared with.
    #[serde(rename = "base_ns")]
    pub base: u64,
    /// How far `base` lies below `min_vruntime` for a sleeper, or above it for a new task, virtual ns.
    #[serde(rename = "offset_ns")]
    pub offset: u64,
    /// Whether the entity is `SCHED_IDLE` or a `cpu.idle` group.
    pub idle: bool,
    /// Whether it slept so long that its own vruntime does not count.
    pub slept_long: bool,
    /// vruntime it leaves with, unless a hook changes it.
    #[serde(rename = "after_ns")]
    pub after: u64,
}

/// Why a wake-up preempts or does not (rows of core.md §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptRule {
    /// The CPU ran its idle task.
    CurrIdleTask,
    /// One of them is a stopper thread: the higher class runs.
    Class,
    /// The wakee is the running task.
    WakeeIsCurr,
    /// Current is to be rescheduled already.
    AlreadyResched,
    /// Current is SCHED_IDLE and the wakee is not.
    CurrPolicyIdle,
    /// The wakee is SCHED_BATCH or SCHED_IDLE.
    WakeePolicy,
    /// `WAKEUP_PREEMPTION` is off.
    FeatureOff,
    /// The entity on current's side is idle and the wakee's is not.
    IdleEntity,
    /// Only the wakee's side is idle.
    WakeeEntityIdle,
    /// Current has not run for `sched_min_granularity` yet (a posted patch).
    MinimumRun,
    /// Compared by vruntime and wakeup granularity.
    Granularity,
}

/// Should a woken task preempt the running one?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WakeupPreempt {
    /// The CPU.
    pub cpu: CpuId,
    /// The running task; none is the idle task.
    pub curr: Option<TaskId>,
    /// The woken task.
    pub wakee: TaskId,
    /// The wakee's side at the level of its path where the two compete: the task's own entity or a group's.
    pub entity: EntityId,
    /// How far the wakee's side lies behind, in virtual ns. Zero unless compared.
    #[serde(rename = "lead_ns")]
    pub lead: i64,
    /// Wakeup granularity in the wakee's units, ns. Zero unless compared.
    #[serde(rename = "granularity_ns")]
    pub granularity: u64,
    /// Weight of the wakee's side, as stored.
    pub weight: u64,
    /// How long current has run since it was set as current. Zero for the idle task.
    #[serde(rename = "curr_ran_ns")]
    pub curr_ran: Nanos,
    /// The rule that decided.
    pub rule: PreemptRule,
    /// Whether current is to be rescheduled, unless a hook changes it.
    pub preempt: bool,
}

/// Why an entity was picked (core.md §8.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PickRule {
    /// Smallest vruntime.
    Leftmost,
    /// Current, which is still before the leftmost.
    Current,
    /// The runner-up: the fairest choice yielded.
    Skip,
    /// The next buddy, within a granularity of the fairest choice.
    NextBuddy,
    /// The last buddy, within a granularity of the fairest choice.
    LastBuddy,
}

/// An entity that the picker prefers, and how it compares with the fairest choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Buddy {
    /// The entity.
    pub entity: EntityId,
    /// How far the fairest choice lies behind it, virtual ns.
    #[serde(rename = "behind_ns")]
    pub behind: i64,
    /// How far it may lie behind and still be preferred, virtual ns.
    #[serde(rename = "granularity_ns")]
    pub granularity: u64,
}

impl Buddy {
    /// Whether it lies so near to the fairest choice that it is preferred.
    pub const fn is_near(&self) -> bool {
        self.behind <= 0 || self.behind.unsigned_abs() <= self.granularity
    }
}

/// The choice of an entity at one level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pick {
    /// The CPU.
    pub cpu: CpuId,
    /// The running entity, if it competes.
    pub curr: Option<EntityId>,
    /// The fairest choice.
    pub left: EntityId,
    /// Its weight, as stored.
    pub left_weight: u64,
    /// The fairest choice among the others.
    pub second: Option<EntityId>,
    /// How far `second` lies after `left`, virtual ns. Zero when there is none.
    #[serde(rename = "second_behind_ns")]
    pub second_behind: i64,
    /// The next buddy.
    pub next: Option<Buddy>,
    /// The last buddy, unless the next buddy was taken.
    pub last: Option<Buddy>,
    /// Whether the fairest choice had yielded.
    pub left_yielded: bool,
    /// The choice, unless a hook changes it.
    pub chosen: EntityId,
    /// The rule that decided.
    pub rule: PickRule,
}

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
#[expect(
    clippy::large_enum_variant,
    reason = "placements carry their levels; observers get decisions by reference"
)]
pub enum Decision {
    /// See [`Place`].
    Place(Place),
    /// See [`WakeupPreempt`].
    WakeupPreempt(WakeupPreempt),
    /// See [`TickPreempt`].
    TickPreempt(TickPreempt),
    /// See [`Pick`].
    Pick(Pick),
    /// See [`Select`].
    Select(Select),
    /// See [`Balance`].
    Balance(Balance),
    /// See [`BalanceAttempt`].
    BalanceAttempt(BalanceAttempt),
}
