//! One attempt to balance one domain, from its statistics to the intervals it leaves behind. Deviates: D-121.

use super::env::LbEnv;
use super::rules::ActiveAfterFailures;
use crate::id::CpuId;
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, DomainId};
use crate::kernel::hooks::Hooks;
use crate::kernel::stop::StopWork;
use crate::observe::{
    BalanceAttempt, BalanceOutcome as Outcome, Decision, Event, GroupView, IdleType, MigrateReason,
    MigrationType, Observer,
};
use crate::time::Instant;
use std::sync::Arc;

/// Interval, ms, up to which a domain whose tasks are all pinned backs off (`MAX_PINNED_INTERVAL`).
const MAX_PINNED_INTERVAL: u64 = 512;

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attempt {
    /// Tasks pulled.
    pub(super) moved: u32,
    /// Larger domains are this CPU's business too.
    pub(super) goes_on: bool,
}

impl<H: Hooks> Kernel<H> {
    /// Tries to even out one domain of a CPU.
    ///
    /// Mirrors: `load_balance()`, v4.19–v6.5; smp.md §4.3.1.
    pub(super) fn load_balance<O: Observer>(
        &mut self,
        cpu: CpuId,
        sd: DomainId,
        idle: IdleType,
        now: Instant,
        o: &mut O,
    ) -> Attempt {
        let domains = Arc::clone(&self.domains);
        let failed = self.balancing.domain(sd).nr_balance_failed;
        let excluded = std::mem::take(&mut self.balancing.excluded);
        let mut env = LbEnv::new(&domains, sd, cpu, idle, failed, excluded);
        if self.balancing.for_others {
            env.reason = MigrateReason::Nohz;
        }
        let costs = self.config.searches;
        self.work_ns += costs.balance.0 + costs.balance_cpu.0 * u64::from(env.domain.weight);
        let outcome = self.try_domain(&mut env, now, o);
        self.leave(&env, outcome);
        self.report(&env, outcome, now, o);
        env.excluded.clear();
        self.balancing.excluded = std::mem::take(&mut env.excluded);
        Attempt { moved: env.moved, goes_on: outcome != Outcome::NotChosen }
    }

    fn try_domain<O: Observer>(&mut self, env: &mut LbEnv<'_>, now: Instant, o: &mut O) -> Outcome {
        loop {
            if !self.should_we_balance(env) {
                return Outcome::NotChosen;
            }
            let group = match self.find_busiest_group(env, now) {
                Ok((group, imbalance)) => {
                    env.imbalance = imbalance;
                    group
                }
                Err(because) => return Outcome::NoBusiestGroup(because),
            };
            let Some(src) = self.find_busiest_queue(env, env.domains.group(group)) else {
                return Outcome::NoBusiestQueue;
            };
            env.src = src;
            env.all_pinned |= self.config.rules.balance.all_pinned_counts_single;
            if self.rqs[src.index()].nr_running <= 1 {
                break;
            }
            self.pull_tasks(env, now, o);
            if !env.all_pinned {
                break;
            }
            env.excluded.push(src);
            if !env.has_other_cpus() {
                return Outcome::AllPinned;
            }
            env.restart_loop();
        }
        if env.moved > 0 { Outcome::Moved } else { self.nothing_moved(env) }
    }

    /// Whether it is for this CPU to balance the domain for its group.
    ///
    /// Mirrors: `should_we_balance()`, v4.19–v6.6; smp.md §4.2.
    fn should_we_balance(&self, env: &LbEnv<'_>) -> bool {
        let rules = &self.config.rules.balance;
        if env.idle == IdleType::NewlyIdle {
            let rq = &self.rqs[env.dst.index()];
            return !rules.newidle_rechecks_work || rq.nr_running == 0 && rq.wake_list.is_empty();
        }
        let group = env.local_group();
        let mut idle =
            group.balance_mask.iter().filter(|c| !env.excluded.contains(c) && self.rqs[c.index()].is_idle());
        let mut chosen = idle.next();
        if rules.idle_core_balances_first && !env.is(DomainFlags::SHARE_CPUCAPACITY) {
            let core_idle = |c: &CpuId| self.is_core_idle(*c);
            chosen = chosen.filter(core_idle).or_else(|| idle.find(core_idle)).or(chosen);
        }
        chosen.unwrap_or(group.balance_cpu) == env.dst
    }

    /// Whether all other threads of a CPU's core are idle.
    fn is_core_idle(&self, cpu: CpuId) -> bool {
        let smt = self.domains.chain(cpu).next().map(|(_, d)| d);
        let smt = smt.filter(|d| d.flags.has(DomainFlags::SHARE_CPUCAPACITY));
        smt.is_none_or(|d| d.span.iter().filter(|c| *c != cpu).all(|c| self.rqs[c.index()].is_idle()))
    }

    /// Moves tasks from the busiest queue here, or to a CPU of the local group where more of them may go.
    fn pull_tasks<O: Observer>(&mut self, env: &mut LbEnv<'_>, now: Instant, o: &mut O) {
        env.all_pinned = true;
        let nr_migrate = self.config.tunables.nr_migrate.min(u64::from(u32::MAX)) as u32;
        env.loop_max = self.rqs[env.src.index()].nr_running.min(nr_migrate);
        loop {
            self.update_rq_clock(env.src, now);
            self.detach_tasks(env, now, o);
            env.moved += self.balancing.detached.len() as u32;
            self.attach_detached(env, now, o);
            if std::mem::take(&mut env.need_break) {
                continue;
            }
            if let Some(new_dst) = env.new_dst.take().filter(|_| env.imbalance.amount > 0) {
                env.excluded.push(env.dst);
                env.dst = new_dst;
                env.restart_loop();
                continue;
            }
            break;
        }
        if let Some(parent) = env.domain.parent.filter(|_| env.some_pinned && env.imbalance.amount > 0) {
            let group = env.domains.local_group(env.domains.domain(parent));
            self.balancing.group_mut(group).stats.imbalance_flag = true;
        }
    }

