//! The `[kernel]` table: which kernel is imitated and how it is tuned.

use crate::units::{Duration, Name, Whole, whole_up_to};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// Settings of the kernel. What is not given takes the profile's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KernelSpec {
    /// Name of the version profile, without a leading `v`: `6.1`, `5.10-debian`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Timer interrupts a second: 100, 250, 300 or 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// When kernel code may be preempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<Preempt>,
    /// The boot argument `skew_tick=1`: ticks of different CPUs do not fall together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_tick: Option<bool>,
    /// Scheduler features as written to the kernel's `features` file: `NAME` sets, `NO_NAME` clears.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// Tunables by the kernel's names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tunables: BTreeMap<String, TunableValue>,
}

/// The kernel's preemption models that exist without a real-time patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preempt {
    /// `PREEMPT_NONE`: kernel code runs until it returns to user mode or sleeps.
    None,
    /// `PREEMPT_VOLUNTARY`: as none, with a check at marked places.
    Voluntary,
    /// `PREEMPT`: kernel code is preempted anywhere outside of locks.
    Full,
}

/// The value of a tunable. Written as a plain number: the kernel's names tell which are nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum TunableValue {
    /// A duration.
    Duration(Nanos),
    /// A plain number.
    Number(u64),
}

/// What a tunable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TunableKind {
    /// A duration of at most 2³² − 1 ns, which is what the kernel stores.
    Duration,
    /// A whole number from 0 to this.
    Number(u32),
}

/// Every tunable a scenario may name. Which of them a kernel has is for its profile to say.
pub const TUNABLES: &[(&str, TunableKind)] = &[
    ("sched_base_slice_ns", TunableKind::Duration),
    ("sched_child_runs_first", TunableKind::Number(1)),
    ("sched_idle_min_granularity_ns", TunableKind::Duration),
    ("sched_latency_ns", TunableKind::Duration),
    ("sched_migration_cost_ns", TunableKind::Duration),
    ("sched_min_granularity_ns", TunableKind::Duration),
    ("sched_nr_latency", TunableKind::Number(u32::MAX)),
    ("sched_nr_migrate", TunableKind::Number(u32::MAX)),
    ("sched_tunable_scaling", TunableKind::Number(2)),
    ("sched_wakeup_granularity_ns", TunableKind::Duration),
];

/// Keys of the table that are not tunables.
const SETTINGS: &[&str] = &["profile", "hz", "preempt", "skew_tick", "features"];

/// The most features one scenario may name.
const MAX_FEATURES: usize = 100;

static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| SETTINGS.iter().copied().chain(TUNABLES.iter().map(|(name, _)| *name)).collect());

/// Values of `hz` the kernel can be built with.
pub const HZ: &[u32] = &[100, 250, 300, 1000];

impl<'de> Deserialize<'de> for KernelSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<KernelSpec, D::Error> {
        d.deserialize_map(KernelVisitor)
    }
}

struct KernelVisitor;

impl<'de> Visitor<'de> for KernelVisitor {
    type Value = KernelSpec;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of kernel settings")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KernelSpec, A::Error> {
        let mut spec = KernelSpec::default();
        while let Some(key) = map.next_key::<Key>()? {
            match key {
                Key::Profile => spec.profile = Some(map.next_value::<Profile>()?.0),
                Key::Hz => spec.hz = Some(map.next_value::<Hz>()?.0),
                Key::Preempt => spec.preempt = Some(map.next_value()?),
                Key::SkewTick => spec.skew_tick = Some(map.next_value()?),
                Key::Features => spec.features = map.next_value::<Features>()?.0,
                Key::Tunable(name, kind) => {
                    spec.tunables.insert(name.to_owned(), map.next_value_seed(kind)?);
                }
            }
        }
        Ok(spec)
    }
}

enum Key {
    Profile,
    Hz,
    Preempt,
    SkewTick,
    Features,
    Tunable(&'static str, TunableKind),
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Key, D::Error> {
        struct KeyVisitor;
        impl Visitor<'_> for KeyVisitor {
            type Value = Key;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a kernel setting")
            }
            fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
                Ok(match key {
                    "profile" => Key::Profile,
                    "hz" => Key::Hz,
                    "preempt" => Key::Preempt,
                    "skew_tick" => Key::SkewTick,
                    "features" => Key::Features,
                    _ => {
                        let tunable = TUNABLES.iter().find(|(name, _)| *name == key);
                        let (name, kind) = tunable.ok_or_else(|| E::unknown_field(key, &KEYS))?;
                        Key::Tunable(name, *kind)
                    }
                })
            }
        }
        d.deserialize_identifier(KeyVisitor)
    }
}

impl<'de> DeserializeSeed<'de> for TunableKind {
    type Value = TunableValue;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<TunableValue, D::Error> {
        match self {
            TunableKind::Duration => {
                let Duration(value) = Duration::deserialize(d)?;
                if value.0 > u64::from(u32::MAX) {
                    let message = format!("{value} is too long for a tunable: at most 4294967295ns");
                    return Err(D::Error::custom(message));
                }
                Ok(TunableValue::Duration(value))
            }
            TunableKind::Number(max) => whole_up_to(max, d).map(TunableValue::Number),
        }
    }
}

struct Profile(String);

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Profile, D::Error> {
        let Name(text) = Name::deserialize(d)?;
        Ok(Profile(text.strip_prefix('v').unwrap_or(&text).to_owned()))
    }
}

struct Hz(u32);

impl<'de> Deserialize<'de> for Hz {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Hz, D::Error> {
        let Whole(hz) = Whole::<u32, 1, 10_000>::deserialize(d)?;
        if !HZ.contains(&hz) {
            return Err(D::Error::custom(format!("hz is {hz}: allowed are 100, 250, 300, 1000")));
        }
        Ok(Hz(hz))
    }
}

struct Features(Vec<String>);

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Features, D::Error> {
        let names = Vec::<Feature>::deserialize(d)?;
        if names.len() > MAX_FEATURES {
            return Err(D::Error::custom(format!(
                "{} features: at most {MAX_FEATURES} are allowed",
                names.len()
            )));
        }
        Ok(Features(names.into_iter().map(|f| f.0).collect()))
    }
}

struct Feature(String);

impl<'de> Deserialize<'de> for Feature {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Feature, D::Error> {
        let name = String::deserialize(d)?;
        let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || name.len() > crate::units::MAX_NAME || !name.chars().all(plain) {
            let message =
                format!("{name:.80?} is not a feature: write its name in capitals, like NO_LAST_BUDDY");
            return Err(D::Error::custom(message));
        }
        Ok(Feature(name))
    }
}
