//! Clock frequency: what cores ask for, and what the package gives them.

mod boost;
mod governor;
mod invariance;

pub use boost::IowaitBoost;
pub use governor::{Sugov, next_khz};
pub use invariance::{Arch, ClockCounters};

use super::FULL_SPEED;
use crate::time::Nanos;
use serde::Serialize;

/// What decides on the clock a core asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Governor {
    /// The same always, whatever turbo would allow.
    Fixed {
        /// The clock.
        khz: u32,
    },
    /// As much as turbo allows.
    Performance,
    /// `schedutil`: by utilisation.
    Schedutil {
        /// The least time between two changes of one CPU's request.
        rate_limit: Nanos,
    },
    /// The hardware decides (HWP): a core that leaves a deep idle state starts at a low clock and gets all that turbo allows
    /// a little later.
    Powersave {
        /// Clock of a core that leaves a deep idle state.
        start_khz: u32,
        /// For how long.
        ramp: Nanos,
    },
}

/// Clocks of a machine. The highest is full speed: at it, a CPU of capacity 1024 does work of 1 ns in 1 ns.
///
/// Cores of a package share a turbo limit that depends on how many of them are active, that is in no idle state of C3 or
/// deeper. Without a model of idle states a core is active whatever it does, unless [`FrequencyConfig::deep_after`] says
/// otherwise. The threads of a core share its clock: the highest that a busy one asks for. Deviates: D-181, D-182.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrequencyConfig {
    /// What decides; none is full speed always.
    pub governor: Option<Governor>,
    /// The lowest clock.
    pub min_khz: u32,
    /// The clock without turbo (TSC and MPERF).
    pub base_khz: u32,
    /// The highest clock by the number of active cores of the package, the first for one; the last for more.
    pub turbo_khz: Vec<u32>,
    /// Clocks are multiples of this.
    pub step_khz: u32,
    /// From a changed request or limit until the package acts on it, with all others that came meanwhile.
    pub latency: Nanos,
    /// An idle core counts as in a deep idle state after this long; never without it.
    pub deep_after: Option<Nanos>,
    /// How the kernel learns the clock.
    pub arch: Arch,
}

impl Default for FrequencyConfig {
    /// Full speed always.
    fn default() -> FrequencyConfig {
        FrequencyConfig {
            governor: None,
            min_khz: 1,
            base_khz: 1,
            turbo_khz: Vec::new(),
            step_khz: 1,
            latency: Nanos::ZERO,
            deep_after: None,
            arch: Arch::X86,
        }
    }
}

impl FrequencyConfig {
    /// Turbo bins of the i7-8700 (not the i7-8700K) by active cores, kHz. Source: Intel's specification as tabulated by
    /// GamersNexus.
    pub const I7_8700_TURBO_KHZ: [u32; 4] = [4_600_000, 4_500_000, 4_400_000, 4_300_000];
    /// Base clock of the i7-8700, kHz.
    pub const I7_8700_BASE_KHZ: u32 = 3_200_000;
    /// From a changed request until the clock changes: an assumption. Haswell servers act every 500 µs, so after 250 µs in
    /// the mean (Hackenberg et al. 2015, from memory); a client that decides for itself reacts within 1 ms.
    pub const LATENCY: Nanos = Nanos::from_micros(250);

    /// Whether clocks never change.
    pub fn is_off(&self) -> bool {
        self.governor.is_none()
    }

    /// The highest clock: full speed.
    pub fn max_khz(&self) -> u32 {
        self.turbo_khz.first().copied().unwrap_or(self.base_khz).max(1)
    }

    /// The highest clock while so many cores of a package are active.
    pub fn limit_khz(&self, active: usize) -> u32 {
        let last = self.turbo_khz.len().saturating_sub(1);
        self.turbo_khz.get(active.saturating_sub(1).min(last)).copied().unwrap_or_else(|| self.max_khz())
    }

    /// The lowest clock of the table that is at least this, or the highest there is.
    pub fn resolve_khz(&self, wanted: u32) -> u32 {
        let step = self.step_khz.max(1);
        wanted.div_ceil(step).saturating_mul(step).clamp(self.min_khz.min(self.max_khz()), self.max_khz())
    }

    /// Speed at a clock, in parts of [`FULL_SPEED`].
    pub fn factor(&self, khz: u32) -> u32 {
        let share = u64::from(khz) * u64::from(FULL_SPEED) / u64::from(self.max_khz());
        u32::try_from(share).unwrap_or(FULL_SPEED).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i7_8700() -> FrequencyConfig {
        FrequencyConfig {
            governor: Some(Governor::Performance),
            min_khz: 800_000,
            base_khz: FrequencyConfig::I7_8700_BASE_KHZ,
            turbo_khz: FrequencyConfig::I7_8700_TURBO_KHZ.to_vec(),
            step_khz: 100_000,
            ..FrequencyConfig::default()
        }
    }

    #[test]
    fn turbo_falls_with_active_cores() {
        let limits: Vec<u32> = (0..8).map(|n| i7_8700().limit_khz(n) / 100_000).collect();
        assert_eq!(limits, [46, 46, 45, 44, 43, 43, 43, 43]);
    }

    #[test]
    fn clocks_come_from_the_table() {
        let f = i7_8700();
        let khz = [1, 800_001, 2_875_000, 4_600_000, 5_000_000].map(|wanted| f.resolve_khz(wanted));
        assert_eq!(khz, [800_000, 900_000, 2_900_000, 4_600_000, 4_600_000]);
    }

    #[test]
    fn the_highest_clock_is_full_speed() {
        let f = i7_8700();
        assert_eq!((f.factor(4_600_000), f.factor(2_300_000)), (FULL_SPEED, FULL_SPEED / 2));
        assert!(FrequencyConfig::default().is_off() && FrequencyConfig::default().max_khz() == 1);
    }
}
