//! Events of a CPU that wait for the end of an interrupt handler. They leave the event queue meanwhile: were each of ten
//! thousand timers of one instant queued anew for the end of every handler before its own, starting that many tasks would
//! take fifty million steps.

use super::Simulation;
use super::config::SimError;
use super::queue::{Class, Happening};
use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::kernel::runqueue::ROOM;
use crate::observe::Observer;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What waits on one CPU, in the order of the event queue.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    waiting: BinaryHeap<Reverse<(Class, u64, Happening)>>,
    sequence: u64,
    /// Which event of the queue stands for the first of them.
    pub(super) generation: u32,
}

impl Deferred {
    pub(super) fn with_room() -> Deferred {
        Deferred { waiting: BinaryHeap::with_capacity(ROOM), ..Deferred::default() }
    }

    /// Adds an event; says whether it is the first of those that wait.
    fn push(&mut self, what: Happening) -> bool {
        let first = self.class().is_none_or(|class| what.class() < class);
        self.waiting.push(Reverse((what.class(), self.sequence, what)));
        self.sequence += 1;
        first
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The class of the first event.
    fn class(&self) -> Option<Class> {
        self.waiting.peek().map(|Reverse((class, ..))| *class)
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// An interrupt while another is being handled waits for its end; one of an idle CPU, until it has left its state.
    pub(super) fn defer_in_irq(&mut self, cpu: CpuId, what: Happening) -> bool {
        if self.is_absent(cpu) {
            self.defer(cpu, what);
            return true;
        }
        self.interrupt_idle(cpu, what);
        let c = &mut self.cpus[cpu.index()];
        let busy = c.irq_until > self.now;
        if busy && c.deferred.push(what) {
            self.arm_deferred(cpu);
        } else if !busy {
            self.tell_idle_left(cpu);
        }
        busy
    }

    /// An interrupt for a virtual CPU that does not execute waits until it does.
    pub(super) fn defer(&mut self, cpu: CpuId, what: Happening) {
        self.cpus[cpu.index()].deferred.push(what);
        self.kick_vcpu(cpu);
    }

    /// The end of a handler: one event happens, and may occupy the CPU again.
    pub(super) fn on_deferred(&mut self, cpu: CpuId, generation: u32) -> Result<(), SimError> {
        let c = &mut self.cpus[cpu.index()];
        if c.deferred.generation != generation {
            return Ok(());
        }
        if c.irq_until <= self.now
            && c.absence.is_none()
            && let Some(Reverse((.., what))) = c.deferred.waiting.pop()
        {
            self.dispatch(what)?;
        }
        self.arm_deferred(cpu);
        self.halt_if_idle(cpu);
        Ok(())
    }

    /// Plans the first event that waits for the end of the handler.
    pub(super) fn arm_deferred(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.index()];
        c.deferred.generation = c.deferred.generation.wrapping_add(1);
        if c.absence.is_some() {
            return;
        }
        let generation = c.deferred.generation;
        if let Some(class) = c.deferred.class() {
            let at = c.irq_until.max(self.now);
            self.queue.push(at, Happening::Deferred { class, cpu, generation });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::TaskId;

    #[test]
    fn the_first_is_of_the_first_class_and_came_first() {
        let (cpu, generation) = (CpuId(0), 0);
        let timer = |t| Happening::Timer { task: TaskId(t), generation };
        let mut d = Deferred::default();
        assert!(d.push(Happening::Resched { cpu, generation }));
        assert!(d.push(timer(7)));
        assert!(!d.push(timer(3)), "equal classes: first come, first served");
        assert!(!d.push(Happening::Tick { cpu, generation }));
        let order: Vec<_> = std::iter::from_fn(|| d.waiting.pop()).map(|Reverse((.., what))| what).collect();
        let tick = Happening::Tick { cpu, generation };
        assert_eq!(order, [timer(7), timer(3), tick, Happening::Resched { cpu, generation }]);
    }
}
