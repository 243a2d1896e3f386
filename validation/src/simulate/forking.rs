//! What forking costs on a captured machine of several CPUs, taken from the capture itself: paths of the kernel cost what the
//! emulator makes of them there, which no other capture tells, and are not what is compared.

use crate::capture::Capture;
use crate::capture::trace::TraceKind;
use std::collections::BTreeMap;

/// Means per busy CPU, ns: shares of CPU time are sums.
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
    /// When it changed: the time, busy CPUs from then on, and busy time of all CPUs until then.
    steps: Vec<(u64, u64, u64)>,
}

impl Busy {
    fn switched(&mut self, at: u64, prev: u32, next: u32) {
        let sum = self.sum(at);
        self.now = (self.now + u64::from(next != 0)).saturating_sub(u64::from(prev != 0));
        self.steps.push((at, self.now, sum));
    }

    /// Busy time of all CPUs until a point in time, at least one being busy.
    fn sum(&self, at: u64) -> u64 {
        let step = self.steps.partition_point(|s| s.0 <= at);
        self.steps[..step]
            .last()
            .map_or(0, |(since, busy, sum)| sum.saturating_add((at - since).saturating_mul((*busy).max(1))))
    }

    /// The mean of spans, each divided by the mean number of busy CPUs in it.
    fn mean(&self, spans: Vec<(u64, u64)>) -> Option<u64> {
        let per_cpu = |(from, to): (u64, u64)| {
            let length = to.checked_sub(from).filter(|ns| *ns > 0)?;
            let busy = self.sum(to).saturating_sub(self.sum(from)).max(length);
            u64::try_from(u128::from(length) * u128::from(length) / u128::from(busy)).ok()
        };
        let values: Vec<u64> = spans.into_iter().filter_map(per_cpu).collect();
        values.iter().sum::<u64>().checked_div(values.len() as u64)
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
        // 100 with one, 100 with two: 200 long at 1.5 busy CPUs.
        assert_eq!(busy.mean(vec![(100, 300)]), Some(133));
        assert_eq!(busy.mean(vec![(200, 300), (100, 200), (300, 310), (5, 5)]), Some(72));
        assert_eq!(busy.mean(Vec::new()), None);
    }
}
