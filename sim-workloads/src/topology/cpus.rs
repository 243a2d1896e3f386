//! What all readers collect, and the machine it makes.

use super::{ImportError, Imported};
use sim_core::cpumask::MAX_CPUS;
use sim_core::machine::topology::{LOCAL_DISTANCE, LogicalCpu, RECLAIM_DISTANCE, Topology, TopologyDesc};
use sim_core::{CpuId, CpuMask};
use std::collections::BTreeMap;

/// A unit as a reader tells it from others of its kind.
pub(super) type Unit = (u32, u32);

/// One CPU, as far as the source knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuRecord {
    pub(super) offline: bool,
    pub(super) isolated: bool,
    pub(super) core: Option<Unit>,
    /// Shared second-level cache.
    pub(super) l2: Option<Unit>,
    /// Shared third-level cache.
    pub(super) l3: Option<Unit>,
    /// Cluster, where it is said apart from caches.
    pub(super) cluster: Option<Unit>,
    /// The last level of cache, where it is known otherwise.
    pub(super) llc: Option<Unit>,
    pub(super) package: Option<Unit>,
    pub(super) node: Option<u32>,
    pub(super) capacity: Option<u32>,
}

/// A machine being read.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) source: &'static str,
    pub(super) cpus: BTreeMap<CpuId, CpuRecord>,
    /// Nodes by number, those without CPUs too; may be left empty.
    pub(super) nodes: Vec<u32>,
    /// Distances that are known, by the nodes' numbers.
    pub(super) distances: BTreeMap<(u32, u32), u8>,
    pub(super) reclaim_distance: u8,
    pub(super) hybrid: bool,
    pub(super) notes: Vec<String>,
}

/// Numbers units as they come.
#[derive(Default)]
struct Numbers(BTreeMap<(u8, Unit), u32>);

impl Numbers {
    fn of(&mut self, kind: u8, unit: Unit) -> u32 {
        let next = self.0.len() as u32;
        *self.0.entry((kind, unit)).or_insert(next)
    }
}

impl Draft {
    pub(super) fn new(source: &'static str) -> Draft {
        Draft {
            source,
            cpus: BTreeMap::new(),
            nodes: Vec::new(),
            distances: BTreeMap::new(),
            reclaim_distance: RECLAIM_DISTANCE,
            hybrid: false,
            notes: Vec::new(),
        }
    }

    /// A CPU's record, made at its first use.
    pub(super) fn cpu(&mut self, cpu: CpuId) -> &mut CpuRecord {
        self.cpus.entry(cpu).or_default()
    }

    pub(super) fn finish(mut self) -> Result<Imported, ImportError> {
        let nodes = self.all_nodes();
        let mut units = Numbers::default();
        let mut unplaced = CpuMask::default();
        let mut cpus = Vec::with_capacity(self.cpus.len());
        for (cpu, r) in &self.cpus {
            // An offline CPU of which no more is known is a package of its own, which nothing depends on.
            let package = r.package.unwrap_or(if r.offline { (u32::MAX, cpu.0) } else { (0, 0) });
            if r.offline && r.package.is_none() {
                unplaced.insert(*cpu);
            }
            let l2 = r.l2.map(|unit| units.of(2, unit));
            let l3 = r.l3.map(|unit| units.of(3, unit));
            cpus.push(LogicalCpu {
                core: units.of(0, r.core.unwrap_or((u32::MAX, cpu.0))),
                cluster: r.cluster.map(|unit| units.of(1, unit)).or(l2),
                llc: l3.or(l2).or_else(|| r.llc.map(|unit| units.of(4, unit))),
                package: units.of(5, package),
                node: r.node.unwrap_or(nodes[0]),
                online: !r.offline,
                isolated: r.isolated,
                capacity: r.capacity.unwrap_or(sim_core::machine::CAPACITY_SCALE),
                ..LogicalCpu::alone(*cpu)
            });
        }
        if !unplaced.is_empty() {
            self.notes.push(format!("CPUs {unplaced} are offline: where they are is not known"));
        }
        let desc = TopologyDesc {
            distances: self.table(&nodes),
            nodes,
            cpus,
            reclaim_distance: self.reclaim_distance,
            hybrid: self.hybrid,
        };
        let topology = Topology::new(desc)?;
        let empty: Vec<String> =
            topology.nodes().iter().filter(|n| n.cpus.is_empty()).map(|n| n.id.to_string()).collect();
        if !empty.is_empty() {
            self.notes.push(format!("nodes without CPUs, kept with their distances: {}", empty.join(", ")));
        }
        Ok(Imported { topology, source: self.source, notes: self.notes })
    }

