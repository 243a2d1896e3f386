//! What forking costs on a captured machine of several CPUs, taken from the capture itself: paths of the kernel cost what the
//! emulator makes of them there, which no other capture tells, and are not what is compared.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use std::collections::BTreeMap;

/// Means per CPU that is busy when a path begins, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forking {
    /// From a forking task's getting the CPU, or its fork before, to its fork.
    pub(super) fork_ns: u64,
    /// From a child's first switch to the begin of its body.
    pub(super) child_ns: u64,
    /// From the end of a child's body to its last switch.
    pub(super) exit_ns: u64,
}

/// A child in the trace: when it first ran, and when it last left a CPU.
#[derive(Clone, Copy)]
struct Life {
    first: u64,
    last: u64,
}

/// The measured costs; none when the workload's tasks do not fork.
pub(super) fn forking(capture: &Capture) -> Option<Forking> {
    let t0 = capture.clock.t0_ns;
    let tasks = &capture.result.tasks;
    let children: BTreeMap<u32, (u64, u64)> = tasks
        .iter()
        .filter(|t| tasks.iter().any(|p| p.pid == t.ppid))
        .map(|t| (t.pid, (t0.saturating_add_signed(t.start_ns), t0.saturating_add_signed(t.end_ns))))
        .collect();
    let mut busy = Busy::default();
    let mut lives: BTreeMap<u32, Life> = BTreeMap::new();
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    let mut forks = Vec::new();
    for event in &capture.trace.events {
        let at = event.at_ns;
        match event.kind {
            TraceKind::Switch { prev, next, .. } => {
                let (prev, next) = (capture.trace.pid(prev), capture.trace.pid(next));
                busy.switched(at, prev, next);
                since.remove(&prev);
                since.insert(next, at);
                lives.entry(next).or_insert(Life { first: at, last: at });
                lives.entry(prev).and_modify(|l| l.last = at);
            }
            TraceKind::Fork { parent, child } if children.contains_key(&capture.trace.pid(child)) => {
                if let Some(before) = since.insert(capture.trace.pid(parent), at) {
                    forks.push((before, at));
                }
            }
            _ => {}
        }
    }
    let of_children = |path: fn(Life, (u64, u64)) -> (u64, u64)| {
        let spans = children.iter().filter_map(|(pid, body)| Some(path(*lives.get(pid)?, *body))).collect();
        busy.mean(spans)
    };
    Some(Forking {
        fork_ns: busy.mean(forks)?,
        child_ns: of_children(|life, body| (life.first, body.0))?,
        exit_ns: of_children(|life, body| (body.1, life.last))?,
    })
}

/// How many CPUs are busy, over time.
#[derive(Default)]
struct Busy {
    now: u64,
    /// When it changed, and busy CPUs from then on.
    steps: Vec<(u64, u64)>,
}

impl Busy {
    fn switched(&mut self, at: u64, prev: u32, next: u32) {
        self.now = (self.now + u64::from(next != 0)).saturating_sub(u64::from(prev != 0));
        self.steps.push((at, self.now));
    }

    /// CPUs that are busy at a point in time, at least one.
    fn at(&self, at: u64) -> u64 {
        let step = self.steps.partition_point(|s| s.0 <= at);
        self.steps[..step].last().map_or(1, |(_, busy)| (*busy).max(1))
    }

    /// What spans take for each CPU busy when they begin, so that all together they take as long as they did.
    fn mean(&self, spans: Vec<(u64, u64)>) -> Option<u64> {
        let (mut length, mut busy) = (0u64, 0u64);
        for (from, to) in spans {
            length = length.saturating_add(to.saturating_sub(from));
            busy = busy.saturating_add(self.at(from));
        }
        length.checked_div(busy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_per_busy_cpu() {
        let mut busy = Busy::default();
        busy.switched(100, 0, 7);
        busy.switched(200, 0, 8);
        busy.switched(300, 7, 0);
        // 200 that begin with one busy CPU and 100 with two.
        assert_eq!(busy.mean(vec![(100, 300), (200, 300)]), Some(100));
        assert_eq!(busy.mean(Vec::new()), None);
    }
}
