//! Which CPUs count as idle.

use super::rules::SchedIdleCpu;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::{Kernel, Policy};
use crate::time::Nanos;

impl<H: Hooks> Kernel<H> {
    /// Whether a CPU is idle with no wake-up on its way. A virtual CPU that the hypervisor has preempted is not told apart.
    ///
    /// Mirrors: `available_idle_cpu()`, v4.19–v6.5.
    pub fn available_idle_cpu(&self, cpu: CpuId) -> bool {
        self.rqs[cpu.index()].is_idle()
    }

    /// Whether a CPU has tasks and all of them are `SCHED_IDLE`; never before 5.4.
    ///
    /// Mirrors: `sched_idle_cpu()`, v5.4–v6.5.
    pub fn sched_idle_cpu(&self, cpu: CpuId) -> bool {
        let rq = &self.rqs[cpu.index()];
        self.config.rules.select.sched_idle_cpu != SchedIdleCpu::Busy
            && rq.nr_running > 0
            && rq.nr_running == self.cfs_rqs[rq.cfs.index()].idle_h_nr_running
    }

    /// Whether a CPU has only `SCHED_IDLE` tasks that this one would push aside.
    pub(super) fn sched_idle_cpu_for(&self, cpu: CpuId, task: TaskId) -> bool {
        let for_others = self.config.rules.select.sched_idle_cpu_for_others;
        self.sched_idle_cpu(cpu) && !(for_others && self.tasks[task.index()].policy == Policy::Idle)
    }

    /// Whether a wakee would run there at once.
    pub(super) fn counts_as_idle(&self, cpu: CpuId, task: TaskId) -> bool {
        self.available_idle_cpu(cpu) || self.sched_idle_cpu_for(cpu, task)
    }

    /// Tells that a task is a kernel thread.
    pub fn set_kthread(&mut self, task: TaskId) {
        self.tasks[task.index()].kthread = true;
    }

    /// Tells the exit latency of the idle state a CPU is in; none when it has left it, or is in a state that the kernel does
    /// not know.
    ///
    /// Mirrors: `idle_set_state()`.
    pub fn set_idle_state(&mut self, cpu: CpuId, exit_latency: Option<Nanos>) {
        self.rqs[cpu.index()].idle_exit_latency = exit_latency.map(|l| l.0);
    }
}