    fn all_nodes(&self) -> Vec<u32> {
        let of_cpus = self.cpus.values().filter_map(|r| r.node);
        let mut nodes: Vec<u32> = self.nodes.iter().copied().chain(of_cpus).collect();
        if nodes.is_empty() {
            nodes.push(0);
        }
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The table of distances, with the usual ones where the source says none.
    fn table(&mut self, nodes: &[u32]) -> Vec<u8> {
        // As many as the machine would be refused for need no table.
        if nodes.len() > sim_core::machine::topology::MAX_NODES {
            return Vec::new();
        }
        let pairs = || nodes.iter().flat_map(|a| nodes.iter().map(move |b| (*a, *b)));
        let known = |pair: &(u32, u32)| self.distances.contains_key(pair) || pair.0 == pair.1;
        let unknown = pairs().filter(|pair| !known(pair)).count();
        if unknown > 0 {
            let default = sim_core::machine::topology::DISTANCE_OUTSIDE;
            self.notes.push(format!("{unknown} distances between nodes are not said: {default} is taken"));
        }
        let default = |(a, b)| {
            if a == b { LOCAL_DISTANCE } else { sim_core::machine::topology::DISTANCE_OUTSIDE }
        };
        pairs().map(|pair| self.distances.get(&pair).copied().unwrap_or_else(|| default(pair))).collect()
    }
}

/// Distance beyond which balancing holds back, by the processor's maker (smp.md §1.3: 32 on AMD EPYC, family 23 on).
pub(super) fn reclaim_distance(vendor: &str, family: Option<u32>) -> u8 {
    let zen = vendor == "AuthenticAMD" && family.is_some_and(|f| f >= 23);
    if zen || vendor == "HygonGenuine" { 32 } else { RECLAIM_DISTANCE }
}

/// A cpulist of a source; empty text is no CPU.
pub(super) fn cpulist(place: &str, text: &str) -> Result<CpuMask, ImportError> {
    let text = text.trim();
    if text.is_empty() || text == "(null)" {
        return Ok(CpuMask::default());
    }
    text.parse().map_err(|_| ImportError::bad(place, text, "a list of CPUs below 4096, like 0-3,8"))
}

/// A set of CPUs in hexadecimal words of 32 bits, the highest first: `ff,00000000`, `0x0000000f`.
pub(super) fn hex_mask(place: &str, text: &str) -> Result<CpuMask, ImportError> {
    let bad = || ImportError::bad(place, text, "a set of CPUs below 4096 in hexadecimal, like 0x0000000f");
    let parts: Vec<&str> = text.trim().split(',').collect();
    let mut mask = CpuMask::default();
    for (i, part) in parts.iter().rev().enumerate() {
        let part = part.trim();
        let digits = part.strip_prefix("0x").unwrap_or(part);
        if parts.len() > 1 && digits.len() > 8 {
            return Err(bad());
        }
        for (j, digit) in digits.chars().rev().enumerate() {
            let bits = digit.to_digit(16).ok_or_else(bad)?;
            for bit in (0..4).filter(|bit| bits >> bit & 1 == 1) {
                let cpu = i * 32 + j * 4 + bit;
                if cpu >= MAX_CPUS as usize {
                    return Err(bad());
                }
                mask.insert(CpuId::new(cpu));
            }
        }
    }
    Ok(mask)
}

/// A CPU's number.
pub(super) fn cpu_number(place: &str, text: &str) -> Result<CpuId, ImportError> {
    let number = text.trim().parse::<u32>().ok().filter(|n| *n < MAX_CPUS);
    number.map(CpuId).ok_or_else(|| ImportError::bad(place, text, "a CPU's number from 0 to 4095"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_masks() {
        let read = |text| hex_mask("test", text).map(|m| m.to_string());
        assert_eq!(read("0x0000905b").unwrap(), "0-1,3-4,6,12,15");
        assert_eq!(read("00000001,00000000").unwrap(), "32");
        assert_eq!(read("0x80000000,,0x3").unwrap(), "0-1,95");
        assert_eq!(read("f0000000f").unwrap(), "0-3,32-35");
        assert_eq!(read("0x0").unwrap(), "");
        for bad in ["0xf...f", "g", "123456789,0", &format!("1{}", ",0".repeat(128))] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
