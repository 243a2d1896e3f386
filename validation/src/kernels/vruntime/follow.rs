//! Hooks that make the model do what the trace shows, and note where its own placement differs.

use sim_core::EntityId;
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::{Pick, Place};

/// A placement; on the model's time line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// The queue's `min_vruntime`.
    pub(super) min_vruntime: u64,
    /// A sleeper's floor, a new task's debit.
    pub(super) base: u64,
    /// Where the model put it.
    pub(super) model: u64,
    /// Where it was put: a sleeper where the trace shows it.
    pub(super) taken: u64,
}

/// Follows the trace.
#[derive(Debug, Default)]
pub(super) struct Follow {
    /// Who runs next: its group entities from the root queue down, itself last. Taken from the end.
    pub(super) path: Vec<EntityId>,
    /// Where the task being woken was put, by its next charge.
    pub(super) waking: Option<u64>,
    /// The last placement of a task.
    pub(super) placed: Option<Placed>,
}

impl Hooks for Follow {
    fn pick(&mut self, d: &Pick) -> EntityId {
        self.path.pop().unwrap_or(d.chosen)
    }

    fn place(&mut self, d: &Place) -> u64 {
        if d.task.is_none() {
            return d.after;
        }
        let taken = self.waking.take().filter(|_| !d.initial).unwrap_or(d.after);
        self.placed = Some(Placed { min_vruntime: d.min_vruntime, base: d.base, model: d.after, taken });
        taken
    }
}
