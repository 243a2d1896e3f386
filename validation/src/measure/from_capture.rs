//! A capture's trace as a timeline.

use super::{EventKind, Label, NeedReschedTracker, SchedEvent, Timeline, Who};
use crate::capture::Capture;
use crate::capture::trace::{Context, TaskIx, TraceEvent, TraceKind};
use sim_core::cpumask::MAX_CPUS;
use std::collections::BTreeMap;
use thiserror::Error;

/// Softirqs of a tick run after its hard interrupt. Longest time from the tick's expiry at which a wake-up in a softirq
/// is still taken for such a one: ten times the longest seen in the captures (about 10 µs).
const TICK_SOFTIRQ_NS: u64 = 100_000;

/// Why a capture is no timeline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FromCaptureError {
    /// None or too many CPUs.
    #[error("the capture has {0} CPUs: allowed are 1 to {MAX_CPUS}")]
    Cpus(u32),
    /// The trace names a CPU that the machine does not have.
    #[error("the trace names CPU {cpu}; the machine has {cpus}")]
    Cpu {
        /// As named.
        cpu: u32,
        /// How many there are.
        cpus: u32,
    },
}

/// The timeline of a capture. Measured are the tasks of `result.json`, forked children included.
///
/// # Errors
/// [`FromCaptureError`] when the trace does not fit the number of CPUs.
pub fn timeline(capture: &Capture) -> Result<Timeline, FromCaptureError> {
    let cpus = capture.meta.smp;
    if cpus == 0 || cpus > MAX_CPUS {
        return Err(FromCaptureError::Cpus(cpus));
    }
    let mut tasks = Tasks::new(capture);
    let mut trackers = vec![NeedReschedTracker::default(); cpus as usize];
    let mut events = Vec::new();
    for event in &capture.trace.events {
        let named = match event.kind {
            TraceKind::Wakeup { target_cpu, .. } => target_cpu.max(event.cpu),
            TraceKind::Migrate { to, .. } => to.max(event.cpu),
            _ => event.cpu,
        };
        if named >= cpus {
            return Err(FromCaptureError::Cpu { cpu: named, cpus });
        }
        let tracker = &mut trackers[event.cpu as usize];
        if let Some(kind) = kind(capture, event, &mut tasks, tracker) {
            events.push(SchedEvent { at_ns: event.at_ns, cpu: event.cpu, kind });
        }
        match event.kind {
            TraceKind::Switch { .. } => tracker.switched(),
            _ => tracker.seen(event.flags.need_resched()),
        }
    }
    Ok(Timeline { cpus, tasks: tasks.labels, events, t0_ns: capture.clock.t0_ns })
}

fn kind(
    capture: &Capture,
    event: &TraceEvent,
    tasks: &mut Tasks,
    tracker: &NeedReschedTracker,
) -> Option<EventKind> {
    Some(match &event.kind {
        TraceKind::Switch { prev, prev_state, next } => EventKind::Switch {
            prev: tasks.who(*prev),
            prev_blocked: !prev_state.starts_with('R'),
            next: tasks.who(*next),
        },
        TraceKind::Wakeup { task, target_cpu, new } => EventKind::Wakeup {
            task: tasks.who(*task),
            target: *target_cpu,
            new: *new,
            need_resched_before: tracker.is_set(),
            need_resched_after: event.flags.need_resched(),
            curr_is_idle: capture.trace.pid(event.current) == 0,
            after_tick: event.flags.context() == Context::SoftIrq
                && capture.clock.since_tick(event.at_ns).is_some_and(|ns| ns < TICK_SOFTIRQ_NS),
        },
        TraceKind::Migrate { task, to, .. } => EventKind::Migrate { task: tasks.who(*task), to: *to },
        TraceKind::Fork { child, .. } => EventKind::Fork { child: tasks.who(*child) },
        TraceKind::Exit(task) => EventKind::Exit { task: tasks.who(*task) },
        _ => return None,
    })
}

/// One label per pid, with the last comm: a task renames itself before T0.
struct Tasks<'a> {
    capture: &'a Capture,
    by_pid: BTreeMap<u32, Who>,
    labels: Vec<Label>,
}

impl<'a> Tasks<'a> {
    fn new(capture: &'a Capture) -> Tasks<'a> {
        Tasks { capture, by_pid: BTreeMap::new(), labels: Vec::new() }
    }

    fn who(&mut self, ix: TaskIx) -> Who {
        let task = self.capture.trace.name(ix);
        let next = Who(self.labels.len() as u32);
        let who = *self.by_pid.entry(task.pid).or_insert(next);
        if who == next {
            let measured = self.capture.result.tasks.iter().any(|t| t.pid == task.pid);
            self.labels.push(Label { name: String::new(), pid: task.pid, measured });
        }
        self.labels[who.0 as usize].name.clone_from(&task.comm);
        who
    }
}
