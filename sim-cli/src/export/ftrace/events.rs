//! Which events a trace holds.

use clap::ValueEnum;

/// An event of the kernel's trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum TraceEvent {
    SchedWaking,
    SchedWakeup,
    SchedWakeupNew,
    SchedSwitch,
    SchedMigrateTask,
    SchedProcessFork,
    SchedProcessExec,
    SchedProcessExit,
    SchedStatRuntime,
    CpuIdle,
}

impl TraceEvent {
    /// The kernel's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            TraceEvent::SchedWaking => "sched_waking",
            TraceEvent::SchedWakeup => "sched_wakeup",
            TraceEvent::SchedWakeupNew => "sched_wakeup_new",
            TraceEvent::SchedSwitch => "sched_switch",
            TraceEvent::SchedMigrateTask => "sched_migrate_task",
            TraceEvent::SchedProcessFork => "sched_process_fork",
            TraceEvent::SchedProcessExec => "sched_process_exec",
            TraceEvent::SchedProcessExit => "sched_process_exit",
            TraceEvent::SchedStatRuntime => "sched_stat_runtime",
            TraceEvent::CpuIdle => "cpu_idle",
        }
    }
}

/// A set of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventSet(u16);

impl EventSet {
    /// These events; all when none is named.
    pub(crate) fn of(events: &[TraceEvent]) -> EventSet {
        let chosen = if events.is_empty() { TraceEvent::value_variants() } else { events };
        EventSet(chosen.iter().fold(0, |set, e| set | 1 << *e as u16))
    }

    /// Whether the set holds an event.
    pub(crate) const fn contains(self, event: TraceEvent) -> bool {
        self.0 & (1 << event as u16) != 0
    }
}