    /// There was an imbalance, and nothing could be moved: after some failures a running task is pushed.
    fn nothing_moved(&mut self, env: &mut LbEnv<'_>) -> Outcome {
        if env.idle != IdleType::NewlyIdle {
            self.balancing.domain_mut(env.sd).nr_balance_failed += 1;
        }
        let voluntary = self.wants_other_capacity(env);
        if !voluntary && !self.failed_too_often(env) {
            return Outcome::Failed;
        }
        let curr = self.rqs[env.src.index()].curr;
        if curr.is_some_and(|c| !self.tasks[c.index()].cpus_allowed.contains(env.this_cpu)) {
            return Outcome::Pinned;
        }
        let pending = self.rqs[env.src.index()].balance.push_cpu.is_some();
        if !pending {
            self.rqs[env.src.index()].balance.push_cpu = Some(env.this_cpu);
            self.stop_one_cpu(env.src, StopWork::ActiveBalance);
        }
        if self.config.rules.balance.active_resets_failures {
            self.balancing.domain_mut(env.sd).nr_balance_failed = env.failures.nice_tries + 1;
        }
        if pending || voluntary { Outcome::Failed } else { Outcome::ActiveBalance }
    }

    /// A CPU with a single task has much less capacity left than this one.
    ///
    /// Mirrors: part of `need_active_balance()`, v4.19–v6.5.
    fn wants_other_capacity(&self, env: &LbEnv<'_>) -> bool {
        env.idle != IdleType::NotIdle
            && self.h_nr_running(env.src) == 1
            && self.has_reduced_capacity(env.src, env.pct())
            && self.capacity_of(env.src) * env.pct() < self.capacity_of(env.this_cpu) * 100
    }

    /// Mirrors: the rest of `need_active_balance()`, v4.19–v6.5; smp.md §4.4.10.
    fn failed_too_often(&self, env: &LbEnv<'_>) -> bool {
        let kind_fits = match self.config.rules.balance.active_after_failures {
            ActiveAfterFailures::Any => true,
            ActiveAfterFailures::TaskImbalance => env.imbalance.kind == MigrationType::Task,
        };
        kind_fits && self.balancing.domain(env.sd).nr_balance_failed > env.failures.nice_tries + 2
    }

    /// What the attempt means for the next ones.
    fn leave(&mut self, env: &LbEnv<'_>, outcome: Outcome) {
        let rules = self.config.rules.balance;
        let (min, max) = (u64::from(env.domain.min_interval_ms), u64::from(env.domain.max_interval_ms));
        let balanced = match outcome {
            Outcome::Moved | Outcome::Failed => {
                let sd = self.balancing.domain_mut(env.sd);
                sd.balance_interval = min;
                if outcome == Outcome::Moved {
                    sd.nr_balance_failed = 0;
                }
                return;
            }
            Outcome::ActiveBalance => {
                let sd = self.balancing.domain_mut(env.sd);
                if rules.active_resets_failures && sd.balance_interval < max {
                    sd.balance_interval *= 2;
                }
                return;
            }
            Outcome::Pinned => false,
            Outcome::AllPinned => true,
            Outcome::NotChosen | Outcome::NoBusiestGroup(_) | Outcome::NoBusiestQueue => {
                if let Some(parent) = env.domain.parent.filter(|_| !env.all_pinned) {
                    let group = env.domains.local_group(env.domains.domain(parent));
                    self.balancing.group_mut(group).stats.imbalance_flag = false;
                }
                true
            }
        };
        let sd = self.balancing.domain_mut(env.sd);
        if balanced {
            sd.nr_balance_failed = 0;
        }
        let keeps = env.idle == IdleType::NewlyIdle && !rules.newidle_doubles_interval;
        let pinned = env.all_pinned && sd.balance_interval < MAX_PINNED_INTERVAL;
        if !keeps && (pinned || sd.balance_interval < max) {
            sd.balance_interval *= 2;
        }
    }

    fn report<O: Observer>(&self, env: &LbEnv<'_>, outcome: Outcome, now: Instant, o: &mut O) {
        let level = env.domains.chain(env.this_cpu).position(|(id, _)| id == env.sd).unwrap_or(0) as u8;
        let (cpu, idle, moved) = (env.this_cpu, env.idle, env.moved);
        let (kind, imbalance) = (env.imbalance.kind, env.imbalance.amount);
        o.event(now, &Event::LoadBalance { cpu, level, idle, outcome, moved, kind, imbalance });
        if O::DECISIONS && outcome != Outcome::NotChosen {
            let view = |id, g| GroupView::new(env.domains.group(id), g);
            let seen = env.seen.as_ref();
            let local = seen.map(|(s, _)| view(env.domains.local_group(env.domain), &s.local));
            let busiest = seen.and_then(|(s, id)| Some(view((*id)?, &s.busiest.as_ref()?.1)));
            let d = BalanceAttempt {
                cpu,
                level: env.domain.level,
                idle,
                local,
                busiest,
                kind,
                left: imbalance,
                from: (env.src != env.this_cpu).then_some(env.src),
                failures: env.failures.failed,
                moved,
                outcome,
            };
            o.decision(now, &Decision::BalanceAttempt(d));
        }
    }
}
