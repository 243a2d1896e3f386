//! How the CPUs of a captured machine hang together, as the guest's sysfs tells (`_boot/domains.txt`).

use serde::{Deserialize, Serialize};
use sim_core::CpuId;
use sim_core::cpumask::{CpuMask, MAX_CPUS};
use sim_core::machine::topology::{LogicalCpu, Topology, TopologyDesc, TopologyError};
use std::collections::BTreeMap;
use thiserror::Error;

/// One package of equal cores with neighbouring CPU numbers: CPUs 2i and 2i + 1 are the threads of core i.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// CPUs, at least 1.
    pub cpus: u32,
    /// Hardware threads of a core, which divide the CPUs.
    pub threads_per_core: u32,
    /// CPUs under one last-level cache, which divide the CPUs.
    pub cpus_per_llc: u32,
}

/// Why a machine's layout cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Nothing is said of a cache of CPU 0.
    #[error("there is no line .../cpu0/cache/indexN/shared_cpu_list: CPUS")]
    NoCaches,
    /// Not a list of CPUs.
    #[error("'{0:.60}' is not a list of CPUs")]
    NotCpus(String),
    /// A part that is none, or does not divide the CPUs.
    #[error("{part} CPUs share a {what}, of {cpus} in all: they must be at least 1 and divide them")]
    Divide {
        /// What is shared.
        what: &'static str,
        /// By how many.
        part: u32,
        /// Of how many.
        cpus: u32,
    },
    /// Threads of a core are not neighbours.
    #[error("CPU 0 shares its first-level cache with CPUs {0}: only neighbouring numbers from 0 are read")]
    Numbering(String),
    /// Not a machine that can be simulated.
    #[error(transparent)]
    Topology(#[from] TopologyError),
}

impl Layout {
    /// Reads the lines `PATH: VALUE` for a machine with so many CPUs: those below the first-level cache of CPU 0 are its
    /// core's threads, those below the highest its last-level cache's.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn parse(text: &str, cpus: u32) -> Result<Layout, LayoutError> {
        let mut caches: BTreeMap<u32, CpuMask> = BTreeMap::new();
        for line in text.lines() {
            let Some((path, list)) = line.split_once(": ") else { continue };
            let index = path
                .split_once("/cpu0/cache/index")
                .and_then(|(_, rest)| rest.strip_suffix("/shared_cpu_list"));
            let Some(index) = index.and_then(|i| i.parse().ok()) else { continue };
            let shared = list.trim().parse().map_err(|_| LayoutError::NotCpus(list.trim().to_owned()))?;
            caches.insert(index, shared);
        }
        let (first, last) =
            caches.values().next().zip(caches.values().next_back()).ok_or(LayoutError::NoCaches)?;
        let (threads, llc) = (first.count() as u32, last.count() as u32);
        if !first.within(threads) {
            return Err(LayoutError::Numbering(first.to_string()));
        }
        let layout = Layout { cpus, threads_per_core: threads, cpus_per_llc: llc };
        layout.topology().map(|_| layout)
    }

    /// The machine.
    ///
    /// # Errors
    /// [`LayoutError`] when parts do not divide, or there are too many CPUs.
    pub fn topology(&self) -> Result<Topology, LayoutError> {
        for (what, part) in [("core", self.threads_per_core), ("last-level cache", self.cpus_per_llc)] {
            if part == 0 || self.cpus == 0 || !self.cpus.is_multiple_of(part) {
                return Err(LayoutError::Divide { what, part, cpus: self.cpus });
            }
        }
        if self.cpus > MAX_CPUS {
            // Refused without making a list of them.
            return Ok(Topology::uniform(self.cpus)?);
        }
        let cpu = |i| LogicalCpu {
            core: i / self.threads_per_core,
            llc: Some(i / self.cpus_per_llc),
            ..LogicalCpu::alone(CpuId(i))
        };
        Ok(Topology::new(TopologyDesc::new((0..self.cpus).map(cpu).collect()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMT: &str = "/proc/sys/kernel/sched_domain/cpu0/domain0/name: SMT \n\
        /sys/devices/system/cpu/cpu0/topology/core_siblings_list: 0-7\n\
        /sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list: 0-1\n\
        /sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list: 0-7\n";

    #[test]
    fn reads_cores_and_caches() {
        let layout = Layout::parse(SMT, 8).unwrap();
        assert_eq!(layout, Layout { cpus: 8, threads_per_core: 2, cpus_per_llc: 8 });
        let machine = layout.topology().unwrap();
        assert_eq!((machine.cores().len(), machine.llcs().len()), (4, 1));
        assert_eq!(machine.cores()[1].to_string(), "2-3");
    }

    #[test]
    fn refuses_what_is_no_machine() {
        assert_eq!(Layout::parse("", 4), Err(LayoutError::NoCaches));
        assert!(matches!(Layout::parse(SMT, 9), Err(LayoutError::Divide { part: 2, cpus: 9, .. })));
        assert!(matches!(Layout::parse(SMT, 0), Err(LayoutError::Divide { .. })));
        assert!(matches!(Layout::parse(&SMT.replace("0-1", "0,4"), 8), Err(LayoutError::Numbering(_))));
        assert!(matches!(Layout::parse(&SMT.replace("0-1", "x"), 8), Err(LayoutError::NotCpus(_))));
        let large = Layout { cpus: u32::MAX, threads_per_core: 1, cpus_per_llc: 1 };
        assert!(matches!(large.topology(), Err(LayoutError::Topology(_))));
    }
}
