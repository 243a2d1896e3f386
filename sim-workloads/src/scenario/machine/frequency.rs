//! `[machine.frequency]`: clocks, turbo and what decides on them.

use crate::schema::Names;
use crate::units::{Duration, Frequency};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::machine::FrequencyConfig;
use sim_core::machine::frequency::{Arch, Governor};

/// The most turbo bins.
const MAX_BINS: usize = 256;

/// What decides on the clock a core asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GovernorName {
    /// The same clock always.
    Fixed,
    /// As much as turbo allows.
    Performance,
    /// The kernel, by utilisation.
    Schedutil,
    /// The hardware.
    Powersave,
}

/// Clocks: the table switches them on. The highest turbo clock is full speed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct FrequencySpec {
    /// fixed, performance, schedutil or powersave (the hardware decides).
    #[schemars(with = "Names<GovernorName>")]
    pub governor: GovernorName,
    /// The highest clock by the number of active cores of a package: of one, of two, …; the last for more. None is higher
    /// than the one before it.
    #[serde(rename(serialize = "turbo_khz"))]
    #[schemars(length(min = 1, max = MAX_BINS))]
    pub turbo: Vec<Frequency>,
    /// The clock without turbo; at most the first of `turbo`.
    #[serde(rename(serialize = "base_khz"))]
    pub base: Frequency,
    /// The lowest clock; 800 MHz, or the base if that is lower, unless given.
    #[serde(rename(serialize = "min_khz"), skip_serializing_if = "Option::is_none")]
    pub min: Option<Frequency>,
    /// Clocks are multiples of this; 100 MHz unless given.
    #[serde(rename(serialize = "step_khz"), skip_serializing_if = "Option::is_none")]
    pub step: Option<Frequency>,
    /// From a changed wish or limit until the clock changes; 250 us unless given.
    #[serde(rename(serialize = "latency_ns"), skip_serializing_if = "Option::is_none")]
    pub latency: Option<Duration>,
    /// An idle core counts as in a deep idle state, inactive and with its caches empty, after this long. Without it, idle
    /// cores are active.
    #[serde(rename(serialize = "deep_after_ns"), skip_serializing_if = "Option::is_none")]
    pub deep_after: Option<Duration>,
    /// How the kernel learns the clock: x86 or arm; x86 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Names<Arch>>")]
    pub arch: Option<Arch>,
    /// `fixed`: the clock.
    #[serde(rename(serialize = "clock_khz"), skip_serializing_if = "Option::is_none")]
    pub clock: Option<Frequency>,
    /// `schedutil`: the least time between changes; 500 us unless given.
    #[serde(rename(serialize = "rate_limit_ns"), skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<Duration>,
    /// `powersave`: the clock of a core that leaves a deep idle state; the base unless given.
    #[serde(rename(serialize = "start_khz"), skip_serializing_if = "Option::is_none")]
    pub start: Option<Frequency>,
    /// `powersave`: for how long; 500 us unless given.
    #[serde(rename(serialize = "ramp_ns"), skip_serializing_if = "Option::is_none")]
    pub ramp: Option<Duration>,
}

/// A mistake with its key.
type Mistake = (&'static str, String);

impl FrequencySpec {
    /// The machine's part.
    pub(crate) fn config(&self) -> Result<FrequencyConfig, Mistake> {
        self.check_keys()?;
        let turbo = self.bins()?;
        let max = turbo[0];
        let within = |key, frequency: Option<Frequency>, default: u32| match frequency {
            Some(Frequency(khz)) if khz > max => {
                Err((key, format!("{} is beyond the highest clock, {}", Frequency(khz), Frequency(max))))
            }
            given => Ok(given.map_or(default, |f| f.0)),
        };
        let base = within("base", Some(self.base), max)?;
        let min = within("min", self.min, base.min(800_000))?;
        let ns = |given: Option<Duration>, default| given.map_or(default, |d| d.0);
        let half_ms = Nanos::from_micros(500);
        let governor = match self.governor {
            GovernorName::Performance => Governor::Performance,
            GovernorName::Schedutil => Governor::Schedutil { rate_limit: ns(self.rate_limit, half_ms) },
            GovernorName::Powersave => Governor::Powersave {
                start_khz: within("start", self.start, base)?,
                ramp: ns(self.ramp, half_ms),
            },
            GovernorName::Fixed => Governor::Fixed { khz: within("clock", self.clock, base)? },
        };
        Ok(FrequencyConfig {
            governor: Some(governor),
            min_khz: min,
            base_khz: base,
            turbo_khz: turbo,
            step_khz: within("step", self.step, max.min(100_000))?,
            latency: ns(self.latency, FrequencyConfig::LATENCY),
            deep_after: self.deep_after.map(|d| d.0),
            arch: self.arch.unwrap_or_default(),
        })
    }

    /// Keys of other governors are slips.
    fn check_keys(&self) -> Result<(), Mistake> {
        let only = |key, given: bool, governor, name| {
            let message = format!("'{key}' belongs to governor = \"{name}\"");
            if given && self.governor != governor { Err((key, message)) } else { Ok(()) }
        };
        only("clock", self.clock.is_some(), GovernorName::Fixed, "fixed")?;
        only("rate_limit", self.rate_limit.is_some(), GovernorName::Schedutil, "schedutil")?;
        only("start", self.start.is_some(), GovernorName::Powersave, "powersave")?;
        only("ramp", self.ramp.is_some(), GovernorName::Powersave, "powersave")?;
        match (self.governor, self.clock) {
            (GovernorName::Fixed, None) => {
                Err(("governor", "governor = \"fixed\" needs 'clock', like clock = \"3.2GHz\"".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn bins(&self) -> Result<Vec<u32>, Mistake> {
        let bins: Vec<u32> = self.turbo.iter().map(|f| f.0).collect();
        if bins.is_empty() || bins.len() > MAX_BINS {
            return Err(("turbo", format!("{} clocks: allowed are 1 to {MAX_BINS}", bins.len())));
        }
        match bins.windows(2).position(|w| w[1] > w[0]) {
            Some(i) => {
                let (more, fewer) = (Frequency(bins[i + 1]), Frequency(bins[i]));
                Err((
                    "turbo",
                    format!("{more} for {} active cores is more than {fewer} for {}", i + 2, i + 1),
                ))
            }
            None => Ok(bins),
        }
    }
}
