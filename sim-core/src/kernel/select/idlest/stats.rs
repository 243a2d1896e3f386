//! Scheduling groups as the slow path sees them, from the live queues.

use super::Verdict;
use super::group_type::{IdlestByType, TypeTerms, TypedGroup};
use super::load::{IdlestByLoad, LoadTerms};
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::balance::group_types::classify;
use crate::kernel::balance::stats::{Env, GroupStats};
use crate::kernel::domains::{DomainFlags, SchedDomain, SchedGroup, SchedGroupId};
use crate::kernel::hooks::Hooks;
use crate::observe::{GroupType, IdleType, IdlestFigures, Select, SelectReason};
use crate::time::Instant;
use std::sync::Arc;

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `find_idlest_group()`, v4.19–v5.4.
    pub(super) fn idlest_by_load(&self, d: &Select, sd: &SchedDomain, here: CpuId) -> Verdict {
        let mut search = IdlestByLoad::new(LoadTerms {
            imbalance_pct: sd.imbalance_pct,
            numa: sd.flags.has(DomainFlags::NUMA),
            fork: d.reason == SelectReason::Fork,
            task_util: self.task_util(d.task),
        });
        for (n, id) in self.domains.groups(sd).enumerate() {
            let group = self.domains.group(id);
            if !group.cpus.intersects(&self.tasks[d.task.index()].cpus_allowed) {
                continue;
            }
            let figures = self.load_figures(d.task, id, group);
            if group.cpus.contains(here) {
                search.local(figures);
            } else {
                search.other(n, figures);
            }
        }
        search.verdict()
    }

    fn load_figures(&self, task: TaskId, id: SchedGroupId, group: &SchedGroup) -> IdlestFigures {
        let capacity = self.group_capacity(id);
        let per_capacity = |load: u64| 1024 * load / capacity;
        let blocked = |c: CpuId| self.cfs_rqs[self.rqs[c.index()].cfs.index()].avg.load_avg;
        let spare = |c: CpuId| self.capacity_of(c).saturating_sub(self.cpu_util_without(c, task));
        IdlestFigures {
            cpu: group.cpus.lowest().unwrap_or(CpuId(0)),
            load: per_capacity(group.cpus.iter().map(|c| self.cpu_load(c)).sum()),
            load_with_blocked: per_capacity(group.cpus.iter().map(blocked).sum()),
            spare: group.cpus.iter().map(spare).max().unwrap_or(0),
            idle_cpus: 0,
            nr_running: 0,
        }
    }

    /// Mirrors: `find_idlest_group()`, v5.5–v6.5.
    pub(super) fn idlest_by_type(
        &mut self,
        d: &Select,
        sd: &SchedDomain,
        here: CpuId,
        now: Instant,
    ) -> Verdict {
        let domains = Arc::clone(&self.domains);
        let local = domains.group(domains.local_group(sd));
        let may_use = local.cpus.count_and(&self.tasks[d.task.index()].cpus_allowed) as u32;
        let terms = TypeTerms {
            imbalance_pct: sd.imbalance_pct,
            weight: sd.weight,
            numa: sd.flags.has(DomainFlags::NUMA),
            imb_numa_nr: sd.imb_numa_nr.unwrap_or(0).min(may_use),
        };
        let mut search = IdlestByType::new(terms, self.config.rules.select);
        for (n, id) in domains.groups(sd).enumerate() {
            let group = domains.group(id);
            if !group.cpus.intersects(&self.tasks[d.task.index()].cpus_allowed) {
                continue;
            }
            let typed = self.typed_group(d.task, sd, id, group, now);
            if group.cpus.contains(here) {
                search.local(typed);
            } else {
                search.other(n, typed);
            }
        }
        search.verdict()
    }

    /// Statistics of a group as if the task were not there.
    ///
    /// Mirrors: `update_sg_wakeup_stats()`, v5.5–v6.5.
    fn typed_group(
        &mut self,
        task: TaskId,
        sd: &SchedDomain,
        id: SchedGroupId,
        group: &SchedGroup,
        now: Instant,
    ) -> TypedGroup {
        let rules = self.config.rules.select;
        let weight = if rules.idlest_weight_missing { 0 } else { group.weight };
        let mut g = GroupStats::empty(self.group_capacity(id), weight, group.cores);
        g.imbalance_flag = self.group_imbalance(id);
        for cpu in group.cpus.iter() {
            if rules.idlest_counts_task {
                g.load += self.cpu_load(cpu);
                g.util += self.cpu_util(cpu);
                g.runnable += self.cpu_runnable(cpu);
            } else {
                g.load += self.cpu_load_without(cpu, task, now);
                g.util += self.cpu_util_without(cpu, task);
                g.runnable += self.cpu_runnable_without(cpu, task);
            }
            let rq = &self.rqs[cpu.index()];
            let there = self.tasks[task.index()].cpu == cpu && self.task_entity(task).on_rq;
            let own = u32::from(there && !rules.idlest_counts_task);
            g.h_nr_running += self.cfs_rqs[rq.cfs.index()].h_nr_running - own;
            g.nr_running += rq.nr_running - own;
            let only_it = rq.nr_running == own && rq.curr.is_none_or(|c| c == task && own == 1);
            g.idle_cpus += u32::from(only_it && rq.wake_list.is_empty());
        }
        classify(&self.wakeup_env(sd), &mut g, true);
        let compared = matches!(g.kind, GroupType::Overloaded | GroupType::FullyBusy);
        let load = if compared && !rules.idlest_load_missing { g.scaled_load() } else { 0 };
        let figures = IdlestFigures {
            cpu: group.cpus.lowest().unwrap_or(CpuId(0)),
            load,
            load_with_blocked: 0,
            spare: 0,
            idle_cpus: g.idle_cpus,
            nr_running: g.nr_running,
        };
        TypedGroup { group_type: g.kind, util: g.util, figures }
    }

    /// What classifying groups needs to know; nothing is balanced.
    fn wakeup_env(&self, sd: &SchedDomain) -> Env<'_> {
        Env {
            rules: &self.config.rules.balance,
            idle: IdleType::NotIdle,
            pct: u64::from(sd.imbalance_pct),
            prefer_sibling: false,
            numa: sd.flags.has(DomainFlags::NUMA),
            share_cache: sd.flags.has(DomainFlags::SHARE_PKG_RESOURCES),
            imb_numa_nr: 0,
            dst_load_per_task: 0,
        }
    }

    fn group_capacity(&self, id: SchedGroupId) -> u64 {
        self.balancing.group(id).stats.capacity
    }

    fn group_imbalance(&self, id: SchedGroupId) -> bool {
        self.balancing.group(id).stats.imbalance_flag
    }
}
