//! How the kernel learns how fast a CPU runs (smp.md §2.3).

use serde::{Deserialize, Serialize};

/// How the kernel learns the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// From 5.7 on, at each tick from two counters; before, not at all.
    #[default]
    X86,
    /// In every version, at each change.
    Arm,
}

/// Two counters of a CPU: cycles at its clock (APERF) and at its base clock (MPERF), in kHz times ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClockCounters {
    aperf: u128,
    mperf: u128,
}

impl ClockCounters {
    /// The CPU ran at `khz` for `ns`.
    pub fn count(&mut self, ns: u64, khz: u32, base_khz: u32) {
        self.aperf += u128::from(ns) * u128::from(khz);
        self.mperf += u128::from(ns) * u128::from(base_khz);
    }

    /// The speed since the last call, in 1024ths of the clock with four active cores; none if the CPU only idled.
    ///
    /// Mirrors: `arch_scale_freq_tick()`, v5.7–v6.5 on x86.
    pub fn scale(&mut self, turbo_4core_khz: u32, base_khz: u32) -> Option<u64> {
        let ClockCounters { aperf, mperf } = std::mem::take(self);
        let ratio = u128::from(turbo_4core_khz) * 1024 / u128::from(base_khz.max(1));
        let scale = (aperf << 20).checked_div(mperf * ratio)?;
        Some(u64::try_from(scale.min(1024)).unwrap_or(1024))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §2.3, i7-8700: R = 1376; 4.3 GHz or more gives 1024, 3.2 GHz gives 762.
    #[test]
    fn the_example_of_the_specification() {
        let scale_at = |khz| {
            let mut c = ClockCounters::default();
            c.count(4_000_000, khz, 3_200_000);
            c.scale(4_300_000, 3_200_000)
        };
        let scales = [3_200_000, 4_300_000, 4_600_000].map(scale_at);
        assert_eq!(scales, [Some(762), Some(1024), Some(1024)]);
    }

    #[test]
    fn it_is_the_mean_since_the_last_time() {
        let mut c = ClockCounters::default();
        assert_eq!(c.scale(4_000_000, 2_000_000), None);
        c.count(1_000, 4_000_000, 2_000_000);
        c.count(1_000, 2_000_000, 2_000_000);
        assert_eq!(c.scale(4_000_000, 2_000_000), Some(768));
        assert_eq!(c.scale(4_000_000, 2_000_000), None);
    }
}
