//! Balancing decisions as data.

use super::MigrateReason;
use crate::id::{CpuId, TaskId};
use crate::kernel::balance::stats::GroupStats;
use crate::kernel::domains::{Level, SchedGroup};
use serde::Serialize;

/// For what kind of CPU balancing is done (`enum cpu_idle_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleType {
    /// It idles (`CPU_IDLE`).
    Idle,
    /// It runs a task (`CPU_NOT_IDLE`).
    NotIdle,
    /// It is about to idle (`CPU_NEWLY_IDLE`).
    NewlyIdle,
}

/// What a scheduling group is like (`enum group_type`), least pressed first. Kernels up to 5.4 know [`Self::Other`],
/// [`Self::Imbalanced`] and [`Self::Overloaded`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupType {
    /// Neither overloaded nor imbalanced.
    Other,
    /// It has capacity for more tasks.
    HasSpare,
    /// Its CPUs are used, and its tasks do not compete.
    FullyBusy,
    /// A core with several tasks that an idle CPU may relieve (6.6).
    SmtBalance,
    /// Affinity kept tasks from being spread inside it.
    Imbalanced,
    /// Its tasks get less time than they could use.
    Overloaded,
}

/// In what an imbalance is measured (`enum migration_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MigrationType {
    /// Load.
    Load,
    /// Utilisation.
    Util,
    /// Number of tasks.
    Task,
}

/// A task moved between queues by balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Balance {
    /// The task.
    pub task: TaskId,
    /// Busy CPU.
    pub from: CpuId,
    /// CPU that takes it.
    pub to: CpuId,
    /// Runnable tasks on the busy CPU.
    pub from_nr_running: u32,
    /// Runnable tasks on the CPU that takes it.
    pub to_nr_running: u32,
    /// The pass.
    pub reason: MigrateReason,
    /// Whether it is moved, unless a hook changes it.
    pub pull: bool,
}

/// Why a domain counts as balanced (smp.md §4.3.4, §4.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BalancedBecause {
    /// No group has anything to give.
    NoBusiest,
    /// The local group is of a more pressed type.
    LocalTypeHigher,
    /// The local group has at least the busiest group's average load.
    LocalAboveBusiest,
    /// The local group has at least the average load of the domain.
    LocalAboveAverage,
    /// The difference lies within `imbalance_pct`.
    WithinImbalancePct,
    /// A busy CPU leaves groups alone that are not overloaded.
    BusyCpu,
    /// The local group has hardly more idle CPUs.
    IdleCpus,
    /// The busiest group has one task only.
    SingleTask,
    /// What would have to move amounts to nothing.
    NoImbalance,
}

/// What an attempt to balance a domain came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome", content = "because")]
pub enum BalanceOutcome {
    /// Another CPU of its group balances the domain.
    NotChosen,
    /// No group is busy enough.
    NoBusiestGroup(BalancedBecause),
    /// The busiest group has no queue to take from.
    NoBusiestQueue,
    /// Affinity keeps every task where it is.
    AllPinned,
    /// A running task should be pushed here, but may not run here.
    Pinned,
    /// There was an imbalance, and nothing could be moved.
    Failed,
    /// As before; the busiest CPU's stopper thread is to push its running task.
    ActiveBalance,
    /// Tasks moved.
    Moved,
}

/// A scheduling group as an attempt saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct GroupView {
    /// Its lowest CPU.
    pub cpu: CpuId,
    /// Its CPUs.
    pub weight: u32,
    /// What it is like.
    pub kind: GroupType,
    /// Runnable tasks.
    pub nr_running: u32,
    /// Idle CPUs.
    pub idle_cpus: u32,
    /// Load.
    pub load: u64,
    /// Utilisation.
    pub util: u64,
    /// Capacity.
    pub capacity: u64,
}

impl GroupView {
    pub(crate) fn new(group: &SchedGroup, stats: &GroupStats) -> GroupView {
        GroupView {
            cpu: group.balance_cpu,
            weight: group.weight,
            kind: stats.kind,
            nr_running: stats.nr_running,
            idle_cpus: stats.idle_cpus,
            load: stats.load,
            util: stats.util,
            capacity: stats.capacity,
        }
    }
}

/// An attempt to balance one domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BalanceAttempt {
    /// The CPU whose domain it is.
    pub cpu: CpuId,
    /// The level.
    pub level: Level,
    /// For what kind of CPU.
    pub idle: IdleType,
    /// The CPU's own group, if groups were compared.
    pub local: Option<GroupView>,
    /// The busiest other group, if any has tasks to give.
    pub busiest: Option<GroupView>,
    /// Unit of the imbalance.
    pub kind: MigrationType,
    /// What is left of it.
    pub left: i64,
    /// The busiest queue's CPU.
    pub from: Option<CpuId>,
    /// Attempts in a row that had failed before.
    pub failures: u32,
    /// Tasks moved.
    pub moved: u32,
    /// What it came to.
    pub outcome: BalanceOutcome,
}
