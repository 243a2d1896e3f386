//! Scheduling domains: which CPUs a CPU balances with, in which groups, how often (smp.md §1).
//!
//! Everything here is fixed once built. What changes while balancing (intervals, failures, times) is kept by the balancer in
//! tables indexed by [`DomainId`], [`SchedGroupId`] and [`LlcId`].
//!
//! Mirrors: `build_sched_domains`, v4.19–v6.6. Left out: `SD_ASYM_PACKING` and the energy model's
//! domains (smp.md §1.5). Deviates: D-160.

mod attach;
mod build;
mod flags;
mod groups;
mod init;
mod levels;

pub use build::{DomainsError, build};
pub use flags::DomainFlags;
pub use levels::Level;

use crate::cpumask::CpuMask;
use crate::id::CpuId;
use std::sync::Arc;

crate::id::id!(/// A domain of one CPU: dense over all CPUs and levels.
    DomainId);
crate::id::id!(/// A scheduling group with its capacity record, shared by all CPUs that balance it at the same level.
    SchedGroupId);
crate::id::id!(/// A last-level cache as the scheduler sees it (`sd_llc_shared`).
    LlcId);

/// A CPU's scheduling domain at one level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedDomain {
    /// Whose it is.
    pub cpu: CpuId,
    /// Its level.
    pub level: Level,
    /// Its CPUs.
    pub span: Arc<CpuMask>,
    /// Number of its CPUs.
    pub weight: u32,
    /// What it does.
    pub flags: DomainFlags,
    /// Shortest balance interval, ms.
    pub min_interval_ms: u32,
    /// Longest balance interval, ms.
    pub max_interval_ms: u32,
    /// A busy CPU's interval is longer by this factor.
    pub busy_factor: u32,
    /// How much busier the busiest group must be, in percent.
    pub imbalance_pct: u32,
    /// So many failures make cache-hot tasks movable.
    pub cache_nice_tries: u32,
    /// Tasks a node may hold more than another (since 5.18).
    pub imb_numa_nr: Option<u32>,
    /// The next smaller domain of this CPU.
    pub child: Option<DomainId>,
    /// The next larger domain of this CPU.
    pub parent: Option<DomainId>,
    ring: Ring,
}

/// Groups of a domain in walk order: part of a list that several CPUs share, each starting elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ring {
    start: u32,
    len: u32,
    first: u32,
}

/// A scheduling group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedGroup {
    /// Level of the domains it is a group of.
    pub level: Level,
    /// Its CPUs.
    pub cpus: Arc<CpuMask>,
    /// Number of its CPUs.
    pub weight: u32,
    /// CPUs that may balance for it.
    pub balance_mask: Arc<CpuMask>,
    /// The lowest of them.
    pub balance_cpu: CpuId,
    /// Flags of the domain the group is made of; none if it is a single CPU (used since 6.1).
    pub child_flags: DomainFlags,
    /// Cores with a CPU in it (used since 6.6).
    pub cores: u32,
}

/// What a CPU looks up without walking its domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuDomains {
    /// Lowest domain.
    pub lowest: Option<DomainId>,
    /// Number of domains.
    pub len: u32,
    /// The largest domain that shares a cache (`sd_llc`).
    pub sd_llc: Option<DomainId>,
    /// Number of CPUs in it; 1 without one (`sd_llc_size`).
    pub llc_size: u32,
    /// Its lowest CPU; the CPU itself without one (`sd_llc_id`).
    pub llc_id: CpuId,
    /// Its shared record.
    pub llc: Option<LlcId>,
    /// The smallest domain whose CPUs differ in capacity (`sd_asym_cpucapacity`).
    pub sd_asym: Option<DomainId>,
}

/// The domains of all CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domains {
    /// By CPU number.
    cpus: Vec<CpuDomains>,
    domains: Vec<SchedDomain>,
    groups: Vec<SchedGroup>,
    rings: Vec<SchedGroupId>,
    llcs: Vec<Arc<CpuMask>>,
}

impl Domains {
    /// A CPU's shortcuts. A CPU that is offline, isolated or in no partition has no domain.
    ///
    /// # Panics
    /// When the number is not below the machine's `nr_cpu_ids`.
    pub fn cpu(&self, cpu: CpuId) -> &CpuDomains {
        &self.cpus[cpu.index()]
    }
    /// A CPU's domains, the smallest first (`for_each_domain`).
    pub fn chain(
        &self,
        cpu: CpuId,
    ) -> impl DoubleEndedIterator<Item = (DomainId, &SchedDomain)> + ExactSizeIterator {
        let c = &self.cpus[cpu.index()];
        let start = c.lowest.map_or(0, DomainId::index);
        let chain = &self.domains[start..start + c.len as usize];
        chain.iter().enumerate().map(move |(i, d)| (DomainId::new(start + i), d))
    }
    /// A domain.
    pub fn domain(&self, id: DomainId) -> &SchedDomain {
        &self.domains[id.index()]
    }
    /// A group.
    pub fn group(&self, id: SchedGroupId) -> &SchedGroup {
        &self.groups[id.index()]
    }
    /// Groups of a domain in walk order: the one of its own CPU first.
    pub fn groups(&self, domain: &SchedDomain) -> impl Iterator<Item = SchedGroupId> + Clone + '_ {
        let Ring { start, len, first } = domain.ring;
        let ring = &self.rings[start as usize..(start + len) as usize];
        let (before, from) = ring.split_at(first as usize);
        from.iter().chain(before).copied()
    }
    /// The group of the domain's own CPU.
    pub fn local_group(&self, domain: &SchedDomain) -> SchedGroupId {
        self.rings[(domain.ring.start + domain.ring.first) as usize]
    }
    /// Number of groups of a domain.
    pub fn nr_groups(&self, domain: &SchedDomain) -> usize {
        domain.ring.len as usize
    }
    /// CPUs of a last-level cache's record.
    pub fn llc_span(&self, llc: LlcId) -> &CpuMask {
        &self.llcs[llc.index()]
    }
    /// Whether two CPUs share a last-level cache (`cpus_share_cache`).
    pub fn share_cache(&self, a: CpuId, b: CpuId) -> bool {
        self.cpu(a).llc_id == self.cpu(b).llc_id
    }
    /// Number of domains of all CPUs: the length of a table by [`DomainId`].
    pub fn nr_domains(&self) -> usize {
        self.domains.len()
    }
    /// Number of groups: the length of a table by [`SchedGroupId`].
    pub fn nr_all_groups(&self) -> usize {
        self.groups.len()
    }
    /// Number of last-level caches: the length of a table by [`LlcId`].
    pub fn nr_llcs(&self) -> usize {
        self.llcs.len()
    }
}
