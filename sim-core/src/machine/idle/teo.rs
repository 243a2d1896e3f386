//! The timer events oriented governor of 5.1 to 5.13: how often each state proved right.

use super::governor::{Ask, Pick, Slept, keep_tick};
use super::state::Table;
use crate::time::Nanos;

/// What one event adds to a counter.
const PULSE: u32 = 1024;
/// Counters lose this part at each event: an eighth.
const DECAY_SHIFT: u32 = 3;
/// Sleeps remembered.
const RECENT: usize = 8;

/// What is remembered of one state.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// It was right for the time to the next timer, and the timer woke the CPU.
    hits: u32,
    /// The CPU woke too early for it.
    misses: u32,
    /// It would have been right for a sleep that ended before the timer.
    early_hits: u32,
}

/// The governor's memory of one CPU.
#[derive(Clone, Debug)]
pub struct Teo {
    records: Vec<Record>,
    recent: [Nanos; RECENT],
    next: usize,
    sleep_length: Nanos,
}

/// How long a sleep counts as: for ever if it lasted to the timer.
pub(super) fn measured(table: &Table, sleep_length: Nanos, slept: &Slept) -> Nanos {
    let latency = table.states[slept.state].latency;
    let to_the_timer = slept.residency >= sleep_length || slept.by_tick && sleep_length > table.tick;
    if to_the_timer {
        Nanos::MAX
    } else if slept.residency >= latency {
        slept.residency.saturating_sub(Nanos(latency.0 / 2))
    } else {
        Nanos(slept.residency.0 / 2)
    }
}

/// The deepest state whose target residency a sleep of this length reaches.
pub(super) fn deepest_within(table: &Table, length: Nanos) -> usize {
    table.states.iter().rposition(|s| s.residency <= length).unwrap_or(0)
}

/// The deepest usable state not deeper than `state` that may be left within the limit.
pub(super) fn within_limit(table: &Table, state: usize, limit: Nanos) -> usize {
    let fits = |i: &usize| table.usable(*i) && table.states[*i].latency <= limit;
    (0..=state).rev().find(fits).unwrap_or(0)
}

impl Teo {
    /// A governor that remembers nothing.
    pub fn new(table: &Table) -> Teo {
        let records = vec![Record::default(); table.states.len()];
        Teo { records, recent: [Nanos::MAX; RECENT], next: 0, sleep_length: Nanos::ZERO }
    }

    /// Chooses a state.
    ///
    /// Mirrors: `teo_select()`, v5.1–v5.13; smp.md §5.4.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        self.sleep_length = ask.sleep_length;
        let mut duration = ask.sleep_length;
        let fits = |i: &usize| table.states[*i].residency <= duration;
        let candidate = table.usable_states().map(|(i, _)| i).take_while(fits).last().unwrap_or(0);
        let mut state = candidate;
        let record = self.records[candidate];
        if record.hits <= record.misses {
            let passed = table.usable_states().map(|(i, _)| i).filter(|i| *i <= candidate);
            // Among equals the shallowest, and none without a single early hit.
            let early = passed.rev().max_by_key(|i| self.records[*i].early_hits);
            if let Some(early) = early.filter(|i| self.records[*i].early_hits > 0) {
                state = early;
                duration = table.states[early].residency;
            }
        }
        state = within_limit(table, state, ask.latency_limit);
        if state > 0 {
            duration = self.follow_recent(table, &mut state, duration);
        }
        keep_tick(table, ask, state, duration)
    }

    /// Most of the last sleeps shorter than foreseen: their mean is foreseen instead.
    fn follow_recent(&self, table: &Table, state: &mut usize, duration: Nanos) -> Nanos {
        let shorter = || self.recent.iter().filter(|r| **r < duration);
        let n = shorter().count();
        if n <= RECENT / 2 {
            return duration;
        }
        let mean = Nanos(shorter().map(|r| r.0 / n as u64).sum());
        if table.states[*state].residency <= mean {
            return duration;
        }
        while let Some(shallower) = table.shallower(*state).filter(|_| table.states[*state].residency > mean)
        {
            *state = shallower;
        }
        mean
    }

    /// Learns from a stay in a state. Deviates: D-174.
    ///
    /// Mirrors: `teo_update()`, v5.1–v5.13.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        let measured = measured(table, self.sleep_length, slept);
        let timer = deepest_within(table, self.sleep_length);
        let hit = deepest_within(table, measured.min(self.sleep_length));
        for r in &mut self.records {
            r.early_hits -= r.early_hits >> DECAY_SHIFT;
        }
        let r = &mut self.records[timer];
        r.hits -= r.hits >> DECAY_SHIFT;
        r.misses -= r.misses >> DECAY_SHIFT;
        if timer > hit {
            r.misses += PULSE;
            self.records[hit].early_hits += PULSE;
        } else {
            r.hits += PULSE;
        }
        self.recent[self.next] = measured;
        self.next = (self.next + 1) % RECENT;
    }
}
