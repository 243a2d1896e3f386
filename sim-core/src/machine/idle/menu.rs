//! The menu governor: the time to the next timer, corrected by experience, and patterns in the last intervals.

use super::governor::{Ask, Pick, Slept, keep_tick};
use super::state::Table;
use crate::time::Nanos;

/// 1.0 of a correction factor (`RESOLUTION` · `DECAY`).
const UNITY: u64 = 1024 * DECAY;
const RESOLUTION: u64 = 1024;
const DECAY: u64 = 8;
/// Intervals remembered.
const INTERVALS: usize = 8;
/// Sleeps of this length or more, µs, count as having lasted to the timer.
const MAX_INTERESTING_US: u64 = 50_000;
/// What a sleep ended by the tick counts as, µs: a long one.
const LONG_US: u64 = 45_000;
/// From this prediction on the next timer is worth looking for, where that is done on demand.
const WORTH_A_LOOK: Nanos = Nanos::from_micros(15);
/// Upper ends of the buckets of the time to the next timer, µs.
const BUCKETS_US: [u64; 5] = [10, 100, 1_000, 10_000, 100_000];

/// The governor's memory of one CPU.
#[derive(Clone, Debug)]
pub struct Menu {
    /// Correction factors by bucket, those with tasks waiting for input or output after those without.
    factors: [u64; 2 * (BUCKETS_US.len() + 1)],
    /// The last intervals, µs.
    intervals: [u64; INTERVALS],
    next: usize,
    bucket: usize,
    /// Time to the next timer at the last choice, in the governor's unit.
    next_timer: u64,
}

impl Default for Menu {
    fn default() -> Menu {
        Menu { factors: [UNITY; 12], intervals: [0; INTERVALS], next: 0, bucket: 0, next_timer: 0 }
    }
}

impl Menu {
    /// Chooses a state.
    ///
    /// Mirrors: `menu_select()`, v4.19–v6.6; smp.md §5.3.
    pub fn select(&mut self, table: &Table, ask: &Ask) -> Pick {
        let unit = table.rules.menu_unit().0;
        let pattern = table.rules.menu_timer_on_demand.then(|| self.typical(table, u64::MAX));
        let short = pattern.flatten().filter(|us| us.saturating_mul(1_000) <= WORTH_A_LOOK.0);
        let (sleep_length, delta_tick) = match short {
            Some(_) => (u64::MAX, table.tick.0 / 2),
            None => (ask.sleep_length.0, ask.delta_tick.0),
        };
        let ask = Ask { delta_tick: Nanos(delta_tick), ..*ask };
        self.next_timer = sleep_length / unit;
        self.bucket = bucket(sleep_length) + if ask.iowaiters > 0 { BUCKETS_US.len() + 1 } else { 0 };
        if let Some(shallow) = at_once(table, &ask, Nanos(sleep_length)) {
            return shallow;
        }
        let mut foreseen = (u128::from(self.next_timer) * u128::from(self.factors[self.bucket])
            + u128::from(UNITY / 2))
            / u128::from(UNITY);
        let in_us = (foreseen * u128::from(unit) + 500) / 1_000;
        let pattern =
            pattern.unwrap_or_else(|| self.typical(table, u64::try_from(in_us).unwrap_or(u64::MAX)));
        if let Some(us) = pattern {
            foreseen = foreseen.min(u128::from(us) * 1_000 / u128::from(unit));
        }
        let foreseen = u64::try_from(foreseen).unwrap_or(u64::MAX).saturating_mul(unit);
        choose(table, &ask, Nanos(sleep_length), Nanos(foreseen))
    }

    /// Learns from a stay in a state.
    ///
    /// Mirrors: `menu_update()`, v4.19–v6.6; smp.md §5.3.
    pub fn reflect(&mut self, table: &Table, slept: &Slept) {
        let unit = table.rules.menu_unit().0;
        let us = |n: u64| n * 1_000 / unit;
        let latency = table.states[slept.state].latency.0 / unit;
        let residency = slept.residency.0 / unit;
        let measured = if slept.by_tick && self.next_timer > table.tick.0 / unit {
            us(LONG_US)
        } else if slept.poll_limit {
            self.next_timer
        } else if residency > 2 * latency {
            residency - latency
        } else {
            residency / 2
        };
        let measured = measured.min(self.next_timer);
        let factor = &mut self.factors[self.bucket];
        *factor -= *factor / DECAY;
        *factor += if self.next_timer > 0 && measured < us(MAX_INTERESTING_US) {
            RESOLUTION * measured / self.next_timer
        } else {
            RESOLUTION
        };
        self.intervals[self.next] = measured.saturating_mul(unit) / 1_000;
        self.next = (self.next + 1) % INTERVALS;
    }

