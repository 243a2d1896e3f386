//! Stopper threads: created when first needed, woken when the kernel model asks, preempting whatever runs.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use crate::id::{CpuId, TaskId};
use crate::kernel::Schedule;
use crate::kernel::hooks::Hooks;
use crate::observe::{Event, Observer};
use crate::program::{Action, Program, ProgramContext};

/// A stopper thread lives in [`Op::Stopper`] and never asks for anything.
pub(super) struct NoProgram;

impl Program for NoProgram {
    fn next(&mut self, _: &ProgramContext) -> Action {
        Action::Exit
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Wakes the stopper threads that the kernel model wants.
    pub(super) fn wake_stoppers(&mut self) {
        while let Some(cpu) = self.kernel.take_stop_request() {
            if self.kernel.stopper(cpu).is_none() {
                self.add_stopper(cpu);
            }
            let by = self.active.unwrap_or(cpu);
            let waker = self.kernel.rq(by).curr;
            self.kernel.wake_stopper(cpu, by, waker, self.now, &mut self.observer);
        }
    }

    fn add_stopper(&mut self, cpu: CpuId) {
        let stopper = self.kernel.add_stopper(cpu);
        self.observer.event(self.now, &Event::Fork { parent: None, child: stopper });
        let name = format!("migration/{}", cpu.0);
        self.push_exec(Box::new(NoProgram), name.clone(), name, None, self.now);
        self.alive -= 1;
        self.infos[stopper.index()].kthread = true;
        let work = self.cost().stopper;
        self.enter(stopper, work, Then::Attempt(Op::Stopper));
    }

    /// The work of a stopper thread is done; it goes on with the next or sleeps until it is woken.
    pub(super) fn stopper_done(&mut self, cpu: CpuId) -> Attempt {
        let work = self.cost().stopper;
        if self.kernel.run_stop_work(cpu, self.now, &mut self.observer) {
            return Attempt::Then(work, Op::Stopper);
        }
        if let Some(stopper) = self.kernel.stopper(cpu) {
            self.enter(stopper, work, Then::Next);
        }
        Attempt::Block(Then::Attempt(Op::Stopper))
    }

    /// A running task asked for the stopper of its own CPU: it makes way at once, as `stop_one_cpu()` does by
    /// `cond_resched()`. True if it did.
    pub(super) fn make_way_for_stopper(&mut self, cpu: CpuId) -> bool {
        let wanted = self.kernel.stop_requested(cpu);
        if wanted {
            self.wake_stoppers();
            self.schedule(cpu, Schedule::Preempt);
        }
        wanted
    }

    /// `execve` begins: the scheduler may send the task elsewhere before its memory is built anew.
    ///
    /// Mirrors: `sched_exec()`.
    pub(super) fn sched_exec(&mut self, task: TaskId, action: Action) -> Attempt {
        self.kernel.sched_exec(task, self.now, &mut self.observer);
        Attempt::Then(self.cost().exec + self.kernel.take_work(), Op::Kernel(action))
    }
}
