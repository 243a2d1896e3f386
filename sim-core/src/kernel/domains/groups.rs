//! Groups of domains, in the order they are walked.
//!
//! Mirrors: `build_sched_groups`, `build_overlap_sched_groups`, v4.19–v6.6 (smp.md §1.2).

use super::attach::Partition;
use super::{DomainFlags, Level, Ring, SchedGroup, SchedGroupId};
use crate::cpumask::CpuMask;
use crate::id::CpuId;
use crate::kernel::rules::Rules;
use crate::machine::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All groups, each once, and the lists domains walk.
pub(super) struct GroupStore<'a> {
    topology: &'a Topology,
    pub(super) groups: Vec<SchedGroup>,
    pub(super) rings: Vec<SchedGroupId>,
}

/// Groups of one partition.
pub(super) struct PartitionGroups<'a, 'p> {
    store: &'p mut GroupStore<'a>,
    partition: &'p Partition<'a>,
    rules: &'a Rules,
    /// Groups that do not overlap: by level of the domain, then by class of the level below (or CPU).
    plain: Vec<Vec<Option<SchedGroupId>>>,
    /// Groups that may overlap, by level of the domain and CPUs.
    overlapping: BTreeMap<(usize, Arc<CpuMask>), SchedGroupId>,
    /// Lists of a domain, by level and class: CPUs of one span mostly share one.
    plain_rings: BTreeMap<(usize, usize), Vec<Ring>>,
    /// Lists by level and order of nodes.
    node_rings: BTreeMap<(usize, Vec<CpuId>), Ring>,
}

impl<'a> GroupStore<'a> {
    pub(super) fn new(topology: &'a Topology) -> GroupStore<'a> {
        GroupStore { topology, groups: Vec::new(), rings: Vec::new() }
    }

    fn add(&mut self, level: Level, cpus: &Arc<CpuMask>, balance_mask: &Arc<CpuMask>) -> SchedGroupId {
        let cores = cpus.iter().filter_map(|c| self.topology.cpu(c)).map(|c| c.core);
        let mut cores: Vec<u32> = cores.collect();
        cores.sort_unstable();
        cores.dedup();
        self.groups.push(SchedGroup {
            level,
            cpus: Arc::clone(cpus),
            weight: cpus.count() as u32,
            balance_mask: Arc::clone(balance_mask),
            balance_cpu: balance_mask.lowest().unwrap_or(CpuId(0)),
            child_flags: DomainFlags::NONE,
            cores: cores.len() as u32,
        });
        SchedGroupId::new(self.groups.len() - 1)
    }

    fn add_ring(&mut self, groups: &[SchedGroupId]) -> Ring {
        let start = self.rings.len() as u32;
        self.rings.extend_from_slice(groups);
        Ring { start, len: groups.len() as u32, first: 0 }
    }

    /// The place in an existing list from which it reads as `groups`.
    fn rotation(&self, ring: Ring, groups: &[SchedGroupId]) -> Option<Ring> {
        let list = &self.rings[ring.start as usize..(ring.start + ring.len) as usize];
        let first = list.iter().position(|g| Some(g) == groups.first())?;
        let same = list[first..].iter().chain(&list[..first]).eq(groups);
        same.then_some(Ring { first: first as u32, ..ring })
    }
}

impl<'a, 'p> PartitionGroups<'a, 'p> {
    pub(super) fn new(
        store: &'p mut GroupStore<'a>,
        partition: &'p Partition<'a>,
        rules: &'a Rules,
    ) -> PartitionGroups<'a, 'p> {
        let plain = vec![Vec::new(); partition.levels.len()];
        PartitionGroups {
            store,
            partition,
            rules,
            plain,
            overlapping: BTreeMap::new(),
            plain_rings: BTreeMap::new(),
            node_rings: BTreeMap::new(),
        }
    }

    /// Groups of `cpu`'s domain at level `at`, its own first, the others in the order of CPUs from `cpu` on.
    pub(super) fn ring(&mut self, at: usize, cpu: CpuId) -> Ring {
        match self.partition.levels[at].level {
            Level::Numa(_) => self.overlapping_ring(at, cpu),
            _ => self.plain_ring(at, cpu),
        }
    }

