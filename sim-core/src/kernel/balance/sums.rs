//! What balancing counts of every CPU and every group of CPUs, kept up to date instead of added up for every attempt.
//!
//! Whatever changes a CPU's counts marks the CPU. An attempt first counts the marked CPUs of its domain anew and corrects
//! the sums of the groups they are in by the difference: the result is what adding up gives, to the unit.

use super::state::Balancing;
use super::stats::GroupStats;
use crate::cpumask::CpuMask;
use crate::id::{CfsRqId, CpuId};
use crate::kernel::Kernel;
use crate::kernel::domains::{Domains, SchedGroupId};
use crate::kernel::hooks::Hooks;

/// What balancing counts of a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Load as it is ([`Kernel::cpu_load`]).
    load: u64,
    util: u64,
    runnable: u64,
    nr_running: u32,
    h_nr_running: u32,
    idle: bool,
    overloaded: bool,
}

impl GroupStats {
    /// A CPU of the group counts for `to`, no longer for `from`.
    pub(super) fn recount(&mut self, from: &Counts, to: &Counts) {
        self.load = self.load + to.load - from.load;
        self.plain_load = self.plain_load + to.load - from.load;
        self.util = self.util + to.util - from.util;
        self.runnable = self.runnable + to.runnable - from.runnable;
        self.nr_running = self.nr_running + to.nr_running - from.nr_running;
        self.h_nr_running = self.h_nr_running + to.h_nr_running - from.h_nr_running;
        self.idle_cpus = self.idle_cpus + u32::from(to.idle) - u32::from(from.idle);
        self.overloaded = self.overloaded + u32::from(to.overloaded) - u32::from(from.overloaded);
    }

    /// A CPU of the group counts.
    pub(super) fn count(&mut self, cpu: &Counts) {
        self.recount(&Counts::default(), cpu);
    }
}

/// The counts of all CPUs as the groups' sums have them; empty on a machine with one CPU, which never balances.
#[derive(Clone, Debug, Default)]
pub(in crate::kernel) struct Sums {
    cpus: Vec<Counts>,
    /// The groups CPU `c` is in: from `first[c]` to `first[c + 1]`.
    groups: Vec<SchedGroupId>,
    first: Vec<u32>,
    /// CPUs whose counts may have changed.
    marked: CpuMask,
    /// Room for those that are counted anew.
    recounted: CpuMask,
}

impl Sums {
    /// All CPUs are still to be counted.
    pub(super) fn new(cpus: u32, domains: &Domains) -> Sums {
        if cpus <= 1 {
            return Sums::default();
        }
        let mut groups_of = vec![Vec::new(); cpus as usize];
        for id in (0..domains.nr_all_groups()).map(SchedGroupId::new) {
            domains.group(id).cpus.iter().for_each(|c| groups_of[c.index()].push(id));
        }
        let mut first = vec![0];
        first.extend(groups_of.iter().scan(0, |end, groups| {
            *end += groups.len() as u32;
            Some(*end)
        }));
        Sums {
            cpus: vec![Counts::default(); cpus as usize],
            groups: groups_of.concat(),
            first,
            marked: CpuMask::first(cpus),
            recounted: CpuMask::first(cpus),
        }
    }

    /// The counts of a CPU are about to change, or just have.
    pub(in crate::kernel) fn mark(&mut self, cpu: CpuId) {
        if !self.cpus.is_empty() {
            self.marked.insert(cpu);
        }
    }

    pub(super) fn cpu(&self, cpu: CpuId) -> &Counts {
        &self.cpus[cpu.index()]
    }
}

impl Balancing {
    fn recount(&mut self, cpu: CpuId, now: Counts) {
        let sums = &mut self.sums;
        let before = std::mem::replace(&mut sums.cpus[cpu.index()], now);
        if before != now {
            let (from, to) = (sums.first[cpu.index()] as usize, sums.first[cpu.index() + 1] as usize);
            for group in &sums.groups[from..to] {
                self.groups[group.index()].stats.recount(&before, &now);
            }
        }
    }
}

impl<H: Hooks> Kernel<H> {
    /// The averages of a queue are about to change, or just have.
    pub(in crate::kernel) fn mark_queue(&mut self, q: CfsRqId) {
        self.balancing.sums.mark(self.cfs_rqs[q.index()].cpu);
    }

    /// Counts the marked CPUs of a domain.
    pub(super) fn update_sums(&mut self, span: &CpuMask) {
        let sums = &mut self.balancing.sums;
        let mut changed = std::mem::take(&mut sums.recounted);
        changed.copy_from(&sums.marked);
        changed.and_with(span);
        sums.marked.and_not_with(&changed);
        for cpu in changed.iter() {
            let now = self.count(cpu);
            self.balancing.recount(cpu, now);
        }
        self.balancing.sums.recounted = changed;
    }

    /// What balancing counts of a CPU.
    pub(super) fn count(&self, cpu: CpuId) -> Counts {
        let rq = &self.rqs[cpu.index()];
        let h_nr_running = self.h_nr_running(cpu);
        let fair_only = self.config.rules.balance.group_types_first_form;
        Counts {
            load: self.cpu_load(cpu),
            util: self.cpu_util(cpu),
            runnable: self.cpu_runnable(cpu),
            nr_running: if fair_only { h_nr_running } else { rq.nr_running },
            h_nr_running,
            idle: rq.is_idle(),
            overloaded: rq.nr_running > 1,
        }
    }
}
