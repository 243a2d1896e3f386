//! Numbers and durations of the workload language.

use super::{Span, SpecProblem};

/// The longest duration accepted: an hour, in ns. Captures last seconds.
pub(super) const MAX_DURATION: u64 = 3_600_000_000_000;

/// A whole number between `min` and `max`.
pub(super) fn number(text: &str, min: u64, max: u64) -> Result<u64, SpecProblem> {
    text.parse::<u64>()
        .ok()
        .filter(|n| (min..=max).contains(n) && text.bytes().all(|b| b.is_ascii_digit()))
        .ok_or_else(|| SpecProblem::BadNumber { found: text.to_owned(), min, max })
}

/// A whole, possibly negative number between `min` and `max`.
pub(super) fn signed(text: &str, min: i64, max: i64) -> Result<i64, SpecProblem> {
    text.parse::<i64>().ok().filter(|n| (min..=max).contains(n)).ok_or_else(|| SpecProblem::BadSigned {
        found: text.to_owned(),
        min,
        max,
    })
}

/// A duration, or `LO..HI`.
pub(super) fn span(text: &str) -> Result<Span, SpecProblem> {
    let (lo, hi) = match text.split_once("..") {
        Some((lo, hi)) => (duration(lo)?, duration(hi)?),
        None => (duration(text)?, duration(text)?),
    };
    if hi < lo {
        return Err(SpecProblem::BadDuration(text.to_owned()));
    }
    Ok(Span { lo, hi })
}

/// A duration in ns. Without a unit it is in ns, as the driver reads it. Rounds half up, like the driver.
pub(super) fn duration(text: &str) -> Result<u64, SpecProblem> {
    let bad = || SpecProblem::BadDuration(text.to_owned());
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let scale: u128 = match &text[split..] {
        "" | "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(bad()),
    };
    let (whole, frac) = text[..split].split_once('.').unwrap_or((&text[..split], ""));
    if (whole.is_empty() && frac.is_empty()) || frac.contains('.') || whole.len() > 18 || frac.len() > 18 {
        return Err(bad());
    }
    let digits = |s: &str| if s.is_empty() { Ok(0) } else { s.parse::<u128>().map_err(|_| bad()) };
    let den = 10u128.pow(frac.len() as u32);
    let ns = digits(whole)? * scale + (digits(frac)? * scale * 2 + den) / (den * 2);
    u64::try_from(ns).ok().filter(|n| *n <= MAX_DURATION).ok_or_else(bad)
}
