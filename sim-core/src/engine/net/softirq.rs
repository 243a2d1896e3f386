//! The receiving softirq and `ksoftirqd`.
//!
//! A round polls the queues that interrupted, in turn, up to the kernel's budget; rounds follow each other up to its limits;
//! what is left then is `ksoftirqd`'s. Mirrors: `net_rx_action()`, `__do_softirq()` as documented in
//! Documentation/admin-guide/sysctl/net.rst and core.md §10.5. Deviates: D-270.

use super::super::Simulation;
use super::super::actions::Attempt;
use super::super::exec::{Op, Then};
use super::super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::observe::{Context, Event, NetEvent, Observer};
use crate::program::Frame;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Rounds and time after which the rest is left to `ksoftirqd` (core.md §10.5).
const MAX_RESTART: u32 = 10;
const MAX_TIME: Nanos = Nanos::from_millis(2);

/// Who runs a CPU's softirqs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Runner {
    #[default]
    Nobody,
    /// The end of an interrupt.
    Interrupt,
    /// `ksoftirqd` was woken, and has not gone to sleep; whether it is within a pass.
    Thread(bool),
}

/// A CPU's receiving softirq.
#[derive(Debug, Default)]
pub(super) struct Softirq {
    runner: Runner,
    thread: Option<TaskId>,
    /// Queues to be polled.
    list: VecDeque<u32>,
    /// The packet in the protocols' hands.
    packet: Option<Frame>,
    /// Frames in this poll, and what is left of the round's budget.
    polled: u32,
    budget: u32,
    round_until: Instant,
    rounds: u32,
    pass_until: Instant,
}

/// What comes next in a pass.
enum Step {
    /// This takes so long.
    Work(Nanos),
    /// The pass is over; whether frames are left.
    Over(bool),
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    fn softirq(&mut self, cpu: CpuId) -> Option<&mut Softirq> {
        self.net.as_mut().map(|net| &mut net.softirqs[cpu.index()])
    }

    pub(super) fn add_ksoftirqd(&mut self, cpu: CpuId) {
        if self.softirq(cpu).is_some_and(|s| s.thread.is_none()) {
            let thread = self.add_kthread(format!("ksoftirqd/{}", cpu.0), cpu, Op::Softirqd(cpu));
            if let Some(softirq) = self.softirq(cpu) {
                softirq.thread = Some(thread);
            }
        }
    }

    /// Whether a softirq at the end of an interrupt is under way.
    pub(in super::super) fn in_softirq(&self, cpu: CpuId) -> bool {
        self.net.as_ref().is_some_and(|net| net.softirqs[cpu.index()].runner == Runner::Interrupt)
    }

    /// A queue is to be polled: at the end of this interrupt, unless `ksoftirqd` is at it.
    pub(super) fn raise_net_rx(&mut self, cpu: CpuId, queue: u32) {
        let at = self.cpus[cpu.index()].irq_until.max(self.now);
        let Some(softirq) = self.softirq(cpu) else { return };
        softirq.list.push_back(queue);
        if softirq.runner == Runner::Nobody {
            softirq.runner = Runner::Interrupt;
            self.begin_pass(cpu, at);
            self.queue.push(at, Happening::Softirq(cpu));
        }
    }

    fn begin_pass(&mut self, cpu: CpuId, at: Instant) {
        let Some(softirq) = self.softirq(cpu) else { return };
        (softirq.rounds, softirq.pass_until, softirq.polled) = (MAX_RESTART, at + MAX_TIME, 0);
        self.begin_round(cpu, at);
    }

    fn begin_round(&mut self, cpu: CpuId, at: Instant) {
        let Some(net) = &mut self.net else { return };
        let (budget, time) = (net.nic.budget, net.nic.budget_time);
        let softirq = &mut net.softirqs[cpu.index()];
        (softirq.budget, softirq.round_until) = (budget, at.saturating_add(time));
    }

    /// What the softirq at the end of an interrupt was at is done; interrupts that came meanwhile go first.
    pub(in super::super) fn on_softirq(&mut self, cpu: CpuId) {
        if self.defer_in_irq(cpu, Happening::Softirq(cpu)) {
            return;
        }
        self.begin_context(cpu, Context::Softirq);
        match self.net_step(cpu) {
            Step::Work(time) => {
                self.run_softirq(cpu, time);
                let at = self.cpus[cpu.index()].irq_until.max(self.now);
                self.queue.push(at, Happening::Softirq(cpu));
                self.settle(time + self.cost().irq_exit);
            }
            Step::Over(left) => {
                if let Some(softirq) = self.softirq(cpu) {
                    softirq.runner = Runner::Nobody;
                }
                let cost = if left { self.wake_ksoftirqd(cpu) } else { Nanos::ZERO };
                self.run_softirq(cpu, cost);
                self.settle(cost + self.cost().irq_exit);
            }
        }
    }

