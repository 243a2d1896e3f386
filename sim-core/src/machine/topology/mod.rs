//! The machine's CPUs: which share a core, a cache, a package, a memory node.
//!
//! Numbers are the kernel's own: CPUs and nodes may have holes, CPUs may be offline, nodes may have no CPU.

mod check;
mod presets;
mod shape;

pub use check::TopologyError;
pub use presets::{MachinePreset, UnknownMachine};
pub use shape::{DISTANCE_IN_SOCKET, DISTANCE_OUTSIDE, Shape, ShapeError};

use super::CAPACITY_SCALE;
use crate::cpumask::CpuMask;
use crate::id::CpuId;

/// The most memory nodes.
pub const MAX_NODES: usize = 128;
/// The most different values in a table of distances.
pub const MAX_DISTANCES: usize = 32;
/// Distance of a node to itself (ACPI's SLIT).
pub const LOCAL_DISTANCE: u8 = 10;
/// Node distance beyond which forks, execs and affine wake-ups do not go (smp.md §1.3); 32 on AMD EPYC.
pub const RECLAIM_DISTANCE: u8 = 30;

/// One logical CPU. Cores, clusters, caches and packages are numbered over the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalCpu {
    /// Its number.
    pub cpu: CpuId,
    /// The core whose hardware thread it is.
    pub core: u32,
    /// The cluster: CPUs that share a second-level cache. Not known on all machines.
    pub cluster: Option<u32>,
    /// CPUs that share its last-level cache; none if the machine does not say, as some virtual machines.
    pub llc: Option<u32>,
    /// The socket.
    pub package: u32,
    /// The memory node, by its number.
    pub node: u32,
    /// Whether it runs.
    pub online: bool,
    /// Whether it is kept out of balancing (`isolcpus`).
    pub isolated: bool,
    /// Capacity relative to the largest CPU of the machine, 1..=1024 (`cpu_capacity`).
    pub capacity: u32,
}

impl LogicalCpu {
    /// An online CPU of full capacity that shares nothing: its own core in package 0 on node 0.
    pub fn alone(cpu: CpuId) -> LogicalCpu {
        LogicalCpu {
            cpu,
            core: cpu.0,
            cluster: None,
            llc: None,
            package: 0,
            node: 0,
            online: true,
            isolated: false,
            capacity: CAPACITY_SCALE,
        }
    }
}

/// What [`Topology::new`] checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyDesc {
    /// CPUs in any order, each number once.
    pub cpus: Vec<LogicalCpu>,
    /// Numbers of all memory nodes, those without CPUs too, in any order.
    pub nodes: Vec<u32>,
    /// Distances in rows, in the order of `nodes`; empty for 10 to itself and 20 to every other.
    pub distances: Vec<u8>,
    /// Beyond this distance forks, execs and affine wake-ups do not go.
    pub reclaim_distance: u8,
    /// An x86 machine with different kinds of cores.
    pub hybrid: bool,
}

impl TopologyDesc {
    /// These CPUs on the nodes they name, at default distances.
    pub fn new(cpus: Vec<LogicalCpu>) -> TopologyDesc {
        let mut nodes: Vec<u32> = cpus.iter().map(|c| c.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        TopologyDesc { cpus, nodes, distances: Vec::new(), reclaim_distance: RECLAIM_DISTANCE, hybrid: false }
    }

    /// The CPUs in `mask`, to change them.
    pub fn cpus_in<'a>(&'a mut self, mask: &'a CpuMask) -> impl Iterator<Item = &'a mut LogicalCpu> {
        self.cpus.iter_mut().filter(|c| mask.contains(c.cpu))
    }
}

/// A memory node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u32,
    /// Its CPUs, offline ones too; may be none.
    pub cpus: CpuMask,
}

