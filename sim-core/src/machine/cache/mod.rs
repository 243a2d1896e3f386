//! Caches: what a task finds warm where it runs next, and what it has to load again.
//!
//! A bounded model. A task has a working set. What of it is in the private caches of its core and in a last-level cache
//! is one number each. Others push it out in proportion to what they load; counters of all that was ever loaded into a
//! cache tell how much that was, so that nothing is searched or kept up to date. Deviates: D-183, D-184.

mod footprint;
mod levels;
#[cfg(test)]
mod tests;

pub use footprint::{Footprint, Refill, RefillReason};
pub use levels::{Levels, Place};

use super::FULL_SPEED;
use crate::time::Nanos;
use serde::Serialize;

/// Sizes of caches, and how fast a working set comes back into them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CacheConfig {
    /// Bytes of the private caches of a core (its second level); 0 switches the model off.
    pub private_bytes: u64,
    /// Bytes of a last-level cache.
    pub llc_bytes: u64,
    /// From the last-level cache, MB/s.
    pub llc_mb_s: u32,
    /// From the memory of the node, MB/s.
    pub memory_mb_s: u32,
    /// From the memory of another node, MB/s.
    pub remote_mb_s: u32,
    /// Speed of a task while it loads its working set, in parts of [`FULL_SPEED`]: how the time it loses is spread.
    pub cold_speed: u32,
    /// Deep idle states leave a core's caches as they are; on real machines they empty them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kept_in_idle: bool,
}

impl CacheConfig {
    /// The caches of an i7-8700: 256 KiB a core and 12 MiB. A line of 64 bytes takes 10 ns from the last-level cache with 4
    /// loads under way, 65 ns from memory with 8, 130 ns from another node with 8: 25.6, 7.9 and 3.9 GB/s. So 256 KiB
    /// take 10 µs from the last-level cache and 33 µs from memory, 4 MiB take 0.5 ms from memory. Sources: vendor's data
    /// for sizes and latencies; loads under way and the half speed meanwhile are assumptions.
    pub const I7_8700: CacheConfig = CacheConfig {
        private_bytes: 256 << 10,
        llc_bytes: 12 << 20,
        llc_mb_s: 25_600,
        memory_mb_s: 7_900,
        remote_mb_s: 3_900,
        cold_speed: FULL_SPEED / 2,
        kept_in_idle: false,
    };

    /// Whether caches cost nothing.
    pub fn is_off(&self) -> bool {
        self.private_bytes == 0
    }

    /// How long loading takes that a refill asks for, at full stall.
    pub fn time(&self, refill: &Refill) -> Nanos {
        let memory = if refill.remote { self.remote_mb_s } else { self.memory_mb_s };
        Nanos(ns(refill.from_llc, self.llc_mb_s).saturating_add(ns(refill.from_memory, memory)))
    }

    /// How long a task has to run at the cold speed to lose this much time.
    pub fn cold_phase(&self, lost: Nanos) -> Nanos {
        let stalled = u128::from(FULL_SPEED.saturating_sub(self.cold_speed).max(1));
        let phase = (u128::from(lost.0) * u128::from(FULL_SPEED)).div_ceil(stalled);
        Nanos(u64::try_from(phase).unwrap_or(u64::MAX))
    }
}

/// ns that so many bytes take: 1 MB/s is a byte in 1000 ns.
fn ns(bytes: u64, mb_s: u32) -> u64 {
    let ns = u128::from(bytes) * 1000 / u128::from(mb_s.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}
