//! The network: `card.rs` has programs on other machines, the line and the receive queues, `softirq.rs` takes frames out of the
//! queues, `receive.rs` gives them to sockets and sends what goes out.
//!
//! What is outside of the machine is looked at when the card or a poll needs it: between interrupts that are switched off,
//! a flood of frames takes no events of its own.

mod card;
mod receive;
mod softirq;

use super::Simulation;
use super::queue::Happening;
use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::observe::{Context, Event, NetEvent, Observer};
use crate::program::RemoteClient;
pub(super) use card::Net;

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// The programs on other machines as they stand.
    pub fn remotes(&self) -> &[RemoteClient] {
        self.net.as_ref().map_or(&[], |net| &net.remotes)
    }

    /// Threads for the card's interrupts exist, and programs outside begin.
    pub(super) fn start_net(&mut self) {
        let Some(net) = &self.net else { return };
        let cpus: Vec<CpuId> = net.queues.iter().map(|queue| queue.cpu).collect();
        for cpu in cpus {
            self.add_ksoftirqd(cpu);
        }
        self.arm_wire();
    }

    /// Plans the next look at what is outside.
    fn arm_wire(&mut self) {
        let Some(net) = &mut self.net else { return };
        let Some(at) = net.next() else { return };
        let at = at.max(self.now);
        // An early look plans the next.
        if net.armed.is_none_or(|armed| at < armed) {
            net.generation = net.generation.wrapping_add(1);
            net.armed = Some(at);
            self.queue.push(at, Happening::Wire(net.generation));
        }
    }

    /// Time has come for somebody outside, a frame, or an interrupt.
    pub(super) fn on_wire(&mut self, generation: u32) {
        let Some(net) = self.net.as_mut().filter(|net| net.armed_as(generation)) else { return };
        net.armed = None;
        self.advance_net();
        let Some(net) = &mut self.net else { return };
        for row in 0..net.queues.len() {
            let queue = &net.queues[row];
            if net.interrupt_at(queue).is_some_and(|at| at <= self.now) {
                let queue = &mut net.queues[row];
                (queue.first, queue.untold, queue.interrupts) = (None, 0, false);
                self.queue.push(self.now, Happening::NetIrq(row as u32));
            }
        }
        self.arm_wire();
    }

    /// What happened outside until now is taken in.
    fn advance_net(&mut self) {
        let Some(net) = &mut self.net else { return };
        let (steps, lost) = net.advance(self.now);
        self.events += steps;
        let cpu = net.queues[0].cpu;
        for _ in 0..lost {
            self.observer.event(self.now, &Event::Net { cpu, what: NetEvent::RingDrop });
        }
    }

    /// A queue of the card interrupts its CPU: its interrupts are switched off, the softirq polls it.
    pub(super) fn on_net_irq(&mut self, row: u32) {
        let Some(net) = &self.net else { return };
        let cpu = net.queues[row as usize].cpu;
        if self.defer_in_irq(cpu, Happening::NetIrq(row)) {
            return;
        }
        self.begin_context(cpu, Context::Ipi);
        self.observer.event(self.now, &Event::Net { cpu, what: NetEvent::Interrupt });
        let cost = self.cost().net_irq;
        self.occupy(cpu, cost);
        self.raise_net_rx(cpu, row);
        self.settle(cost + self.cost().irq_exit);
    }
}