/// A machine's CPUs, checked. Cores, clusters, caches and packages are numbered 0, 1, … by their lowest CPU; sets of CPUs
/// hold offline ones too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    desc: TopologyDesc,
    /// Position in `desc.cpus` by number.
    index: Vec<Option<u16>>,
    cores: Vec<CpuMask>,
    clusters: Vec<CpuMask>,
    llcs: Vec<CpuMask>,
    packages: Vec<CpuMask>,
    nodes: Vec<Node>,
    present: CpuMask,
    online: CpuMask,
    isolated: CpuMask,
}

impl Topology {
    /// `n` equal CPUs, at least 1: one package, one cache, no hardware threads.
    ///
    /// # Errors
    /// When there are none or too many.
    pub fn uniform(n: u32) -> Result<Topology, TopologyError> {
        let cpu = |i| LogicalCpu { llc: Some(0), ..LogicalCpu::alone(CpuId(i)) };
        Topology::new(TopologyDesc::new((0..n.min(crate::cpumask::MAX_CPUS + 1)).map(cpu).collect()))
    }

    /// CPUs by increasing number.
    pub fn cpus(&self) -> &[LogicalCpu] {
        &self.desc.cpus
    }
    /// A CPU, if the machine has it.
    pub fn cpu(&self, cpu: CpuId) -> Option<&LogicalCpu> {
        let position = (*self.index.get(cpu.index())?)?;
        Some(&self.desc.cpus[position as usize])
    }
    /// One more than the highest number of a CPU: the length of a table indexed by CPU number (`nr_cpu_ids`).
    pub fn nr_cpu_ids(&self) -> usize {
        self.index.len()
    }
    /// All CPUs.
    pub fn present(&self) -> &CpuMask {
        &self.present
    }
    /// CPUs that run.
    pub fn online(&self) -> &CpuMask {
        &self.online
    }
    /// CPUs kept out of balancing.
    pub fn isolated(&self) -> &CpuMask {
        &self.isolated
    }
    /// Cores.
    pub fn cores(&self) -> &[CpuMask] {
        &self.cores
    }
    /// Clusters.
    pub fn clusters(&self) -> &[CpuMask] {
        &self.clusters
    }
    /// Last-level caches.
    pub fn llcs(&self) -> &[CpuMask] {
        &self.llcs
    }
    /// Packages.
    pub fn packages(&self) -> &[CpuMask] {
        &self.packages
    }
    /// Memory nodes by increasing number.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }
    /// Distance between two nodes, given by their positions in [`Topology::nodes`].
    pub fn distance(&self, from: usize, to: usize) -> u8 {
        self.desc.distances[from * self.nodes.len() + to]
    }
    /// Distance beyond which forks, execs and affine wake-ups do not go.
    pub fn reclaim_distance(&self) -> u8 {
        self.desc.reclaim_distance
    }
    /// Whether it is an x86 machine with different kinds of cores.
    pub fn hybrid(&self) -> bool {
        self.desc.hybrid
    }
    /// Hardware threads of a CPU's core, itself included.
    pub fn siblings(&self, cpu: &LogicalCpu) -> &CpuMask {
        &self.cores[cpu.core as usize]
    }
    /// The CPUs under a CPU's last-level cache, itself included; none if the machine does not say.
    pub fn llc(&self, cpu: &LogicalCpu) -> Option<&CpuMask> {
        cpu.llc.map(|i| &self.llcs[i as usize])
    }
    /// Which hardware thread of its core a CPU is, from 0.
    pub fn thread(&self, cpu: &LogicalCpu) -> usize {
        self.siblings(cpu).iter().take_while(|c| *c < cpu.cpu).count()
    }
    /// Whether CPUs differ in capacity.
    pub fn asymmetric(&self) -> bool {
        self.desc.cpus.windows(2).any(|w| w[0].capacity != w[1].capacity)
    }
    /// The parts, to make a changed machine of.
    pub fn into_desc(self) -> TopologyDesc {
        self.desc
    }
}
