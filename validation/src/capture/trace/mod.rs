//! Scheduler traces: events with the flags ftrace prints, whatever form they were read from.

mod line;
mod reader;
#[cfg(test)]
mod tests;

pub use reader::{ReadStats, TraceError, TraceLimits, read_trace};
pub use sim_workloads::recorded::{Context, Flags};

use std::collections::BTreeMap;

/// Index into [`Trace::tasks`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskIx(pub u32);

/// A task as an event names it. A task that changes its comm appears once per comm.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskName {
    /// Its pid; 0 is a CPU's idle task.
    pub pid: u32,
    /// Its comm.
    pub comm: String,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceKind {
    /// `sched_switch`.
    Switch {
        /// Who leaves the CPU.
        prev: TaskIx,
        /// Its state letters; `R` or `R+` is runnable.
        prev_state: String,
        /// Who gets the CPU.
        next: TaskIx,
    },
    /// `sched_wakeup`, or `sched_wakeup_new` for a forked task.
    Wakeup {
        /// Who was woken.
        task: TaskIx,
        /// The CPU on whose queue it was put.
        target_cpu: u32,
        /// Whether it was its first wake-up.
        new: bool,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Who moves.
        task: TaskIx,
        /// From this CPU.
        from: u32,
        /// To this CPU.
        to: u32,
    },
    /// `sched_process_fork`.
    Fork {
        /// The parent.
        parent: TaskIx,
        /// The child.
        child: TaskIx,
    },
    /// `sched_process_exec`; the current task execs.
    Exec,
    /// `sched_process_exit`.
    Exit(TaskIx),
    /// `sched_stat_runtime`.
    StatRuntime {
        /// Whose account.
        task: TaskIx,
        /// CPU time added, ns.
        runtime_ns: u64,
        /// The task's vruntime after it, ns.
        vruntime_ns: u64,
    },
    /// `cpu_idle`: the state entered, or `None` when idle ends.
    Idle(Option<u32>),
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, ns of the trace clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The task current on that CPU.
    pub current: TaskIx,
    /// The state of the CPU when the line was written.
    pub flags: Flags,
    /// What happened.
    pub kind: TraceKind,
}

/// A whole trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// Tasks in the order in which events first name them.
    pub tasks: Vec<TaskName>,
    /// Events in the order of the file.
    pub events: Vec<TraceEvent>,
}

impl Trace {
    /// The name behind an index. Indices come from this trace, so there always is one.
    pub fn name(&self, ix: TaskIx) -> &TaskName {
        &self.tasks[ix.0 as usize]
    }

    /// The pid behind an index.
    pub fn pid(&self, ix: TaskIx) -> u32 {
        self.name(ix).pid
    }
}

/// Gives every (pid, comm) its index.
#[derive(Debug, Default)]
pub(super) struct Interner {
    known: BTreeMap<TaskName, TaskIx>,
    tasks: Vec<TaskName>,
    /// The priority last shown, by pid.
    pub(super) prios: BTreeMap<u32, u32>,
}

impl Interner {
    pub(super) fn get(&mut self, pid: u32, comm: &str) -> TaskIx {
        let name = TaskName { pid, comm: comm.to_owned() };
        let next = TaskIx(self.tasks.len() as u32);
        *self.known.entry(name).or_insert_with_key(|name| {
            self.tasks.push(name.clone());
            next
        })
    }

    pub(super) fn into_tasks(self) -> Vec<TaskName> {
        self.tasks
    }
}
