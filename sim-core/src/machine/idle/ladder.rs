//! The ladder governor: one state deeper after several sleeps that were long enough, one shallower after one that was not.

use super::governor::{Ask, Pick, Slept};
use super::state::Table;
use crate::time::Nanos;

/// Long sleeps in a row before the next deeper state.
const PROMOTION_COUNT: u32 = 4;
/// Short sleeps in a row before the next shallower state.
const DEMOTION_COUNT: u32 = 1;

/// The governor's memory of one CPU.
#[derive(Clone, Debug)]
pub struct Ladder {
    state: usize,
    promotions: u32,
    demotions: u32,
    /// The last stay less the state's exit latency.
    last: Option<Nanos>,
}

impl Ladder {
    /// Starts at the first state that does not poll.
    pub fn new(table: &Table) -> Ladder {
        let state = lowest(table);
        Ladder { state, promotions: 0, demotions: 0, last: None }
    }

    /// Chooses a state.
    ///
    /// Mirrors: `ladder_select_state()`, v4.19–v6.5; smp.md §5.5.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        if ask.latency_limit.is_zero() {
            self.move_to(0);
            return Pick { state: 0, stop_tick: true };
        }
        self.state = self.state.max(lowest(table));
        let latency = |i: usize| table.states[i].latency;
        let last = self.last.take();
        let deeper = table.deeper(self.state).filter(|i| latency(*i) <= ask.latency_limit);
        match (deeper, last) {
            (Some(deeper), Some(last)) if last > latency(self.state) => {
                self.promotions += 1;
                self.demotions = 0;
                if self.promotions >= PROMOTION_COUNT {
                    self.move_to(deeper);
                    return Pick { state: deeper, stop_tick: true };
                }
            }
            _ => {}
        }
        if latency(self.state) > ask.latency_limit {
            let fits = |i: &usize| table.usable(*i) && latency(*i) <= ask.latency_limit;
            self.move_to((0..self.state).rev().find(fits).unwrap_or(0));
        } else if last.is_some_and(|l| l < latency(self.state)) {
            self.demotions += 1;
            self.promotions = 0;
            if self.demotions >= DEMOTION_COUNT {
                let shallower = table.shallower(self.state).filter(|i| !table.polls(*i));
                self.move_to(shallower.unwrap_or(self.state));
            }
        }
        Pick { state: self.state, stop_tick: true }
    }

    fn move_to(&mut self, state: usize) {
        (self.state, self.promotions, self.demotions) = (state, 0, 0);
    }

    /// Learns from a stay in a state.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        self.last = Some(slept.residency.saturating_sub(table.states[slept.state].latency));
    }
}

/// The first usable state that does not poll.
fn lowest(table: &Table) -> usize {
    table.usable_states().find(|(_, s)| !s.polling).map_or(0, |(i, _)| i)
}
