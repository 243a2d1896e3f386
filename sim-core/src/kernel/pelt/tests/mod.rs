//! Load tracking in a running kernel model.

mod groups;
mod history;
mod migration;
mod signals;
mod vectors;

use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::hooks::NoHooks;
use crate::kernel::task::TaskState;
use crate::kernel::{Kernel, KernelConfig, Policy, Profile, Schedule, TaskParams};
use crate::time::Instant;

pub(super) const CPU0: CpuId = CpuId(0);
pub(super) const CPU1: CpuId = CpuId(1);
const MS: u64 = 1_000_000;
const PERIOD_NS: u64 = 1 << 20;

/// A kernel with its clock, driven by hand. Whoever is to be rescheduled is, at once.
pub(super) struct Hand {
    pub(super) k: Kernel<NoHooks>,
    pub(super) now: u64,
}

impl Hand {
    pub(super) fn new(profile: &str, cpus: u32) -> Hand {
        let config = KernelConfig::new(Profile::by_name(profile).unwrap(), cpus);
        Hand { k: Kernel::new(config, NoHooks), now: 0 }
    }

    pub(super) fn at(&self) -> Instant {
        Instant(self.now)
    }

    /// A sleeping task that may run on these CPUs.
    pub(super) fn task(&mut self, nice: i8, group: GroupId, cpus_allowed: CpuMask) -> TaskId {
        self.k.add_task(&TaskParams { nice, policy: Policy::Normal, cpus_allowed, group })
    }

    /// A sleeping nice-0 task of the root group, on one CPU.
    pub(super) fn pinned(&mut self, cpu: CpuId) -> TaskId {
        self.task(0, GroupId::ROOT, CpuMask::one(cpu))
    }

    fn resched(&mut self) {
        while let Some(cpu) = self.k.take_resched() {
            self.k.schedule(cpu, Instant(self.now), Schedule::Preempt, &mut ());
        }
    }

    pub(super) fn wake(&mut self, task: TaskId) {
        let by = self.k.task(task).cpu;
        self.k.try_to_wake_up(task, by, None, false, self.at(), &mut ());
        for i in 0..self.k.rqs.len() {
            self.k.sched_ttwu_pending(CpuId::new(i), Instant(self.now), &mut ());
        }
        self.resched();
    }

    /// The running task of a CPU goes to sleep.
    pub(super) fn block(&mut self, cpu: CpuId) {
        let curr = self.k.rq(cpu).curr.unwrap();
        self.k.set_sleeping(curr);
        self.k.schedule(cpu, Instant(self.now), Schedule::Call, &mut ());
        self.resched();
    }

    /// A tick of a busy CPU.
    pub(super) fn tick(&mut self, cpu: CpuId) {
        if self.k.rq(cpu).curr.is_some() {
            self.k.scheduler_tick(cpu, Instant(self.now), &mut ());
            self.resched();
        }
    }

    /// Time passes, with a tick of every busy CPU every millisecond.
    pub(super) fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += MS;
            (0..self.k.rqs.len()).for_each(|i| self.tick(CpuId::new(i)));
        }
    }

    /// A woken task leaves for a CPU, whatever placement would say; it is not enqueued.
    pub(super) fn leave_for(&mut self, task: TaskId, cpu: CpuId) {
        let at = self.at();
        self.k.tasks[task.index()].state = TaskState::Waking;
        self.k.set_task_cpu(task, cpu, at, &mut ());
    }

    pub(super) fn root(&self, cpu: CpuId) -> &super::SchedAvg {
        self.k.root_avg(cpu)
    }

    pub(super) fn avg(&self, task: TaskId) -> &super::SchedAvg {
        &self.k.task_entity(task).avg
    }
}
