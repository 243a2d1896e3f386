//! Which machines are possible.

use super::{LOCAL_DISTANCE, LogicalCpu, MAX_DISTANCES, MAX_NODES, Node, Topology, TopologyDesc};
use crate::cpumask::{CpuMask, MAX_CPUS};
use crate::id::CpuId;
use crate::machine::CAPACITY_SCALE;
use std::collections::BTreeMap;
use thiserror::Error;

/// Why a machine is impossible or beyond the limits.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TopologyError {
    /// There is no CPU.
    #[error("the machine has no CPU")]
    NoCpu,
    /// Every CPU is offline.
    #[error("all CPUs are offline: at least one must be online")]
    AllOffline,
    /// A number beyond the limit.
    #[error("CPU {}: the highest number allowed is {}", cpu.0, MAX_CPUS - 1)]
    CpuNumber {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU is described twice.
    #[error("CPU {} is given twice", cpu.0)]
    Duplicate {
        /// The CPU.
        cpu: CpuId,
    },
    /// A capacity outside 1..=1024.
    #[error("CPU {}: capacity {capacity} is not from 1 to {CAPACITY_SCALE}", cpu.0)]
    Capacity {
        /// The CPU.
        cpu: CpuId,
        /// What was given.
        capacity: u32,
    },
    /// CPUs share a smaller unit but not the larger one around it.
    #[error("CPU {} shares a {inner} with CPU {} but not its {outer}", cpu.0, other.0)]
    Nesting {
        /// The CPU.
        cpu: CpuId,
        /// The lowest CPU of the shared unit.
        other: CpuId,
        /// What they share.
        inner: &'static str,
        /// What they do not share.
        outer: &'static str,
    },
    /// A CPU is on a node that is not listed.
    #[error("CPU {}: node {node} is not one of the machine's nodes", cpu.0)]
    UnknownNode {
        /// The CPU.
        cpu: CpuId,
        /// The node's number.
        node: u32,
    },
    /// A node is listed twice.
    #[error("node {node} is given twice")]
    DuplicateNode {
        /// The node's number.
        node: u32,
    },
    /// Too many nodes.
    #[error("the machine has {nodes} memory nodes: at most {MAX_NODES} are allowed")]
    Nodes {
        /// How many.
        nodes: usize,
    },
    /// The table of distances is not square.
    #[error("the table of distances has {found} values: {nodes} nodes need {}", nodes * nodes)]
    DistanceCount {
        /// Values given.
        found: usize,
        /// Nodes.
        nodes: usize,
    },
    /// An impossible distance.
    #[error(
        "the distance from node {from} to node {to} is {distance}: it must be {LOCAL_DISTANCE} to itself and more to others"
    )]
    Distance {
        /// From this node.
        from: u32,
        /// To this one.
        to: u32,
        /// What was given.
        distance: u8,
    },
    /// Too many different distances.
    #[error("the table of distances has {found} different values: at most {MAX_DISTANCES} are allowed")]
    Distances {
        /// How many.
        found: usize,
    },
}

impl Topology {
    /// Checks a machine and numbers its units.
    ///
    /// # Errors
    /// What is impossible, naming the CPU or the node. A core lies in one cluster, cache, package and node, a cluster in one
    /// cache and node; caches may be shared by packages or nodes, as some virtual machines and Intel's sub-NUMA clusters say.
    pub fn new(mut desc: TopologyDesc) -> Result<Topology, TopologyError> {
        check_nodes(&mut desc)?;
        check_cpus(&mut desc)?;
        check_nesting(&desc.cpus)?;
        let cores = renumber(&mut desc.cpus, |c| Some(&mut c.core));
        let clusters = renumber(&mut desc.cpus, |c| c.cluster.as_mut());
        let llcs = renumber(&mut desc.cpus, |c| c.llc.as_mut());
        let packages = renumber(&mut desc.cpus, |c| Some(&mut c.package));
        let of = |test: fn(&LogicalCpu) -> bool| {
            desc.cpus.iter().filter(|c| test(c)).map(|c| c.cpu).collect::<CpuMask>()
        };
        let (present, online, isolated) = (of(|_| true), of(|c| c.online), of(|c| c.isolated));
        if online.is_empty() {
            return Err(TopologyError::AllOffline);
        }
        let on = |id| desc.cpus.iter().filter(move |c| c.node == id).map(|c| c.cpu).collect();
        let nodes = desc.nodes.iter().map(|id| Node { id: *id, cpus: on(*id) }).collect();
        let mut index = vec![None; desc.cpus.last().map_or(0, |c| c.cpu.index() + 1)];
        for (i, c) in desc.cpus.iter().enumerate() {
            index[c.cpu.index()] = Some(i as u16);
        }
        Ok(Topology { desc, index, cores, clusters, llcs, packages, nodes, present, online, isolated })
    }
}

