//! The bars a simulation must clear, as data.

use serde::Serialize;

/// Tolerances per capture, and how many captures must keep each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bars {
    /// A task's share of the CPU may be off by so many points, or by one turn, or lie inside the simulator's own band.
    pub share_points: f64,
    /// Captures that must keep it, %.
    pub share_captures_pct: f64,
    /// Context switches may be off by so many percent, or by [`Bars::switches_count`], or lie inside the band.
    pub switches_pct: f64,
    /// See [`Bars::switches_pct`].
    pub switches_count: u64,
    /// Captures that must keep it, %.
    pub switches_captures_pct: f64,
    /// Turn lengths weighted by time: the histograms overlap by at least so many percent.
    pub overlap_pct: f64,
    /// Captures that must keep it, %.
    pub overlap_captures_pct: f64,
    /// Wake-ups onto a busy CPU whose need_resched verdict is right, % of all.
    pub wakeups_pct: f64,
    /// Charges traced in ns after which the vruntime is right, % of all.
    pub vruntimes_pct: f64,
    /// The band: delays are known to so many ns.
    pub delay_ns: i64,
}

/// The bars.
pub const BARS: Bars = Bars {
    share_points: 0.5,
    share_captures_pct: 95.0,
    switches_pct: 3.0,
    switches_count: 2,
    switches_captures_pct: 90.0,
    overlap_pct: 90.0,
    overlap_captures_pct: 90.0,
    wakeups_pct: 99.0,
    vruntimes_pct: 100.0,
    delay_ns: 1_000,
};
