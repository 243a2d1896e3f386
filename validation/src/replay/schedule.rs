//! What is compared of a recorded and a replayed schedule, measured by the same code.

use serde::Serialize;
use std::collections::BTreeMap;

/// What happened on a CPU. Tasks go by their recorded numbers; 0 is the idle task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// From one task to another.
    Switch { prev: u32, next: u32 },
    /// A task became runnable.
    Wake { task: u32 },
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    pub(super) ns: u64,
    pub(super) cpu: u32,
    pub(super) what: What,
}

/// The measures of a schedule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Measures {
    /// Time on CPUs by task, ns.
    pub cpu_ns: BTreeMap<u32, u64>,
    /// Switches, those to and from the idle task among them.
    pub switches: u64,
    /// From wake-ups to turns: how many, the median and the 95th percentile, ns.
    pub wakeups: usize,
    /// The median, ns.
    pub p50_ns: u64,
    /// The 95th percentile, ns.
    pub p95_ns: u64,
}

/// Measures events in order of time. `end`: who has a CPU then has had it until then. What happens at `start` itself brings
/// tasks to where the trace begins and is no wake-up of the trace.
pub(super) fn measure(events: &[At], start: u64, end: u64) -> Measures {
    let mut on: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    let mut woken: BTreeMap<u32, u64> = BTreeMap::new();
    let mut waits = Vec::new();
    let (mut cpu_ns, mut switches) = (BTreeMap::new(), 0);
    let mut credit = |task: u32, ns: u64| {
        if task != 0 && ns > 0 {
            *cpu_ns.entry(task).or_default() += ns;
        }
    };
    for event in events.iter().filter(|e| e.ns >= start) {
        match event.what {
            What::Switch { prev, next } => {
                switches += 1;
                let since = match on.insert(event.cpu, (next, event.ns)) {
                    Some((_, since)) => since,
                    // A CPU's first switch tells who had it from the beginning.
                    None => start,
                };
                credit(prev, event.ns - since);
                woken.remove(&prev);
                waits.extend(woken.remove(&next).map(|at| event.ns - at));
            }
            What::Wake { task } if event.ns > start => {
                woken.entry(task).or_insert(event.ns);
            }
            What::Wake { .. } => {}
        }
    }
    on.into_values().for_each(|(task, since)| credit(task, end.saturating_sub(since)));
    waits.sort_unstable();
    let percentile =
        |p: usize| waits.get((waits.len() * p).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    Measures { cpu_ns, switches, wakeups: waits.len(), p50_ns: percentile(50), p95_ns: percentile(95) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_and_waits() {
        let switch = |ns, prev, next| At { ns, cpu: 0, what: What::Switch { prev, next } };
        let wake = |ns, task| At { ns, cpu: 0, what: What::Wake { task } };
        let events = [
            wake(10, 7),
            wake(15, 1),
            switch(20, 1, 0),
            wake(30, 1),
            switch(34, 0, 1),
            wake(40, 2),
            wake(41, 2),
            switch(50, 1, 2),
        ];
        let m = measure(&events, 10, 60);
        assert_eq!(m.cpu_ns, BTreeMap::from([(1, 10 + 16), (2, 10)]));
        assert_eq!((m.switches, m.wakeups, m.p50_ns, m.p95_ns), (3, 2, 4, 10));
    }
}
