//! What a trace holds.

use super::event::Names;
use super::record::{Oddities, Recorder};
use super::stats::Stats;
use super::thread::Thread;
use serde::Serialize;

/// What a trace holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// What was read and passed over.
    #[serde(flatten)]
    pub stats: Stats,
    /// What does not fit together.
    pub odd: Oddities,
    /// CPUs with events, ascending.
    pub cpus: Vec<u32>,
    /// The first event, ns of the trace's clock.
    pub begins_ns: u64,
    /// From the first event that was looked at to the last, ns.
    pub span_ns: u64,
    /// Switches, those to and from the idle task among them.
    pub switches: u64,
    /// From wake-ups to turns, all tasks.
    pub latency: Latency,
    /// The recorded kernel's ticks, if preemptions show them.
    pub tick_hz: Option<u32>,
    /// Tasks by CPU time.
    pub tasks: Vec<TaskSummary>,
}

/// From wake-ups to turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The median, to a sixteenth, ns.
    pub p50_ns: u64,
    /// The 95th percentile, to a sixteenth, ns.
    pub p95_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskSummary {
    /// Its last name.
    pub comm: String,
    /// Its thread's number.
    pub pid: u32,
    /// Its nice value, or `None` for real-time tasks and where no priority is shown.
    pub nice: Option<i16>,
    /// Time on CPUs, ns.
    pub cpu_ns: u64,
    /// Times it left a CPU to wait.
    pub voluntary: u64,
    /// Times it left a CPU though it could run.
    pub involuntary: u64,
    /// Wake-ups that led to a turn.
    pub wakeups: u64,
    /// From wake-ups to turns on average, ns.
    pub mean_latency_ns: u64,
    /// The longest, ns.
    pub max_latency_ns: u64,
}

impl Summary {
    pub(super) fn of(recorder: &Recorder, stats: Stats, names: &Names) -> Summary {
        let ran = |t: &&Thread| t.counts.cpu_ns > 0 || t.counts.waits > 0 || t.counts.voluntary > 0;
        let mut tasks: Vec<TaskSummary> =
            recorder.threads.iter().filter(ran).map(|t| task(t, names)).collect();
        tasks.sort_by_key(|t| (std::cmp::Reverse(t.cpu_ns), t.pid));
        let waits = &recorder.waits;
        let percentile = |percent| waits.percentile(percent).unwrap_or(0);
        let begins_ns = recorder.from.unwrap_or(0);
        Summary {
            stats,
            odd: recorder.odd,
            cpus: recorder.cpus().collect(),
            begins_ns,
            span_ns: recorder.to.saturating_sub(begins_ns),
            switches: recorder.switches,
            latency: Latency {
                count: waits.count(),
                p50_ns: percentile(50),
                p95_ns: percentile(95),
                max_ns: waits.most(),
            },
            tick_hz: recorder.preemptions.ticks(None).map(|t| t.hz),
            tasks,
        }
    }
}

fn task(thread: &Thread, names: &Names) -> TaskSummary {
    let counts = &thread.counts;
    TaskSummary {
        comm: names.text(thread.comm).to_owned(),
        pid: thread.pid,
        nice: thread.prio.map(|(_, now)| now - 120).filter(|nice| (-20..=19).contains(nice)),
        cpu_ns: counts.cpu_ns,
        voluntary: counts.voluntary,
        involuntary: counts.involuntary,
        wakeups: counts.waits,
        mean_latency_ns: counts.wait_ns / counts.waits.max(1),
        max_latency_ns: counts.longest_ns,
    }
}
