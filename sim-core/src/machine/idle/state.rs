//! Idle states and the table of a machine's CPUs.

use super::rules::{IdleRules, PollLimit};
use crate::time::Nanos;
use serde::Serialize;

/// What leaving a state takes in fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitTime {
    /// This part of the table's worst case, in 1024ths: the worst case is met when the kick comes as entering begins.
    Part(u32),
    /// The rest of the table's worst case beside entering.
    AfterEntry(Nanos),
    /// Neither entering nor leaving takes any.
    Nothing,
    /// What the table of costs says that waking an idle CPU takes.
    IdleExitCost,
}

/// An idle state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleState {
    /// Name.
    pub name: String,
    /// Exit latency the kernel reckons with: the worst case.
    pub latency: Nanos,
    /// Sleeps shorter than this do not pay.
    pub residency: Nanos,
    /// What leaving it takes.
    pub exit: ExitTime,
    /// The CPU polls for work.
    pub polling: bool,
    /// A write to the flag word wakes the CPU: no interrupt is needed.
    pub monitors: bool,
    /// The core's own caches are lost, and it counts as inactive for turbo.
    pub flushes: bool,
    /// A state of all cores that share a last-level cache: until each has asked for it, a core is in the deepest state of its
    /// own above it.
    pub shared: bool,
    /// Switched off.
    pub disabled: bool,
}

impl IdleState {
    /// The polling state.
    pub fn poll() -> IdleState {
        IdleState {
            name: "POLL".to_owned(),
            latency: Nanos::ZERO,
            residency: Nanos::ZERO,
            exit: ExitTime::Part(0),
            polling: true,
            monitors: true,
            flushes: false,
            shared: false,
            disabled: false,
        }
    }

    /// What entering and leaving take.
    pub fn entry_and_exit(&self, idle_exit_cost: Nanos) -> (Nanos, Nanos) {
        match self.exit {
            ExitTime::Part(part) => {
                let exit = Nanos((u128::from(self.latency.0) * u128::from(part.min(1024)) / 1024) as u64);
                (self.latency.saturating_sub(exit), exit)
            }
            ExitTime::AfterEntry(entry) => (entry, self.latency.saturating_sub(entry)),
            ExitTime::Nothing => (Nanos::ZERO, Nanos::ZERO),
            ExitTime::IdleExitCost => (Nanos::ZERO, idle_exit_cost),
        }
    }
}

/// The states of a CPU with the rules that choose among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// States, the shallowest first.
    pub states: Vec<IdleState>,
    /// How governors choose.
    pub rules: IdleRules,
    /// Tick period.
    pub tick: Nanos,
}

impl Table {
    /// Whether a state may be chosen.
    pub fn usable(&self, i: usize) -> bool {
        self.states.get(i).is_some_and(|s| !s.disabled)
    }

    /// States that may be chosen, the shallowest first.
    pub fn usable_states(&self) -> impl DoubleEndedIterator<Item = (usize, &IdleState)> {
        self.states.iter().enumerate().filter(|(_, s)| !s.disabled)
    }

    /// The next shallower usable state.
    pub fn shallower(&self, i: usize) -> Option<usize> {
        (0..i).rev().find(|s| self.usable(*s))
    }

    /// The next deeper usable state.
    pub fn deeper(&self, i: usize) -> Option<usize> {
        (i + 1..self.states.len()).find(|s| self.usable(*s))
    }

    /// Whether a state polls.
    pub fn polls(&self, i: usize) -> bool {
        self.states.get(i).is_some_and(|s| s.polling)
    }

    /// How long the polling state polls before the governor is asked again.
    ///
    /// Mirrors: `cpuidle_poll_time()`, v4.19–v6.5; smp.md §5.7.
    pub fn poll_limit(&self) -> Nanos {
        const LONG: Nanos = Nanos::from_micros(10);
        // A table with a residency of nothing must not make the loop stand still.
        const LEAST: Nanos = Nanos::from_micros(1);
        let part = Nanos(self.tick.0 / 16);
        let first = |at_least: Nanos| {
            let mut sleeping = self.usable_states().filter(|(_, s)| !s.polling && s.residency >= at_least);
            sleeping.next().map(|(_, s)| s.residency)
        };
        match self.rules.idle_poll_limit {
            PollLimit::TickPart => part,
            PollLimit::FirstState => first(Nanos::ZERO).unwrap_or(self.tick).max(LEAST),
            PollLimit::FirstLongState => first(LONG).map_or(part, |limit| limit.min(part)),
        }
    }
}
