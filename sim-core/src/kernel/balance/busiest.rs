//! Statistics of live groups, and the busiest group and queue.

use super::env::LbEnv;
use super::periodic::ms_to_jiffies;
use super::rules::Balancer;
use super::stats::{self, DomainStats, Env, GroupStats, Imbalance};
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, Level, SchedGroup, SchedGroupId};
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::observe::{BalancedBecause, IdleType, MigrationType};
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// The busiest group and what should move from it.
    ///
    /// Mirrors: `find_busiest_group()`, `update_sd_lb_stats()`, v4.19–v6.5.
    pub(super) fn find_busiest_group(
        &mut self,
        env: &mut LbEnv<'_>,
        now: Instant,
    ) -> Result<(SchedGroupId, Imbalance), BalancedBecause> {
        let domains = env.domains;
        let rules = self.config.rules.balance;
        let child = env.domain.child.map(|c| domains.domain(c));
        let mut pure = Env {
            rules: &rules,
            idle: env.idle,
            pct: env.pct(),
            prefer_sibling: child.is_some_and(|c| c.flags.has(DomainFlags::PREFER_SIBLING)),
            numa: env.is(DomainFlags::NUMA),
            share_cache: env.is(DomainFlags::SHARE_PKG_RESOURCES),
            imb_numa_nr: env.domain.imb_numa_nr.unwrap_or(0),
            dst_load_per_task: self.load_per_task(env.dst),
        };
        let mut groups = domains.groups(env.domain);
        let local = groups.next().expect("a domain has the group of its own CPU");
        self.update_group_capacity(env, local, now);
        self.refresh_newly_idle(env, now);
        self.update_sums(&env.domain.span);
        let in_part = !env.excluded.is_empty() || env.is(DomainFlags::OVERLAP) || self.biases_load(env);
        let kept = |id, local| {
            let stats = &self.balancing.group(id).stats;
            debug_assert!(in_part || *stats == self.update_sg_lb_stats(env, id, local));
            stats
        };
        let mut sds = match in_part {
            true => DomainStats::begin(&pure, self.update_sg_lb_stats(env, local, true)),
            false => DomainStats::begin(&pure, *kept(local, true)),
        };
        for (i, group) in groups.enumerate() {
            if in_part {
                sds.add(&pure, i + 1, &self.update_sg_lb_stats(env, group, false));
            } else {
                sds.add(&pure, i + 1, kept(group, false));
            }
        }
        if env.domain.parent.is_none() {
            self.balancing.overload = sds.overload;
        }
        self.update_idle_scan(env, sds.total_util);
        let busiest = sds.busiest.and_then(|(i, _)| domains.groups(env.domain).nth(i));
        if let Some(busiest) = busiest.filter(|_| rules.smt_groups) {
            pure.prefer_sibling = domains.group(busiest).child_flags.has(DomainFlags::PREFER_SIBLING);
        }
        env.seen = Some((sds, busiest));
        let imbalance = stats::find_busiest_group(&pure, &sds)?;
        busiest.map(|b| (b, imbalance)).ok_or(BalancedBecause::NoBusiest)
    }

    /// Load per fair task of a CPU; zero without tasks.
    fn load_per_task(&self, cpu: CpuId) -> u64 {
        self.cpu_load(cpu).checked_div(u64::from(self.h_nr_running(cpu))).unwrap_or(0)
    }

    /// Runnable fair tasks of a CPU, of all groups.
    pub(super) fn h_nr_running(&self, cpu: CpuId) -> u32 {
        self.cfs_rqs[self.rqs[cpu.index()].cfs.index()].h_nr_running
    }

    /// Sums what the CPUs of the local group have left for fair tasks; each CPU measures that for itself, in its lowest domain.
    ///
    /// Mirrors: `update_group_capacity()`, v4.19–v6.5; smp.md §1.5.
    fn update_group_capacity(&mut self, env: &LbEnv<'_>, group: SchedGroupId, now: Instant) {
        let jiffy = self.jiffies(now);
        if env.idle == IdleType::NewlyIdle && jiffy < self.balancing.group(group).next_update {
            return;
        }
        let cpus = &env.domains.group(group).cpus;
        if env.domain.child.is_none() {
            cpus.iter().for_each(|c| self.update_cpu_capacity(c));
        }
        let capacity = cpus.iter().map(|c| self.capacity_of(c)).sum();
        let interval = ms_to_jiffies(self.balancing.domain(env.sd).balance_interval, self.config.hz);
        let interval = interval.clamp(1, self.balancing.max_lb_interval);
        let record = self.balancing.group_mut(group);
        record.stats.capacity = capacity;
        record.next_update = jiffy + interval;
    }

    /// Adds up what the CPUs of a group that take part count for.
    ///
    /// Mirrors: `update_sg_lb_stats()`, v4.19–v6.5.
    fn update_sg_lb_stats(&self, env: &LbEnv<'_>, id: SchedGroupId, local: bool) -> GroupStats {
        let group = env.domains.group(id);
        let record = &self.balancing.group(id).stats;
        let mut g = GroupStats {
            capacity: record.capacity,
            imbalance_flag: record.imbalance_flag,
            ..GroupStats::of(group)
        };
        for cpu in env.cpus(group) {
            let counts = self.balancing.sums.cpu(cpu);
            debug_assert_eq!(*counts, self.count(cpu), "what changes counts marks {cpu:?}");
            g.count(counts);
        }
        if self.biases_load(env) {
            let index = load_index(env.domain.level, env.idle);
            let biased = if local { Self::target_load } else { Self::source_load };
            g.load = env.cpus(group).map(|c| biased(self, c, index)).sum();
        }
        g
    }

    /// Loads are seen with the bias of the past (4.19).
    fn biases_load(&self, env: &LbEnv<'_>) -> bool {
        self.config.rules.balance.balancer == Balancer::AverageLoad
            && load_index(env.domain.level, env.idle) > 0
            && self.config.features.enabled(Feature::LbBias)
    }

    /// Before 5.13 a newly-idle pass refreshes the blocked load of the tickless CPUs it looks at.
    ///
    /// Mirrors: the call of `update_nohz_stats()` in `update_sg_lb_stats()`, v4.19–v5.12.
    fn refresh_newly_idle(&mut self, env: &LbEnv<'_>, now: Instant) {
        let refresh = env.idle == IdleType::NewlyIdle
            && !self.config.rules.balance.nohz_newidle_deferred
            && self.balancing.nohz.has_blocked;
        if !refresh {
            return;
        }
        let mut tickless = std::mem::take(&mut self.balancing.others);
        tickless.copy_from(&self.balancing.nohz.idle_mask);
        tickless.and_with(&env.domain.span);
        for group in env.domains.groups(env.domain) {
            for cpu in tickless.iter_and(&env.domains.group(group).cpus) {
                if !env.excluded.contains(&cpu) {
                    self.update_nohz_stats(cpu, now);
                }
            }
        }
        self.balancing.others = tickless;
    }

    /// How many CPUs searches for an idle one in this cache examine from now on.
    ///
    /// Mirrors: `update_idle_cpu_scan()`, v6.0–v6.6.
    fn update_idle_scan(&mut self, env: &LbEnv<'_>, util: u64) {
        let cpu = env.domains.cpu(env.this_cpu);
        if let Some(llc) = cpu.llc
            && self.config.features.enabled(Feature::SisUtil)
            && env.idle != IdleType::NewlyIdle
            && env.domain.weight == cpu.llc_size
        {
            self.llc_shared[llc.index()].nr_idle_scan =
                crate::kernel::select::budget::nr_idle_scan(util, cpu.llc_size, env.domain.imbalance_pct);
        }
    }

    /// The queue of a group that tasks should leave first; the lowest CPU among equals.
    ///
    /// Mirrors: `find_busiest_queue()`, v4.19–v6.5; smp.md §4.3.4, §4.4.9.
    pub(super) fn find_busiest_queue(&self, env: &LbEnv<'_>, group: &SchedGroup) -> Option<CpuId> {
        let rules = &self.config.rules.balance;
        // Compared as value / capacity.
        let mut best: Option<(CpuId, u64, u64)> = None;
        for cpu in env.cpus(group) {
            let h_nr = self.h_nr_running(cpu);
            if rules.skip_queues_without_fair && h_nr == 0 {
                continue;
            }
            let (value, capacity) = match env.imbalance.kind {
                MigrationType::Load => {
                    let load = self.cpu_load(cpu);
                    let single = match rules.balancer {
                        Balancer::AverageLoad => self.rqs[cpu.index()].nr_running == 1,
                        Balancer::GroupTypes => h_nr == 1,
                    };
                    let too_much = load > env.imbalance.amount.cast_unsigned();
                    if single && too_much && !self.has_reduced_capacity(cpu, env.pct()) {
                        continue;
                    }
                    (load, self.capacity_of(cpu))
                }
                MigrationType::Util if rules.util_needs_two_tasks && h_nr <= 1 => continue,
                MigrationType::Util if rules.util_or_runnable => {
                    (self.cpu_util(cpu).max(self.cpu_runnable(cpu)), 1)
                }
                MigrationType::Util => (self.cpu_util(cpu), 1),
                MigrationType::Task => (u64::from(h_nr), 1),
            };
            let (_, most, of) = best.unwrap_or((cpu, 0, 1));
            if value * of > most * capacity {
                best = Some((cpu, value, capacity));
            }
        }
        best.map(|(cpu, ..)| cpu)
    }

    /// Whether much of a CPU's capacity goes to other classes and interrupts.
    ///
    /// Mirrors: `check_cpu_capacity()`, v4.19–v6.5.
    pub(super) fn has_reduced_capacity(&self, cpu: CpuId, pct: u64) -> bool {
        self.capacity_of(cpu) * pct < self.capacity_orig_of(cpu) * 100
    }
}

/// Which of the past loads is compared (`busy_idx`, `idle_idx`, `newidle_idx`; 4.19, smp.md §1.3).
const fn load_index(level: Level, idle: IdleType) -> usize {
    match (idle, level) {
        (IdleType::NewlyIdle, _) | (_, Level::Smt) | (IdleType::Idle, Level::Cls | Level::Mc) => 0,
        (IdleType::NotIdle, Level::Numa(_)) => 3,
        (IdleType::NotIdle, _) | (IdleType::Idle, Level::Numa(_)) => 2,
        (IdleType::Idle, Level::Die | Level::Node) => 1,
    }
}
