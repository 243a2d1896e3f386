//! The kernel's scheduler feature switches (`sched_features`), with their defaults by version.

use serde::{Serialize, Serializer};

macro_rules! features {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// A switch of `/sys/kernel/debug/sched/features`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Feature { $($(#[$doc])* $variant),* }

        impl Feature {
            /// All switches, in the order the kernel prints them.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant),*];
            /// The kernel's name.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name),* }
            }
        }
    };
}

features! {
    /// Halve the sleeper credit.
    GentleFairSleepers = "GENTLE_FAIR_SLEEPERS",
    /// Place new tasks one virtual slice ahead.
    StartDebit = "START_DEBIT",
    /// Prefer the task woken last.
    NextBuddy = "NEXT_BUDDY",
    /// Prefer the task that a wake-up preempted.
    LastBuddy = "LAST_BUDDY",
    /// Buddies count as cache hot for load balancing.
    CacheHotBuddy = "CACHE_HOT_BUDDY",
    /// Let wake-ups preempt.
    WakeupPreemption = "WAKEUP_PREEMPTION",
    /// Preempt by a high-resolution timer at the end of the slice.
    Hrtick = "HRTICK",
    /// The same for SCHED_DEADLINE.
    HrtickDl = "HRTICK_DL",
    /// Let the tick act although the high-resolution timer is armed.
    DoubleTick = "DOUBLE_TICK",
    /// Bias load balancing by load averages over time.
    LbBias = "LB_BIAS",
    /// Reduce CPU capacity by interrupt, RT and deadline time.
    NontaskCapacity = "NONTASK_CAPACITY",
    /// Queue remote wake-ups on the target CPU.
    TtwuQueue = "TTWU_QUEUE",
    /// Skip the idle-CPU scan by average idle time.
    SisAvgCpu = "SIS_AVG_CPU",
    /// Scan idle CPUs in proportion to idle time.
    SisProp = "SIS_PROP",
    /// Scan idle CPUs in proportion to LLC utilisation.
    SisUtil = "SIS_UTIL",
    /// Debugging aid.
    WarnDoubleClock = "WARN_DOUBLE_CLOCK",
    /// Push RT tasks by interrupt.
    RtPushIpi = "RT_PUSH_IPI",
    /// Borrow RT runtime between CPUs.
    RtRuntimeShare = "RT_RUNTIME_SHARE",
    /// Ignore small loads when balancing.
    LbMin = "LB_MIN",
    /// Age load when a task changes queues.
    AttachAgeLoad = "ATTACH_AGE_LOAD",
    /// wake_affine by idleness.
    WaIdle = "WA_IDLE",
    /// wake_affine by weight.
    WaWeight = "WA_WEIGHT",
    /// wake_affine bias by imbalance_pct.
    WaBias = "WA_BIAS",
    /// Estimate utilisation.
    UtilEst = "UTIL_EST",
    /// Raise the estimate fast.
    UtilEstFastup = "UTIL_EST_FASTUP",
    /// Warn about long-pending reschedules.
    LatencyWarn = "LATENCY_WARN",
    /// Randomise the newly-idle balance.
    NiRandom = "NI_RANDOM",
    /// Count tasks of the whole hierarchy for the period.
    AltPeriod = "ALT_PERIOD",
    /// Never less than the minimum granularity for a slice.
    BaseSlice = "BASE_SLICE",
}

impl Feature {
    /// Looks a switch up by its kernel name, without `NO_`.
    pub fn by_name(name: &str) -> Option<Feature> {
        Feature::ALL.iter().copied().find(|f| f.name() == name)
    }

    const fn bit(self) -> u64 {
        1 << self as u8
    }
}

/// The switches a kernel has, and how they are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    present: u64,
    on: u64,
}

impl Features {
    /// The switches of 4.19, the oldest kernel modelled; later ones are rows of the list of changes.
    ///
    /// Mirrors: `features.h`, as tabled in core.md §2.6.
    pub fn v4_19() -> Features {
        use Feature as F;
        let mut f = Features { present: 0, on: 0 };
        for on in [
            F::GentleFairSleepers,
            F::StartDebit,
            F::LastBuddy,
            F::CacheHotBuddy,
            F::WakeupPreemption,
            F::LbBias,
            F::NontaskCapacity,
            F::TtwuQueue,
            F::SisProp,
            F::RtPushIpi,
            F::RtRuntimeShare,
            F::AttachAgeLoad,
            F::WaIdle,
            F::WaWeight,
            F::WaBias,
            F::UtilEst,
        ] {
            f.define(on, true);
        }
        for off in [F::NextBuddy, F::Hrtick, F::DoubleTick, F::SisAvgCpu, F::WarnDoubleClock, F::LbMin] {
            f.define(off, false);
        }
        f
    }

    /// Adds a switch, or changes its default.
    pub fn define(&mut self, feature: Feature, on: bool) {
        self.present |= feature.bit();
        self.set(feature, on);
    }

    /// Removes a switch.
    pub fn remove(&mut self, feature: Feature) {
        self.present &= !feature.bit();
        self.set(feature, false);
    }

    /// Whether this kernel has the switch at all.
    pub const fn has(&self, feature: Feature) -> bool {
        self.present & feature.bit() != 0
    }

    /// Whether the switch exists and is on.
    pub const fn enabled(&self, feature: Feature) -> bool {
        self.on & feature.bit() != 0
    }

    /// Sets a switch.
    pub(crate) fn set(&mut self, feature: Feature, on: bool) {
        if on { self.on |= feature.bit() } else { self.on &= !feature.bit() }
    }

    /// Writes `NAME` or `NO_NAME`, as into the features file.
    ///
    /// # Errors
    /// The word, when this kernel has no such switch.
    pub fn write(&mut self, word: &str) -> Result<(), UnknownFeature> {
        let (name, on) = word.strip_prefix("NO_").map_or((word, true), |n| (n, false));
        match Feature::by_name(name) {
            Some(f) if self.has(f) => {
                self.set(f, on);
                Ok(())
            }
            _ => Err(UnknownFeature {
                found: word.to_owned(),
                allowed: self.iter().map(|(f, _)| f.name()).collect(),
            }),
        }
    }

    /// The switches this kernel has, with their settings.
    pub fn iter(&self) -> impl Iterator<Item = (Feature, bool)> + '_ {
        Feature::ALL.iter().copied().filter(|f| self.has(*f)).map(|f| (f, self.enabled(f)))
    }

    /// The features file as the kernel prints it.
    pub fn to_line(&self) -> String {
        let words: Vec<String> =
            self.iter().map(|(f, on)| format!("{}{}", if on { "" } else { "NO_" }, f.name())).collect();
        words.join(" ")
    }
}

impl Serialize for Features {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.to_line())
    }
}

/// A word the features file of this kernel would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a scheduler feature of this kernel: allowed, each also with NO_ before it, are {}", allowed.join(", "))]
pub struct UnknownFeature {
    /// The word.
    pub found: String,
    /// The switches this kernel has.
    pub allowed: Vec<&'static str>,
}
