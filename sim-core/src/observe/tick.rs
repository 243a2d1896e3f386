//! The decision of a tick, and everything its slice was made of.

use crate::id::{CpuId, EntityId, TaskId};
use crate::time::Nanos;
use serde::Serialize;

/// Why a tick asks for a reschedule or does not (core.md §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TickRule {
    /// Ran longer than its slice.
    SliceUsed,
    /// Ran less than the minimum granularity.
    BelowMinGranularity,
    /// Not ahead of the leftmost entity.
    NotAhead,
    /// Ahead of the leftmost by more than a slice.
    AheadByMoreThanSlice,
    /// Ahead, but by less than a slice.
    WithinSlice,
    /// The high-resolution tick: no comparison.
    Hrtick,
}

impl TickRule {
    /// What a tick decides about an entity that has run for `ran` of its `slice` and is `lead` ahead, in virtual time, of
    /// the leftmost that waits; all in ns.
    ///
    /// Mirrors: `check_preempt_tick()`, v4.19–v6.5; core.md §6.2.
    pub const fn of_tick(ran: u64, slice: u64, min_granularity: u64, lead: Option<i64>) -> TickRule {
        if ran > slice {
            return TickRule::SliceUsed;
        }
        if ran < min_granularity {
            return TickRule::BelowMinGranularity;
        }
        match lead {
            None | Some(..0) => TickRule::NotAhead,
            // A virtual difference against a real slice: the kernel's own quirk.
            Some(lead) if lead.unsigned_abs() > slice => TickRule::AheadByMoreThanSlice,
            Some(_) => TickRule::WithinSlice,
        }
    }

    /// Whether the entity is to be rescheduled.
    pub const fn preempts(self) -> bool {
        matches!(self, TickRule::SliceUsed | TickRule::AheadByMoreThanSlice | TickRule::Hrtick)
    }
}

/// The floor of a slice under `BASE_SLICE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SliceFloor {
    /// None: the feature is off.
    None,
    /// `sched_min_granularity_ns`.
    MinGranularity,
    /// `sched_idle_min_granularity_ns`.
    IdleMinGranularity,
}

/// An entity's part of the load of its queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// The entity's weight, as stored.
    pub weight: u64,
    /// The sum of the weights of its queue, as stored.
    pub load: u64,
}

/// The shares of a group's entity and its ancestors, from the inside out: each divides a slice further.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shares {
    levels: [Share; Shares::MOST],
    count: usize,
}

impl Shares {
    /// Levels that are kept; those beyond are only counted.
    pub const MOST: usize = 8;

    /// No level.
    pub const fn new() -> Shares {
        Shares { levels: [Share { weight: 0, load: 0 }; Shares::MOST], count: 0 }
    }
    /// Adds the next level outwards.
    pub fn push(&mut self, share: Share) {
        if let Some(level) = self.levels.get_mut(self.count) {
            *level = share;
        }
        self.count += 1;
    }
    /// The levels that are kept.
    pub fn levels(&self) -> &[Share] {
        &self.levels[..self.count.min(Shares::MOST)]
    }
    /// Whether all are kept.
    pub const fn is_complete(&self) -> bool {
        self.count <= Shares::MOST
    }
}

impl Default for Shares {
    fn default() -> Shares {
        Shares::new()
    }
}

impl std::fmt::Debug for Shares {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.levels()).finish()
    }
}

impl Serialize for Shares {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(self.levels())
    }
}

/// Should the tick take the CPU from the running entity?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TickPreempt {
    /// The CPU.
    pub cpu: CpuId,
    /// The running entity at the level checked.
    pub entity: EntityId,
    /// The running task.
    pub curr: TaskId,
    /// How long the entity has run since it was set as current.
    #[serde(rename = "ran_ns")]
    pub ran: Nanos,
    /// Its slice.
    #[serde(rename = "slice_ns")]
    pub slice: Nanos,
    /// Entities that compete at its level, itself included.
    pub nr_running: u32,
    /// Its weight, as stored.
    pub weight: u64,
    /// Sum of the weights at its level, as stored.
    pub load: u64,
    /// The shares of the groups around it, which divide its slice further.
    pub above: Shares,
    /// Entities (with `ALT_PERIOD`, tasks of the CPU) among which the period is divided.
    pub period_nr: u32,
    /// The floor of its slice.
    pub floor: SliceFloor,
    /// The entity with the smallest vruntime among those that wait at its level.
    pub left: Option<EntityId>,
    /// How far it is ahead of the leftmost, in virtual ns. Zero when nobody waits.
    #[serde(rename = "lead_ns")]
    pub lead: i64,
    /// The rule that decided.
    pub rule: TickRule,
    /// Whether it is to be rescheduled, unless a hook changes it.
    pub preempt: bool,
}
