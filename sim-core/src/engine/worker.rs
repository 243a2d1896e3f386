//! Worker threads that clean up after tasks: kernels free the stack of a task that has exited from a worker thread of its
//! CPU, which is woken once the task is off the CPU for good.

use super::Simulation;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::task::TaskState;
use crate::observe::Observer;

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// From now on `worker`, if it sleeps, is woken whenever a task has exited on `cpu`. Its sleep ends early.
    pub fn wake_after_exits(&mut self, cpu: CpuId, worker: TaskId) {
        self.workers.resize(self.cpus.len(), None);
        if let Some(of_cpu) = self.workers.get_mut(cpu.index()) {
            *of_cpu = Some(worker);
        }
    }

    /// A task has exited on a CPU.
    pub(super) fn wake_worker(&mut self, cpu: CpuId) {
        let Some(worker) = self.workers.get(cpu.index()).copied().flatten() else { return };
        if self.kernel.task(worker).state == TaskState::Sleeping {
            self.cancel_timer(worker);
            self.wake(worker, cpu, None);
        }
    }
}
