//! Balancing decisions as data.

use crate::id::{CpuId, TaskId};
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

/// Which pass moved a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BalanceRule {
    /// Interim: a CPU about to idle takes a waiting task from the busiest.
    InterimNewIdle,
    /// Interim: periodic even-out of queue lengths.
    InterimPeriodic,
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
    pub rule: BalanceRule,
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
