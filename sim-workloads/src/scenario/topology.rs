//! The machine's CPUs as a scenario writes them: in short, as a regular table, or list by list.

use super::check::{Path, Result, inconsistent, path};
use super::error::{ErrorKind, Problem};
use super::machine::MachineSpec;
use super::node::Segment;
use crate::units::{CpuList, CpuSet, Whole, optional_whole};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::topology::{
    LogicalCpu, MAX_NODES, MachinePreset, RECLAIM_DISTANCE, Shape, Topology, TopologyDesc,
};
use sim_core::{CpuId, CpuMask};
use std::collections::BTreeMap;
use std::fmt;

/// `machine.topology`: `"2x1x4x2"` (sockets x caches per socket x cores per cache x threads per core), the name of a
/// machine, or a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum TopologySpec {
    /// A shape or a machine's name.
    Short(String),
    /// A table.
    Table(Box<TopologyTable>),
}

/// A number of equal parts.
type Parts = Option<Whole<u32, 1, { MAX_CPUS as i64 }>>;

/// `[machine.topology]`: either a regular machine (`sockets`, `llcs`, `cores`, `threads`, `nodes`, `cores_per_cluster`), or
/// the CPUs of every unit (`package_cpus`, `node_cpus`, `llc_cpus`, `cluster_cpus`, `core_cpus`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table", default)]
pub struct TopologyTable {
    /// Sockets; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub sockets: Parts,
    /// Last-level caches per socket; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub llcs: Parts,
    /// Cores per last-level cache; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub cores: Parts,
    /// Hardware threads per core; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub threads: Parts,
    /// Memory nodes per socket; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub nodes: Parts,
    /// Cores that share a second-level cache; 1 unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Parts")]
    pub cores_per_cluster: Parts,
    /// CPUs of each package: all CPUs of the machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub package_cpus: Vec<CpuList>,
    /// CPUs of each memory node by its number; "" for a node without CPUs. Without it, there is one node.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub node_cpus: BTreeMap<String, CpuSet>,
    /// CPUs of each last-level cache. CPUs in none share none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub llc_cpus: Vec<CpuList>,
    /// CPUs of each cluster (second-level cache).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_cpus: Vec<CpuList>,
    /// CPUs (hardware threads) of each core. CPUs in none are cores of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_cpus: Vec<CpuList>,
    /// Rows of distances between nodes, by increasing number; 10 is the node itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distances: Vec<Vec<Whole<u8, 10, 255>>>,
    /// Distance beyond which forks, execs and affine wake-ups do not go; 30 unless given (32 on AMD EPYC).
    #[serde(deserialize_with = "optional_whole::<_, _, 10, 255>", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Whole<u8, 10, 255>>")]
    pub reclaim_distance: Option<u8>,
    /// An x86 machine with different kinds of cores.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hybrid: bool,
}

impl<'de> Deserialize<'de> for TopologySpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<TopologySpec, D::Error> {
        d.deserialize_any(TopologyVisitor)
    }
}

struct TopologyVisitor;

impl<'de> Visitor<'de> for TopologyVisitor {
    type Value = TopologySpec;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a shape like \"2x1x4x2\", the name of a machine, or a table")
    }
    fn visit_str<E: Error>(self, text: &str) -> std::result::Result<TopologySpec, E> {
        Ok(TopologySpec::Short(text.to_owned()))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<TopologySpec, A::Error> {
        TopologyTable::deserialize(MapAccessDeserializer::new(map)).map(|t| TopologySpec::Table(Box::new(t)))
    }
}

/// The machine a short text names: a shape, or a preset.
///
/// # Errors
/// What is allowed.
pub fn named_machine(text: &str) -> std::result::Result<TopologyDesc, String> {
    let text = text.trim();
    let looks_like_shape = text.chars().all(|c| c.is_ascii_digit() || "x× ".contains(c));
    if looks_like_shape {
        return text.parse::<Shape>().and_then(|s| s.desc()).map_err(|e| e.to_string());
    }
    let preset = MachinePreset::by_name(text).map_err(|e| format!("{e}, or a shape like 2x1x4x2"))?;
    Ok(preset.desc())
}

