//! A CPU's chain of domains: built level by level, then without the levels that add nothing.
//!
//! Mirrors: `build_sched_domain`, `sd_degenerate`, `sd_parent_degenerate`, `cpu_attach_domain`, v4.19–v6.6 (smp.md §1.4).

use super::flags::DomainFlags as F;
use super::init::{LevelParams, level_params};
use super::levels::LevelMasks;
use crate::cpumask::CpuMask;
use crate::id::CpuId;
use crate::kernel::rules::Rules;
use crate::machine::topology::Topology;
use std::sync::Arc;

/// A set of CPUs that balance with each other only.
pub(super) struct Partition<'a> {
    pub(super) map: &'a CpuMask,
    pub(super) levels: &'a [LevelMasks],
    topology: &'a Topology,
    rules: &'a Rules,
    params: Vec<LevelParams>,
    /// By level and class.
    spans: Vec<Vec<Arc<CpuMask>>>,
}

/// A domain of one CPU, before it has groups.
pub(super) struct RawDomain {
    /// Position of its level.
    pub(super) at: usize,
    pub(super) span: Arc<CpuMask>,
    pub(super) flags: F,
    pub(super) imb_numa_nr: Option<u32>,
}

impl<'a> Partition<'a> {
    pub(super) fn new(
        map: &'a CpuMask,
        levels: &'a [LevelMasks],
        topology: &'a Topology,
        rules: &'a Rules,
    ) -> Partition<'a> {
        let params =
            levels.iter().map(|l| level_params(l.level, l.distance, topology.reclaim_distance(), rules));
        // Levels often repeat the one below: such masks are stored once.
        let mut spans: Vec<Vec<Arc<CpuMask>>> = Vec::with_capacity(levels.len());
        for (at, level) in levels.iter().enumerate() {
            let share = |mask: &CpuMask| {
                let span = mask.and(map);
                let below = span.lowest().zip(at.checked_sub(1));
                let below = below.map(|(cpu, at)| &spans[at][levels[at].class(cpu)]);
                below.filter(|b| ***b == span).map_or_else(|| Arc::new(span.clone()), Arc::clone)
            };
            let of_level = level.classes().iter().map(share).collect();
            spans.push(of_level);
        }
        Partition { map, levels, topology, rules, params: params.collect(), spans }
    }

    pub(super) fn params(&self, at: usize) -> &LevelParams {
        &self.params[at]
    }
    pub(super) fn span(&self, at: usize, cpu: CpuId) -> &Arc<CpuMask> {
        &self.spans[at][self.levels[at].class(cpu)]
    }
    /// Whether a CPU has a domain at this level: building stops at the first one that spans the partition.
    pub(super) fn is_built(&self, at: usize, cpu: CpuId) -> bool {
        at == 0 || **self.span(at - 1, cpu) != *self.map
    }

    /// A CPU's domains, smallest first.
    pub(super) fn chain(&self, cpu: CpuId) -> Vec<RawDomain> {
        let mut raw = self.raw_chain(cpu).into_iter();
        let mut chain: Vec<RawDomain> = raw.next().into_iter().collect();
        for parent in raw {
            let Some(child) = chain.last_mut() else { break };
            if self.is_degenerate(&parent, cpu) || self.is_parent_degenerate(child, &parent, cpu) {
                if parent.flags.has(F::PREFER_SIBLING) {
                    child.flags |= F::PREFER_SIBLING;
                }
            } else {
                chain.push(parent);
            }
        }
        if chain.first().is_some_and(|lowest| self.is_degenerate(lowest, cpu)) {
            chain.remove(0);
        }
        chain
    }

    fn raw_chain(&self, cpu: CpuId) -> Vec<RawDomain> {
        let mut chain: Vec<RawDomain> = Vec::new();
        for at in (0..self.levels.len()).take_while(|at| self.is_built(*at, cpu)) {
            let (span, flags) = (Arc::clone(self.span(at, cpu)), self.params[at].flags);
            chain.push(RawDomain { at, span, flags, imb_numa_nr: None });
        }
        if self.topology.asymmetric() {
            self.mark_asymmetric(&mut chain);
        }
        if self.rules.imb_numa_nr {
            set_imb_numa_nr(&mut chain);
        }
        chain
    }

    /// Flags the smallest domain whose CPUs differ in capacity, and those below it.
    fn mark_asymmetric(&self, chain: &mut [RawDomain]) {
        let capacity = |cpu| self.topology.cpu(cpu).map(|c| c.capacity);
        let differs = |d: &RawDomain| {
            let first = d.span.lowest().and_then(capacity);
            d.span.iter().any(|c| capacity(c) != first)
        };
        let Some(i) = chain.iter().position(differs) else { return };
        chain[i].flags |= F::ASYM_CPUCAPACITY;
        if i > 0 && self.rules.asym_clears_prefer_sibling {
            chain[i - 1].flags = chain[i - 1].flags.without(F::PREFER_SIBLING);
        }
        if self.rules.asym_balance_wake {
            // The domain itself too: from it the wake-up's slow path starts.
            chain[..=i].iter_mut().for_each(|d| d.flags |= F::BALANCE_WAKE);
        }
    }

    /// Whether a domain has one group only: its child's span is its own.
    fn has_one_group(&self, d: &RawDomain, cpu: CpuId) -> bool {
        match d.at.checked_sub(1) {
            Some(below) => self.span(below, cpu) == &d.span,
            None => d.span.count() == 1,
        }
    }

    fn is_degenerate(&self, d: &RawDomain, cpu: CpuId) -> bool {
        d.span.count() == 1 || (self.has_one_group(d, cpu) && !d.flags.has(F::WAKE_AFFINE))
    }

    fn is_parent_degenerate(&self, child: &RawDomain, parent: &RawDomain, cpu: CpuId) -> bool {
        // All but WAKE_AFFINE mean nothing with a single group.
        let one_group = self.has_one_group(parent, cpu);
        let useful = F::ALL.iter().filter(|(_, f)| !one_group || *f == F::WAKE_AFFINE).map(|(_, f)| *f);
        child.span == parent.span && useful.into_iter().all(|f| !parent.flags.has(f) || child.flags.has(f))
    }
}

/// Tasks a node may hold more than another (smp.md §4.4.8): an eighth of the node's CPUs if it has one last-level cache, else
/// one per cache; more for larger domains.
///
/// Mirrors: `build_sched_domains`, v5.18–v6.6.
fn set_imb_numa_nr(chain: &mut [RawDomain]) {
    let first_numa = chain.iter().find(|d| d.flags.has(F::NUMA)).map(|d| d.span.count());
    let (mut imb, mut imb_span) = (0, 1);
    let mut child: Option<(F, usize)> = None;
    for d in chain {
        let weight = d.span.count();
        let llc = child.filter(|(flags, _)| flags.has(F::SHARE_PKG_RESOURCES));
        d.imb_numa_nr = Some(match llc {
            Some((_, llc_weight)) if !d.flags.has(F::SHARE_PKG_RESOURCES) => {
                let llcs = weight / llc_weight;
                imb = if llcs == 1 { weight >> 3 } else { llcs }.max(1) as u32;
                imb_span = first_numa.unwrap_or(weight);
                imb
            }
            _ => imb * (weight / imb_span).max(1) as u32,
        });
        child = Some((d.flags, weight));
    }
}
