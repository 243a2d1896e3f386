//! What a trace may not exceed, and what is counted of it.

use serde::Serialize;
use std::collections::BTreeMap;

/// What a trace may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Text after decompression, bytes.
    pub bytes: u64,
    /// One line, bytes: longer ones are passed over and counted.
    pub line: usize,
    /// Tasks, and names of tasks.
    pub tasks: usize,
    /// The highest number of a CPU.
    pub cpus: u32,
}

impl Default for Limits {
    /// 64 GiB of text, lines of 8 KiB, 100,000 tasks, CPUs below 4096. Memory does not grow with the text.
    fn default() -> Limits {
        Limits { bytes: 64 << 30, line: 8192, tasks: 100_000, cpus: sim_core::cpumask::MAX_CPUS - 1 }
    }
}

/// Who writes such text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// `/sys/kernel/tracing/trace`, or a text without a heading.
    #[default]
    Ftrace,
    /// `trace-cmd report`.
    TraceCmd,
    /// `perf script`, `perf sched script`.
    Perf,
    /// A web page of systrace or atrace.
    Systrace,
    /// Compressed, as atrace sends it.
    Atrace,
}

impl Form {
    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Form::Ftrace => "ftrace text",
            Form::TraceCmd => "trace-cmd report",
            Form::Perf => "perf script",
            Form::Systrace => "systrace web page",
            Form::Atrace => "compressed atrace",
        }
    }
}

/// What was read, and what was passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Who writes such text.
    pub form: Form,
    /// Whether it was packed with gzip.
    pub packing: Option<&'static str>,
    /// Lines in all.
    pub lines: u64,
    /// The most digits of a stamp after the point: 6 are microseconds, 9 nanoseconds.
    pub digits: u8,
    /// Events by name.
    pub events: BTreeMap<String, u64>,
    /// Lines that are no events and no headings.
    pub malformed: u64,
    /// The first of them, from 1.
    pub first_malformed: Option<u64>,
    /// Scheduling events with fields missing.
    pub incomplete: u64,
    /// Lines longer than the limit.
    pub long: u64,
    /// Frames of stacks.
    pub stacks: u64,
    /// Places where events of a CPU were lost.
    pub gaps: u64,
    /// How many were lost, where it says.
    pub lost: u64,
    /// Events that had been overwritten before the buffer was read.
    pub overwritten: u64,
    /// Events that came after a later one.
    pub unsorted: u64,
    /// Events so much out of order that they were left out.
    pub late: u64,
    /// Scheduling events used.
    pub used: u64,
}
