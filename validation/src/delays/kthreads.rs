//! Kernel threads (and the driver) that run between a capture's tasks.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use std::collections::BTreeMap;

/// One thread's doings from T0 on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelThread {
    /// When it was woken, ns after T0.
    pub wakes: Vec<u64>,
    /// How long its turns were, ns.
    pub turns: Vec<u64>,
}

/// Every task that ran or was woken from T0 on and is neither of the workload nor idle, by comm.
pub fn kernel_threads(capture: &Capture) -> BTreeMap<String, KernelThread> {
    let ours = |pid: u32| pid == 0 || capture.result.tasks.iter().any(|t| t.pid == pid);
    let t0 = capture.clock.t0_ns;
    let mut found: BTreeMap<String, KernelThread> = BTreeMap::new();
    let mut since = None;
    for event in capture.trace.events.iter().filter(|e| e.at_ns >= t0) {
        match event.kind {
            TraceKind::Wakeup { task, .. } if !ours(capture.trace.pid(task)) => {
                found.entry(capture.trace.name(task).comm.clone()).or_default().wakes.push(event.at_ns - t0);
            }
            TraceKind::Switch { prev, .. } => {
                if let Some(on) = since.replace(event.at_ns).filter(|_| !ours(capture.trace.pid(prev))) {
                    let thread = found.entry(capture.trace.name(prev).comm.clone()).or_default();
                    thread.turns.push(event.at_ns - on);
                }
            }
            _ => {}
        }
    }
    found
}
