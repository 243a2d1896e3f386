//! The searches of `select_idle_sibling`: for an idle core, an idle CPU, an idle hardware thread (smp.md §3.5).

use super::budget;
use super::rules::SchedIdleCpu;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::observe::{Search, Select, SelectRule};
use crate::time::Instant;

/// What a walk found.
#[derive(Clone, Copy, Debug, Default)]
struct Walk {
    /// The CPU looked for.
    found: Option<CpuId>,
    /// A CPU that would do if there is none.
    spare: Option<CpuId>,
    /// CPUs looked at.
    examined: u32,
    /// Whether the budget ended it.
    gave_up: bool,
}

impl<H: Hooks> Kernel<H> {
    /// Core, then CPU, then thread. Mirrors: `select_idle_sibling()`, v4.19–v5.11.
    pub(super) fn search_separately(
        &mut self,
        d: &mut Select,
        by: CpuId,
        now: Instant,
    ) -> Option<(CpuId, SelectRule)> {
        let target = d.target;
        let mut search = Search { has_idle_cores: self.test_idle_cores(target), ..Search::default() };
        if search.has_idle_cores {
            let walk = self.walk_cores(d.task, target, target, false);
            self.charge_search(d, &mut search, walk);
            if let Some(cpu) = walk.found {
                return Some((cpu, SelectRule::IdleCore));
            }
            self.set_idle_cores(target, false);
        }
        if let Some(n) = self.budget_by_idle_time(by, target, now) {
            search.budget = n;
            let walk = self.walk_cpus(d.task, target, target, n);
            self.charge_search(d, &mut search, walk);
            self.account_walk(by, walk);
            if let Some(cpu) = walk.found {
                return Some((cpu, SelectRule::IdleCpu));
            }
        }
        d.search = Some(search);
        Some((self.select_idle_smt(d.task, target, target)?, SelectRule::IdleSibling))
    }

    /// One walk, for a core if one is believed idle. Mirrors: `select_idle_cpu()` and its call, v5.12–v6.5.
    pub(super) fn search_combined(
        &mut self,
        d: &mut Select,
        by: CpuId,
        now: Instant,
    ) -> Option<(CpuId, SelectRule)> {
        let target = d.target;
        let mut search = Search { has_idle_cores: self.test_idle_cores(target), ..Search::default() };
        if !search.has_idle_cores
            && self.domains.share_cache(d.prev, target)
            && let Some(cpu) = self.select_idle_smt(d.task, d.prev, target)
        {
            return Some((cpu, SelectRule::IdleSibling));
        }
        let prop = self.config.features.enabled(Feature::SisProp) && !search.has_idle_cores;
        let mut n = if prop { self.budget_by_idle_time(by, target, now)? } else { None };
        if self.config.features.enabled(Feature::SisUtil) {
            n = Some(self.budget_by_utilisation(target)?);
        }
        let start = if self.config.rules.select.scan_after_target { CpuId(target.0 + 1) } else { target };
        if search.has_idle_cores {
            let walk = self.walk_cores(d.task, target, start, true);
            self.charge_search(d, &mut search, walk);
            if let Some(cpu) = walk.found {
                return Some((cpu, SelectRule::IdleCore));
            }
            self.set_idle_cores(target, false);
            return Some((walk.spare?, SelectRule::IdleCpu));
        }
        search.budget = n;
        let walk = self.walk_cpus(d.task, target, start, n);
        self.charge_search(d, &mut search, walk);
        if prop {
            self.account_walk(by, walk);
        }
        Some((walk.found?, SelectRule::IdleCpu))
    }

    /// `SIS_PROP`: how many CPUs the searching CPU's idle time is worth; the inner none is no limit, the outer one no
    /// search.
    fn budget_by_idle_time(&mut self, by: CpuId, target: CpuId, now: Instant) -> Option<Option<u64>> {
        self.domains.cpu(by).sd_llc?;
        let (jiffies, weight) = (self.jiffies(now), self.domains.cpu(target).llc_size);
        let rq = &mut self.rqs[by.index()].balance;
        let idle = budget::scan_idle_time(rq, self.config.rules.select.scan_budget, jiffies);
        let cost = rq.avg_scan_cost;
        if self.config.features.enabled(Feature::SisAvgCpu) && idle < cost + 1 {
            return None;
        }
        let prop = self.config.features.enabled(Feature::SisProp);
        Some(prop.then(|| budget::sis_prop(weight, idle, cost)))
    }

    /// `SIS_UTIL`: how many CPUs the balancer thinks worth a look, plus one; none for no search.
    fn budget_by_utilisation(&self, target: CpuId) -> Option<u64> {
        let llc = self.domains.cpu(target).llc?;
        let n = self.llc_shared[llc.index()].nr_idle_scan;
        (n > 0).then_some(u64::from(n) + 1)
    }

    /// A search that came to its end, with or without success, tells how long searches take.
    fn account_walk(&mut self, by: CpuId, walk: Walk) {
        if !walk.gave_up {
            let rules = &self.config.rules.select;
            let time = u64::from(walk.examined) * self.config.searches.scan_cpu.0;
            let rq = &mut self.rqs[by.index()].balance;
            budget::account_scan(rq, rules.scan_budget, rules.scan_cost_average, time);
        }
    }

