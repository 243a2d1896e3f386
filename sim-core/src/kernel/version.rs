//! Kernel versions and the profiles built from them.

use super::changes::{Change, changes};
use super::rules::Rules;
use serde::Serialize;
use std::fmt;
use thiserror::Error;

/// A kernel release `major.minor.patch`; patch 0 is mainline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Release {
    /// Major number.
    pub major: u16,
    /// Minor number.
    pub minor: u16,
    /// Stable patch level.
    pub patch: u16,
}

impl Release {
    /// Release `major.minor.patch`.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Release {
        Release { major, minor, patch }
    }

    /// Whether this release has a change.
    pub fn has(self, change: &Change) -> bool {
        let mainline = (self.major, self.minor) >= (change.since.major, change.since.minor);
        let backported =
            |s: &Release| (s.major, s.minor) == (self.major, self.minor) && self.patch >= s.patch;
        mainline || change.stable.iter().any(backported)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch > 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

/// A kernel that can be simulated.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Name on the command line.
    pub name: &'static str,
    /// The release it stands for.
    pub release: Release,
    /// What it is, and what was not read in source.
    pub about: &'static str,
    /// In which release its rules for several CPUs were read, or between which they lie.
    pub several_cpus: &'static str,
    /// Default of `sched_autogroup_enabled`: on in mainline, patched off by Debian (core.md §9.5).
    pub autogroup: bool,
}

const fn profile(
    name: &'static str,
    release: Release,
    about: &'static str,
    several_cpus: &'static str,
) -> Profile {
    Profile { name, release, about, several_cpus, autogroup: true }
}

const fn debian(
    name: &'static str,
    release: Release,
    about: &'static str,
    several_cpus: &'static str,
) -> Profile {
    Profile { autogroup: false, ..profile(name, release, about, several_cpus) }
}

/// All profiles, oldest first.
pub const PROFILES: &[Profile] = &[
    profile("4.19", Release::new(4, 19, 0), "mainline 4.19", "read in 4.19.72"),
    profile("5.4", Release::new(5, 4, 0), "mainline 5.4; scale_load_down as in 5.4 stable", "read in 5.4.59"),
    profile(
        "5.5",
        Release::new(5, 5, 0),
        "mainline 5.5; inferred from 5.4 and 5.7",
        "read in 5.5-rc5, with its two errors in placing new tasks",
    ),
    profile("5.6", Release::new(5, 6, 0), "mainline 5.6; inferred from 5.4 and 5.7", "read in 5.6.4"),
    profile("5.7", Release::new(5, 7, 0), "mainline 5.7", "read in 5.7.14"),
    profile(
        "5.10",
        Release::new(5, 10, 0),
        "mainline 5.10",
        "read in 5.10.223, without what later stable releases are known to have added",
    ),
    debian(
        "5.10-debian",
        Release::new(5, 10, 262),
        "Debian 11: 5.10.262; slices as in 5.13, tunables as in 5.10",
        "read in 5.10.223",
    ),
    profile(
        "5.12",
        Release::new(5, 12, 0),
        "mainline 5.12",
        "read in 5.12.9; where that was not told apart, as between 5.11.0 and 5.13",
    ),
    profile(
        "5.13",
        Release::new(5, 13, 0),
        "mainline 5.13; inferred from 5.12 and 5.14",
        "inferred from 5.12.9 and 5.14-rc5",
    ),
    profile(
        "5.15",
        Release::new(5, 15, 0),
        "mainline 5.15",
        "not read: as 5.14-rc5, with the changes that commits date to 5.15",
    ),
    profile(
        "6.1",
        Release::new(6, 1, 0),
        "mainline 6.1",
        "read in 6.1.192, without what later stable releases are known to have added",
    ),
    debian("6.1-debian", Release::new(6, 1, 192), "Debian 12: 6.1.192", "read in 6.1.192"),
    profile(
        "6.5",
        Release::new(6, 5, 0),
        "mainline 6.5, the last CFS",
        "not read: as 6.6.57, but for the end of CFS",
    ),
];

/// A name that is no profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{found}' is not a kernel profile: allowed are {}", PROFILES.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownProfile {
    /// The name.
    pub found: String,
}