    fn wake_ksoftirqd(&mut self, cpu: CpuId) -> Nanos {
        let waker = self.kernel.rq(cpu).curr;
        let Some(softirq) = self.softirq(cpu) else { return Nanos::ZERO };
        softirq.runner = Runner::Thread(false);
        let Some(thread) = softirq.thread else { return Nanos::ZERO };
        self.observer.event(self.now, &Event::Net { cpu, what: NetEvent::Ksoftirqd });
        self.wake(thread, cpu, waker);
        self.wake_cost(1)
    }

    /// `ksoftirqd` runs: packet by packet through a pass, then it lets others run, until nothing is left.
    pub(in super::super) fn ksoftirqd(&mut self, cpu: CpuId) -> Attempt {
        let again = Op::Softirqd(cpu);
        let now = self.now;
        let Some(softirq) = self.softirq(cpu) else { return Attempt::Block(Then::Attempt(again)) };
        if softirq.runner != Runner::Thread(true) {
            if softirq.list.is_empty() {
                softirq.runner = Runner::Nobody;
                return Attempt::Block(Then::Attempt(again));
            }
            softirq.runner = Runner::Thread(true);
            self.begin_pass(cpu, now);
        }
        match self.net_step(cpu) {
            Step::Work(time) => Attempt::Then(time, again),
            Step::Over(_) => {
                if let Some(softirq) = self.softirq(cpu) {
                    softirq.runner = Runner::Thread(false);
                }
                if self.kernel.rq(cpu).need_resched {
                    return Attempt::Yield(Then::Attempt(again));
                }
                Attempt::Then(Nanos::ZERO, again)
            }
        }
    }

    /// The packet in hand goes to its socket, the next is taken up.
    fn net_step(&mut self, cpu: CpuId) -> Step {
        let packet = self.softirq(cpu).and_then(|softirq| softirq.packet.take());
        let done = packet.map_or(Nanos::ZERO, |packet| self.net_receive(cpu, packet));
        loop {
            let Some(queue) = self.softirq(cpu).and_then(|softirq| softirq.list.front().copied()) else {
                return if done.is_zero() { Step::Over(false) } else { Step::Work(done) };
            };
            if let Some(time) = self.poll(cpu, queue as usize) {
                return Step::Work(done + time);
            }
            if !done.is_zero() {
                return Step::Work(done);
            }
            if self.round_is_over(cpu) {
                return Step::Over(true);
            }
        }
    }

    /// Polls a queue for its next packet: what that takes. None when the poll is over: the queue is empty and interrupts
    /// again, or it has had its share and goes behind the others.
    fn poll(&mut self, cpu: CpuId, queue: usize) -> Option<Nanos> {
        let weight = self.net.as_ref()?.nic.weight;
        let left = weight.saturating_sub(self.softirq(cpu)?.polled);
        self.advance_net();
        let net = self.net.as_mut()?;
        let packet = if left > 0 { net.take(queue, left) } else { None };
        let softirq = &mut net.softirqs[cpu.index()];
        let Some(packet) = packet else {
            softirq.polled = 0;
            softirq.list.pop_front();
            if left > 0 {
                let queue = &mut net.queues[queue];
                (queue.first, queue.untold, queue.interrupts) = (None, 0, true);
                self.arm_wire();
            } else {
                softirq.list.push_back(queue as u32);
            }
            return None;
        };
        softirq.polled += packet.frames;
        softirq.budget = softirq.budget.saturating_sub(packet.frames);
        softirq.packet = Some(packet);
        self.observer.event(self.now, &Event::Net { cpu, what: NetEvent::Frames(packet.frames) });
        let c = self.cost();
        let input = if packet.datagram { c.udp_input } else { c.tcp_input };
        Some(Nanos(c.net_poll.0.saturating_mul(u64::from(packet.frames))) + input)
    }

    /// After a poll: whether the pass has come to its limits with frames left. A round that has begins the next if it may.
    fn round_is_over(&mut self, cpu: CpuId) -> bool {
        let (now, wanted) = (self.now, self.kernel.rq(cpu).need_resched);
        let Some(softirq) = self.softirq(cpu).filter(|softirq| !softirq.list.is_empty()) else {
            return false;
        };
        if softirq.budget > 0 && now < softirq.round_until {
            return false;
        }
        softirq.rounds -= 1;
        let over = wanted || now >= softirq.pass_until || softirq.rounds == 0;
        self.observer.event(self.now, &Event::Net { cpu, what: NetEvent::Squeezed });
        if !over {
            self.begin_round(cpu, now);
        }
        over
    }
}
