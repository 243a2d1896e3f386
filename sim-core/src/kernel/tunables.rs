//! The scheduler's tunables: defaults, scaling by CPU count, and what a write does.

use super::rules::{NrLatency, Rules};
use crate::observe::SliceFloor;
use serde::Serialize;
use std::str::FromStr;

/// `tunable_scaling`: how defaults grow with the number of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TunableScaling {
    /// Not at all (0).
    None,
    /// 1 + log2 of the CPUs, at most 8 (1, the default).
    Log,
    /// By the CPUs, at most 8 (2).
    Linear,
}

impl TunableScaling {
    /// The factor for a machine with `cpus` online CPUs.
    ///
    /// Mirrors: `get_update_sysctl_factor()`.
    pub fn factor(self, cpus: u32) -> u64 {
        let n = u64::from(cpus.clamp(1, 8));
        match self {
            TunableScaling::None => 1,
            TunableScaling::Log => 1 + u64::from(n.ilog2()),
            TunableScaling::Linear => n,
        }
    }

    /// The mode of the kernel's number.
    pub fn from_number(n: u64) -> Option<TunableScaling> {
        [TunableScaling::None, TunableScaling::Log, TunableScaling::Linear]
            .get(usize::try_from(n).ok()?)
            .copied()
    }
}

