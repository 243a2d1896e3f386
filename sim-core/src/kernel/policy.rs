//! Scheduling policies of the fair class.

use serde::{Deserialize, Serialize};

/// A policy of the fair class (`sched(7)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_NORMAL`, called `SCHED_OTHER` in user space.
    #[default]
    Normal,
    /// `SCHED_BATCH`: never preempts at wake-up.
    Batch,
    /// `SCHED_IDLE`: weight 3, preempted by anything else.
    Idle,
}
