//! The timer events oriented governor from 5.14 on: sleeps counted by bins of length, those to the timer and shorter ones.

use super::governor::{Ask, Pick, Slept, keep_tick};
use super::state::Table;
use super::teo::{deepest_within, measured, within_limit};
use crate::time::Nanos;

const PULSE: u32 = 1024;
const DECAY_SHIFT: u32 = 3;
/// Sleeps remembered one by one.
const RECENT: usize = 9;

/// Sleeps of a length between one state's target residency and the next one's.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// The timer ended them.
    hits: u32,
    /// Something else ended them, before the bin of the timer.
    intercepts: u32,
    /// How many of the last sleeps were such.
    recent: u32,
}

/// The governor's memory of one CPU.
#[derive(Clone, Debug)]
pub struct TeoBins {
    bins: Vec<Bin>,
    /// The bins of the last intercepted sleeps.
    recent: [Option<usize>; RECENT],
    next: usize,
    sleep_length: Nanos,
}

impl TeoBins {
    /// A governor that remembers nothing.
    pub fn new(table: &Table) -> TeoBins {
        let bins = vec![Bin::default(); table.states.len()];
        TeoBins { bins, recent: [None; RECENT], next: 0, sleep_length: Nanos::ZERO }
    }

    /// Chooses a state.
    ///
    /// Mirrors: `teo_select()`, v5.14–v6.5; smp.md §5.4.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        self.sleep_length = ask.sleep_length;
        let busy = table.rules.teo_heeds_utilisation && ask.utilisation > ask.capacity / 64;
        if busy && table.states.len() < 3 {
            let state = usize::from(table.usable(1) && !table.usable(0));
            return Pick { state, stop_tick: !table.polls(state) };
        }
        let mut duration = ask.sleep_length;
        let fits = |i: &usize| table.states[*i].residency <= duration;
        let usable = table.usable_states().map(|(i, _)| i);
        let candidate = usable.take_while(fits).last().unwrap_or(0);
        let mut state = candidate;
        if let Some(earlier) = self.intercepted(table, candidate) {
            state = earlier;
            duration = middle(table, earlier);
        }
        state = within_limit(table, state, ask.latency_limit);
        if busy {
            state = table.shallower(state).filter(|i| !table.polls(*i)).unwrap_or(state);
        }
        keep_tick(table, ask, state, duration)
    }

    /// The state to take instead of the candidate when most sleeps end before it pays.
    fn intercepted(&self, table: &Table, candidate: usize) -> Option<usize> {
        let total: u32 = self.bins.iter().map(|b| b.hits + b.intercepts).sum();
        let shallower = &self.bins[..candidate];
        let intercepts: u32 = shallower.iter().map(|b| b.intercepts).sum();
        let hits: u32 = shallower.iter().map(|b| b.hits).sum();
        let recent: u32 = shallower.iter().map(|b| b.recent).sum();
        let often = 2 * intercepts > total - hits;
        let lately = recent as usize > RECENT / 2;
        if !often && !lately {
            return None;
        }
        let (mut sum, mut sum_recent) = (0, 0);
        for i in (0..candidate).rev() {
            sum += self.bins[i].intercepts;
            sum_recent += self.bins[i].recent;
            let enough = (!often || 2 * sum > intercepts) && (!lately || 2 * sum_recent > recent);
            if enough && table.usable(i) {
                return Some(i);
            }
        }
        table.usable_states().next().map(|(i, _)| i)
    }

    /// Learns from a stay in a state.
    ///
    /// Mirrors: `teo_update()`, v5.14–v6.5.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        let measured = measured(table, self.sleep_length, slept);
        let timer = deepest_within(table, self.sleep_length);
        let duration = deepest_within(table, measured.min(self.sleep_length));
        for b in &mut self.bins {
            b.hits -= b.hits >> DECAY_SHIFT;
            b.intercepts -= b.intercepts >> DECAY_SHIFT;
        }
        if let Some(old) = self.recent[self.next].take() {
            self.bins[old].recent -= 1;
        }
        if timer == duration {
            self.bins[timer].hits += PULSE;
        } else {
            self.bins[duration].intercepts += PULSE;
            self.bins[duration].recent += 1;
            self.recent[self.next] = Some(duration);
        }
        self.next = (self.next + 1) % RECENT;
    }
}

/// The middle of a bin.
fn middle(table: &Table, bin: usize) -> Nanos {
    let low = table.states[bin].residency;
    let high = table.states.get(bin + 1).map_or(low, |s| s.residency);
    Nanos(low.0.midpoint(high.0))
}
