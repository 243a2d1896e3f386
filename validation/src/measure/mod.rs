//! What is measured of a schedule, alike for a real kernel's trace and for the simulator's events.
//!
//! **Measured span**: from T0 to the last time a measured task (of the workload, kernel threads excluded) leaves the CPU.
//! A turn that began before T0 counts from T0. **Turn**: an unbroken stay on the CPU; picking the same task again does
//! not end it. **Wake-up latency**: from the wake-up of a task that waits for nothing else to its next turn.

mod from_capture;
mod histogram;
mod many;
mod span;
#[cfg(test)]
mod tests;
mod wakeups;

pub use from_capture::{FromCaptureError, timeline};
pub use histogram::{Bins, Histogram};
pub use many::{ManyCpus, Wanted, measure_many};
pub use span::{Measures, TaskMeasure, measure};
pub use wakeups::{NeedReschedTracker, WakeupVerdict, verdicts};

/// Index into [`Timeline::tasks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Who(pub u32);

/// A task of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// Its name (last comm).
    pub name: String,
    /// Its pid; tells tasks of one name apart. 0 is the idle task.
    pub pid: u32,
    /// Whether it belongs to the workload.
    pub measured: bool,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The CPU goes from one task to another.
    Switch {
        /// Who leaves.
        prev: Who,
        /// Whether it blocked or exited: a voluntary switch. False for a task that stays runnable.
        prev_blocked: bool,
        /// Who comes.
        next: Who,
    },
    /// A task becomes runnable. need_resched and the current task are those of the CPU the event was recorded on, which
    /// need not be the one the task waits on.
    Wakeup {
        /// Who.
        task: Who,
        /// The CPU on whose queue it was put.
        target: u32,
        /// Whether it is its first wake-up.
        new: bool,
        /// need_resched of the current task before the wake-up (see [`NeedReschedTracker`]).
        need_resched_before: bool,
        /// need_resched of the current task after the wake-up's preemption check.
        need_resched_after: bool,
        /// Whether the idle task was current.
        curr_is_idle: bool,
        /// Whether a tick may have set need_resched unseen since the last event: then `before` is not known for sure.
        after_tick: bool,
    },
    /// A task goes to another CPU's queue.
    Migrate {
        /// Who.
        task: Who,
        /// To this CPU.
        to: u32,
    },
    /// The current task made another.
    Fork {
        /// The child.
        child: Who,
    },
    /// A task begins to exit.
    Exit {
        /// Who.
        task: Who,
    },
}

/// One event of one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchedEvent {
    /// When, ns; any origin, the same for the whole timeline.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What happened.
    pub kind: EventKind,
}

/// The events of a machine, in order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// Number of CPUs; events name lower ones only.
    pub cpus: u32,
    /// Who takes part.
    pub tasks: Vec<Label>,
    /// What happened, from before T0 on.
    pub events: Vec<SchedEvent>,
    /// T0, on the events' clock.
    pub t0_ns: u64,
}

impl Timeline {
    /// The label behind an index; indices are this timeline's own.
    pub fn label(&self, who: Who) -> &Label {
        &self.tasks[who.0 as usize]
    }

    /// The end of the measured span: the last switch away from a measured task, or T0 when there is none.
    pub fn end_ns(&self) -> u64 {
        let last = self.events.iter().rev().find(|e| match e.kind {
            EventKind::Switch { prev, .. } => self.label(prev).measured,
            _ => false,
        });
        last.map_or(self.t0_ns, |e| e.at_ns.max(self.t0_ns))
    }
}
