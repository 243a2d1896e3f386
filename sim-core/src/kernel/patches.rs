//! Worked examples of patches. A patch is a [`Change`](super::changes::Change) when it alters a rule that is data, and
//! an implementation of [`Hooks`] when it alters a decision.

use super::hooks::Hooks;
use crate::observe::{PreemptRule, WakeupPreempt};

/// Example patch: a wake-up compared by granularity preempts only a task that has run for at least a given time since
/// it was switched in, so that short-running tasks are not cut to pieces.
#[derive(Clone, Copy, Debug)]
pub struct RunBeforePreempt {
    /// How long a task must have run, ns.
    pub at_least_ns: u64,
}

impl Hooks for RunBeforePreempt {
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, curr_ran: u64) -> bool {
        d.preempt && (d.rule != PreemptRule::Granularity || curr_ran >= self.at_least_ns)
    }
}
