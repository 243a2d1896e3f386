//! Which tasks move for an imbalance.

use super::env::{LOOP_BREAK, LbEnv};
use super::rules::{BalanceRules, LoadLimit};
use crate::id::TaskId;
use crate::kernel::domains::DomainFlags;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::kernel::{Kernel, Policy, PreemptModel};
use crate::observe::{Balance, Decision, IdleType, MigrationType, Observer};
use crate::time::Instant;

/// How often a domain's balancing has failed, and how often it may before tasks count as movable though cache-hot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// `nr_balance_failed`.
    pub(super) failed: u32,
    /// `cache_nice_tries`.
    pub(super) nice_tries: u32,
}

/// Whether a task of this load is too much for what is left of a load imbalance.
///
/// Mirrors: the load limit of `detach_tasks()`, v4.19–v6.6; smp.md §4.4.9.
pub(super) fn load_too_large(rules: &BalanceRules, load: u64, imbalance: i64, f: Failures) -> bool {
    let limit = imbalance.cast_unsigned();
    match rules.load_limit {
        LoadLimit::Half => load / 2 > limit,
        LoadLimit::HalfUntilFailed => load / 2 > limit && f.failed <= f.nice_tries,
        LoadLimit::HalvedByFailures => load >> f.failed.min(u64::BITS - 1) > limit,
    }
}

/// Whether a task of this utilisation is too much for what is left of an imbalance in utilisation.
fn util_too_large(rules: &BalanceRules, util: u64, imbalance: i64, f: Failures) -> bool {
    let shift = if rules.util_halved_by_failures { f.failed.min(u64::BITS - 1) } else { 0 };
    util >> shift > imbalance.cast_unsigned()
}

impl<H: Hooks> Kernel<H> {
    /// Takes tasks off the busiest queue, the one that has not run for longest first, until what is left of the imbalance
    /// is too small. They go to the list of detached tasks.
    ///
    /// Mirrors: `detach_tasks()`, v4.19–v6.5; smp.md §4.4.9.
    pub(super) fn detach_tasks<O: Observer>(&mut self, env: &mut LbEnv<'_>, now: Instant, o: &mut O) {
        let src = env.src.index();
        if self.config.rules.balance.detach_needs_two && self.rqs[src].nr_running <= 1 {
            env.all_pinned = false;
            return;
        }
        if env.imbalance.amount <= 0 {
            return;
        }
        while let Some(task) = self.rqs[src].cfs_tasks.tail() {
            if env.idle != IdleType::NotIdle && self.rqs[src].nr_running <= 1 {
                break;
            }
            env.looked_at += 1;
            if env.looked_at > env.loop_max {
                break;
            }
            if env.looked_at > env.loop_break {
                env.loop_break += LOOP_BREAK;
                env.need_break = true;
                break;
            }
            let wanted =
                self.can_migrate_task(env, task).then(|| self.migration_value(env, task, now)).flatten();
            let Some(value) = wanted.filter(|_| self.ask_to_move(env, task, now, o)) else {
                self.cfs_tasks_to_head(env.src, task);
                continue;
            };
            self.deactivate(task, now, o);
            self.balancing.detached.push(task);
            env.imbalance.amount -= value;
            let keeps_latency_low = env.idle == IdleType::NewlyIdle && self.is_preemptible();
            if keeps_latency_low || env.imbalance.amount <= 0 {
                break;
            }
        }
    }

    /// The kernel was built so that it may be preempted: newly-idle passes then take one task at a time.
    fn is_preemptible(&self) -> bool {
        self.config.preempt == PreemptModel::Full || self.config.rules.preempt_dynamic
    }

