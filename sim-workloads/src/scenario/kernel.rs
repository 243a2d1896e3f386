//! The `[kernel]` table: which kernel is imitated and how it is tuned.

use super::schema::{HzSchema, add_tunables};
use crate::schema::Names;
use crate::units::{Duration, Name, Whole, whole_up_to};
use schemars::JsonSchema;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sim_core::kernel::PreemptModel;
use sim_core::kernel::tunables::{Tunable, TunableScaling};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// Settings of the kernel. What is not given takes the profile's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(default, deny_unknown_fields, transform = add_tunables)]
pub struct KernelSpec {
    /// Name of the version profile, without a leading `v`: `6.1`, `5.10-debian`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Timer interrupts a second: 100, 250, 300 or 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<HzSchema>")]
    pub hz: Option<u32>,
    /// When kernel code may be preempted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Names<PreemptModel>>")]
    pub preempt: Option<PreemptModel>,
    /// The boot argument `skew_tick=1`: ticks of different CPUs do not fall together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skew_tick: Option<bool>,
    /// `CONFIG_IRQ_TIME_ACCOUNTING`: the time of interrupts is not charged to tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub irq_time_accounting: Option<bool>,
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING`: stolen time is not charged to tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_time_accounting: Option<bool>,
    /// `sched_autogroup_enabled`: each session is a group of its own.
    #[serde(rename = "sched_autogroup_enabled", skip_serializing_if = "Option::is_none")]
    pub autogroup: Option<bool>,
    /// Rules switched on besides the profile's, by the names that `cfsim kernel show` lists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Scheduler features as written to the kernel's `features` file: `NAME` sets, `NO_NAME` clears.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// `sched_tunable_scaling` as it was from boot: 0, 1 or 2.
    #[serde(rename = "sched_tunable_scaling", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Whole<u32, 0, 2>>")]
    pub tunable_scaling: Option<TunableScaling>,
    /// Writes to tunables, in the order in which they are made: that of [`Tunable::ALL`], which is latency,
    /// min_granularity, idle_min_granularity, wakeup_granularity, then the rest. Durations are in nanoseconds.
    #[serde(flatten, serialize_with = "by_name")]
    #[schemars(skip)]
    pub tunables: BTreeMap<Tunable, u64>,
    /// After these writes, write the present value to `sched_tunable_scaling` again: from 5.13 on the one way to make
    /// `sched_nr_latency` follow.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub rewrite_tunable_scaling: bool,
}

/// Keys of the table that are not tunables.
const SETTINGS: &[&str] = &[
    "profile",
    "hz",
    "preempt",
    "skew_tick",
    "irq_time_accounting",
    "steal_time_accounting",
    AUTOGROUP,
    "rules",
    "features",
    SCALING,
    "rewrite_tunable_scaling",
];

/// The switch of autogroups.
const AUTOGROUP: &str = "sched_autogroup_enabled";
/// The tunable that decides how the others were scaled at boot.
const SCALING: &str = "sched_tunable_scaling";

fn by_name<S: Serializer>(tunables: &BTreeMap<Tunable, u64>, s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(tunables.iter().map(|(tunable, value)| (tunable.name(), value)))
}

/// The most features, and the most rules, one scenario may name.
const MAX_FEATURES: usize = 100;

static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| SETTINGS.iter().copied().chain(Tunable::ALL.iter().map(|t| t.name())).collect());

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
                Key::Autogroup => spec.autogroup = Some(map.next_value()?),
                Key::Rules => spec.rules = map.next_value::<RuleNames>()?.0,
                Key::Features => spec.features = map.next_value::<Features>()?.0,
                Key::IrqTime => spec.irq_time_accounting = Some(map.next_value()?),
                Key::StealTime => spec.steal_time_accounting = Some(map.next_value()?),
                Key::Scaling => spec.tunable_scaling = Some(map.next_value::<Scaling>()?.0),
                Key::RewriteScaling => spec.rewrite_tunable_scaling = map.next_value()?,
                Key::Tunable(tunable) => {
                    spec.tunables.insert(tunable, map.next_value_seed(ValueOf(tunable))?);
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
    IrqTime,
    StealTime,
    Autogroup,
    Rules,
    Features,
    Scaling,
    RewriteScaling,
    Tunable(Tunable),
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
                    "rules" => Key::Rules,
                    "features" => Key::Features,
                    "irq_time_accounting" => Key::IrqTime,
                    "steal_time_accounting" => Key::StealTime,
                    AUTOGROUP => Key::Autogroup,
                    SCALING => Key::Scaling,
                    "rewrite_tunable_scaling" => Key::RewriteScaling,
                    _ => {
                        let tunable = Tunable::ALL.iter().find(|t| t.name() == key);
                        Key::Tunable(*tunable.ok_or_else(|| E::unknown_field(key, &KEYS))?)
                    }
                })
            }
        }
        d.deserialize_identifier(KeyVisitor)
    }
}

/// Reads the value of a tunable. What the kernel would refuse is for its profile to say.
struct ValueOf(Tunable);

impl<'de> DeserializeSeed<'de> for ValueOf {
    type Value = u64;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<u64, D::Error> {
        if !self.0.is_duration() {
            return whole_up_to(u32::MAX, d);
        }
        let Duration(value) = Duration::deserialize(d)?;
        if value.0 > u64::from(u32::MAX) {
            return Err(D::Error::custom(format!("{value} is too long for a tunable: at most 4294967295ns")));
        }
        Ok(value.0)
    }
}

struct Scaling(TunableScaling);

impl<'de> Deserialize<'de> for Scaling {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Scaling, D::Error> {
        let number = whole_up_to(2, d)?;
        let scaling = TunableScaling::from_number(number);
        scaling.map(Scaling).ok_or_else(|| D::Error::custom("allowed are 0, 1 and 2"))
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

/// Names of rules; which there are is for the resolver to say.
struct RuleNames(Vec<String>);

impl<'de> Deserialize<'de> for RuleNames {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<RuleNames, D::Error> {
        let names = Vec::<String>::deserialize(d)?;
        if names.len() > MAX_FEATURES {
            let n = names.len();
            return Err(D::Error::custom(format!("{n} rules: at most {MAX_FEATURES} are allowed")));
        }
        Ok(RuleNames(names))
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
