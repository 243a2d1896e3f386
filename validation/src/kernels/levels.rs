//! From the root queue down to a task.

use sim_core::kernel::Kernel;
use sim_core::kernel::hooks::Hooks;
use sim_core::{EntityId, TaskId};

/// A task's entity and those of the groups above it, in `into`, the root queue's last: the picker takes them from the end.
pub(crate) fn levels<H: Hooks>(kernel: &Kernel<H>, task: Option<TaskId>, into: &mut Vec<EntityId>) {
    into.clear();
    let mut level = task.map(|t| kernel.task(t).se);
    while let Some(se) = level {
        into.push(se);
        level = kernel.entity(se).parent;
    }
}
