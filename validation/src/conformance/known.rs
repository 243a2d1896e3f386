//! What is known of the tasks of a trace.

use sim_core::TaskId;

/// Averages halve every 32 ms: after five halvings 3 % of what they were is left.
const REMEMBERED_NS: u64 = 160_000_000;

/// What is known of one task.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Its vruntime, against its queue's.
    vruntime: bool,
    /// Its load is that of the model from this time on.
    load_from: u64,
    /// When it began to wait for a CPU.
    waits_since: u64,
}

/// What is known of all tasks.
#[derive(Debug, Default)]
pub(super) struct Knowledge(Vec<Known>);

impl Knowledge {
    fn at(&mut self, task: TaskId) -> &mut Known {
        if self.0.len() <= task.index() {
            self.0.resize(task.index() + 1, Known::default());
        }
        &mut self.0[task.index()]
    }

    /// A task of which everything is known.
    pub(super) fn born(&mut self, task: TaskId) {
        *self.at(task) = Known { vruntime: true, load_from: 0, waits_since: 0 };
    }

    /// A task first seen now that was there before.
    pub(super) fn met(&mut self, task: TaskId, now: u64) {
        *self.at(task) = Known { vruntime: false, load_from: now + REMEMBERED_NS, waits_since: now };
    }

    pub(super) fn vruntime(&self, task: TaskId) -> bool {
        self.0.get(task.index()).is_some_and(|k| k.vruntime)
    }

    pub(super) fn set_vruntime(&mut self, task: TaskId, known: bool) {
        self.at(task).vruntime = known;
    }

    pub(super) fn load(&self, task: TaskId, now: u64) -> bool {
        self.0.get(task.index()).is_some_and(|k| k.load_from <= now)
    }

    pub(super) fn waits_from(&mut self, task: TaskId, now: u64) {
        self.at(task).waits_since = now;
    }

    pub(super) fn waits_since(&self, task: TaskId) -> u64 {
        self.0.get(task.index()).map_or(0, |k| k.waits_since)
    }
}