    /// What moving a task takes off the imbalance; nothing if the task is too large for it.
    fn migration_value(&mut self, env: &LbEnv<'_>, task: TaskId, now: Instant) -> Option<i64> {
        let left = env.imbalance.amount;
        let rules = self.config.rules.balance;
        match env.imbalance.kind {
            MigrationType::Load => {
                let load = self.task_h_load(task, now).max(u64::from(rules.load_at_least_one));
                (!load_too_large(&rules, load, left, env.failures)).then_some(load.cast_signed())
            }
            MigrationType::Util => {
                let util = self.task_util_est(task);
                (!util_too_large(&rules, util, left, env.failures)).then_some(util.cast_signed())
            }
            MigrationType::Task => Some(1),
        }
    }

    /// Tells observers of a move that the rules want, and asks the hooks.
    pub(super) fn ask_to_move<O: Observer>(
        &mut self,
        env: &LbEnv<'_>,
        task: TaskId,
        now: Instant,
        o: &mut O,
    ) -> bool {
        let d = Balance {
            task,
            from: env.src,
            to: env.dst,
            from_nr_running: self.rqs[env.src.index()].nr_running,
            to_nr_running: self.rqs[env.dst.index()].nr_running,
            reason: env.reason,
            pull: true,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::Balance(d));
        }
        self.hooks.balance(&d)
    }

    /// Whether a task may move, and whether its cache contents should keep it.
    ///
    /// Mirrors: `can_migrate_task()`, v4.19–v6.5; smp.md §4.4.9. Deviates: D-161.
    pub(super) fn can_migrate_task(&mut self, env: &mut LbEnv<'_>, task: TaskId) -> bool {
        if !self.may_run_on_destination(env, task) {
            return false;
        }
        let t = &self.tasks[task.index()];
        !t.on_cpu && (!self.task_hot(env, task) || env.failures.failed > env.failures.nice_tries)
    }

    /// Notes what affinity forbids.
    pub(super) fn may_run_on_destination(&self, env: &mut LbEnv<'_>, task: TaskId) -> bool {
        let t = &self.tasks[task.index()];
        if self.config.rules.balance.bound_kthreads_stay && t.kthread && t.cpus_allowed.count() == 1 {
            return false;
        }
        if t.cpus_allowed.contains(env.dst) {
            env.all_pinned = false;
            return true;
        }
        env.some_pinned = true;
        if env.idle != IdleType::NewlyIdle && env.new_dst.is_none() {
            let other = env.cpus(env.local_group()).find(|c| t.cpus_allowed.contains(*c));
            env.new_dst = other;
        }
        false
    }

    /// Whether a task's data are likely still in the caches of the CPU it waits on.
    ///
    /// Mirrors: `task_hot()`, v4.19–v6.5.
    fn task_hot(&self, env: &LbEnv<'_>, task: TaskId) -> bool {
        /// `sched_migration_cost` of −1: every task is hot.
        const ALWAYS: u64 = u32::MAX as u64;
        let (t, e) = (&self.tasks[task.index()], self.task_entity(task));
        let never_here = self.config.rules.balance.never_hot_on_smt && env.is(DomainFlags::SHARE_CPUCAPACITY);
        if !self.is_fair(task) || t.policy == Policy::Idle || never_here {
            return false;
        }
        let q = &self.cfs_rqs[e.cfs_rq.index()];
        let is_buddy = q.next == Some(t.se) || q.last == Some(t.se);
        let dst_works = self.rqs[env.dst.index()].nr_running > 0;
        if is_buddy && dst_works && self.config.features.enabled(Feature::CacheHotBuddy) {
            return true;
        }
        match self.config.tunables.migration_cost_ns {
            ALWAYS => true,
            0 => false,
            // Set to 0 by a migration: cold.
            _ if e.exec_start == 0 => false,
            cost => self.rqs[env.src.index()].clock_task.saturating_sub(e.exec_start) < cost,
        }
    }

    /// Enqueues the detached tasks on the destination, the last one first.
    ///
    /// Mirrors: `attach_tasks()`, v4.19–v6.5.
    pub(super) fn attach_detached<O: Observer>(&mut self, env: &LbEnv<'_>, now: Instant, o: &mut O) {
        while let Some(task) = self.balancing.detached.pop() {
            self.attach(task, env.dst, env.reason, now, o);
        }
    }
}
