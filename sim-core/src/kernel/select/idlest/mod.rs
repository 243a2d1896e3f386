//! The slow path: the idlest CPU of the idlest group, level by level (fork, exec; smp.md §3.6).

mod group_type;
mod load;
mod stats;

use super::rules::{IdlestGroup, SchedIdleCpu};
use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::domains::{DomainFlags, DomainId, SchedGroup};
use crate::kernel::hooks::Hooks;
use crate::observe::{IdlestFigures, IdlestLevel, IdlestRule, Select, SelectRule};
use crate::time::Instant;
use std::sync::Arc;

/// What one level of the slow path decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verdict {
    local: Option<IdlestFigures>,
    best: Option<IdlestFigures>,
    rule: IdlestRule,
    /// The group to go to, by its number in the walk; none to stay.
    go: Option<usize>,
}

impl<H: Hooks> Kernel<H> {
    /// Places a new or exec'ing task by the domains of its CPU that have `flag`.
    ///
    /// Mirrors: `select_task_rq_fair()` for a fork or exec, v4.19–v6.5.
    pub(super) fn select_idlest(
        &mut self,
        d: &mut Select,
        flag: DomainFlags,
        now: Instant,
    ) -> (CpuId, SelectRule) {
        let cpu = d.prev;
        let top = self.domains.chain(cpu).take_while(|(_, sd)| sd.flags.has(flag)).last();
        match top.map(|(id, _)| id) {
            Some(sd) => (self.find_idlest_cpu(d, sd, cpu, flag, now), SelectRule::Idlest),
            None => (cpu, SelectRule::NoDomain),
        }
    }

    /// Mirrors: `find_idlest_cpu()`, v4.19–v6.5.
    pub(super) fn find_idlest_cpu(
        &mut self,
        d: &mut Select,
        top: DomainId,
        cpu: CpuId,
        flag: DomainFlags,
        now: Instant,
    ) -> CpuId {
        let domains = Arc::clone(&self.domains);
        if !domains.domain(top).span.intersects(&self.tasks[d.task.index()].cpus_allowed) {
            return d.prev;
        }
        let mut here = cpu;
        let mut level = Some(top);
        while let Some(id) = level {
            let sd = domains.domain(id);
            level = sd.child;
            if !sd.flags.has(flag) {
                continue;
            }
            let verdict = match self.config.rules.select.idlest_group {
                IdlestGroup::Load => self.idlest_by_load(d, sd, here),
                IdlestGroup::GroupType => self.idlest_by_type(d, sd, here, now),
            };
            record(d, sd.weight, &verdict);
            let Some(group) = verdict.go.and_then(|n| domains.groups(sd).nth(n)) else { continue };
            let there = self.find_idlest_group_cpu(d.task, domains.group(group), here);
            if there != here {
                here = there;
                let smaller = domains.chain(here).take_while(|(_, lower)| lower.weight < sd.weight);
                level = smaller.filter(|(_, lower)| lower.flags.has(flag)).last().map(|(id, _)| id);
            }
        }
        here
    }

    /// Among idle CPUs the one that wakes fastest, then the one idle for the shortest time; without idle ones the least
    /// loaded.
    ///
    /// Mirrors: `find_idlest_group_cpu()`, v4.19–v6.5.
    fn find_idlest_group_cpu(&self, task: TaskId, group: &SchedGroup, here: CpuId) -> CpuId {
        if group.weight == 1 {
            return group.cpus.lowest().unwrap_or(here);
        }
        let rule = self.config.rules.select.sched_idle_cpu;
        let mut idle: Option<IdleCandidate> = None;
        let mut sched_idle = None;
        let mut least: Option<(u64, CpuId)> = None;
        for cpu in group.cpus.iter_and(&self.tasks[task.index()].cpus_allowed) {
            let runs_idle_tasks = self.sched_idle_cpu_for(cpu, task);
            if runs_idle_tasks && rule == SchedIdleCpu::Idle {
                return cpu;
            }
            let rq = &self.rqs[cpu.index()];
            if self.available_idle_cpu(cpu) {
                let stamp = rq.balance.idle_stamp;
                let candidate = IdleCandidate::new(cpu, rq.idle_exit_latency, stamp, idle.as_ref());
                idle = candidate.or(idle);
            } else if runs_idle_tasks {
                sched_idle = sched_idle.or(Some(cpu));
            } else if least.is_none_or(|(load, _)| self.cpu_load(cpu) < load) {
                least = Some((self.cpu_load(cpu), cpu));
            }
        }
        idle.map(|c| c.cpu).or(sched_idle).or(least.map(|(_, cpu)| cpu)).unwrap_or(here)
    }
}

/// The best idle CPU so far.
#[derive(Clone, Copy, Debug)]
struct IdleCandidate {
    cpu: CpuId,
    /// Shortest exit latency known so far, ns.
    latency: u64,
    /// When it went idle.
    stamp: u64,
}

impl IdleCandidate {
    /// This CPU, if it is better than the best one so far. A CPU whose idle state is not known compares by time alone.
    fn new(
        cpu: CpuId,
        latency: Option<u64>,
        stamp: u64,
        best: Option<&IdleCandidate>,
    ) -> Option<IdleCandidate> {
        let shortest = best.map_or(u64::MAX, |b| b.latency);
        let better = match (best, latency) {
            (None, _) => true,
            (Some(_), Some(l)) if l != shortest => l < shortest,
            (Some(b), _) => stamp > b.stamp,
        };
        better.then_some(IdleCandidate { cpu, latency: latency.unwrap_or(shortest), stamp })
    }
}

fn record(d: &mut Select, weight: u32, v: &Verdict) {
    if let Some(free) = d.idlest.iter_mut().find(|l| l.is_none()) {
        *free =
            Some(IdlestLevel { weight, local: v.local, best: v.best, rule: v.rule, moves: v.go.is_some() });
    }
}
