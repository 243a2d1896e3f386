//! The bars for captures of several CPUs, as data. The tolerances were set before anything was compared. As on one CPU, a
//! value that lies inside the simulator's own band keeps its bar too: least to greatest of runs on machines that the
//! captures would allow as well.

use serde::Serialize;

/// How far a simulation may be from a capture, and how many captures must keep it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ManyBars {
    /// A task's share of the span may be off by so many points, or by one of its turns.
    pub share_points: f64,
    /// Context switches may be off by so many percent.
    pub switches_pct: f64,
    /// Migrations may be off by so many percent, or by [`ManyBars::migrations_count`].
    pub migrations_pct: f64,
    /// See [`ManyBars::migrations_pct`].
    pub migrations_count: u64,
    /// The time until every CPU that can be busy is may be off by so many percent, or by one balance interval of an idle
    /// CPU: one millisecond for each CPU of its largest domain.
    pub occupied_pct: f64,
    /// Captures that must keep all of them, %.
    pub captures_pct: f64,
}

/// The bars.
pub const MANY_BARS: ManyBars = ManyBars {
    share_points: 1.0,
    switches_pct: 10.0,
    migrations_pct: 25.0,
    migrations_count: 3,
    occupied_pct: 25.0,
    captures_pct: 80.0,
};
