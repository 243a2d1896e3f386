//! What placement and balancing read (smp.md §2.5).

use crate::id::{CpuId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::features::Feature;
use crate::kernel::hooks::Hooks;
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Ticks since boot (`jiffies`).
    pub fn jiffies(&self, now: Instant) -> u64 {
        now.0 / self.config.tick_ns()
    }

    /// Load of a CPU: runnable load to 5.4, from 5.5 on with blocked load.
    ///
    /// Mirrors: `cpu_load()`, `weighted_cpuload()`, `cpu_runnable_load()`, v4.19–v6.5.
    pub fn cpu_load(&self, cpu: CpuId) -> u64 {
        let avg = self.root_avg(cpu);
        if self.config.rules.pelt.cpu_load_with_blocked { avg.load_avg } else { avg.runnable_avg }
    }

    /// [`Kernel::cpu_load`] with the bias of the past that makes a source look light (4.19, `LB_BIAS`).
    ///
    /// Mirrors: `source_load()`, v4.19.
    pub fn source_load(&self, cpu: CpuId, index: usize) -> u64 {
        self.biased_load(cpu, index, u64::min)
    }

    /// [`Kernel::cpu_load`] with the bias of the past that makes a target look heavy (4.19, `LB_BIAS`).
    ///
    /// Mirrors: `target_load()`, v4.19.
    pub fn target_load(&self, cpu: CpuId, index: usize) -> u64 {
        self.biased_load(cpu, index, u64::max)
    }

    fn biased_load(&self, cpu: CpuId, index: usize, of: fn(u64, u64) -> u64) -> u64 {
        let current = self.cpu_load(cpu);
        match index.checked_sub(1) {
            Some(i) if self.config.features.enabled(Feature::LbBias) => {
                of(self.rqs[cpu.index()].pelt.cpu_load[i], current)
            }
            _ => current,
        }
    }

    /// Runnable tasks of a CPU, averaged, 1024 each (5.7 and later).
    ///
    /// Mirrors: `cpu_runnable()`, v5.7–v6.5.
    pub fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.root_avg(cpu).runnable_avg
    }

    /// Utilisation of a CPU, estimate included, at most its capacity.
    ///
    /// Mirrors: `cpu_util()`, `cpu_util_cfs()`, v4.19–v6.5.
    pub fn cpu_util(&self, cpu: CpuId) -> u64 {
        let avg = self.root_avg(cpu);
        self.capped_util(cpu, avg.util_avg, avg.util_est.enqueued)
    }

    /// Utilisation of a CPU by fair tasks and interrupts, and the most it can be, as `schedutil` asks for a clock.
    ///
    /// Mirrors: `sugov_get_util()`, `schedutil_cpu_util()`, `effective_cpu_util()`, v4.19–v6.5; no class above the fair one
    /// uses any (D-003).
    pub fn cpufreq_util(&self, cpu: CpuId) -> (u64, u64) {
        let (avg, pelt) = (self.root_avg(cpu), &self.rqs[cpu.index()].pelt);
        let estimated =
            if self.config.features.enabled(Feature::UtilEst) { avg.util_est.enqueued } else { 0 };
        let (max, irq) = (pelt.cpu_scale, pelt.avg_irq.util_avg);
        if irq >= max {
            return (max, max);
        }
        let util = avg.util_avg.max(estimated).min(max);
        ((irq + util * (max - irq) / max).min(max), max)
    }

    fn capped_util(&self, cpu: CpuId, util: u64, estimated: u64) -> u64 {
        let estimated = if self.config.features.enabled(Feature::UtilEst) { estimated } else { 0 };
        util.max(estimated).min(self.capacity_orig_of(cpu))
    }

    /// Whether a task's averages are part of this CPU's.
    fn is_attached(&self, cpu: CpuId, task: TaskId) -> bool {
        self.tasks[task.index()].cpu == cpu && self.task_entity(task).avg.last_update != 0
    }

    /// Utilisation of a CPU as if a task were not there.
    ///
    /// Mirrors: `cpu_util_without()`, v4.19–v6.5.
    pub fn cpu_util_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        if !self.is_attached(cpu, task) {
            return self.cpu_util(cpu);
        }
        let (avg, e) = (self.root_avg(cpu), self.task_entity(task));
        let counted = e.on_rq || self.rqs[cpu.index()].curr == Some(task);
        let own = if counted { e.avg.util_est.estimate() } else { 0 };
        let util = avg.util_avg.saturating_sub(e.avg.util_avg);
        self.capped_util(cpu, util, avg.util_est.enqueued.saturating_sub(own))
    }

    /// Load of a CPU as if a task were not there.
    ///
    /// Mirrors: `cpu_load_without()`, v5.5–v6.5.
    pub fn cpu_load_without(&mut self, cpu: CpuId, task: TaskId, now: Instant) -> u64 {
        if !self.is_attached(cpu, task) {
            return self.cpu_load(cpu);
        }
        let own = self.task_h_load(task, now);
        self.cpu_load(cpu).saturating_sub(own)
    }

    /// Runnable tasks of a CPU as if a task were not there.
    ///
    /// Mirrors: `cpu_runnable_without()`, v5.7–v6.5.
    pub fn cpu_runnable_without(&self, cpu: CpuId, task: TaskId) -> u64 {
        let own = if self.is_attached(cpu, task) { self.task_entity(task).avg.runnable_avg } else { 0 };
        self.cpu_runnable(cpu).saturating_sub(own)
    }

    /// A task's utilisation.
    pub fn task_util(&self, task: TaskId) -> u64 {
        self.task_entity(task).avg.util_avg
    }

    /// A task's utilisation, or what it is expected to use if that is more.
    ///
    /// Mirrors: `task_util_est()`.
    pub fn task_util_est(&self, task: TaskId) -> u64 {
        let avg = &self.task_entity(task).avg;
        avg.util_avg.max(avg.util_est.estimate())
    }

    /// A task's own load average.
    pub fn task_load(&self, task: TaskId) -> u64 {
        self.task_entity(task).avg.load_avg
    }

    /// What a task adds to the load of its CPU, through the groups it is in.
    ///
    /// Mirrors: `task_h_load()`, v4.19–v6.5.
    pub fn task_h_load(&mut self, task: TaskId, now: Instant) -> u64 {
        let e = self.task_entity(task);
        let (q, load) = (e.cfs_rq, e.avg.load_avg);
        self.update_cfs_rq_h_load(q, now);
        let queue = &self.cfs_rqs[q.index()];
        load * queue.pelt.h_load / (queue.avg.load_avg + 1)
    }

    /// Full capacity of a CPU.
    pub fn capacity_orig_of(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.index()].pelt.capacity_orig
    }

    /// Capacity of a CPU that is left to fair tasks.
    pub fn capacity_of(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.index()].pelt.capacity
    }
}