    fn plain_ring(&mut self, at: usize, cpu: CpuId) -> Ring {
        let span = Arc::clone(self.partition.span(at, cpu));
        let mut order: Vec<SchedGroupId> = Vec::new();
        let mut seen = CpuMask::default();
        for member in span.iter_wrap(cpu) {
            let group = self.plain_group(at, member);
            // A group is seen first at one of its CPUs; its lowest stands for it.
            let lowest = self.store.groups[group.index()].balance_cpu;
            if !seen.contains(lowest) {
                seen.insert(lowest);
                order.push(group);
            }
        }
        let key = (at, self.partition.levels[at].class(cpu));
        let known = self.plain_rings.entry(key).or_default();
        let found = known.iter().find_map(|ring| self.store.rotation(*ring, &order));
        found.unwrap_or_else(|| {
            let ring = self.store.add_ring(&order);
            known.push(ring);
            ring
        })
    }

    /// The group of the domains at level `at` that `cpu` belongs to: its child's span.
    fn plain_group(&mut self, at: usize, cpu: CpuId) -> SchedGroupId {
        let key = match at.checked_sub(1) {
            Some(below) => self.partition.levels[below].class(cpu),
            None => cpu.index(),
        };
        let known = &mut self.plain[at];
        if key >= known.len() {
            known.resize(key + 1, None);
        }
        *known[key].get_or_insert_with(|| {
            let single = || Arc::new(CpuMask::one(cpu));
            let cpus = at.checked_sub(1).map_or_else(single, |b| Arc::clone(self.partition.span(b, cpu)));
            self.store.add(self.partition.levels[at].level, &cpus, &cpus)
        })
    }

    fn overlapping_ring(&mut self, at: usize, cpu: CpuId) -> Ring {
        // All CPUs of a node have the same domains from here on, so one of each node stands for it.
        let span = Arc::clone(self.partition.span(at, cpu));
        let mut nodes: Vec<CpuId> = Vec::new();
        let mut seen = CpuMask::default();
        let from_lowest = self.rules.numa_groups_from_lowest_cpu;
        let start = span.lowest().filter(|_| from_lowest).unwrap_or(cpu);
        for member in span.iter_wrap(start) {
            if !seen.contains(member) {
                let node = self.node(at, member);
                nodes.extend(node.lowest());
                seen.or_with(node);
            }
        }
        let key = (at, nodes);
        let ring = self.node_rings.get(&key).copied().unwrap_or_else(|| {
            let order = self.overlapping_order(at, &span, &key.1);
            let ring = self.store.add_ring(&order);
            self.node_rings.insert(key, ring);
            ring
        });
        let list = &self.store.rings[ring.start as usize..(ring.start + ring.len) as usize];
        let own = |g: &SchedGroupId| self.store.groups[g.index()].cpus.contains(cpu);
        Ring { first: list.iter().position(own).unwrap_or(0) as u32, ..ring }
    }

    /// CPUs of `cpu`'s node: the span of the last level below the first NUMA level.
    fn node(&self, at: usize, cpu: CpuId) -> &'p CpuMask {
        let is_numa = |at: &usize| matches!(self.partition.levels[*at].level, Level::Numa(_));
        let node = (0..at).rev().find(|at| !is_numa(at)).unwrap_or_default();
        self.partition.span(node, cpu)
    }

    fn overlapping_order(&mut self, at: usize, span: &CpuMask, nodes: &[CpuId]) -> Vec<SchedGroupId> {
        let mut covered = CpuMask::default();
        let mut order = Vec::new();
        for sibling in nodes {
            // A CPU whose domains end below covers everything already and makes no group.
            if covered.contains(*sibling) || !self.partition.is_built(at, *sibling) {
                continue;
            }
            let group = self.overlapping_group(at, *sibling, span);
            covered.or_with(&self.store.groups[group.index()].cpus);
            order.push(group);
        }
        order
    }

    /// The group that `sibling`'s child makes in a domain of this span.
    fn overlapping_group(&mut self, at: usize, sibling: CpuId, span: &CpuMask) -> SchedGroupId {
        let partition = self.partition;
        let mut at = at;
        while self.rules.numa_groups_within_span && at > 1 && !partition.span(at - 1, sibling).is_subset(span)
        {
            at -= 1;
        }
        let cpus = partition.span(at - 1, sibling);
        let key = (at, Arc::clone(cpus));
        if let Some(group) = self.overlapping.get(&key) {
            return *group;
        }
        // Those may balance whose own child has the same span.
        let same = |c: &CpuId| partition.is_built(at, *c) && partition.span(at - 1, *c) == cpus;
        let balance: CpuMask = cpus.iter().filter(same).collect();
        let balance = if balance == **cpus { Arc::clone(cpus) } else { Arc::new(balance) };
        let group = self.store.add(partition.levels[at].level, cpus, &balance);
        self.overlapping.insert(key, group);
        group
    }
}
