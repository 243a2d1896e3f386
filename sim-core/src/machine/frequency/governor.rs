//! `schedutil`: the clock by utilisation (smp.md §6).

use super::IowaitBoost;
use crate::time::{Instant, Nanos};

/// The clock for a utilisation of `util` out of `max`: a quarter more than it needs. `reference` is the highest clock if
/// utilisation does not depend on the clock, else the present one. `margin_on_util` says which of the factors gets the
/// quarter first, and with it how the result is rounded.
///
/// Mirrors: `get_next_freq()`, `map_util_freq()`, v4.19–v6.5.
pub fn next_khz(util: u64, max: u64, reference: u32, margin_on_util: bool) -> u32 {
    let (f, max) = (u64::from(reference), max.max(1));
    let khz = if margin_on_util { f * (util + (util >> 2)) / max } else { (f + (f >> 2)) * util / max };
    u32::try_from(khz).unwrap_or(u32::MAX)
}

/// What `schedutil` remembers of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sugov {
    /// The clock it asks for, kHz.
    pub requested_khz: u32,
    changed: Option<Instant>,
    idle_calls: u64,
    /// What waiting for input and output adds.
    pub boost: IowaitBoost,
}

impl Sugov {
    /// Nothing known of the CPU, which runs at its lowest clock.
    pub fn new(khz: u32) -> Sugov {
        Sugov { requested_khz: khz, changed: None, idle_calls: 0, boost: IowaitBoost::default() }
    }

    /// Whether enough time has passed since the last change.
    ///
    /// Mirrors: `sugov_should_update_freq()`, v4.19–v6.5.
    pub fn may_change(&self, now: Instant, rate_limit: Nanos) -> bool {
        self.changed.is_none_or(|at| now.saturating_since(at) >= rate_limit)
    }

    /// Asks for a clock; one that has not idled since the last time does not ask for less. True if the request changed.
    ///
    /// Mirrors: `sugov_update_single_freq()`, `sugov_cpu_is_busy()`, v4.19–v6.5.
    pub fn request(&mut self, khz: u32, idle_calls: u64, now: Instant) -> bool {
        let busy = std::mem::replace(&mut self.idle_calls, idle_calls) == idle_calls;
        if khz == self.requested_khz || (busy && khz < self.requested_khz) {
            return false;
        }
        (self.requested_khz, self.changed) = (khz, Some(now));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §6, §9.6: f_max 4.6 GHz.
    #[test]
    fn the_example_of_the_specification() {
        for margin_on_util in [false, true] {
            let mhz = |util| next_khz(util, 1024, 4_600_000, margin_on_util) / 1000;
            assert_eq!((mhz(100), mhz(512), mhz(820)), (561, 2875, 4604));
        }
    }

    /// util 3: 3 + 0 with the margin on utilisation, 5750000 · 3 with it on the clock.
    #[test]
    fn where_the_margin_goes_decides_the_rounding() {
        assert_eq!(next_khz(3, 1024, 4_600_000, true), 13_476);
        assert_eq!(next_khz(3, 1024, 4_600_000, false), 16_845);
    }

    #[test]
    fn requests_are_rate_limited_and_held_while_busy() {
        let limit = Nanos(500);
        let mut s = Sugov::new(800);
        assert!(s.may_change(Instant(0), limit));
        assert!(s.request(2000, 1, Instant(0)));
        assert!(!s.may_change(Instant(499), limit) && s.may_change(Instant(500), limit));
        assert!(!s.request(1000, 1, Instant(500)), "not idle since: no lower");
        assert!(s.request(3000, 1, Instant(600)), "but higher");
        assert!(s.request(1000, 2, Instant(1200)), "idled since: lower");
        assert!(!s.request(1000, 3, Instant(1800)), "the same is no change");
    }
}
