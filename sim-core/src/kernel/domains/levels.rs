//! The levels of a machine: for every CPU, the CPUs it shares something with, from hardware threads to distant nodes.
//!
//! Mirrors: `sched_domain_topology_level`, `sched_init_numa`, v4.19–v6.6 (smp.md §1.1).

use crate::cpumask::CpuMask;
use crate::id::CpuId;
use crate::kernel::rules::{ClusterLevel, NumaDistances, Rules};
use crate::machine::topology::{LogicalCpu, Topology};
use serde::{Serialize, Serializer};
use std::fmt;

/// What the CPUs of a domain have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Threads of a core.
    Smt,
    /// CPUs that share a second-level cache.
    Cls,
    /// CPUs that share the last-level cache.
    Mc,
    /// CPUs of a memory node (called PKG since 6.7).
    Die,
    /// CPUs of a memory node, on machines with several nodes per package.
    Node,
    /// CPUs of nodes up to the k-th distance, from 1.
    Numa(u8),
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Level::Smt => f.pad("SMT"),
            Level::Cls => f.pad("CLS"),
            Level::Mc => f.pad("MC"),
            Level::Die => f.pad("DIE"),
            Level::Node => f.pad("NODE"),
            Level::Numa(k) => f.pad(&format!("NUMA-{k}")),
        }
    }
}
impl Serialize for Level {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

/// One level of the machine: a mask of online CPUs for each CPU. CPUs with the same class have the same mask.
pub(super) struct LevelMasks {
    pub(super) level: Level,
    /// Node distance it reaches to.
    pub(super) distance: u8,
    /// Class by CPU number; online CPUs only.
    class: Vec<u16>,
    masks: Vec<CpuMask>,
}

impl LevelMasks {
    /// CPUs at this level around `cpu`.
    pub(super) fn mask(&self, cpu: CpuId) -> &CpuMask {
        &self.masks[self.class(cpu)]
    }
    pub(super) fn class(&self, cpu: CpuId) -> usize {
        self.class[cpu.index()] as usize
    }
    pub(super) fn classes(&self) -> &[CpuMask] {
        &self.masks
    }

    /// Groups online CPUs by `key`.
    fn by_key<K: Ord>(topology: &Topology, level: Level, key: impl Fn(&LogicalCpu) -> K) -> LevelMasks {
        let mut numbers = std::collections::BTreeMap::new();
        let mut class = vec![0; topology.nr_cpu_ids()];
        let mut masks: Vec<CpuMask> = Vec::new();
        for cpu in topology.cpus().iter().filter(|c| c.online) {
            let next = masks.len();
            let i = *numbers.entry(key(cpu)).or_insert(next);
            if i == next {
                masks.push(CpuMask::default());
            }
            masks[i].insert(cpu.cpu);
            class[cpu.cpu.index()] = i as u16;
        }
        LevelMasks { level, distance: 0, class, masks }
    }
}

/// What CPUs share at a level: the unit if the machine names it, else the next smaller one.
type Unit = (u8, u32);

fn core(c: &LogicalCpu) -> Unit {
    (0, c.core)
}
fn cluster(c: &LogicalCpu) -> Unit {
    c.cluster.map_or(core(c), |id| (1, id))
}
fn llc(c: &LogicalCpu) -> Unit {
    c.llc.map_or(core(c), |id| (2, id))
}

/// All levels, smallest first.
pub(super) fn levels(topology: &Topology, rules: &Rules) -> Vec<LevelMasks> {
    // Where every CPU says it is a package of its own, siblings and caches are not linked (smp.md §1.6).
    let linked = topology.packages().iter().any(|p| p.count() > 1);
    let unit = |f: fn(&LogicalCpu) -> Unit| {
        move |c: &LogicalCpu| if linked { (c.node, f(c)) } else { (c.node, (3, c.cpu.0)) }
    };
    let clusters = match rules.cluster_level {
        ClusterLevel::None => false,
        ClusterLevel::NotHybrid => !topology.hybrid(),
        ClusterLevel::All => true,
    };
    let mut levels = vec![LevelMasks::by_key(topology, Level::Smt, unit(core))];
    if clusters {
        levels.push(LevelMasks::by_key(topology, Level::Cls, unit(cluster)));
    }
    levels.push(LevelMasks::by_key(topology, Level::Mc, unit(llc)));
    if !numa_in_package(topology) {
        levels.push(LevelMasks::by_key(topology, Level::Die, |c| c.node));
    }
    levels.push(LevelMasks::by_key(topology, Level::Node, |c| c.node));
    numa_levels(topology, rules, &mut levels);
    levels
}

/// Whether a package holds several nodes: the node's level is then left out (`x86_has_numa_in_package`).
fn numa_in_package(topology: &Topology) -> bool {
    let several = |package: &CpuMask| {
        let online = package.iter().filter_map(|c| topology.cpu(c)).filter(|c| c.online);
        let mut nodes = online.map(|c| c.node);
        nodes.next().is_some_and(|first| nodes.any(|n| n != first))
    };
    topology.packages().iter().any(several)
}

/// One level for each distance beyond the node itself. Nodes without CPUs have no say.
fn numa_levels(topology: &Topology, rules: &Rules, levels: &mut Vec<LevelMasks>) {
    let own = LevelMasks::by_key(topology, Level::Node, |c| c.node);
    let position =
        |mask: &CpuMask| topology.nodes().iter().position(|n| n.cpus.intersects(mask)).unwrap_or_default();
    let nodes: Vec<usize> = own.masks.iter().map(position).collect();
    let from: &[usize] = match rules.numa_distances {
        NumaDistances::OfFirstNode => {
            let first = nodes.iter().min_by_key(|n| **n);
            first.map_or(&[], std::slice::from_ref)
        }
        NumaDistances::All => &nodes,
    };
    let mut distances: Vec<u8> =
        from.iter().flat_map(|a| nodes.iter().map(|b| topology.distance(*a, *b))).collect();
    distances.sort_unstable();
    distances.dedup();
    for (k, distance) in distances.into_iter().enumerate().skip(1) {
        let reach = |a: &usize| {
            let mut mask = CpuMask::default();
            let near = nodes.iter().zip(&own.masks).filter(|(b, _)| topology.distance(*a, **b) <= distance);
            near.for_each(|(_, cpus)| mask.or_with(cpus));
            mask
        };
        let masks = nodes.iter().map(reach).collect();
        levels.push(LevelMasks { level: Level::Numa(k as u8), distance, class: own.class.clone(), masks });
    }
}
