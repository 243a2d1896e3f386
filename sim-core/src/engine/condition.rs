//! Condition variables: waits that give up a mutex, signals that are lost when nobody waits.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use crate::id::{ConditionId, CpuId, MutexId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::observe::Observer;

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Releases the mutex and sleeps; whoever is woken takes the mutex as anybody does.
    pub(super) fn cond_wait(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        condition: ConditionId,
        mutex: Option<MutexId>,
    ) -> Attempt {
        if let Some(mutex) = mutex {
            self.unlock(cpu, task, mutex);
        }
        self.objects.conditions[condition.index()].waiters.push_back(task);
        Attempt::Block(mutex.map_or(Then::Return, |mutex| Then::Attempt(Op::Lock(mutex))))
    }

    /// Wakes waiters, those that have waited longest first.
    pub(super) fn notify(&mut self, cpu: CpuId, task: TaskId, condition: ConditionId, most: u32) -> Attempt {
        let mut woken = 0;
        while woken < most
            && let Some(waiter) = self.objects.conditions[condition.index()].waiters.pop_front()
        {
            self.wake(waiter, cpu, Some(task));
            woken += 1;
        }
        Attempt::Done(self.wake_cost(woken))
    }
}