impl MachineSpec {
    /// The machine's CPUs.
    pub(super) fn build_topology(&self) -> Result<Topology> {
        let mut desc = match (&self.topology, self.cpus) {
            (Some(_), Some(_)) => {
                let message = "the machine has both 'cpus' and 'topology': give one of them";
                return inconsistent(path(&["machine", "cpus"]), message);
            }
            (Some(TopologySpec::Short(text)), None) => {
                named_machine(text).or_else(|m| bad(path(&["machine", "topology"]), m))?
            }
            (Some(TopologySpec::Table(table)), None) => table.desc()?,
            (None, cpus) => {
                let cpu = |i| LogicalCpu { llc: Some(0), ..LogicalCpu::alone(CpuId(i)) };
                TopologyDesc::new((0..cpus.unwrap_or(1)).map(cpu).collect())
            }
        };
        self.change_cpus(&mut desc)?;
        Topology::new(desc).or_else(|e| {
            let key = if self.topology.is_some() { "topology" } else { "cpus" };
            bad(path(&["machine", key]), e.to_string())
        })
    }

    fn change_cpus(&self, desc: &mut TopologyDesc) -> Result<()> {
        let present: CpuMask = desc.cpus.iter().map(|c| c.cpu).collect();
        if let Some(CpuSet(offline)) = &self.offline {
            check_present(offline, &present, &["machine", "offline"])?;
            desc.cpus_in(offline).for_each(|c| c.online = false);
        }
        if let Some(CpuSet(isolated)) = &self.isolcpus {
            check_present(isolated, &present, &["machine", "isolcpus"])?;
            desc.cpus_in(isolated).for_each(|c| c.isolated = true);
        }
        for (list, Whole(capacity)) in &self.capacity {
            let at = ["machine", "capacity", list];
            let mask = list.parse::<CpuMask>().or_else(|e| bad(path(&at), e.to_string()))?;
            check_present(&mask, &present, &at)?;
            desc.cpus_in(&mask).for_each(|c| c.capacity = *capacity);
        }
        let mut taken = CpuMask::default();
        for (i, CpuList(partition)) in self.partitions.iter().enumerate() {
            let at = ["machine", "partitions", &i.to_string()];
            check_present(partition, &present, &at)?;
            if let Some(cpu) = partition.lowest_and(&taken) {
                return inconsistent(path(&at), format!("CPU {} is in two partitions", cpu.0));
            }
            taken.or_with(partition);
        }
        Ok(())
    }
}

fn bad<T>(at: Path, message: impl Into<String>) -> Result<T> {
    Err((at, Problem::new(ErrorKind::BadValue, message)))
}

fn check_present(mask: &CpuMask, present: &CpuMask, at: &[&str]) -> Result<()> {
    if mask.is_subset(present) {
        return Ok(());
    }
    inconsistent(path(at), format!("CPUs {mask} go beyond the machine, which has CPUs {present}"))
}

impl TopologyTable {
    fn desc(&self) -> Result<TopologyDesc> {
        let shape_keys = [
            ("sockets", self.sockets),
            ("llcs", self.llcs),
            ("cores", self.cores),
            ("threads", self.threads),
            ("nodes", self.nodes),
            ("cores_per_cluster", self.cores_per_cluster),
        ];
        let lists = [
            ("node_cpus", self.node_cpus.is_empty()),
            ("llc_cpus", self.llc_cpus.is_empty()),
            ("cluster_cpus", self.cluster_cpus.is_empty()),
            ("core_cpus", self.core_cpus.is_empty()),
        ];
        let at = |key| path(&["machine", "topology", key]);
        let shape_key = shape_keys.iter().find(|(_, n)| n.is_some()).map(|(key, _)| *key);
        let list_key = lists.iter().find(|(_, empty)| !empty).map(|(key, _)| *key);
        let mut desc = match (shape_key, self.package_cpus.is_empty(), list_key) {
            (Some(key), true, None) => self.shape().desc().or_else(|e| bad(at(key), e.to_string()))?,
            (None, false, _) => self.listed()?,
            (Some(key), ..) => {
                let message = format!(
                    "'{key}' describes a regular machine, which has no lists of CPUs like 'package_cpus'"
                );
                return inconsistent(at(key), message);
            }
            (None, true, _) => {
                let message = "neither a regular machine ('sockets', 'llcs', 'cores', 'threads') nor 'package_cpus', \
                               the CPUs of each package";
                return Err((path(&["machine", "topology"]), Problem::new(ErrorKind::MissingKey, message)));
            }
        };
        self.set_distances(&mut desc)?;
        desc.reclaim_distance = self.reclaim_distance.unwrap_or(RECLAIM_DISTANCE);
        desc.hybrid = self.hybrid;
        Ok(desc)
    }

