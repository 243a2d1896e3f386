//! Builds all domains of a machine.

use super::attach::{Partition, RawDomain};
use super::flags::DomainFlags as F;
use super::groups::{GroupStore, PartitionGroups};
use super::levels::levels;
use super::{CpuDomains, DomainFlags, DomainId, Domains, LlcId, Ring, SchedDomain};
use crate::cpumask::CpuMask;
use crate::id::CpuId;
use crate::kernel::rules::Rules;
use crate::machine::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// Why partitions do not fit a machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DomainsError {
    /// A CPU the machine does not have.
    #[error("CPU {}: the machine has CPUs {present}", cpu.0)]
    UnknownCpu {
        /// The CPU.
        cpu: CpuId,
        /// Those it has.
        present: CpuMask,
    },
    /// A CPU in two partitions.
    #[error("CPU {} is in two partitions", cpu.0)]
    Overlap {
        /// The CPU.
        cpu: CpuId,
    },
}

/// Builds the domains of a machine's online CPUs that are not isolated, under the rules of one kernel. With `partitions`
/// (root cpusets without load balancing between them), each has domains of its own and CPUs in none have no domain.
///
/// # Errors
/// When partitions overlap or name CPUs the machine does not have.
pub fn build(topology: &Topology, rules: &Rules, partitions: &[CpuMask]) -> Result<Domains, DomainsError> {
    let maps = maps(topology, partitions)?;
    let levels = levels(topology, rules);
    let mut builder = Builder::new(topology, rules);
    for map in &maps {
        builder.add_partition(&Partition::new(map, &levels, topology, rules));
    }
    Ok(builder.finish())
}

fn maps(topology: &Topology, partitions: &[CpuMask]) -> Result<Vec<CpuMask>, DomainsError> {
    let mut active = topology.online().clone();
    active.and_not_with(topology.isolated());
    if partitions.is_empty() {
        return Ok(vec![active]);
    }
    let mut taken = CpuMask::default();
    for partition in partitions {
        if let Some(cpu) = partition.iter().find(|c| !topology.present().contains(*c)) {
            return Err(DomainsError::UnknownCpu { cpu, present: topology.present().clone() });
        }
        if let Some(cpu) = partition.lowest_and(&taken) {
            return Err(DomainsError::Overlap { cpu });
        }
        taken.or_with(partition);
    }
    Ok(partitions.iter().map(|p| p.and(&active)).collect())
}

struct Builder<'a> {
    rules: &'a Rules,
    store: GroupStore<'a>,
    cpus: Vec<CpuDomains>,
    domains: Vec<SchedDomain>,
    llcs: Vec<Arc<CpuMask>>,
    /// By lowest CPU.
    llc_ids: BTreeMap<CpuId, LlcId>,
}

impl<'a> Builder<'a> {
    fn new(topology: &'a Topology, rules: &'a Rules) -> Builder<'a> {
        let none = |i| CpuDomains {
            lowest: None,
            len: 0,
            sd_llc: None,
            llc_size: 1,
            llc_id: CpuId::new(i),
            llc: None,
            sd_asym: None,
        };
        Builder {
            rules,
            store: GroupStore::new(topology),
            cpus: (0..topology.nr_cpu_ids()).map(none).collect(),
            domains: Vec::new(),
            llcs: Vec::new(),
            llc_ids: BTreeMap::new(),
        }
    }

    fn add_partition(&mut self, partition: &Partition<'a>) {
        let mut chains = Vec::new();
        let mut groups = PartitionGroups::new(&mut self.store, partition, self.rules);
        for cpu in partition.map.iter() {
            let with_ring = |d: RawDomain| {
                let ring = groups.ring(d.at, cpu);
                (d, ring)
            };
            chains.push((cpu, partition.chain(cpu).into_iter().map(with_ring).collect::<Vec<_>>()));
        }
        for (cpu, chain) in chains {
            self.add_chain(partition, cpu, chain);
        }
    }

    fn add_chain(&mut self, partition: &Partition<'_>, cpu: CpuId, chain: Vec<(RawDomain, Ring)>) {
        let (start, len) = (self.domains.len(), chain.len());
        for (i, (raw, ring)) in chain.into_iter().enumerate() {
            let id = start + i;
            let child = (i > 0).then(|| DomainId::new(id - 1));
            let parent = (i + 1 < len).then(|| DomainId::new(id + 1));
            let domain = self.domain(partition, cpu, raw, ring);
            self.domains.push(SchedDomain { child, parent, ..domain });
        }
        let chain = self.domains[start..].iter().enumerate();
        let id = |i: Option<(usize, &SchedDomain)>| i.map(|(i, _)| DomainId::new(start + i));
        let sd_llc = id(chain.clone().rfind(|(_, d)| d.flags.has(F::SHARE_PKG_RESOURCES)));
        let sd_asym = id(chain.clone().find(|(_, d)| d.flags.has(F::ASYM_CPUCAPACITY)));
        let (llc_size, llc_id, llc) = match sd_llc {
            Some(sd) => self.llc(sd),
            None => (1, cpu, None),
        };
        let lowest = (len > 0).then(|| DomainId::new(start));
        self.cpus[cpu.index()] =
            CpuDomains { lowest, len: len as u32, sd_llc, llc_size, llc_id, llc, sd_asym };
    }

    fn domain(&self, partition: &Partition<'_>, cpu: CpuId, raw: RawDomain, ring: Ring) -> SchedDomain {
        let (level, params) = (&partition.levels[raw.at], partition.params(raw.at));
        // The level's CPUs count, those of other partitions too.
        let w = level.mask(cpu).count() as u32;
        SchedDomain {
            cpu,
            level: level.level,
            weight: raw.span.count() as u32,
            span: raw.span,
            flags: raw.flags,
            min_interval_ms: w,
            max_interval_ms: 2 * w,
            busy_factor: self.rules.busy_factor,
            imbalance_pct: params.imbalance_pct,
            cache_nice_tries: params.cache_nice_tries,
            imb_numa_nr: raw.imb_numa_nr,
            child: None,
            parent: None,
            ring,
        }
    }

    fn llc(&mut self, sd: DomainId) -> (u32, CpuId, Option<LlcId>) {
        let sd = &self.domains[sd.index()];
        let first = sd.span.lowest().unwrap_or(sd.cpu);
        let next = LlcId::new(self.llcs.len());
        let id = *self.llc_ids.entry(first).or_insert(next);
        if id == next {
            self.llcs.push(Arc::clone(&sd.span));
        }
        (sd.weight, first, Some(id))
    }

    fn finish(self) -> Domains {
        let GroupStore { groups, rings, .. } = self.store;
        let mut all =
            Domains { cpus: self.cpus, domains: self.domains, groups: Vec::new(), rings, llcs: self.llcs };
        let flags = |balance_cpu, cpus: &CpuMask| {
            let child = all.chain(balance_cpu).find(|(_, d)| *d.span == *cpus);
            child.map_or(DomainFlags::NONE, |(_, d)| d.flags)
        };
        let mut groups = groups;
        for group in &mut groups {
            group.child_flags = flags(group.balance_cpu, &group.cpus);
        }
        all.groups = groups;
        all
    }
}
