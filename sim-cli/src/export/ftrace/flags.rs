//! The flags column: what state a CPU is in when it writes a line.
//!
//! Depths are those of traces of 6.1: what is disabled or locked on the way to the event. They are known only as far as
//! the simulator knows the path: a wake-up from a system call counts as one through a pipe's wait queue.

use super::events::TraceEvent;
use sim_core::observe::Context;

/// The flags of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) irqs_off: bool,
    pub(super) need_resched: bool,
    /// `h` in a hard interrupt, `s` in a softirq, `.` in a task.
    pub(super) context: char,
    pub(super) preempt_depth: u32,
}

impl Flags {
    /// A task with everything enabled.
    pub(super) const PLAIN: Flags =
        Flags { irqs_off: false, need_resched: false, context: '.', preempt_depth: 0 };

    /// A task in the scheduler, interrupts off.
    pub(super) const fn task(preempt_depth: u32) -> Flags {
        Flags { irqs_off: true, preempt_depth, ..Flags::PLAIN }
    }

    /// A wake-up: its beginning holds the wakee's lock, its end also the run queue's. The idle task runs with preemption
    /// disabled once more.
    pub(super) fn wakeup(event: TraceEvent, context: Context, idle: bool, exiting: bool) -> Flags {
        let depth = match (context, event) {
            (_, TraceEvent::SchedWakeupNew) => 2,
            (Context::Ipi, _) => 1,
            (Context::Tick | Context::Timer | Context::Softirq, TraceEvent::SchedWaking) => 2,
            (Context::Tick | Context::Timer | Context::Softirq, _) => 3,
            // An exiting task wakes its parent under the locks of the task list and of its signals.
            (_, TraceEvent::SchedWaking) => {
                if exiting {
                    5
                } else {
                    3
                }
            }
            _ => {
                if exiting {
                    6
                } else {
                    4
                }
            }
        };
        Flags { context: letter(context), ..Flags::task(depth + u32::from(idle)) }
    }

    /// Run time is charged: in a tick, in a wake-up, else in `__schedule` or a system call.
    pub(super) fn charge(waking: bool, context: Context) -> Flags {
        let depth = match (context, waking) {
            (Context::Tick | Context::Ipi, _) => 1,
            (Context::Timer | Context::Softirq, true) => 3,
            (_, true) => 4,
            (_, false) => 2,
        };
        Flags { context: letter(context), ..Flags::task(depth) }
    }

    /// A task moves: at its wake-up, by a CPU about to idle, or in the softirq of a tick.
    pub(super) fn migrate(waking: bool, context: Context, idle: bool) -> Flags {
        let (letter, depth) = match context {
            Context::Tick | Context::Softirq => ('s', 3),
            Context::Timer | Context::Ipi => ('h', 2 + u32::from(idle)),
            Context::Task | Context::KernelPreempt => ('.', if waking { 3 } else { 2 }),
        };
        Flags { context: letter, ..Flags::task(depth) }
    }

    /// The idle task halts the CPU with interrupts off, and goes on with them on.
    pub(super) const fn idle(enter: bool) -> Flags {
        Flags { irqs_off: enter, ..Flags::task(1) }
    }
}

const fn letter(context: Context) -> char {
    match context {
        Context::Tick | Context::Timer | Context::Ipi => 'h',
        Context::Softirq => 's',
        Context::Task | Context::KernelPreempt => '.',
    }
}
