//! The `[machine]`, `[costs]` and `[run]` tables.

mod cache;
mod frequency;
mod host;
mod idle;
mod interference;
mod nic;
mod smt;

pub use cache::CacheSpec;
pub use frequency::{FrequencySpec, GovernorName};
pub use host::{GuestSpec, HostSpec};
pub(crate) use idle::IdleMistake;
pub use idle::{IdleSpec, IdleStateSpec};
pub use interference::InterferenceSpec;
pub use nic::NicSpec;
pub use smt::{IpcSpec, SmtSpec};

use super::schema::add_costs;
use super::topology::TopologySpec;
use crate::schema::Names;
use crate::units::{CpuList, CpuSet, Duration, Whole, duration, optional_whole};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sim_core::Nanos;
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::{CAPACITY_SCALE, Costs, Preset};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

/// The machine. What is not given takes the program's default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct MachineSpec {
    /// A machine by name (`cfsim machine list`), which fills in what is not said here and in `[costs]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Number of logical CPUs.
    #[serde(
        default,
        deserialize_with = "optional_whole::<_, _, 1, { MAX_CPUS as i64 }>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Whole<u32, 1, { MAX_CPUS as i64 }>>")]
    pub cpus: Option<u32>,
    /// Which CPUs share what: "sockets x caches per socket x cores per cache x threads per core", a machine's name, or a table.
    #[serde(default, deserialize_with = "topology", skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologySpec>,
    /// CPUs that do not run.
    #[serde(default, deserialize_with = "cpu_set", skip_serializing_if = "Option::is_none")]
    pub offline: Option<CpuSet>,
    /// CPUs kept out of load balancing.
    #[serde(default, deserialize_with = "cpu_set", skip_serializing_if = "Option::is_none")]
    pub isolcpus: Option<CpuSet>,
    /// Sets of CPUs that balance load only among themselves, as cpusets make them. CPUs in none do not balance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<CpuList>,
    /// Capacity of CPUs by cpulist, in 1024ths of the largest CPU's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<String, Whole<u32, 1, { CAPACITY_SCALE as i64 }>>,
    /// Mechanisms and single costs that are switched off, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
    /// When the tick grid starts.
    #[serde(default, with = "duration", rename(serialize = "tick_phase_ns"))]
    #[schemars(with = "Duration")]
    pub tick_phase: Nanos,
    /// Work is what a real machine recorded: the delay from an interrupt to the switch it causes is part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recorded_work: bool,
    /// What takes CPU time away from tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<InterferenceSpec>,
    /// The host on which the CPUs are threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSpec>,
    /// The network card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<NicSpec>,
    /// Idle states; without them waking an idle CPU takes one cost, whatever it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleSpec>,
    /// Clocks, turbo and what decides on them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency: Option<FrequencySpec>,
    /// Threads that share a core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smt: Option<SmtSpec>,
    /// Caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheSpec>,
    /// Instructions per cycle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipc: Option<IpcSpec>,
}

fn topology<'de, D: Deserializer<'de>>(d: D) -> Result<Option<TopologySpec>, D::Error> {
    TopologySpec::deserialize(d).map(Some)
}
fn cpu_set<'de, D: Deserializer<'de>>(d: D) -> Result<Option<CpuSet>, D::Error> {
    CpuSet::deserialize(d).map(Some)
}

/// How long a run is, and what of it counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct RunSpec {
    /// Simulated time after which the run stops. Without it, the run ends when every task has ended.
    #[serde(rename(serialize = "duration_ns"), skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Simulated time at the start that the statistics leave out.
    #[serde(rename(serialize = "warmup_ns"), skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Duration>,
}

/// Costs of the machine: a named preset, and durations that replace single costs of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(default, deny_unknown_fields, transform = add_costs)]
pub struct CostsSpec {
    /// Name of a set of costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Names<Preset>>")]
    pub preset: Option<Preset>,
    /// Single costs by name; `NAME_ns` when written.
    #[serde(flatten, serialize_with = "named_ns")]
    #[schemars(skip)]
    pub costs: BTreeMap<String, Nanos>,
}

fn named_ns<S: Serializer>(costs: &BTreeMap<String, Nanos>, s: S) -> Result<S::Ok, S::Error> {
    s.collect_map(costs.iter().map(|(name, cost)| (format!("{name}_ns"), cost.0)))
}

static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ["preset"].into_iter().chain(Costs::TABLE.iter().map(|c| c.name)).collect());

impl<'de> Deserialize<'de> for CostsSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CostsSpec, D::Error> {
        d.deserialize_map(CostsVisitor)
    }
}

struct CostsVisitor;

impl<'de> Visitor<'de> for CostsVisitor {
    type Value = CostsSpec;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of costs")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CostsSpec, A::Error> {
        let mut spec = CostsSpec::default();
        while let Some(CostKey(key)) = map.next_key()? {
            match key {
                "preset" => spec.preset = Some(map.next_value()?),
                name => {
                    spec.costs.insert(name.to_owned(), map.next_value::<Duration>()?.0);
                }
            }
        }
        Ok(spec)
    }
}

struct CostKey(&'static str);

impl<'de> Deserialize<'de> for CostKey {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<CostKey, D::Error> {
        let key = String::deserialize(d)?;
        let known = KEYS.iter().find(|name| **name == key);
        known.map(|name| CostKey(name)).ok_or_else(|| D::Error::unknown_field(&key, &KEYS))
    }
}
