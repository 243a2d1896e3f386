//! Where a task's working set is, and what it has to load where it goes on.

use super::{CacheConfig, Levels, Place};
use serde::Serialize;

/// Why a task finds less of its working set in a cache than it left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefillReason {
    /// Others ran on the core in the meantime.
    Preempted,
    /// A deep idle state emptied the core's caches.
    Flushed,
    /// It runs on another core of the same last-level cache.
    MovedCore,
    /// It runs under another last-level cache of the same node.
    MovedLlc,
    /// It runs on another node.
    MovedNode,
}

impl RefillReason {
    /// All reasons.
    pub const ALL: [RefillReason; 5] = [
        RefillReason::Preempted,
        RefillReason::Flushed,
        RefillReason::MovedCore,
        RefillReason::MovedLlc,
        RefillReason::MovedNode,
    ];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            RefillReason::Preempted => "preempted",
            RefillReason::Flushed => "flushed",
            RefillReason::MovedCore => "moved_core",
            RefillReason::MovedLlc => "moved_llc",
            RefillReason::MovedNode => "moved_node",
        }
    }
}

/// What a task has to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refill {
    /// Bytes that are in the last-level cache but not in the core's own.
    pub from_llc: u64,
    /// Bytes that are in neither.
    pub from_memory: u64,
    /// Whether that memory is on another node.
    pub remote: bool,
    /// Why.
    pub reason: RefillReason,
}

/// Where a task last ran and what of its working set it left there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// The node its memory is on: where it first ran; none until then.
    home: Option<u32>,
    at: Place,
    /// Bytes in the private caches and in the last-level cache, when it arrived or, once it left, when it left.
    private: u64,
    llc: u64,
    /// What had ever been loaded when it left.
    core_mark: u64,
    llc_mark: u64,
    flush_mark: u64,
}

/// What is left of `warm` bytes after `loaded` others went into a cache of `size` bytes: what is loaded displaces all that is
/// there in equal parts.
fn eroded(warm: u64, loaded: u64, size: u64) -> u64 {
    let lost = u128::from(warm) * u128::from(loaded.min(size)) / u128::from(size.max(1));
    warm - u64::try_from(lost).unwrap_or(warm).min(warm)
}

impl Footprint {
    /// The task comes to a place: what it has to load, if anything. That a new task loads its working set is part of its
    /// work, though others will notice.
    pub fn arrive(
        &mut self,
        set: u64,
        place: Place,
        levels: &Levels,
        config: &CacheConfig,
    ) -> Option<Refill> {
        let (fits_core, fits_llc) = (set.min(config.private_bytes), set.min(config.llc_bytes));
        let before = self.at;
        self.at = place;
        let Some(home) = self.home else {
            self.home = Some(place.node);
            return None;
        };
        let (core, llc) = (place.core as usize, place.llc as usize);
        let flushed = levels.flushes[core] != self.flush_mark;
        self.private = if before.core == place.core && !flushed {
            eroded(self.private.min(fits_core), levels.core[core] - self.core_mark, config.private_bytes)
        } else {
            0
        };
        self.llc = if before.llc == place.llc {
            let left = eroded(self.llc.min(fits_llc), levels.llc[llc] - self.llc_mark, config.llc_bytes);
            left.max(self.private)
        } else {
            0
        };
        let (private_missing, from_memory) = (fits_core - self.private, fits_llc - self.llc);
        let from_llc = private_missing.saturating_sub(from_memory);
        let reason = match before {
            _ if before.node != place.node => RefillReason::MovedNode,
            _ if before.llc != place.llc => RefillReason::MovedLlc,
            _ if before.core != place.core => RefillReason::MovedCore,
            _ if flushed => RefillReason::Flushed,
            _ => RefillReason::Preempted,
        };
        let refill = Refill { from_llc, from_memory, remote: place.node != home, reason };
        (from_llc > 0 || from_memory > 0).then_some(refill)
    }

    /// The task leaves its CPU after `done` of `all` parts of what it had to load. If it is done, what does not fit into a
    /// cache has passed through it.
    pub fn leave(&mut self, set: u64, (done, all): (u64, u64), levels: &mut Levels, config: &CacheConfig) {
        let (fits_core, fits_llc) = (set.min(config.private_bytes), set.min(config.llc_bytes));
        let part = |missing: u64| {
            let loaded = u128::from(missing) * u128::from(done.min(all)) / u128::from(all.max(1));
            if done >= all { missing } else { u64::try_from(loaded).unwrap_or(missing) }
        };
        let private = part(fits_core - self.private.min(fits_core));
        let llc = part(fits_llc - self.llc.min(fits_llc));
        let passed = |fits: u64| if done >= all { set - fits } else { 0 };
        levels.load(self.at, private + passed(fits_core), llc + passed(fits_llc));
        (self.private, self.llc) = (self.private + private, self.llc + llc);
        let (core, shared) = (self.at.core as usize, self.at.llc as usize);
        (self.core_mark, self.llc_mark) = (levels.core[core], levels.llc[shared]);
        self.flush_mark = levels.flushes[core];
    }
}
