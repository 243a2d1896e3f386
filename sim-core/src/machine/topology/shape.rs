//! Regular machines in short: sockets × caches × cores × threads.

use super::{LOCAL_DISTANCE, LogicalCpu, MAX_NODES, Topology, TopologyDesc, TopologyError};
use crate::cpumask::MAX_CPUS;
use crate::id::CpuId;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Default distance between nodes of one socket (as AMD's firmware says).
pub const DISTANCE_IN_SOCKET: u8 = 12;
/// Default distance between nodes of different sockets (the kernel's `REMOTE_DISTANCE`).
pub const DISTANCE_OUTSIDE: u8 = 20;

/// A machine of equal parts. CPUs are numbered as Linux does on x86: the first threads of all cores, then the second ones, so
/// that the siblings of core i are i, i + cores, …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Sockets.
    pub sockets: u32,
    /// Last-level caches per socket.
    pub llcs: u32,
    /// Cores per last-level cache.
    pub cores: u32,
    /// Hardware threads per core.
    pub threads: u32,
    /// Memory nodes per socket, which divide its caches.
    pub nodes: u32,
    /// Cores that share a second-level cache, which divide the cores of a last-level cache.
    pub cores_per_cluster: u32,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { sockets: 1, llcs: 1, cores: 1, threads: 1, nodes: 1, cores_per_cluster: 1 }
    }
}

/// Why a shape is no machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShapeError {
    /// Not four numbers.
    #[error(
        "'{found:.40}' is not sockets x caches per socket x cores per cache x threads per core, like 2x1x4x2"
    )]
    Syntax {
        /// What was found.
        found: String,
    },
    /// A factor is zero.
    #[error("{what} is 0: it must be at least 1")]
    Zero {
        /// Which.
        what: &'static str,
    },
    /// Parts that do not divide.
    #[error("{whole} {wholes} cannot be divided by {part} {parts}")]
    Divide {
        /// How many there are.
        whole: u32,
        /// Of what.
        wholes: &'static str,
        /// Into how many.
        part: u32,
        /// Of what.
        parts: &'static str,
    },
    /// More CPUs or nodes than allowed.
    #[error("{shape} has too many {what}: at most {limit} are allowed")]
    TooMany {
        /// The shape.
        shape: Shape,
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
}

impl Shape {
    /// `sockets` × `llcs` × `cores` × `threads`, with one memory node per socket and a second-level cache per core.
    pub const fn new(sockets: u32, llcs: u32, cores: u32, threads: u32) -> Shape {
        Shape { sockets, llcs, cores, threads, nodes: 1, cores_per_cluster: 1 }
    }

    /// The machine of this shape.
    ///
    /// # Errors
    /// When a part is 0, does not divide, or there are too many.
    pub fn desc(&self) -> Result<TopologyDesc, ShapeError> {
        self.check()?;
        let cores_per_socket = self.llcs * self.cores;
        let cores = self.sockets * cores_per_socket;
        let cpu = |i| {
            let core = i % cores;
            let llc = core / self.cores;
            LogicalCpu {
                core,
                cluster: Some(core / self.cores_per_cluster),
                llc: Some(llc),
                package: core / cores_per_socket,
                node: llc / (self.llcs / self.nodes),
                ..LogicalCpu::alone(CpuId(i))
            }
        };
        let mut desc = TopologyDesc::new((0..cores * self.threads).map(cpu).collect());
        let socket = |node: u32| node / self.nodes;
        let distance = |from, to| match (from == to, socket(from) == socket(to)) {
            (true, _) => LOCAL_DISTANCE,
            (false, true) => DISTANCE_IN_SOCKET,
            (false, false) => DISTANCE_OUTSIDE,
        };
        let n = self.sockets * self.nodes;
        desc.distances = (0..n * n).map(|i| distance(i / n, i % n)).collect();
        Ok(desc)
    }

    fn check(&self) -> Result<(), ShapeError> {
        let parts = [
            ("sockets", self.sockets),
            ("llcs", self.llcs),
            ("cores", self.cores),
            ("threads", self.threads),
            ("nodes", self.nodes),
            ("cores_per_cluster", self.cores_per_cluster),
        ];
        if let Some((what, _)) = parts.iter().find(|(_, n)| *n == 0) {
            return Err(ShapeError::Zero { what });
        }
        let product = |factors: &[u32]| factors.iter().try_fold(1u32, |p, f| p.checked_mul(*f));
        let too_many = |what, limit| ShapeError::TooMany { shape: *self, what, limit };
        product(&[self.sockets, self.llcs, self.cores, self.threads])
            .filter(|n| *n <= MAX_CPUS)
            .ok_or_else(|| too_many("CPUs", MAX_CPUS))?;
        product(&[self.sockets, self.nodes])
            .filter(|n| *n <= MAX_NODES as u32)
            .ok_or_else(|| too_many("memory nodes", MAX_NODES as u32))?;
        let divides = |whole, wholes, part, parts| {
            if whole % part == 0 { Ok(()) } else { Err(ShapeError::Divide { whole, wholes, part, parts }) }
        };
        divides(self.llcs, "caches of a socket", self.nodes, "memory nodes")?;
        divides(self.cores, "cores of a cache", self.cores_per_cluster, "cores per cluster")
    }

    /// The machine of this shape.
    ///
    /// # Errors
    /// As [`Shape::desc`].
    pub fn topology(&self) -> Result<Topology, ShapeError> {
        let built: Result<Topology, TopologyError> = Topology::new(self.desc()?);
        Ok(built.unwrap_or_else(|e| unreachable!("a regular machine is possible: {e}")))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}x{}", self.sockets, self.llcs, self.cores, self.threads)
    }
}

impl FromStr for Shape {
    type Err = ShapeError;
    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        let numbers: Option<Vec<u32>> = text.split(['x', '×']).map(|n| n.trim().parse().ok()).collect();
        match numbers.as_deref() {
            Some([sockets, llcs, cores, threads]) => Ok(Shape::new(*sockets, *llcs, *cores, *threads)),
            _ => Err(ShapeError::Syntax { found: text.to_owned() }),
        }
    }
}
