//! Simulated time: integer nanoseconds, with points and durations as different types.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;
use thiserror::Error;

/// A duration in nanoseconds. Prints with a unit chosen for reading; parses only with a unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nanos(pub u64);

/// A point in simulated time, in nanoseconds since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest duration that can be expressed.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `n` microseconds.
    pub const fn from_micros(n: u64) -> Nanos {
        Nanos(n * 1_000)
    }
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Nanos {
        Nanos(n * 1_000_000)
    }
    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Nanos {
        Nanos(n * 1_000_000_000)
    }
    /// The duration as floating-point seconds, for reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
    /// The duration as floating-point milliseconds, for reports only.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// The difference, or zero when `other` is longer.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
    /// Whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Instant {
    /// The start of the run.
    pub const ZERO: Instant = Instant(0);
    /// A point that is never reached.
    pub const NEVER: Instant = Instant(u64::MAX);

    /// Time passed since `earlier`, or zero when `earlier` lies in the future.
    pub const fn saturating_since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
    /// The point `d` later, stopping at [`Instant::NEVER`].
    pub const fn saturating_add(self, d: Nanos) -> Instant {
        Instant(self.0.saturating_add(d.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    fn add(self, d: Nanos) -> Instant {
        Instant(self.0 + d.0)
    }
}
impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, d: Nanos) {
        self.0 += d.0;
    }
}
impl Sub<Instant> for Instant {
    type Output = Nanos;
    /// Panics in debug builds when `earlier` lies in the future.
    fn sub(self, earlier: Instant) -> Nanos {
        Nanos(self.0 - earlier.0)
    }
}
impl Sub<Nanos> for Instant {
    type Output = Instant;
    fn sub(self, d: Nanos) -> Instant {
        Instant(self.0 - d.0)
    }
}
impl Add for Nanos {
    type Output = Nanos;
    fn add(self, d: Nanos) -> Nanos {
        Nanos(self.0 + d.0)
    }
}
impl AddAssign for Nanos {
    fn add_assign(&mut self, d: Nanos) {
        self.0 += d.0;
    }
}
impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, d: Nanos) -> Nanos {
        Nanos(self.0 - d.0)
    }
}
impl SubAssign for Nanos {
    fn sub_assign(&mut self, d: Nanos) {
        self.0 -= d.0;
    }
}
impl std::iter::Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(iter: I) -> Nanos {
        iter.fold(Nanos::ZERO, Add::add)
    }
}

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseNanosError {
    /// A bare number: the unit would be a guess.
    #[error("'{0}' has no unit: write {0}ns, {0}us, {0}ms or {0}s")]
    NoUnit(String),
    /// A unit that is none of ours.
    #[error("'{found}' is not a unit of time: allowed are ns, us, ms, s, min")]
    BadUnit {
        /// The unit as written.
        found: String,
    },
    /// Not a number before the unit.
    #[error("'{0}' is not a duration: write a number and a unit, like 250us or 1.5ms")]
    NotANumber(String),
    /// Digits below one nanosecond.
    #[error("'{0}' is finer than a nanosecond")]
    TooFine(String),
    /// More than 2^63 ns.
    #[error("'{0}' is longer than 292 years")]
    TooLong(String),
}

impl FromStr for Nanos {
    type Err = ParseNanosError;

    /// Parses `12ms`, `1.5us`, `2 s`: exact decimal arithmetic, never through floating point.
    fn from_str(text: &str) -> Result<Nanos, ParseNanosError> {
        let t = text.trim();
        let split = t.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(t.len());
        let (number, unit) = (t[..split].replace('_', ""), t[split..].trim());
        let (whole, frac) = number.split_once('.').unwrap_or((&number, ""));
        let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || (number.contains('.') && !digits(frac)) {
            return Err(ParseNanosError::NotANumber(text.to_owned()));
        }
        let scale: u128 = match unit {
            "" => return Err(ParseNanosError::NoUnit(t.to_owned())),
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            _ => return Err(ParseNanosError::BadUnit { found: unit.to_owned() }),
        };
        let too_long = || ParseNanosError::TooLong(text.to_owned());
        if whole.len() > 20 || frac.len() > 20 {
            return Err(too_long());
        }
        let int: u128 = whole.parse().map_err(|_| too_long())?;
        let mut ns = int * scale;
        if !frac.is_empty() {
            let num: u128 = frac.parse().map_err(|_| too_long())?;
            let den = 10u128.pow(frac.len() as u32);
            if !(num * scale).is_multiple_of(den) {
                return Err(ParseNanosError::TooFine(text.to_owned()));
            }
            ns += num * scale / den;
        }
        if ns > i64::MAX as u128 {
            return Err(too_long());
        }
        Ok(Nanos(ns as u64))
    }
}

impl fmt::Display for Nanos {
    /// The largest unit that keeps a whole number of thousandths, trailing zeros dropped: `1.5 ms`, `999 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (div, unit) = match self.0 {
            0..=999 => (1, "ns"),
            1_000..=999_999 => (1_000, "us"),
            1_000_000..=999_999_999 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let milli = (u128::from(self.0) * 1000 + div / 2) / div;
        let (int, frac) = (milli / 1000, milli % 1000);
        if frac == 0 {
            return write!(f, "{int} {unit}");
        }
        let digits = format!("{frac:03}");
        write!(f, "{int}.{} {unit}", digits.trim_end_matches('0'))
    }
}
impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}ns", self.0)
    }
}
impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}ns", self.0)
    }
}
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} ms", self.0 as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_exactly_and_only_with_a_unit() {
        let ok = |s: &str, ns| assert_eq!(s.parse::<Nanos>(), Ok(Nanos(ns)), "{s}");
        ok("12ms", 12_000_000);
        ok("1.5us", 1_500);
        ok("0.75 ms", 750_000);
        ok("3 s", 3_000_000_000);
        ok("2min", 120_000_000_000);
        ok("1_000ns", 1_000);
        assert_eq!("12".parse::<Nanos>(), Err(ParseNanosError::NoUnit("12".into())));
        assert!(matches!("12parsec".parse::<Nanos>(), Err(ParseNanosError::BadUnit { .. })));
        assert!(matches!("1.0001us".parse::<Nanos>(), Err(ParseNanosError::TooFine(_))));
        for bad in ["", "ms", "-1ms", ".ms", "1.ms", "1e3ms", "99999999999999999999s"] {
            assert!(bad.parse::<Nanos>().is_err(), "{bad}");
        }
    }

    #[test]
    fn prints_with_a_readable_unit() {
        let show = |ns: u64| Nanos(ns).to_string();
        assert_eq!(show(0), "0 ns");
        assert_eq!(show(1_500), "1.5 us");
        assert_eq!(show(12_000_000), "12 ms");
        assert_eq!(show(1_234_567_890), "1.235 s");
    }
}
