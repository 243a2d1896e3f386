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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Limits, SimConfig};
    use crate::id::GroupId;
    use crate::kernel::{KernelConfig, Policy, Profile};
    use crate::machine::{Costs, MachineConfig, Preset};
    use crate::program::{Action, Objects, Program, TaskSpec, Work};
    use crate::time::{Instant, Nanos};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn an_exit_wakes_the_worker_of_its_cpu() {
        let kernel = KernelConfig::new(Profile::by_name("5.4").expect("a profile"), 1);
        let machine = MachineConfig::new(Costs::preset(Preset::Zero));
        let duration = Some(Nanos::from_millis(10));
        let config = SimConfig { kernel, machine, duration, limits: Limits::default() };
        let mut sim = Simulation::new(config, Objects::default(), ());
        let spec = |name: &str, program: Box<dyn Program>| TaskSpec {
            name: name.to_owned(),
            path: name.to_owned(),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program,
        };
        let turns = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&turns);
        let worker = sim.add_task(spec(
            "worker",
            Box::new(move |_: &_| {
                counted.fetch_add(1, Ordering::Relaxed);
                Action::SleepUntil(Instant::ZERO + Nanos::from_secs(1))
            }),
        ));
        sim.wake_after_exits(CpuId(0), worker);
        let mut actions = [Action::Run(Work::CpuTime(Nanos::from_millis(1)))].into_iter();
        sim.add_task(spec("task", Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit))));
        sim.run().expect("it ends");
        // At its start, and after the exit.
        assert_eq!(turns.load(Ordering::Relaxed), 2);
    }
}