impl Profile {
    /// Looks a profile up by name; a leading `v` is accepted.
    ///
    /// # Errors
    /// When there is no such profile.
    pub fn by_name(name: &str) -> Result<&'static Profile, UnknownProfile> {
        let bare = name.strip_prefix('v').unwrap_or(name);
        PROFILES.iter().find(|p| p.name == bare).ok_or_else(|| UnknownProfile { found: name.to_owned() })
    }

    /// The rules of this kernel.
    pub fn rules(&self) -> Rules {
        let mut rules = Rules::v4_19();
        for change in self.changes() {
            (change.apply)(&mut rules);
            rules.applied.push(change.id);
        }
        rules
    }

    /// The changes after 4.19 that this kernel has, oldest first.
    pub fn changes(&self) -> impl Iterator<Item = &'static Change> + '_ {
        changes().filter(|c| self.release.has(c))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::features::Feature;
    use crate::kernel::rules::{BuddyClear, IdleSleeperThreshold, NrLatency, TtwuQueueRule};

    fn rules(name: &str) -> Rules {
        Profile::by_name(name).unwrap().rules()
    }

    #[test]
    fn the_list_is_chronological_and_ids_are_unique() {
        assert!(changes().is_sorted_by_key(|c| c.since));
        let mut ids: Vec<_> = changes().map(|c| c.id).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|w| w[0] != w[1]));
    }

    /// Rows of core.md §14.1 for the columns a change falls between.
    #[test]
    fn rows_of_the_version_matrix() {
        let slice = |n: &str| {
            let r = rules(n);
            (r.features.enabled(Feature::AltPeriod), r.features.enabled(Feature::BaseSlice))
        };
        assert_eq!(slice("5.10"), (false, false));
        assert_eq!(slice("5.12"), (false, false));
        assert_eq!(slice("5.10-debian"), (true, true));
        assert_eq!(slice("5.13"), (true, true));
        assert_eq!(rules("5.10-debian").nr_latency, NrLatency::Tracks);
        assert_eq!(rules("5.12").nr_latency, NrLatency::Tracks);
        assert_eq!(rules("5.13").nr_latency, NrLatency::Frozen);
        assert_eq!(rules("5.13").buddy_clear, BuddyClear::OnPick);
        assert_eq!(rules("5.15").buddy_clear, BuddyClear::OnSetNext);
        assert_eq!(rules("5.15").idle_sleeper_threshold, IdleSleeperThreshold::Latency);
        assert_eq!(rules("6.1").idle_sleeper_threshold, IdleSleeperThreshold::MinGranularity);
        assert_eq!(rules("5.7").ttwu_queue, TtwuQueueRule::NotSharingLlc);
        assert_eq!(rules("5.10").ttwu_queue, TtwuQueueRule::OrSwitchingOutOfIdle);
        assert_eq!(rules("5.15").ttwu_queue, TtwuQueueRule::OrSwitchingOut);
        assert_eq!(rules("6.1").ttwu_queue, TtwuQueueRule::OrTargetIdle);
        assert!(!rules("6.1").slice_capped_by_latency && rules("6.5").slice_capped_by_latency);
        assert!(!rules("6.1").long_sleeper && rules("6.1-debian").long_sleeper && rules("6.5").long_sleeper);
        assert!(!rules("4.19").scale_load_floor && rules("5.4").scale_load_floor);
    }

    /// core.md §2.6, and the feature lines read back from real Debian kernels.
    #[test]
    fn feature_defaults_by_version() {
        let on = |n: &str, f| rules(n).features.enabled(f);
        assert!(on("4.19", Feature::LbBias) && !rules("5.4").features.has(Feature::LbBias));
        assert!(on("5.7", Feature::RtRuntimeShare) && !on("5.10", Feature::RtRuntimeShare));
        assert!(on("5.15", Feature::SisProp) && !on("6.1", Feature::SisProp) && on("6.1", Feature::SisUtil));
        assert_eq!(
            rules("6.1-debian").features.to_line(),
            "GENTLE_FAIR_SLEEPERS START_DEBIT NO_NEXT_BUDDY LAST_BUDDY CACHE_HOT_BUDDY WAKEUP_PREEMPTION NO_HRTICK \
             NO_HRTICK_DL NO_DOUBLE_TICK NONTASK_CAPACITY TTWU_QUEUE NO_SIS_PROP SIS_UTIL NO_WARN_DOUBLE_CLOCK \
             NO_RT_PUSH_IPI NO_RT_RUNTIME_SHARE NO_LB_MIN ATTACH_AGE_LOAD WA_IDLE WA_WEIGHT WA_BIAS UTIL_EST \
             UTIL_EST_FASTUP NO_LATENCY_WARN NI_RANDOM ALT_PERIOD BASE_SLICE"
        );
    }

    #[test]
    fn unknown_profiles_are_refused_with_the_list() {
        let message = Profile::by_name("6.6").unwrap_err().to_string();
        assert!(message.contains("'6.6'") && message.contains("6.1-debian"), "{message}");
        assert_eq!(Profile::by_name("v6.1").unwrap().name, "6.1");
    }
}
