//! What forking takes on a captured machine of several CPUs, task by task, from the capture itself: paths of the kernel take
//! what the emulator makes of them on the CPU where they run, which no other capture tells, and are not what is compared.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use std::collections::BTreeMap;

/// The paths of one task, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    /// From its getting the CPU, or its fork before, to a fork: the median.
    pub(super) fork_ns: u64,
    /// CPU time from the end of its body to its last switch.
    pub(super) exit_ns: u64,
}

/// By task name.
pub(super) type Forking = BTreeMap<String, Paths>;

/// The measured paths of the workload's forking tasks and their children; empty when none forks.
pub(super) fn forking(capture: &Capture) -> Forking {
    let tasks = &capture.result.tasks;
    let is_child = |pid: u32| tasks.iter().any(|t| t.pid == pid && tasks.iter().any(|p| p.pid == t.ppid));
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let mut forks: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut on_cpu: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for event in &capture.trace.events {
        let at = event.at_ns;
        match event.kind {
            TraceKind::Switch { prev, next, .. } => {
                let (prev, next) = (capture.trace.pid(prev), capture.trace.pid(next));
                since.remove(&prev);
                since.insert(next, at);
                on_cpu.entry(next).or_default().0 = at;
                on_cpu
                    .entry(prev)
                    .and_modify(|(from, sum)| *sum = sum.saturating_add(at.saturating_sub(*from)));
            }
            TraceKind::Fork { parent, child } if is_child(capture.trace.pid(child)) => {
                let parent = capture.trace.pid(parent);
                if let Some(before) = since.insert(parent, at) {
                    forks.entry(parent).or_default().push(at.saturating_sub(before));
                }
            }
            _ => {}
        }
    }
    let mut paths = Forking::new();
    for task in tasks {
        if let Some(spans) = forks.get_mut(&task.pid) {
            spans.sort_unstable();
            paths.entry(task.name.clone()).or_default().fork_ns = spans[spans.len() / 2];
        }
        if let Some((_, sum)) = on_cpu.get(&task.pid).filter(|_| is_child(task.pid)) {
            let body = task.cpu_ns.max(0).cast_unsigned();
            paths.entry(task.name.clone()).or_default().exit_ns = sum.saturating_sub(body);
        }
    }
    paths
}
