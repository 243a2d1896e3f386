//! Machines by name: those of the published comparisons and of the tests.

use super::{Shape, Topology, TopologyDesc};
use thiserror::Error;

/// A machine that has a name.
#[derive(Debug)]
pub struct MachinePreset {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    shape: Shape,
    /// Distances where they are not the shape's.
    distances: &'static [u8],
}

/// A name that is no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{found:.40}' is not a machine: allowed are {}", MachinePreset::ALL.iter().map(|p| p.name).collect::<Vec<_>>().join(", "))]
pub struct UnknownMachine {
    /// The name.
    pub found: String,
}

const fn preset(name: &'static str, about: &'static str, shape: Shape) -> MachinePreset {
    MachinePreset { name, about, shape, distances: &[] }
}

/// Node distances of a two-socket Kunpeng 920: 12 within a socket; 20, 22 or 24 across (patches.md §0.2).
const KUNPENG_920: [u8; 16] = [10, 12, 20, 22, 12, 10, 22, 24, 20, 22, 10, 12, 22, 24, 12, 10];

impl MachinePreset {
    /// All machines (shapes: patches.md §0.2).
    pub const ALL: &'static [MachinePreset] = &[
        preset("i7-8700", "Intel Core i7-8700: 6 cores, 12 threads", Shape::new(1, 1, 6, 2)),
        preset("skl8", "Intel Skylake: 4 cores, 8 threads", Shape::new(1, 1, 4, 2)),
        preset("hsw48", "2 x Intel Haswell: 24 cores, 48 threads", Shape::new(2, 1, 12, 2)),
        preset("clx80", "2 x Intel Cascade Lake: 40 cores, 80 threads", Shape::new(2, 1, 20, 2)),
        preset("bdw80", "2 x Intel Broadwell: 40 cores, 80 threads", Shape::new(2, 1, 20, 2)),
        preset(
            "snc96",
            "2 x Intel Xeon 8260 with sub-NUMA clustering: 4 nodes of 12 cores, 24 threads",
            Shape { nodes: 2, ..Shape::new(2, 2, 12, 2) },
        ),
        preset("sis112", "Intel, 112 threads under one cache", Shape::new(1, 1, 56, 2)),
        preset("icx128", "2 x Intel Xeon 8362: 64 cores, 128 threads", Shape::new(2, 1, 32, 2)),
        preset(
            "zen3-256",
            "2 x AMD Zen 3: 128 cores, 256 threads, 8 cores per cache",
            Shape::new(2, 8, 8, 2),
        ),
        preset("thx2", "2 x ThunderX2: 56 cores, 224 threads", Shape::new(2, 1, 28, 4)),
        preset("hikey8", "HiKey: two clusters of 4 equal cores", Shape::new(1, 2, 4, 1)),
        MachinePreset {
            distances: &KUNPENG_920,
            ..preset(
                "kp128",
                "2 x Kunpeng 920: 4 nodes of 32 cores",
                Shape { nodes: 2, cores_per_cluster: 4, ..Shape::new(2, 2, 32, 1) },
            )
        },
    ];

    /// Looks a machine up.
    ///
    /// # Errors
    /// When there is no such machine.
    pub fn by_name(name: &str) -> Result<&'static MachinePreset, UnknownMachine> {
        Self::ALL.iter().find(|p| p.name == name).ok_or_else(|| UnknownMachine { found: name.to_owned() })
    }

    /// The machine's description.
    pub fn desc(&self) -> TopologyDesc {
        let mut desc = self.shape.desc().unwrap_or_else(|e| unreachable!("{} is a machine: {e}", self.name));
        if !self.distances.is_empty() {
            desc.distances = self.distances.to_vec();
        }
        desc
    }

    /// The machine.
    pub fn topology(&self) -> Topology {
        Topology::new(self.desc()).unwrap_or_else(|e| unreachable!("{} is possible: {e}", self.name))
    }
}