fn check_cpus(desc: &mut TopologyDesc) -> Result<(), TopologyError> {
    if desc.cpus.is_empty() {
        return Err(TopologyError::NoCpu);
    }
    desc.cpus.sort_by_key(|c| c.cpu);
    if let Some(pair) = desc.cpus.windows(2).find(|w| w[0].cpu == w[1].cpu) {
        return Err(TopologyError::Duplicate { cpu: pair[0].cpu });
    }
    for c in &desc.cpus {
        if c.cpu.0 >= MAX_CPUS {
            return Err(TopologyError::CpuNumber { cpu: c.cpu });
        }
        if !(1..=CAPACITY_SCALE).contains(&c.capacity) {
            return Err(TopologyError::Capacity { cpu: c.cpu, capacity: c.capacity });
        }
        if !desc.nodes.contains(&c.node) {
            return Err(TopologyError::UnknownNode { cpu: c.cpu, node: c.node });
        }
    }
    Ok(())
}

/// Sorts the nodes, and the distances with them.
fn check_nodes(desc: &mut TopologyDesc) -> Result<(), TopologyError> {
    let n = desc.nodes.len();
    if n > MAX_NODES {
        return Err(TopologyError::Nodes { nodes: n });
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| desc.nodes[*i]);
    let nodes: Vec<u32> = order.iter().map(|i| desc.nodes[*i]).collect();
    if let Some(pair) = nodes.windows(2).find(|w| w[0] == w[1]) {
        return Err(TopologyError::DuplicateNode { node: pair[0] });
    }
    if desc.distances.is_empty() {
        let default = |i: usize| {
            if i / n == i % n { LOCAL_DISTANCE } else { super::DISTANCE_OUTSIDE }
        };
        desc.distances = (0..n * n).map(default).collect();
    }
    if desc.distances.len() != n * n {
        return Err(TopologyError::DistanceCount { found: desc.distances.len(), nodes: n });
    }
    let sorted = (0..n * n).map(|i| desc.distances[order[i / n] * n + order[i % n]]).collect();
    (desc.nodes, desc.distances) = (nodes, sorted);
    for (i, distance) in desc.distances.iter().enumerate() {
        let (from, to) = (i / n, i % n);
        if (*distance == LOCAL_DISTANCE) != (from == to) || *distance < LOCAL_DISTANCE {
            let (from, to) = (desc.nodes[from], desc.nodes[to]);
            return Err(TopologyError::Distance { from, to, distance: *distance });
        }
    }
    let mut values = desc.distances.clone();
    values.sort_unstable();
    values.dedup();
    if values.len() > MAX_DISTANCES {
        return Err(TopologyError::Distances { found: values.len() });
    }
    Ok(())
}

/// CPUs that share an inner unit must share the outer one.
fn check_nesting(cpus: &[LogicalCpu]) -> Result<(), TopologyError> {
    type Unit = fn(&LogicalCpu) -> Option<u32>;
    let cluster: (&str, Unit) = ("cluster", |c| c.cluster);
    let llc: (&str, Unit) = ("last-level cache", |c| c.llc);
    let package: (&str, Unit) = ("package", |c| Some(c.package));
    let node: (&str, Unit) = ("node", |c| Some(c.node));
    let core: (&str, Unit) = ("core", |c| Some(c.core));
    let pairs =
        [(core, cluster), (core, llc), (core, package), (core, node), (cluster, llc), (cluster, node)];
    for ((inner, of_inner), (outer, of_outer)) in pairs {
        let mut first = BTreeMap::new();
        for c in cpus {
            let Some(unit) = of_inner(c) else { continue };
            let known = first.entry(unit).or_insert(c);
            if of_outer(known) != of_outer(c) {
                return Err(TopologyError::Nesting { cpu: c.cpu, other: known.cpu, inner, outer });
            }
        }
    }
    Ok(())
}

/// Numbers the units of one kind by their lowest CPU, and lists their CPUs.
fn renumber(cpus: &mut [LogicalCpu], unit: impl Fn(&mut LogicalCpu) -> Option<&mut u32>) -> Vec<CpuMask> {
    let mut numbers = BTreeMap::new();
    let mut masks: Vec<CpuMask> = Vec::new();
    for c in cpus {
        let cpu = c.cpu;
        let Some(id) = unit(c) else { continue };
        *id = *numbers.entry(*id).or_insert(masks.len() as u32);
        if *id as usize == masks.len() {
            masks.push(CpuMask::default());
        }
        masks[*id as usize].insert(cpu);
    }
    masks
}
