//! The kernel model driven by hand: no engine, no programs, every call explicit.

use crate::support::Log;
use sim_core::kernel::hooks::{Hooks, Slice};
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{Kernel, KernelConfig, Policy, Profile, Schedule, TaskParams, Wake};
use sim_core::observe::{Decision, Place, WakeupPreempt};
use sim_core::{CpuId, CpuMask, EntityId, GroupId, Instant, TaskId};
use std::collections::BTreeMap;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const CPU0: CpuId = CpuId(0);

/// Notes slices as they are computed and puts tasks where a test wants them.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    /// vruntime of a task at its next placement.
    pub(crate) place_at: BTreeMap<TaskId, u64>,
    /// Slices as computed, in order.
    pub(crate) slices: Vec<(EntityId, u64)>,
}

impl Hooks for Bench {
    fn place(&mut self, d: &Place) -> u64 {
        d.task.and_then(|t| self.place_at.remove(&t)).unwrap_or(d.after)
    }
    fn slice(&mut self, d: &Slice) -> u64 {
        self.slices.push((d.entity, d.slice));
        d.slice
    }
}

/// A kernel with its clock and log.
pub(crate) struct Hand {
    pub(crate) k: Kernel<Bench>,
    pub(crate) log: Log,
    pub(crate) now: Instant,
}

impl Hand {
    /// A kernel with the tunables of an 8-CPU machine.
    pub(crate) fn new(profile: &str, cpus: u32) -> Hand {
        let mut config = KernelConfig::new(Profile::by_name(profile).unwrap(), cpus);
        config.tunables = Tunables::boot(8);
        Hand { k: Kernel::new(config, Bench::default()), log: Log::default(), now: Instant::ZERO }
    }
    pub(crate) fn set(&mut self, tunable: Tunable, value: u64) {
        let rules = self.k.config.rules.clone();
        self.k.config.tunables.write(&rules, tunable, value).unwrap();
    }
    pub(crate) fn add_in(&mut self, nice: i8, policy: Policy, cpu: CpuId, group: GroupId) -> TaskId {
        let params = TaskParams { nice, policy, cpus_allowed: CpuMask::one(cpu), group };
        self.k.add_task(&params)
    }
    pub(crate) fn add(&mut self, nice: i8) -> TaskId {
        self.add_in(nice, Policy::Normal, CPU0, GroupId::ROOT)
    }
    /// Adds a task and wakes it.
    pub(crate) fn start(&mut self, nice: i8) -> TaskId {
        let t = self.add(nice);
        self.wake(t);
        t
    }
    /// Adds a task, puts it at this vruntime and wakes it.
    pub(crate) fn start_at(&mut self, nice: i8, vruntime: u64) -> TaskId {
        let t = self.add(nice);
        self.k.hooks.place_at.insert(t, vruntime);
        self.wake(t);
        t
    }
    /// Wakes a task by an interrupt of the CPU it ran on last.
    pub(crate) fn wake(&mut self, t: TaskId) {
        let by = self.k.task(t).cpu;
        if let Wake::Queued(cpu, _) = self.k.try_to_wake_up(t, by, None, false, self.now, &mut self.log) {
            self.k.sched_ttwu_pending(cpu, self.now, &mut self.log);
        }
    }
    /// Calls `__schedule` as a preemption; gives who runs.
    pub(crate) fn schedule(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.k.schedule(cpu, self.now, Schedule::Preempt, &mut self.log).next
    }
    /// The running task sleeps; gives who runs next.
    pub(crate) fn block(&mut self, cpu: CpuId) -> Option<TaskId> {
        let curr = self.k.rq(cpu).curr.unwrap();
        self.k.set_sleeping(curr);
        self.k.schedule(cpu, self.now, Schedule::Call, &mut self.log).next
    }
    /// The running task yields; gives who runs next.
    pub(crate) fn yield_(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.k.sched_yield(cpu, self.now, &mut self.log);
        self.k.schedule(cpu, self.now, Schedule::Call, &mut self.log).next
    }
    pub(crate) fn tick(&mut self, cpu: CpuId) {
        self.k.scheduler_tick(cpu, self.now, &mut self.log);
    }
    pub(crate) fn fork(&mut self, parent: TaskId) -> TaskId {
        let child = self.k.sched_fork(parent, self.now, &mut self.log);
        self.k.wake_up_new_task(child, self.now, &mut self.log);
        child
    }
    /// Time passes.
    pub(crate) fn pass(&mut self, ns: u64) {
        self.now.0 += ns;
    }
    pub(crate) fn v(&self, t: TaskId) -> u64 {
        self.k.task_entity(t).vruntime
    }
    pub(crate) fn min_vruntime(&self, cpu: CpuId) -> u64 {
        self.k.cfs_rq(self.k.rq(cpu).cfs).min_vruntime
    }
    pub(crate) fn need_resched(&self, cpu: CpuId) -> bool {
        self.k.rq(cpu).need_resched
    }
    /// The last placement.
    pub(crate) fn last_place(&self) -> Place {
        let place = |(_, d): &(Instant, Decision)| if let Decision::Place(p) = d { Some(*p) } else { None };
        self.log.decisions.iter().rev().find_map(place).unwrap()
    }
    /// The last wakeup preemption decision.
    pub(crate) fn last_preempt(&self) -> WakeupPreempt {
        let preempt =
            |(_, d): &(Instant, Decision)| if let Decision::WakeupPreempt(p) = d { Some(*p) } else { None };
        self.log.decisions.iter().rev().find_map(preempt).unwrap()
    }
}
