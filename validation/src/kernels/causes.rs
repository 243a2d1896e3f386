//! Why kept captures miss a bar, as data beside them: shown with the miss, and tested so that the list cannot rot.

use super::compare::Comparison;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The list.
const KNOWN: &str = include_str!("../../known-misses.json");

/// A bar that a single capture keeps or misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bar {
    /// Every task's share of the CPU.
    Share,
    /// Context switches.
    Switches,
    /// Turn lengths.
    Turns,
}

impl Bar {
    /// All of them.
    pub const ALL: [Bar; 3] = [Bar::Share, Bar::Switches, Bar::Turns];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Bar::Share => "share",
            Bar::Switches => "switches",
            Bar::Turns => "turns",
        }
    }

    /// Whether a capture keeps it.
    pub fn is_kept(self, c: &Comparison) -> bool {
        match self {
            Bar::Share => c.shares_ok(),
            Bar::Switches => c.switches.ok,
            Bar::Turns => c.overlap_ok,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a capture misses a bar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Kind, kernel and name.
    pub capture: String,
    /// Which bar.
    pub bar: Bar,
    /// What was found out.
    pub cause: String,
}

/// The list of known misses.
pub fn known_causes() -> Vec<Cause> {
    serde_json::from_str(KNOWN).unwrap_or_default()
}
