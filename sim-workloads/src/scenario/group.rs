//! The `[group."/a/b"]` and `[session.N]` tables: task groups as cgroup v2 has them, and sessions for autogroups.

use crate::units::{Whole, check_name, whole};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Serialize};
use sim_core::kernel::weight::{
    NICE_0_LOAD, shares_from_cgroup_weight, shares_from_cpu_shares, shares_from_nice,
};
use std::fmt;

/// The most groups and sessions of a scenario, parents that are not written down included.
pub(super) const MAX_GROUPS: usize = 1_000;
/// The deepest group.
pub(super) const MAX_GROUP_DEPTH: usize = 16;
/// The most sessions.
pub(super) const MAX_SESSION: i64 = 1_000;

/// Path of a task group, `/` being the root group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GroupPath(pub String);

impl Default for GroupPath {
    fn default() -> GroupPath {
        GroupPath("/".to_owned())
    }
}

impl<'de> Deserialize<'de> for GroupPath {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<GroupPath, D::Error> {
        let text = String::deserialize(d)?;
        check_path(&text).map_err(D::Error::custom)?;
        Ok(GroupPath(text))
    }
}

/// Refuses what is no path of a group.
fn check_path(path: &str) -> Result<(), String> {
    if path == "/" {
        return Ok(());
    }
    let Some(relative) = path.strip_prefix('/') else {
        return Err(format!("{path:.80?} is not the path of a group: it starts with '/', like \"/a/b\""));
    };
    let depth = relative.split('/').count();
    if depth > MAX_GROUP_DEPTH {
        return Err(format!("a group {depth} levels deep: at most {MAX_GROUP_DEPTH} are allowed"));
    }
    relative.split('/').try_for_each(|part| match part {
        "." | ".." => Err(format!("'{part}' in the path of a group: write it out")),
        _ => check_name(part, false),
    })
}

impl GroupPath {
    /// The groups on the way from below the root to this one.
    pub(crate) fn ancestry(&self) -> impl Iterator<Item = &str> {
        let ends = self.0.match_indices('/').map(|(i, _)| i).skip(1).chain([self.0.len()]);
        ends.map(|end| &self.0[..end]).filter(|path| *path != "/")
    }
}

/// A task group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct GroupSpec {
    /// The `cpu` controller.
    #[serde(default)]
    pub cpu: CpuController,
}

/// What the `cpu` controller of a group says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuController {
    /// Nothing: the default weight.
    #[default]
    Default,
    /// `cpu.weight`, 1 to 10000.
    Weight(u64),
    /// `cpu.weight.nice`, −20 to 19.
    WeightNice(i8),
    /// `cpu.shares` of cgroup v1.
    Shares(u64),
    /// `cpu.idle`; an idle group's weight is fixed.
    Idle(bool),
}

impl CpuController {
    /// Stored shares of a group that starts with this.
    pub(crate) fn shares(self) -> u64 {
        match self {
            CpuController::Weight(weight) => shares_from_cgroup_weight(weight),
            CpuController::WeightNice(nice) => shares_from_nice(nice),
            CpuController::Shares(shares) => shares_from_cpu_shares(shares),
            CpuController::Default | CpuController::Idle(_) => NICE_0_LOAD,
        }
    }
    /// Whether it makes the group idle.
    pub(crate) fn idle(self) -> bool {
        self == CpuController::Idle(true)
    }
}

const FILES: &[&str] = &["weight", "shares", "idle", "max"];

impl<'de> Deserialize<'de> for CpuController {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CpuController, D::Error> {
        d.deserialize_map(CpuVisitor)
    }
}

struct CpuVisitor;

impl<'de> Visitor<'de> for CpuVisitor {
    type Value = CpuController;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the files of the cpu controller, like cpu.weight = 100")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CpuController, A::Error> {
        let mut found = CpuController::Default;
        while let Some(key) = map.next_key::<String>()? {
            let next = match key.as_str() {
                "weight" => map.next_value::<Weight>()?.0,
                "shares" => CpuController::Shares(map.next_value::<Shares>()?.0),
                "idle" => CpuController::Idle(map.next_value::<Flag>()?.0),
                "max" => {
                    map.next_value::<IgnoredAny>()?;
                    return Err(A::Error::custom("cpu.max is not modelled yet: groups have weights only"));
                }
                _ => return Err(A::Error::unknown_field(&key, FILES)),
            };
            found = match (found, next) {
                (CpuController::Default | CpuController::Idle(false), next) => next,
                (found, CpuController::Idle(false)) => found,
                (CpuController::Idle(true), _) | (_, CpuController::Idle(true)) => {
                    return Err(A::Error::custom(
                        "the weight of an idle group is fixed: leave cpu.weight out",
                    ));
                }
                _ => return Err(A::Error::custom("a group has one weight: cpu.weight or cpu.shares")),
            };
        }
        Ok(found)
    }
}

/// `cpu.weight = 100` or `cpu.weight.nice = 5`.
struct Weight(CpuController);

impl<'de> Deserialize<'de> for Weight {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Weight, D::Error> {
        d.deserialize_any(WeightVisitor)
    }
}

struct WeightVisitor;

impl<'de> Visitor<'de> for WeightVisitor {
    type Value = Weight;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a weight from 1 to 10000, or cpu.weight.nice from -20 to 19")
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Weight, E> {
        let weight = u64::try_from(n).ok().filter(|w| (1..=10_000).contains(w));
        weight
            .map(|w| Weight(CpuController::Weight(w)))
            .ok_or_else(|| E::invalid_value(Unexpected::Signed(n), &self))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Weight, A::Error> {
        match map.next_key::<String>()? {
            Some(key) if key == "nice" => {}
            Some(key) => return Err(A::Error::unknown_field(&key, &["nice"])),
            None => return Err(A::Error::missing_field("nice")),
        }
        let nice: Whole<i8, -20, 19> = map.next_value()?;
        match map.next_key::<String>()? {
            Some(key) => Err(A::Error::unknown_field(&key, &["nice"])),
            None => Ok(Weight(CpuController::WeightNice(nice.0))),
        }
    }
}

struct Shares(u64);

impl<'de> Deserialize<'de> for Shares {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Shares, D::Error> {
        whole::<D, u64, 2, 262_144>(d).map(Shares)
    }
}

/// A file that holds 0 or 1.
struct Flag(bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Flag, D::Error> {
        d.deserialize_any(FlagVisitor)
    }
}

struct FlagVisitor;

impl Visitor<'_> for FlagVisitor {
    type Value = Flag;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true or false, 1 or 0")
    }
    fn visit_bool<E: Error>(self, on: bool) -> Result<Flag, E> {
        Ok(Flag(on))
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Flag, E> {
        match n {
            0 => Ok(Flag(false)),
            1 => Ok(Flag(true)),
            _ => Err(E::invalid_value(Unexpected::Signed(n), &self)),
        }
    }
}

/// `[session.N]`: a session, which is a group of its own where autogroups are enabled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct SessionSpec {
    /// nice of the session's autogroup (`/proc/PID/autogroup`), −20 … 19.
    #[serde(default, deserialize_with = "whole::<_, _, -20, 19>")]
    #[schemars(with = "Whole<i8, -20, 19>")]
    pub nice: i8,
}
