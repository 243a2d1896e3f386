//! The boost of `schedutil` for CPUs whose tasks wait for input and output (smp.md §6).

use crate::time::{Instant, Nanos};

/// The first boost, of [`FULL`].
const START: u64 = 128;
/// The highest boost: the highest clock.
const FULL: u64 = 1024;

/// A utilisation below which the clock is not set: tasks that wait for a device a lot use little and yet should not be slow.
///
/// Mirrors: `sugov_iowait_boost()`, `sugov_iowait_apply()`, v4.19–v6.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IowaitBoost {
    boost: u64,
    /// It was raised since it was last applied.
    pending: bool,
    updated: Instant,
}

impl IowaitBoost {
    /// The load averages have been updated, after a task was woken up from waiting for input or output or not.
    pub fn note(&mut self, iowait: bool, now: Instant, tick: Nanos) {
        if now.saturating_since(std::mem::replace(&mut self.updated, now)) > tick {
            (self.boost, self.pending) = (0, false);
        }
        if iowait && !self.pending {
            self.boost = if self.boost == 0 { START } else { (self.boost * 2).min(FULL) };
            self.pending = true;
        }
    }

    /// The utilisation out of `max` to choose a clock by; a boost that was not renewed is halved, and ends below its start.
    pub fn apply(&mut self, util: u64, max: u64) -> u64 {
        if !std::mem::take(&mut self.pending) {
            self.boost /= 2;
            if self.boost < START {
                self.boost = 0;
            }
        }
        util.max(self.boost * max / FULL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Nanos = Nanos::from_millis(4);

    /// smp.md §6: from 128, doubled by every wake-up in successive updates.
    #[test]
    fn doubles_up_to_the_highest_clock_and_halves() {
        let mut b = IowaitBoost::default();
        let mut at = |ms: u64, iowait| {
            b.note(iowait, Instant::ZERO + Nanos::from_millis(ms), TICK);
            b.apply(50, 1024)
        };
        let raised: Vec<u64> = (1..6).map(|ms| at(ms, true)).collect();
        assert_eq!(raised, [128, 256, 512, 1024, 1024]);
        let lowered: Vec<u64> = (6..11).map(|ms| at(ms, false)).collect();
        assert_eq!(lowered, [512, 256, 128, 50, 50]);
    }

    #[test]
    fn wake_ups_between_two_choices_count_once_and_a_tick_without_updates_forgets() {
        let mut b = IowaitBoost::default();
        let ms = |ms| Instant::ZERO + Nanos::from_millis(ms);
        (0..5).for_each(|_| b.note(true, ms(1), TICK));
        assert_eq!(b.apply(0, 1024), 128);
        b.note(true, ms(2), TICK);
        assert_eq!(b.apply(0, 512), 128, "256 of 1024 is 128 of 512");
        b.note(true, ms(7), TICK);
        assert_eq!(b.apply(0, 1024), 128, "more than a tick later it starts anew");
    }

    /// At 4.6 GHz a boost of half the capacity asks for 2875 MHz.
    #[test]
    fn sets_the_clock_as_so_much_utilisation_would() {
        assert_eq!(super::super::next_khz(512, 1024, 4_600_000, true), 2_875_000);
    }
}