macro_rules! tunables {
    ($($(#[$doc:meta])* $variant:ident $field:ident $unit:ident $name:literal),* $(,)?) => {
        /// A tunable by its kernel name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Tunable { $($(#[$doc])* $variant),* }

        /// Effective values. Durations are in nanoseconds.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize)]
        pub struct Tunables {
            $($(#[$doc])* pub $field: u64,)*
            /// `sched_nr_latency`: internal; above this many tasks the period stretches.
            pub nr_latency: u64,
            /// How defaults were scaled.
            pub scaling: TunableScaling,
            /// What the latency and the two granularities are scaled up from when CPUs come and go.
            #[serde(skip)]
            normalized: Normalized,
        }

        impl Tunable {
            /// All tunables.
            pub const ALL: &'static [Tunable] = &[$(Tunable::$variant),*];
            /// The name under `/proc/sys/kernel`, used everywhere.
            pub const fn name(self) -> &'static str {
                match self { $(Tunable::$variant => $name),* }
            }
            /// Whether the value is a number of nanoseconds.
            pub const fn is_duration(self) -> bool {
                match self { $(Tunable::$variant => matches!(Unit::$unit, Unit::Ns)),* }
            }
        }

        impl Tunables {
            /// The effective value of one tunable.
            pub const fn get(&self, t: Tunable) -> u64 {
                match t { $(Tunable::$variant => self.$field),* }
            }
            fn set(&mut self, t: Tunable, value: u64) {
                match t { $(Tunable::$variant => self.$field = value),* }
            }
        }
    };
}

/// Unscaled values (`normalized_sysctl_sched_*`), ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Normalized {
    latency_ns: u64,
    min_granularity_ns: u64,
    wakeup_granularity_ns: u64,
    /// CPUs that were online when the tunables were scaled last.
    cpus: u32,
}

/// Normalized defaults of core.md §2.1.
const DEFAULTS: Normalized = Normalized {
    latency_ns: 6_000_000,
    min_granularity_ns: 750_000,
    wakeup_granularity_ns: 1_000_000,
    cpus: 1,
};

enum Unit {
    Ns,
    Number,
}

tunables! {
    /// Targeted preemption latency of CPU-bound tasks, ns.
    Latency latency_ns Ns "sched_latency_ns",
    /// Minimal preemption granularity of CPU-bound tasks, ns.
    MinGranularity min_granularity_ns Ns "sched_min_granularity_ns",
    /// The same for idle entities beside others (5.16–6.5), ns.
    IdleMinGranularity idle_min_granularity_ns Ns "sched_idle_min_granularity_ns",
    /// How far behind a wakee must be to preempt, ns.
    WakeupGranularity wakeup_granularity_ns Ns "sched_wakeup_granularity_ns",
    /// How long a task counts as cache hot, ns.
    MigrationCost migration_cost_ns Ns "sched_migration_cost_ns",
    /// Most tasks moved in one balancing pass.
    NrMigrate nr_migrate Number "sched_nr_migrate",
    /// Run a child before its parent after fork.
    ChildRunsFirst child_runs_first Number "sched_child_runs_first",
}

impl FromStr for Tunable {
    type Err = UnknownTunable;
    /// Accepts the sysctl name and the debugfs name (without `sched_`).
    fn from_str(name: &str) -> Result<Tunable, UnknownTunable> {
        let found = |t: &&Tunable| t.name() == name || t.name().strip_prefix("sched_") == Some(name);
        Tunable::ALL.iter().find(found).copied().ok_or_else(|| UnknownTunable { found: name.to_owned() })
    }
}

/// A name that is no tunable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a tunable: allowed are {}", Tunable::ALL.iter().map(|t| t.name()).collect::<Vec<_>>().join(", "))]
pub struct UnknownTunable {
    /// The name.
    pub found: String,
}

/// A value the kernel would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} = {value} is refused by this kernel: allowed is {min}..={max}")]
pub struct TunableRange {
    /// The tunable.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// Smallest accepted value.
    pub min: u64,
    /// Largest accepted value.
    pub max: u64,
}

impl Tunables {
    /// Boot values on a machine with `cpus` CPUs.
    ///
    /// Mirrors: `update_sysctl()`; normalized defaults of core.md §2.1.
    pub fn boot(cpus: u32) -> Tunables {
        Tunables::boot_scaled(cpus, TunableScaling::Log)
    }

    /// Boot values as if `tunable_scaling` had been this from boot.
    pub fn boot_scaled(cpus: u32, scaling: TunableScaling) -> Tunables {
        let mut t = Tunables {
            latency_ns: 0,
            min_granularity_ns: 0,
            idle_min_granularity_ns: 750_000,
            wakeup_granularity_ns: 0,
            migration_cost_ns: 500_000,
            nr_migrate: 32,
            child_runs_first: 0,
            nr_latency: 8,
            scaling,
            normalized: DEFAULTS,
        };
        t.update_sysctl(cpus);
        t
    }

    /// CPUs have come or gone, or scheduling domains were rebuilt: with `cpus` online, the latency and the two
    /// granularities are scaled up again from their normalized values. Up to 5.12 that leaves what was written, truncated
    /// to a multiple of the factor; from 5.13 on it discards it, unless `tunable_scaling` was written since.
    ///
    /// Mirrors: `update_sysctl()` by way of `rq_online_fair()`, `rq_offline_fair()`; core.md §2.3.
    pub fn update_sysctl(&mut self, cpus: u32) {
        self.normalized.cpus = cpus;
        let factor = self.scaling.factor(cpus);
        self.latency_ns = self.normalized.latency_ns * factor;
        self.min_granularity_ns = self.normalized.min_granularity_ns * factor;
        self.wakeup_granularity_ns = self.normalized.wakeup_granularity_ns * factor;
    }

    /// The time in which each of `nr_running` entities should run once, ns.
    ///
    /// Mirrors: `__sched_period()`, v4.19–v6.5.
    pub const fn period(&self, nr_running: u64) -> u64 {
        if nr_running > self.nr_latency { nr_running * self.min_granularity_ns } else { self.latency_ns }
    }

    /// The least a slice is, ns.
    pub const fn slice_floor(&self, floor: SliceFloor) -> u64 {
        match floor {
            SliceFloor::None => 0,
            SliceFloor::MinGranularity => self.min_granularity_ns,
            SliceFloor::IdleMinGranularity => self.idle_min_granularity_ns,
        }
    }

    /// CPUs that were online when the tunables were scaled last.
    pub fn online_cpus(&self) -> u32 {
        self.normalized.cpus
    }

    /// The smallest and the largest value the tunable's file accepts.
    pub const fn range(rules: &Rules, t: Tunable) -> (u64, u64) {
        match (rules.nr_latency, t) {
            (NrLatency::Tracks, Tunable::Latency | Tunable::MinGranularity) => (100_000, 1_000_000_000),
            (NrLatency::Tracks, Tunable::WakeupGranularity) => (0, 1_000_000_000),
            (_, Tunable::ChildRunsFirst) => (0, 1),
            _ => (0, u32::MAX as u64),
        }
    }

    /// A write to the tunable's file.
    ///
    /// Up to 5.12 a write to the latency or the minimum granularity also recomputes `sched_nr_latency`; from 5.13 the
    /// debugfs files are plain integers.
    ///
    /// Mirrors: `sched_proc_update_handler()` (≤ 5.12), `debugfs_create_u32` files (≥ 5.13); core.md §2.3.
    ///
    /// # Errors
    /// When the value lies outside what the file accepts.
    pub fn write(&mut self, rules: &Rules, t: Tunable, value: u64) -> Result<(), TunableRange> {
        let (min, max) = Tunables::range(rules, t);
        if !(min..=max).contains(&value) {
            return Err(TunableRange { name: t.name(), value, min, max });
        }
        self.set(t, value);
        let scaled = matches!(t, Tunable::Latency | Tunable::MinGranularity | Tunable::WakeupGranularity);
        if rules.nr_latency == NrLatency::Tracks && scaled {
            self.sched_update_scaling();
        }
        Ok(())
    }

    /// A write to `tunable_scaling`. The effective values stay until CPUs come or go.
    ///
    /// Mirrors: `sched_proc_update_handler()` (≤ 5.12), `sched_scaling_write()` (≥ 5.13).
    pub fn write_scaling(&mut self, scaling: TunableScaling) {
        self.scaling = scaling;
        self.sched_update_scaling();
    }

    /// A write of the present value to `tunable_scaling`: the one way to make `sched_nr_latency` follow from 5.13 on.
    pub fn rewrite_scaling(&mut self) {
        self.sched_update_scaling();
    }

    /// Mirrors: `sched_update_scaling()`.
    fn sched_update_scaling(&mut self) {
        self.nr_latency = self.latency_ns.div_ceil(self.min_granularity_ns.max(1));
        let factor = self.scaling.factor(self.normalized.cpus);
        self.normalized = Normalized {
            latency_ns: self.latency_ns / factor,
            min_granularity_ns: self.min_granularity_ns / factor,
            wakeup_granularity_ns: self.wakeup_granularity_ns / factor,
            cpus: self.normalized.cpus,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Profile;

    /// core.md §2.1.
    #[test]
    fn defaults_scale_with_the_logarithm_of_the_cpus() {
        for (cpus, lat, min, wake) in [
            (1, 6_000_000, 750_000, 1_000_000),
            (2, 12_000_000, 1_500_000, 2_000_000),
            (3, 12_000_000, 1_500_000, 2_000_000),
            (4, 18_000_000, 2_250_000, 3_000_000),
            (8, 24_000_000, 3_000_000, 4_000_000),
            (384, 24_000_000, 3_000_000, 4_000_000),
        ] {
            let t = Tunables::boot(cpus);
            assert_eq!(
                (t.latency_ns, t.min_granularity_ns, t.wakeup_granularity_ns),
                (lat, min, wake),
                "{cpus}"
            );
            assert_eq!((t.idle_min_granularity_ns, t.nr_latency), (750_000, 8));
        }
        assert_eq!(Tunables::boot_scaled(4, TunableScaling::Linear).latency_ns, 24_000_000);
        assert_eq!(Tunables::boot_scaled(4, TunableScaling::None).latency_ns, 6_000_000);
    }

    /// core.md §2.3 and §2.5: tuned's 10 ms gives nr_latency 3 up to 5.12, and leaves 8 from 5.13.
    #[test]
    fn nr_latency_follows_writes_only_before_5_13() {
        for (profile, after) in [("5.12", 3), ("5.13", 8), ("5.10-debian", 3), ("6.1-debian", 8)] {
            let rules = Profile::by_name(profile).unwrap().rules();
            let mut t = Tunables::boot(8);
            t.write(&rules, Tunable::MinGranularity, 10_000_000).unwrap();
            assert_eq!(t.nr_latency, after, "{profile}");
            t.rewrite_scaling();
            assert_eq!(t.nr_latency, 3, "{profile}");
        }
    }

    /// core.md §2.3: what a CPU going off line and coming back does to values set by hand.
    #[test]
    fn hotplug_truncates_before_5_13_and_discards_from_then_on() {
        let values = |t: &Tunables| (t.latency_ns, t.min_granularity_ns, t.wakeup_granularity_ns);
        for (profile, rewritten, after) in [
            ("5.12", false, (24_000_000, 10_000_000, 15_000_000)),
            ("5.10-debian", false, (24_000_000, 10_000_000, 15_000_000)),
            ("5.13", false, (24_000_000, 3_000_000, 4_000_000)),
            ("6.1-debian", false, (24_000_000, 3_000_000, 4_000_000)),
            ("6.1-debian", true, (24_000_000, 10_000_000, 15_000_000)),
        ] {
            let rules = Profile::by_name(profile).unwrap().rules();
            let mut t = Tunables::boot(8);
            t.write(&rules, Tunable::MinGranularity, 10_000_003).unwrap();
            t.write(&rules, Tunable::WakeupGranularity, 15_000_001).unwrap();
            if rewritten {
                t.rewrite_scaling();
            }
            t.update_sysctl(8);
            assert_eq!(values(&t), after, "{profile} {rewritten}");
        }
        // With fewer CPUs the factor is smaller.
        let mut t = Tunables::boot(8);
        t.update_sysctl(4);
        assert_eq!(values(&t), (18_000_000, 2_250_000, 3_000_000));
        // Another mode acts when CPUs come or go: 24 ms / 8 = 3 ms, and 8 times that again.
        let mut t = Tunables::boot(8);
        t.write_scaling(TunableScaling::Linear);
        assert_eq!(values(&t), (24_000_000, 3_000_000, 4_000_000));
        t.update_sysctl(4);
        assert_eq!(values(&t), (12_000_000, 1_500_000, 2_000_000));
    }

    /// core.md §2.2.
    #[test]
    fn sysctls_have_ranges_and_debugfs_files_take_any_u32() {
        let (old, new) =
            (Profile::by_name("5.12").unwrap().rules(), Profile::by_name("5.13").unwrap().rules());
        let mut t = Tunables::boot(8);
        assert!(t.write(&old, Tunable::Latency, 99_999).is_err());
        assert!(t.write(&new, Tunable::Latency, 0).is_ok());
        assert!(t.write(&new, Tunable::WakeupGranularity, 1 << 32).is_err());
    }
}
