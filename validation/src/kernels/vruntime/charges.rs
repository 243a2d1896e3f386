//! The charges of a trace (`sched_stat_runtime`), by task.

use crate::capture::trace::{Trace, TraceKind};
use std::collections::BTreeMap;

/// One charge: what the kernel added to a task's CPU time, and the vruntime it then had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    /// Index of its event.
    pub(super) event: usize,
    /// CPU time added, ns.
    pub(super) runtime: u64,
    /// vruntime after it, ns.
    pub(super) vruntime: u64,
}

/// All charges of a trace, by pid, in order.
#[derive(Debug, Default)]
pub(super) struct Charges(BTreeMap<u32, Vec<Charge>>);

impl Charges {
    pub(super) fn of(trace: &Trace) -> Charges {
        let mut all = Charges::default();
        for (event, e) in trace.events.iter().enumerate() {
            if let TraceKind::StatRuntime { task, runtime_ns, vruntime_ns } = e.kind {
                let charge = Charge { event, runtime: runtime_ns, vruntime: vruntime_ns };
                all.0.entry(trace.pid(task)).or_default().push(charge);
            }
        }
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A task's first charge at or after an event.
    pub(super) fn next(&self, pid: u32, event: usize) -> Option<Charge> {
        let of_task = self.0.get(&pid)?;
        of_task.get(of_task.partition_point(|c| c.event < event)).copied()
    }
}
