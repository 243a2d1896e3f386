//! The simulator's events as a timeline, so that both sides are measured by the same code.

use crate::measure::{EventKind, Label, SchedEvent, Timeline, Who};
use sim_core::engine::TaskInfo;
use sim_core::observe::{Event, Observer, SwitchKind};
use sim_core::{Instant, TaskId};

/// Records CPU 0 from a point in time on.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) from: Instant,
    pub(super) events: Vec<SchedEvent>,
}

/// The idle task comes first in a recorded timeline.
fn who(task: Option<TaskId>) -> Who {
    Who(task.map_or(0, |t| t.0 + 1))
}

impl Observer for Recorder {
    fn event(&mut self, at: Instant, event: &Event) {
        if at < self.from {
            return;
        }
        let kind = match *event {
            Event::Switch { prev, kind, next, .. } => EventKind::Switch {
                prev: who(prev),
                prev_blocked: matches!(kind, SwitchKind::Blocked | SwitchKind::Exited),
                next: who(next),
            },
            Event::Wakeup { task, curr, resched_before, resched_after, .. } => EventKind::Wakeup {
                task: who(Some(task)),
                need_resched_before: resched_before,
                need_resched_after: resched_after,
                curr_is_idle: curr.is_none(),
                after_tick: false,
            },
            Event::Fork { child, .. } => EventKind::Fork { child: who(Some(child)) },
            Event::Exit { task } => EventKind::Exit { task: who(Some(task)) },
            _ => return,
        };
        self.events.push(SchedEvent { at_ns: at.0, cpu: 0, kind });
    }
}

impl Recorder {
    /// The timeline; tasks below the driver are the workload.
    pub(super) fn timeline(self, tasks: &[TaskInfo], t0: Instant) -> Timeline {
        let idle = Label { name: "swapper/0".to_owned(), pid: 0, measured: false };
        let label = |(i, t): (usize, &TaskInfo)| Label {
            name: t.name.clone(),
            pid: i as u32 + 1,
            measured: t.path.starts_with("wl/"),
        };
        let tasks = std::iter::once(idle).chain(tasks.iter().enumerate().map(label)).collect();
        Timeline { tasks, events: self.events, t0_ns: t0.0 }
    }
}
