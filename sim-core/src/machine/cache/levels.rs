//! What was ever loaded into each cache.

use crate::id::CpuId;
use crate::machine::topology::Topology;

/// The caches and the memory node of a CPU, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The core.
    pub core: u32,
    /// The last-level cache; a core without one counts as one of its own.
    pub llc: u32,
    /// The memory node.
    pub node: u32,
}

impl Place {
    /// Where a CPU is.
    pub fn of(topology: &Topology, cpu: CpuId) -> Place {
        let Some(c) = topology.cpu(cpu) else { return Place::default() };
        let own = topology.llcs().len() as u32 + c.core;
        Place { core: c.core, llc: c.llc.unwrap_or(own), node: c.node }
    }
}

/// Counters of bytes loaded, which only grow: by core for the private caches, by last-level cache.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    pub(super) core: Vec<u64>,
    pub(super) llc: Vec<u64>,
    /// How often the private caches of a core were emptied.
    pub(super) flushes: Vec<u64>,
}

impl Levels {
    /// The caches of a machine, nothing loaded yet.
    pub fn new(topology: &Topology) -> Levels {
        let cores = topology.cores().len();
        Levels { core: vec![0; cores], llc: vec![0; topology.llcs().len() + cores], flushes: vec![0; cores] }
    }

    /// A deep idle state has emptied the private caches of a core.
    pub fn flush(&mut self, core: u32) {
        self.flushes[core as usize] += 1;
    }

    pub(super) fn load(&mut self, place: Place, private: u64, llc: u64) {
        let (core, shared) = (&mut self.core[place.core as usize], &mut self.llc[place.llc as usize]);
        *core = core.saturating_add(private);
        *shared = shared.saturating_add(llc);
    }
}
