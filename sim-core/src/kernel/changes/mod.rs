//! The chronological list of behaviour changes: version differences are rows here, not branches in the code.
//!
//! A user's patch is one more [`Change`] applied after a profile's own, or an implementation of
//! [`super::hooks::Hooks`]. Sources: core.md §2.6, §14.1, §14.2; smp.md §1, §2, §3, §4.4.8, §4.7; patches.md §0.1.

mod before_5_7;
mod from_5_12;
mod from_5_16;
mod from_5_7;
pub(super) mod posted;

use super::rules::Rules;
use super::version::Release;

/// One change of behaviour.
#[derive(Debug)]
pub struct Change {
    /// Short name, unique.
    pub id: &'static str,
    /// The mainline commit, where a source names it.
    pub commit: Option<&'static str>,
    /// First mainline release that has it.
    pub since: Release,
    /// First releases of stable series that have it too.
    pub stable: &'static [Release],
    /// What changed, in one line.
    pub what: &'static str,
    /// How it changes the rules.
    pub apply: fn(&mut Rules),
}

/// The rows by period, oldest first.
const PERIODS: [&[Change]; 4] =
    [before_5_7::CHANGES, from_5_7::CHANGES, from_5_12::CHANGES, from_5_16::CHANGES];

/// All changes from 4.19 to 6.5 that this model knows, oldest first.
pub fn changes() -> impl Iterator<Item = &'static Change> {
    PERIODS.into_iter().flatten()
}

/// A row: what changed with mainline release `since`, and how it alters the rules.
const fn change(id: &'static str, since: (u16, u16), what: &'static str, apply: fn(&mut Rules)) -> Change {
    Change { id, commit: None, since: Release::new(since.0, since.1, 0), stable: &[], what, apply }
}

impl Change {
    /// Names the mainline commit.
    const fn commit(self, commit: &'static str) -> Change {
        Change { commit: Some(commit), ..self }
    }
    /// Names the first releases of stable series that have it too.
    const fn stable(self, stable: &'static [Release]) -> Change {
        Change { stable, ..self }
    }
}
