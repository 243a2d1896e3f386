//! The delays of a captured machine, read out of a trace of one CPU.
//!
//! Stamps are whole µs and the trace clock's T0 is late by the unknown timer path `w` (see [`crate::capture::clock`]), so
//! every delay is known to ±1 µs, and those that count from a tick lack `w`.

mod charge;
mod collect;
mod kthreads;
mod table;
#[cfg(test)]
mod tests;

pub use collect::delays;
pub use kthreads::{KernelThread, kernel_threads};
pub use table::{render, row};

/// A path whose duration a trace shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// From a tick (its expiry + w) to the switch it causes, nothing else happening in that interrupt.
    TickToSwitch,
    /// The same when the tick's interrupt or softirq also woke something without preempting.
    TickAndWakeToSwitch,
    /// From a preempting wake-up in a hard interrupt to the switch.
    HardIrqWakeToSwitch,
    /// From a preempting wake-up in a softirq to the switch.
    SoftIrqWakeToSwitch,
    /// From a preempting wake-up by the running task itself to the switch.
    TaskWakeToSwitch,
    /// From the last wake-up onto an idle CPU to the switch.
    IdleWakeToSwitch,
    /// Between two wake-ups in one hard interrupt.
    NextWakeInIrq,
    /// From a tick (its expiry + w) to a wake-up in its softirq.
    TickToSoftIrqWake,
    /// From the timer's expiry to the wake-up's stamp, less the path from reading the clock to blocking: sleeps of
    /// constant length, `wake − block − length`.
    SleepWake,
    /// From getting the CPU to waking the pipe's other end, less the `run` between.
    PipeTurn,
    /// From waking another, without preemption, to blocking.
    WakeToBlock,
    /// From getting the CPU to blocking in a sleep, less the `run` between: return path, overshoot, entry path.
    RunAndSleep,
    /// From getting the CPU at the start to the driver's own first look at the clock, plus w.
    Start,
    /// From the driver's last look at the clock to the last switch away, less w, if it was not preempted meanwhile.
    Finish,
    /// Between two forks of one parent with nothing else between: the whole cycle of its loop.
    ForkCycle,
    /// From a forked child's first getting the CPU to its first look at the clock, plus w.
    ForkChild,
    /// How much later than its stamp says a preempting wake-up sampled the clock, against a switch's stamp: from what the
    /// kernel charged (`sched_stat_runtime`) to a task such a wake-up preempted, which ends at that sample.
    WakeClockLag,
    /// CPU time of a task less its whole `run`s, per iteration, from `result.json`: overshoot and loop, plus set-up / n.
    RunOvershoot,
}

/// One observed duration: its path, when it began to be seen (trace clock, ns) and how long it was (ns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// Which path.
    pub path: Path,
    /// When it ended, ns of the trace clock.
    pub at_ns: u64,
    /// How long, ns; differences of stamps may be negative by rounding.
    pub ns: i64,
}