    /// The interval that the last ones cluster at, µs, long ones left out; none if they do not. `predicted` is what is
    /// expected without it, µs.
    ///
    /// Mirrors: `get_typical_interval()`, v4.19–v6.6.
    fn typical(&self, table: &Table, predicted: u64) -> Option<u64> {
        let mut threshold = i32::MAX as u64;
        loop {
            let kept = || self.intervals.iter().copied().filter(|v| *v <= threshold);
            let n = kept().count() as u128;
            let (min, max) = (kept().min()?, kept().max()?);
            if table.rules.menu_pattern_must_shorten && min >= predicted {
                return None;
            }
            if table.rules.menu_timer_on_demand && max == 0 {
                return None;
            }
            let average = kept().map(u128::from).sum::<u128>() / n;
            let variance = kept().map(|v| u128::from(v).abs_diff(average).pow(2)).sum::<u128>() / n;
            let (kept, most) = (4 * n, 3 * INTERVALS as u128);
            if (average * average > 36 * variance && kept >= most) || variance <= 400 {
                return u64::try_from(average).ok();
            }
            if kept <= most {
                return None;
            }
            threshold = max.checked_sub(1)?;
        }
    }
}

fn bucket(next_timer: u64) -> usize {
    BUCKETS_US.iter().position(|end| next_timer < end * 1_000).unwrap_or(BUCKETS_US.len())
}

/// The first state without further thought, where no latency is allowed or nothing deeper can pay.
fn at_once(table: &Table, ask: &Ask, next_timer: Nanos) -> Option<Pick> {
    let forbidden = ask.latency_limit.is_zero();
    let useless = table.usable(0)
        && table.states.get(1).is_none_or(|s| next_timer < s.residency || ask.latency_limit < s.latency);
    (forbidden || useless).then(|| Pick { state: 0, stop_tick: !table.polls(0) })
}

/// Goes through the states from the shallowest.
fn choose(table: &Table, ask: &Ask, next_timer: Nanos, foreseen: Nanos) -> Pick {
    let unit = table.rules.menu_unit().0;
    let mut foreseen = foreseen;
    let mut limit = ask.latency_limit;
    if !ask.tick_stopped {
        let part = foreseen.0 / unit / (1 + 10 * ask.iowaiters) * unit;
        limit = limit.min(Nanos(part));
    } else if foreseen < table.tick {
        foreseen = ask.delta_tick;
    }
    let mut chosen: Option<usize> = None;
    for (i, state) in table.usable_states().filter(|(i, _)| *i >= first(table, ask, next_timer)) {
        let so_far = *chosen.get_or_insert(i);
        let reached = table.states[so_far].residency;
        if state.residency > foreseen {
            if table.polls(so_far) && state.latency <= limit && state.residency <= next_timer {
                // A short prediction alone is no reason to poll.
                (chosen, foreseen) = (Some(i), state.residency);
            } else if foreseen >= table.tick && !ask.tick_stopped {
                foreseen = reached;
            } else if foreseen >= table.tick {
                if reached < table.tick && state.residency <= ask.delta_tick {
                    chosen = Some(i);
                }
                return Pick { state: chosen.unwrap_or(0), stop_tick: true };
            }
            break;
        }
        if state.latency > limit {
            if table.rules.menu_starts_beyond_polling {
                foreseen = reached;
            }
            break;
        }
        chosen = Some(i);
    }
    keep_tick(table, ask, chosen.unwrap_or(0), foreseen)
}

/// The first state looked at: in 4.19 the one after polling, unless the next timer is near.
fn first(table: &Table, ask: &Ask, next_timer: Nanos) -> usize {
    const NEAR: Nanos = Nanos::from_micros(20);
    let beyond = table.rules.menu_starts_beyond_polling && table.polls(0);
    let fits = |s: &super::state::IdleState| {
        !s.disabled && next_timer > NEAR.max(s.residency) && ask.latency_limit > s.latency
    };
    usize::from(beyond && table.states.get(1).is_some_and(fits))
}

#[cfg(test)]
impl Menu {
    pub(super) fn remembering(intervals: [u64; INTERVALS], factor: u64) -> Menu {
        Menu { factors: [factor; 12], intervals, ..Menu::default() }
    }
    pub(super) fn factor(&self) -> u64 {
        self.factors[self.bucket]
    }
    pub(super) fn pattern(&self, table: &Table, predicted: u64) -> Option<u64> {
        self.typical(table, predicted)
    }
}
