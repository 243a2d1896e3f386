//! The haltpoll governor of guests: poll for a while before halting, by how long halts lasted.

use super::governor::{Ask, Pick, Slept};
use super::state::Table;
use crate::time::Nanos;

/// The longest polling (`guest_halt_poll_ns`).
const MAX: Nanos = Nanos::from_micros(200);
/// The shortest, once it polls at all (`guest_halt_poll_grow_start`).
const GROW_START: Nanos = Nanos::from_micros(50);
/// How the time grows (`guest_halt_poll_grow`) and shrinks (`guest_halt_poll_shrink`).
const GROW: u64 = 2;
const SHRINK: u64 = 2;

/// The governor's memory of one CPU.
#[derive(Clone, Debug, Default)]
pub struct Haltpoll {
    limit: Nanos,
    /// The last stay polled until its time limit.
    timed_out: bool,
}

impl Haltpoll {
    /// Chooses between polling (state 0) and halting (state 1).
    ///
    /// Mirrors: `haltpoll_select()`, v5.4–v6.5; smp.md §5.6.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        let timed_out = std::mem::take(&mut self.timed_out);
        let halt = self.limit.is_zero() || timed_out || !table.usable(0);
        if !ask.latency_limit.is_zero() && halt && table.usable(1) {
            return Pick { state: 1, stop_tick: true };
        }
        Pick { state: 0, stop_tick: false }
    }

    /// Learns from a stay in a state.
    ///
    /// Mirrors: `haltpoll_reflect()`, `adjust_poll_limit()`, v5.4–v6.5.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        self.timed_out = table.polls(slept.state) && slept.poll_limit;
        if table.polls(slept.state) {
            return;
        }
        let blocked = slept.residency;
        if blocked > self.limit && blocked <= MAX {
            self.limit = Nanos((self.limit.0 * GROW).clamp(GROW_START.0, MAX.0));
        } else if blocked > MAX {
            self.limit = Nanos(self.limit.0 / SHRINK);
        }
    }

    /// How long it polls now.
    pub fn limit(&self) -> Nanos {
        self.limit
    }
}
