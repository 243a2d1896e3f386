//! The machine's part of `cfsim topology show`.

use serde::Serialize;
use sim_core::CpuMask;
use sim_core::machine::CAPACITY_SCALE;
use sim_core::machine::topology::{LogicalCpu, Topology};
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub(super) struct MachineReport {
    cpus: Vec<CpuReport>,
    nodes: Vec<NodeReport>,
    reclaim_distance: u8,
    hybrid: bool,
    #[serde(skip)]
    tree: String,
}

#[derive(Debug, Serialize)]
struct CpuReport {
    cpu: u32,
    thread: usize,
    core: u32,
    cluster: Option<u32>,
    llc: Option<u32>,
    package: u32,
    node: u32,
    online: bool,
    isolated: bool,
    capacity: u32,
}

#[derive(Debug, Serialize)]
struct NodeReport {
    node: u32,
    cpus: String,
    distances: Vec<u8>,
}

impl MachineReport {
    pub(super) fn new(topology: &Topology) -> MachineReport {
        let cpu = |c: &LogicalCpu| CpuReport {
            cpu: c.cpu.0,
            thread: topology.thread(c),
            core: c.core,
            cluster: c.cluster,
            llc: c.llc,
            package: c.package,
            node: c.node,
            online: c.online,
            isolated: c.isolated,
            capacity: c.capacity,
        };
        let nodes = topology.nodes();
        let node = |(i, n): (usize, &sim_core::machine::topology::Node)| NodeReport {
            node: n.id,
            cpus: n.cpus.to_string(),
            distances: (0..nodes.len()).map(|to| topology.distance(i, to)).collect(),
        };
        MachineReport {
            cpus: topology.cpus().iter().map(cpu).collect(),
            nodes: nodes.iter().enumerate().map(node).collect(),
            reclaim_distance: topology.reclaim_distance(),
            hybrid: topology.hybrid(),
            tree: tree(topology),
        }
    }

    pub(super) fn text(&self) -> String {
        let mut out = self.tree.clone();
        if self.nodes.len() > 1 {
            for n in &self.nodes {
                let cpus = if n.cpus.is_empty() { "no CPU" } else { &n.cpus };
                let row: Vec<String> = n.distances.iter().map(|d| format!("{d:>3}")).collect();
                out += &format!("node {}: {cpus}; distances {}\n", n.node, row.join(""));
            }
        }
        out
    }
}

fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn tree(topology: &Topology) -> String {
    let mut out = format!(
        "{} {}: {}, {}, {}, {}\n",
        plural(topology.present().count(), "CPU"),
        topology.present(),
        plural(topology.packages().len(), "package"),
        plural(topology.nodes().len(), "node"),
        plural(topology.llcs().len(), "last-level cache"),
        plural(topology.cores().len(), "core"),
    );
    let mut offline = topology.present().clone();
    offline.and_not_with(topology.online());
    for (what, mask) in [("offline", &offline), ("isolated", topology.isolated())] {
        if !mask.is_empty() {
            out += &format!("{what}: {mask}\n");
        }
    }
    out += &capacities(topology);
    for (i, package) in topology.packages().iter().enumerate() {
        out += &format!("package {i}: {package}\n");
        for ((node, llc), cpus) in parts(topology, package) {
            let cache = llc.map_or("no shared cache".to_owned(), |llc| format!("cache {llc}"));
            out += &format!("  node {node}, {cache}: {cpus}\n");
            out += &cores(topology, &cpus);
        }
    }
    out
}

/// CPUs of a package by node and cache.
fn parts(topology: &Topology, package: &CpuMask) -> BTreeMap<(u32, Option<u32>), CpuMask> {
    let mut parts: BTreeMap<_, CpuMask> = BTreeMap::new();
    for c in package.iter().filter_map(|c| topology.cpu(c)) {
        parts.entry((c.node, c.llc)).or_default().insert(c.cpu);
    }
    parts
}

/// Cores with several threads, and clusters of several cores, on lines of their own.
fn cores(topology: &Topology, cpus: &CpuMask) -> String {
    let of = |units: &[CpuMask], larger_than: &dyn Fn(&CpuMask) -> bool| {
        let listed = units.iter().filter(|u| u.intersects(cpus) && larger_than(u));
        listed.map(|u| format!("{{{u}}}")).collect::<Vec<_>>().join(" ")
    };
    let several_cores = |cluster: &CpuMask| {
        let first = cluster.lowest().and_then(|c| topology.cpu(c));
        first.is_some_and(|c| topology.siblings(c) != cluster && cluster != cpus)
    };
    let threads = of(topology.cores(), &|core| core.count() > 1);
    let clusters = of(topology.clusters(), &several_cores);
    let line = |what, text: String| if text.is_empty() { text } else { format!("    {what} {text}\n") };
    line("clusters", clusters) + &line("threads", threads)
}

fn capacities(topology: &Topology) -> String {
    let mut by_capacity: BTreeMap<u32, CpuMask> = BTreeMap::new();
    topology.cpus().iter().for_each(|c| by_capacity.entry(c.capacity).or_default().insert(c.cpu));
    by_capacity.remove(&CAPACITY_SCALE);
    by_capacity.iter().map(|(capacity, cpus)| format!("capacity {capacity}: {cpus}\n")).collect()
}
