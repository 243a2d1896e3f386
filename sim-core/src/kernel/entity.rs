//! Scheduling entities: what a fair queue orders.

use super::pelt::SchedAvg;
use super::weight::LoadWeight;
use crate::id::{CfsRqId, EntityId, TaskId};

/// A task, or a task group's presence on one CPU (`struct sched_entity`).
#[derive(Clone, Debug)]
pub struct SchedEntity {
    /// Its weight.
    pub load: LoadWeight,
    /// Whether it is queued, running entities included.
    pub on_rq: bool,
    /// Clock value from which its present execution has not been charged yet, ns.
    pub exec_start: u64,
    /// Nanoseconds executed since birth.
    pub sum_exec_runtime: u64,
    /// `sum_exec_runtime` when it was last set as current: start of its slice.
    pub prev_sum_exec_runtime: u64,
    /// Virtual runtime in nice-0 nanoseconds; compared by signed difference.
    pub vruntime: u64,
    /// The group entity it sits under, if any.
    pub parent: Option<EntityId>,
    /// Levels below the root queue.
    pub depth: u32,
    /// The queue it is, or would be, queued on.
    pub cfs_rq: CfsRqId,
    /// The queue it owns, when it is a group entity.
    pub my_q: Option<CfsRqId>,
    /// The task, when it is one.
    pub task: Option<TaskId>,
    /// `SCHED_IDLE` task or `cpu.idle` group.
    pub idle: bool,
    /// Load tracking; all zero on a machine with one CPU.
    pub avg: SchedAvg,
    /// To 5.6 the weight it adds to runnable load, stored units; later a group's tasks, as last counted.
    pub runnable_weight: u64,
}

impl SchedEntity {
    /// Nanoseconds run since it was last set as current.
    pub const fn ran(&self) -> u64 {
        self.sum_exec_runtime - self.prev_sum_exec_runtime
    }
}

/// Whether vruntime `a` lies before `b`.
pub const fn before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

/// The later of two vruntimes (`max_vruntime`).
pub const fn max_vruntime(a: u64, b: u64) -> u64 {
    if before(a, b) { b } else { a }
}

/// The earlier of two vruntimes (`min_vruntime`).
pub const fn min_vruntime(a: u64, b: u64) -> u64 {
    if before(b, a) { b } else { a }
}