    fn shape(&self) -> Shape {
        let n = |parts: Parts| parts.map_or(1, |n| n.0);
        Shape {
            nodes: n(self.nodes),
            cores_per_cluster: n(self.cores_per_cluster),
            ..Shape::new(n(self.sockets), n(self.llcs), n(self.cores), n(self.threads))
        }
    }

    fn set_distances(&self, desc: &mut TopologyDesc) -> Result<()> {
        if self.distances.is_empty() {
            return Ok(());
        }
        let n = desc.nodes.len();
        if self.distances.len() != n || self.distances.iter().any(|row| row.len() != n) {
            let message = format!("the machine has {n} nodes: give {n} rows of {n} distances");
            return bad(path(&["machine", "topology", "distances"]), message);
        }
        desc.distances = self.distances.iter().flatten().map(|d| d.0).collect();
        Ok(())
    }

    /// The machine whose units are given by their CPUs.
    fn listed(&self) -> Result<TopologyDesc> {
        let package = units("package_cpus", &self.package_cpus, None)?;
        let all: CpuMask = package.keys().copied().collect();
        let core = units("core_cpus", &self.core_cpus, Some(&all))?;
        let cluster = units("cluster_cpus", &self.cluster_cpus, Some(&all))?;
        let llc = units("llc_cpus", &self.llc_cpus, Some(&all))?;
        let node = self.node_numbers(&all)?;
        let cpu = |c: CpuId| LogicalCpu {
            // Cores of their own come after those that are listed.
            core: core.get(&c).copied().unwrap_or(self.core_cpus.len() as u32 + c.0),
            cluster: cluster.get(&c).copied(),
            llc: llc.get(&c).copied(),
            package: package.get(&c).copied().unwrap_or_default(),
            node: node.get(&c).copied().unwrap_or_default(),
            ..LogicalCpu::alone(c)
        };
        let mut desc = TopologyDesc::new(all.iter().map(cpu).collect());
        if !self.node_cpus.is_empty() {
            // All were checked above.
            desc.nodes = self.node_cpus.keys().filter_map(|id| id.parse().ok()).collect();
            desc.nodes.sort_unstable();
        }
        Ok(desc)
    }

    fn node_numbers(&self, all: &CpuMask) -> Result<BTreeMap<CpuId, u32>> {
        let mut of = BTreeMap::new();
        for (id, CpuSet(cpus)) in &self.node_cpus {
            let at = ["machine", "topology", "node_cpus", id];
            let number = id.parse::<u32>().ok().filter(|n| n.to_string() == *id && *n < MAX_NODE_NUMBER);
            let Some(number) = number else {
                return bad(
                    path(&at),
                    format!("'{id:.20}' is not a node's number, 0 to {}", MAX_NODE_NUMBER - 1),
                );
            };
            check_present(cpus, all, &at)?;
            insert(&mut of, cpus, number, &at)?;
        }
        let missing = all.iter().find(|c| !of.contains_key(c)).filter(|_| !self.node_cpus.is_empty());
        match missing {
            Some(cpu) => {
                bad(path(&["machine", "topology", "node_cpus"]), format!("CPU {} is on no node", cpu.0))
            }
            None => Ok(of),
        }
    }
}

/// Node numbers lie below this (`MAX_NUMNODES` of distributions' kernels).
const MAX_NODE_NUMBER: u32 = 1024;
const _: () = assert!(MAX_NODES < MAX_NODE_NUMBER as usize);

/// Which unit a CPU is in, from the CPUs of every unit.
fn units(key: &str, lists: &[CpuList], all: Option<&CpuMask>) -> Result<BTreeMap<CpuId, u32>> {
    let mut of = BTreeMap::new();
    for (i, CpuList(cpus)) in lists.iter().enumerate() {
        let at = ["machine", "topology", key, &i.to_string()];
        if let Some(all) = all {
            check_present(cpus, all, &at)?;
        }
        insert(&mut of, cpus, i as u32, &at)?;
    }
    Ok(of)
}

fn insert(of: &mut BTreeMap<CpuId, u32>, cpus: &CpuMask, unit: u32, at: &[&str]) -> Result<()> {
    for cpu in cpus.iter() {
        if of.insert(cpu, unit).is_some() {
            let at: Path = at.iter().map(|s| Segment::from(*s)).collect();
            return inconsistent(at, format!("CPU {} is listed twice", cpu.0));
        }
    }
    Ok(())
}
