//! Why a trace is refused.

use super::stats::Limits;
use std::io;
use thiserror::Error;

/// Why a trace is not read.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The bytes cannot be read or decompressed.
    #[error("reading the trace: {0}")]
    Io(#[from] io::Error),
    /// More text than [`Limits::bytes`].
    #[error("the trace has more than {0} bytes of text")]
    TooLarge(u64),
    /// More tasks, or more names of tasks, than [`Limits::tasks`].
    #[error("the trace has more than {0} tasks")]
    TooManyTasks(usize),
    /// More CPUs than [`Limits::cpus`].
    #[error("line {line}: CPU {found}: at most CPU {max} is read")]
    Cpu {
        /// Where.
        line: u64,
        /// Which.
        found: u32,
        /// The highest allowed.
        max: u32,
    },
    /// A workload of more steps than scenarios may have.
    #[error("the workload has more than {0} steps: take a part of the trace (--from, --to)")]
    TooManySteps(usize),
    /// A kind of file that is known and no trace of events.
    #[error("{0}")]
    NotATrace(&'static str),
    /// Not one scheduling event.
    #[error("{}", nothing(.0))]
    NoEvents(Box<Nothing>),
    /// Scheduling events, but none that tells what a task does.
    #[error("no task runs in it: {0} scheduling events, none of which is a switch, a wake-up or a fork")]
    NoTasks(u64),
    /// A part of the trace was asked for in which nothing happens.
    #[error(
        "no scheduling event lies in the part asked for: the trace goes from {from_ns} to {to_ns} ns of its clock"
    )]
    EmptyPart {
        /// Its first event.
        from_ns: u64,
        /// Its last.
        to_ns: u64,
    },
    /// The map of groups.
    #[error("line {line} of the map of groups: {message}")]
    Groups {
        /// Where.
        line: usize,
        /// What was found and what is allowed.
        message: String,
    },
}

/// What there was in a file without scheduling events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nothing {
    /// Lines in all.
    pub lines: u64,
    /// Events of other kinds, the most frequent first.
    pub events: Vec<(String, u64)>,
    /// Lines that are no events.
    pub malformed: u64,
    /// The first of them, from 1.
    pub first_malformed: Option<u64>,
    /// The whole text is one of no known form.
    pub known_form: bool,
}

fn nothing(n: &Nothing) -> String {
    if n.events.is_empty() && !n.known_form {
        let first = n.first_malformed.map_or(String::new(), |line| format!(", the first is line {line}"));
        return format!(
            "no scheduling event: none of {} lines is a line of a trace as ftrace, trace-cmd report, perf script or systrace write \
             it ({} are something else{first})",
            n.lines, n.malformed
        );
    }
    let others = match n.events.len() {
        0 => "no event at all".to_owned(),
        _ => {
            let shown = n.events.iter().take(4).map(|(name, times)| format!("{times} {name}"));
            format!("only {}", shown.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "no scheduling event: a trace, but there is {others}: record sched_switch, sched_wakeup, sched_wakeup_new, \
         sched_process_fork and sched_process_exit"
    )
}

impl TraceError {
    pub(super) fn too_large(limits: &Limits) -> TraceError {
        TraceError::TooLarge(limits.bytes)
    }
}