    fn charge_search(&mut self, d: &mut Select, search: &mut Search, walk: Walk) {
        search.examined += walk.examined;
        d.search = Some(*search);
        self.work_ns += u64::from(walk.examined) * self.config.searches.scan_cpu.0;
    }

    /// The CPUs a search for `target` goes over: those of its last-level cache domain.
    fn search_span(&self, target: CpuId) -> Option<&CpuMask> {
        let sd = self.domains.cpu(target).sd_llc?;
        Some(&self.domains.domain(sd).span)
    }

    /// Online hardware threads of a CPU's core.
    fn threads(&self, cpu: CpuId) -> impl Iterator<Item = CpuId> + '_ {
        let core = self.topology.cpu(cpu).map(|c| self.topology.siblings(c));
        core.into_iter().flat_map(|mask| mask.iter_and(self.topology.online()))
    }

    /// The first CPU whose whole core is idle, from `start` on. With `spare` the first idle thread met is remembered.
    ///
    /// Mirrors: `select_idle_core()`, v4.19–v6.5.
    fn walk_cores(&self, task: TaskId, target: CpuId, start: CpuId, spare: bool) -> Walk {
        let mut walk = Walk::default();
        let Some(span) = self.search_span(target) else { return walk };
        let allowed = &self.tasks[task.index()].cpus_allowed;
        for cpu in span.iter_and_wrap(allowed, start) {
            let place = |c: CpuId| (c < start, c);
            let met = |c: CpuId| place(c) < place(cpu) && span.contains(c) && allowed.contains(c);
            if self.threads(cpu).any(met) {
                // The core was looked at with an earlier thread.
                continue;
            }
            let mut idle = true;
            for thread in self.threads(cpu) {
                walk.examined += 1;
                let thread_idle = self.available_idle_cpu(thread);
                if spare
                    && walk.spare.is_none()
                    && allowed.contains(thread)
                    && (thread_idle || self.sched_idle_cpu_for(thread, task))
                {
                    walk.spare = Some(thread);
                }
                idle &= thread_idle;
                if !idle && (!spare || walk.spare.is_some()) {
                    break;
                }
            }
            if idle {
                walk.found = Some(cpu);
                break;
            }
        }
        walk
    }

    /// The first idle CPU from `start` on, within the budget.
    ///
    /// Mirrors: `select_idle_cpu()`, v4.19–v6.5.
    fn walk_cpus(&self, task: TaskId, target: CpuId, start: CpuId, budget: Option<u64>) -> Walk {
        let mut walk = Walk::default();
        let Some(span) = self.search_span(target) else { return walk };
        let allowed = &self.tasks[task.index()].cpus_allowed;
        let rules = &self.config.rules.select;
        let mut left = budget;
        for cpu in span.iter_wrap(start) {
            let may = allowed.contains(cpu);
            if !may && !rules.scan_counts_disallowed {
                continue;
            }
            if let Some(n) = &mut left {
                *n -= 1;
                if *n == 0 {
                    // A CPU with SCHED_IDLE tasks is remembered for this case only.
                    return Walk { found: walk.spare, gave_up: true, ..walk };
                }
            }
            if !may {
                continue;
            }
            walk.examined += 1;
            let sched_idle = self.sched_idle_cpu_for(cpu, task);
            if self.available_idle_cpu(cpu) || (sched_idle && rules.sched_idle_cpu == SchedIdleCpu::Idle) {
                walk.found = Some(cpu);
                break;
            }
            if sched_idle && walk.spare.is_none() {
                walk.spare = Some(cpu);
            }
        }
        walk
    }

    /// The first idle hardware thread of a core.
    ///
    /// Mirrors: `select_idle_smt()`, v4.19–v6.5.
    fn select_idle_smt(&self, task: TaskId, core_of: CpuId, target: CpuId) -> Option<CpuId> {
        let allowed = &self.tasks[task.index()].cpus_allowed;
        let span = self.search_span(target)?;
        let anywhere = !self.config.rules.select.smt_search_in_llc;
        self.threads(core_of).find(|c| {
            allowed.contains(*c) && (anywhere || span.contains(*c)) && self.counts_as_idle(*c, task)
        })
    }

    /// Whether a wholly idle core is believed to exist in a CPU's cache domain.
    ///
    /// Mirrors: `test_idle_cores()`, v4.19–v6.5.
    fn test_idle_cores(&self, cpu: CpuId) -> bool {
        self.domains.cpu(cpu).llc.is_some_and(|llc| self.llc_shared[llc.index()].has_idle_cores)
    }

    fn set_idle_cores(&mut self, cpu: CpuId, any: bool) {
        if let Some(llc) = self.domains.cpu(cpu).llc {
            self.llc_shared[llc.index()].has_idle_cores = any;
        }
    }

    /// A CPU goes idle: if its siblings idle already, its cache domain has an idle core.
    ///
    /// Mirrors: `__update_idle_core()`, v4.19–v6.5.
    pub(in crate::kernel) fn update_idle_core(&mut self, cpu: CpuId) {
        let has_smt = self.topology.cores().len() < self.topology.cpus().len();
        if has_smt
            && !self.test_idle_cores(cpu)
            && self.threads(cpu).all(|c| c == cpu || self.available_idle_cpu(c))
        {
            self.set_idle_cores(cpu, true);
        }
    }
}
