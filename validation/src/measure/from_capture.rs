//! A capture's trace as a timeline of one CPU.

use super::{EventKind, Label, NeedReschedTracker, SchedEvent, Timeline, Who};
use crate::capture::Capture;
use crate::capture::trace::{Context, TaskIx, TraceEvent, TraceKind};
use std::collections::BTreeMap;
use thiserror::Error;

/// Softirqs of a tick run after its hard interrupt. Longest time from the tick's expiry at which a wake-up in a softirq
/// is still taken for such a one: ten times the longest seen in the captures (about 10 µs).
const TICK_SOFTIRQ_NS: u64 = 100_000;

/// Why a capture is no timeline of one CPU.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FromCaptureError {
    /// It has several CPUs.
    #[error("the capture has {0} CPUs; one is needed")]
    ManyCpus(u32),
}

/// The timeline of a capture of one CPU. Measured are the tasks of `result.json`, forked children included.
///
/// # Errors
/// [`FromCaptureError`] when the capture has more than one CPU.
pub fn timeline(capture: &Capture) -> Result<Timeline, FromCaptureError> {
    if capture.meta.smp != 1 {
        return Err(FromCaptureError::ManyCpus(capture.meta.smp));
    }
    let mut tasks = Tasks::new(capture);
    let mut tracker = NeedReschedTracker::default();
    let mut events = Vec::new();
    for event in &capture.trace.events {
        if let Some(kind) = kind(capture, event, &mut tasks, &tracker) {
            events.push(SchedEvent { at_ns: event.at_ns, cpu: event.cpu, kind });
        }
        match event.kind {
            TraceKind::Switch { .. } => tracker.switched(),
            _ => tracker.seen(event.flags.need_resched()),
        }
    }
    Ok(Timeline { tasks: tasks.labels, events, t0_ns: capture.clock.t0_ns })
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
        TraceKind::Wakeup { task, .. } => EventKind::Wakeup {
            task: tasks.who(*task),
            need_resched_before: tracker.is_set(),
            need_resched_after: event.flags.need_resched(),
            curr_is_idle: capture.trace.pid(event.current) == 0,
            after_tick: event.flags.context() == Context::SoftIrq
                && capture.clock.since_tick(event.at_ns).is_some_and(|ns| ns < TICK_SOFTIRQ_NS),
        },
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
