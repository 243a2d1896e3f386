//! `result.json`: what the workload driver and the kernel counted, per task.

use super::schedstat::LevelCounts;
use serde::{Deserialize, Serialize};

/// The driver's result. Times are CLOCK_MONOTONIC of the guest, in ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// T0, the common start.
    pub t0_ns: i64,
    /// A tick of CPU 0; 0 when the driver could not see one.
    pub tick_seen_at_ns: i64,
    /// From T0 to the exit of the last task.
    pub elapsed_ns: i64,
    /// Turns of the calibrated loop per µs.
    pub loops_per_us: f64,
    /// Tasks and their forked children, in the order in which they registered.
    pub tasks: Vec<TaskResult>,
    /// What the kernel counted of its balancing, by level, smallest domains first; on several CPUs. The lab has it in
    /// `guest.txt`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub balance: Vec<LevelCounts>,
}

/// One task's figures. `start_ns` and `end_ns` count from T0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Its comm.
    pub name: String,
    /// Its pid.
    pub pid: u32,
    /// Its parent: the driver's pid for tasks of the spec.
    pub ppid: u32,
    /// Its nice value.
    pub nice: i32,
    /// When it first ran its body.
    pub start_ns: i64,
    /// When its body was done.
    pub end_ns: i64,
    /// How often it came past `count`.
    pub iters: i64,
    /// CPU time by CLOCK_THREAD_CPUTIME_ID, fork and set-up included.
    pub cpu_ns: i64,
    /// CPU time by schedstat.
    pub run_ns: i64,
    /// Time runnable but waiting, by schedstat.
    pub wait_ns: i64,
    /// Times it was put on a CPU, by schedstat.
    pub timeslices: i64,
    /// Voluntary context switches.
    pub nvcsw: i64,
    /// Involuntary context switches.
    pub nivcsw: i64,
    /// Wall time in blocking calls.
    pub blocked_ns: i64,
    /// Number of blocking calls.
    pub blocked_n: i64,
    /// Longest blocking call.
    pub blocked_max_ns: i64,
    /// Sum of the sleeps' lateness.
    pub late_ns: i64,
    /// Number of sleeps.
    pub late_n: i64,
    /// Greatest lateness.
    pub late_max_ns: i64,
}

impl RunResult {
    /// The tasks of the spec itself: those the driver forked, not their children.
    pub fn top_level(&self) -> impl Iterator<Item = &TaskResult> {
        self.tasks.iter().filter(|t| !self.tasks.iter().any(|p| p.pid == t.ppid))
    }
}
