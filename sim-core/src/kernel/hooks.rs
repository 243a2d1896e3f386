//! Places where a patch, or a question of the form "what if it had not", changes a decision.

use crate::id::{CpuId, EntityId, TaskId};
use crate::observe::{Balance, Pick, Place, Select, TickPreempt, WakeupPreempt};

/// What a slice was computed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The CPU.
    pub cpu: CpuId,
    /// The entity.
    pub entity: EntityId,
    /// The task, unless the entity is a group's.
    pub task: Option<TaskId>,
    /// The kernel's answer, ns.
    pub slice: u64,
}

/// Changes decisions. Every method gets the decision as the kernel's rules made it and returns the one to act on;
/// the defaults keep the kernel's. The decision handed to observers is the kernel's own.
pub trait Hooks {
    /// vruntime an entity is placed at.
    fn place(&mut self, d: &Place) -> u64 {
        d.after
    }
    /// An entity's slice, ns.
    fn slice(&mut self, d: &Slice) -> u64 {
        d.slice
    }
    /// Whether a wake-up preempts.
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, _curr_ran: u64) -> bool {
        d.preempt
    }
    /// Whether a tick preempts.
    fn tick_preempt(&mut self, d: &TickPreempt) -> bool {
        d.preempt
    }
    /// The entity picked; must be queued at the level the decision speaks of.
    fn pick(&mut self, d: &Pick) -> EntityId {
        d.chosen
    }
    /// The CPU a task goes to; must be one the task may use.
    fn select(&mut self, d: &Select) -> CpuId {
        d.chosen
    }
    /// Whether a wake-up by one CPU is left to the wakee's new CPU.
    fn queue_wakeup(&mut self, _by: CpuId, _cpu: CpuId, queue: bool) -> bool {
        queue
    }
    /// Whether a balancing pass moves the task.
    fn balance(&mut self, d: &Balance) -> bool {
        d.pull
    }
}

/// The kernel as it is.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {}

impl<H: Hooks + ?Sized> Hooks for Box<H> {
    fn place(&mut self, d: &Place) -> u64 {
        (**self).place(d)
    }
    fn slice(&mut self, d: &Slice) -> u64 {
        (**self).slice(d)
    }
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, curr_ran: u64) -> bool {
        (**self).wakeup_preempt(d, curr_ran)
    }
    fn tick_preempt(&mut self, d: &TickPreempt) -> bool {
        (**self).tick_preempt(d)
    }
    fn pick(&mut self, d: &Pick) -> EntityId {
        (**self).pick(d)
    }
    fn select(&mut self, d: &Select) -> CpuId {
        (**self).select(d)
    }
    fn queue_wakeup(&mut self, by: CpuId, cpu: CpuId, queue: bool) -> bool {
        (**self).queue_wakeup(by, cpu, queue)
    }
    fn balance(&mut self, d: &Balance) -> bool {
        (**self).balance(d)
    }
}
