//! Sockets: what a send or receive does, and whom it wakes. Over loopback; for other machines, `net/`.
//!
//! What a softirq does for a connection, it does on the CPU and at the cost of the task whose call caused it: the receiver's
//! side of a segment within the send, the sender's side of an acknowledgement within the receive (core.md §12.3).
//! Deviates: D-220.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use crate::id::{CpuId, SocketId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::machine::Costs;
use crate::observe::Observer;
use crate::program::{Flow, Pushed, Socket, Waiters};
use crate::time::Nanos;

impl Costs {
    fn copy(&self, bytes: u64) -> Nanos {
        let ns = u128::from(bytes) * u128::from(self.pipe_kib.0) / 1024;
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    fn times(&self, cost: Nanos, n: u32) -> Nanos {
        Nanos(cost.0.saturating_mul(u64::from(n)))
    }

    /// Work of a send call into such a flow, beside that of TCP's segments.
    pub(super) fn send_call(&self, to: &Socket, bytes: u64) -> Nanos {
        match to.flow {
            Flow::Tcp(_) | Flow::Remote(_) => self.tcp_send + self.copy(bytes),
            // A datagram's bytes are summed up as well.
            Flow::Udp(_) if to.remote.is_some() => self.copy(bytes.saturating_mul(2)),
            Flow::Udp(_) => self.udp_send + self.copy(bytes.saturating_mul(2)),
            Flow::Unix(_) => self.unix_send + self.copy(bytes),
        }
    }

    /// What it takes to have slept in a call.
    fn waited(&self, flow: &Flow, slept: bool) -> Nanos {
        match flow {
            _ if !slept => Nanos::ZERO,
            Flow::Unix(_) => self.unix_wait,
            Flow::Tcp(_) | Flow::Udp(_) | Flow::Remote(_) => self.inet_wait,
        }
    }

    fn pushed(&self, pushed: Pushed) -> Nanos {
        self.times(self.tcp_ack, pushed.acks) + self.times(self.tcp_free, pushed.freed)
    }
}

/// Which tasks wait at a socket.
#[derive(Debug, Clone, Copy)]
pub(super) enum Side {
    Readers,
    Writers,
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    fn peer(&self, socket: SocketId) -> SocketId {
        self.objects.sockets[socket.index()].peer
    }

    fn flow(&mut self, socket: SocketId) -> &mut Flow {
        &mut self.objects.sockets[socket.index()].flow
    }

    fn socket_waiters(&mut self, socket: SocketId, side: Side) -> &mut Waiters {
        let s = &mut self.objects.sockets[socket.index()];
        match side {
            Side::Readers => &mut s.readers,
            Side::Writers => &mut s.writers,
        }
    }

    /// Wakes up to `most` of those that wait at a socket, oldest first; sync wake-ups, core.md §12.3.
    pub(super) fn wake_at(
        &mut self,
        cpu: CpuId,
        by: Option<TaskId>,
        socket: SocketId,
        side: Side,
        most: usize,
    ) -> u32 {
        // Those who find nothing wait again, behind the others.
        let woken = self.socket_waiters(socket, side).len().min(most);
        // The network wakes in a softirq, unix sockets wake in the task's own name.
        let softirq = !matches!(self.flow(socket), Flow::Unix(_));
        let sync = !(softirq && self.kernel.config.rules.select.no_sync_in_interrupt);
        for _ in 0..woken {
            if let Some(task) = self.socket_waiters(socket, side).pop_front() {
                self.wake_up(task, cpu, by, sync);
            }
        }
        woken as u32
    }

    /// Takes a message, or what there is room for, into the send buffer; without room the task sleeps.
    pub(super) fn socket_send(&mut self, task: TaskId, socket: SocketId, left: u64, slept: bool) -> Attempt {
        if self.is_remote(socket) {
            return self.net_send_call(socket, left);
        }
        let (peer, c) = (self.peer(socket), *self.cost());
        let waited = c.waited(self.flow(peer), slept);
        let admitted = match self.flow(peer) {
            Flow::Tcp(flow) => {
                let (taken, new) = flow.sender.admit(left);
                let work = c.times(c.tcp_buffer, new) + c.times(c.tcp_segment, flow.sender.sendable());
                (taken > 0).then_some((taken, work))
            }
            Flow::Udp(_) => Some((left, Nanos::ZERO)),
            Flow::Unix(flow) => flow.writable().then_some((left, Nanos::ZERO)),
            Flow::Remote(_) => None,
        };
        match admitted {
            Some((taken, work)) => {
                Attempt::Then(work + waited, Op::Deliver { socket, bytes: taken, left: left - taken })
            }
            None => {
                self.socket_waiters(peer, Side::Writers).push_back(task);
                Attempt::Block(Then::Attempt(Op::Send { socket, left, slept: true }))
            }
        }
    }

    /// What was taken in reaches the other end, as far as windows allow.
    pub(super) fn socket_deliver(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        socket: SocketId,
        bytes: u64,
        left: u64,
    ) -> Attempt {
        if self.is_remote(socket) {
            return self.net_transmit(socket, bytes);
        }
        let peer = self.peer(socket);
        let mut work = Nanos::ZERO;
        let readers = match self.flow(peer) {
            Flow::Tcp(flow) => {
                let pushed = flow.push();
                work += self.cost().pushed(pushed);
                if pushed.segments > 0 {
                    work += self.socket_answer(cpu, task, socket);
                }
                if pushed.acks > 0 {
                    work += self.wake_writers(cpu, task, peer);
                }
                if pushed.segments > 0 { usize::MAX } else { 0 }
            }
            // Waits for datagrams are exclusive.
            Flow::Udp(flow) => usize::from(flow.arrive(bytes)),
            Flow::Unix(flow) => {
                flow.write(bytes);
                usize::MAX
            }
            Flow::Remote(_) => 0,
        };
        let woken = self.wake_at(cpu, Some(task), peer, Side::Readers, readers);
        work += self.wake_cost(woken);
        if left > 0 {
            return Attempt::Then(work, Op::Send { socket, left, slept: false });
        }
        Attempt::Done(work)
    }

    /// A segment sent from here acknowledges what has come here.
    fn socket_answer(&mut self, cpu: CpuId, task: TaskId, socket: SocketId) -> Nanos {
        let Flow::Tcp(flow) = self.flow(socket) else { return Nanos::ZERO };
        let freed = flow.answer();
        let free = self.cost().tcp_free;
        self.cost().times(free, freed) + self.acknowledged(cpu, task, socket)
    }

    /// The sender of what comes to `socket` has got an acknowledgement: it sends on, and its writers may.
    fn acknowledged(&mut self, cpu: CpuId, task: TaskId, socket: SocketId) -> Nanos {
        let Flow::Tcp(flow) = self.flow(socket) else { return Nanos::ZERO };
        let pushed = flow.push();
        let c = *self.cost();
        let readers = if pushed.segments > 0 { usize::MAX } else { 0 };
        let woken = self.wake_at(cpu, Some(task), socket, Side::Readers, readers);
        let work = c.times(c.tcp_segment, pushed.segments) + c.pushed(pushed) + self.wake_cost(woken);
        work + self.wake_writers(cpu, task, socket)
    }

    fn wake_writers(&mut self, cpu: CpuId, task: TaskId, socket: SocketId) -> Nanos {
        let Flow::Tcp(flow) = self.flow(socket) else { return Nanos::ZERO };
        let most = if flow.sender.wakes_writers() { usize::MAX } else { 0 };
        let woken = self.wake_at(cpu, Some(task), socket, Side::Writers, most);
        self.wake_cost(woken)
    }

    /// Takes what is there, up to `max` bytes; with nothing there the task sleeps.
    pub(super) fn socket_receive(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        socket: SocketId,
        max: u64,
        slept: bool,
    ) -> Attempt {
        let c = *self.cost();
        let waited = c.waited(self.flow(socket), slept);
        if self.objects.sockets[socket.index()].is_at_end() {
            self.tasks[task.index()].received = 0;
            return Attempt::Done(waited);
        }
        let (bytes, call, acks, writers) = match self.flow(socket) {
            Flow::Tcp(flow) => {
                let (bytes, freed) = flow.receiver.read(max);
                (bytes, c.tcp_receive + c.times(c.tcp_consume, freed), bytes > 0 && flow.wants_ack(), false)
            }
            Flow::Remote(receiver) => {
                let (bytes, freed) = receiver.read(max);
                (bytes, c.tcp_receive + c.times(c.tcp_consume, freed), false, false)
            }
            Flow::Udp(flow) => (flow.read().unwrap_or(0).min(max), c.udp_receive, false, false),
            Flow::Unix(flow) => {
                let (bytes, writers) = flow.read(max);
                (bytes, c.unix_receive, false, writers)
            }
        };
        if bytes == 0 {
            self.socket_waiters(socket, Side::Readers).push_back(task);
            return Attempt::Block(Then::Attempt(Op::Receive { socket, max, slept: true }));
        }
        self.tasks[task.index()].received = bytes;
        let work = waited + call + c.copy(bytes);
        if acks || self.net_wants_ack(socket) {
            let ack = c.acknowledgement(self.is_remote(socket));
            return Attempt::Then(work + ack, Op::Acknowledge { socket });
        }
        let woken =
            self.wake_at(cpu, Some(task), socket, Side::Writers, if writers { usize::MAX } else { 0 });
        Attempt::Done(work + self.wake_cost(woken))
    }

    /// The receiver's acknowledgement reaches the sender.
    pub(super) fn socket_acknowledge(&mut self, cpu: CpuId, task: TaskId, socket: SocketId) -> Attempt {
        self.net_acknowledge(socket);
        let Flow::Tcp(flow) = self.flow(socket) else { return Attempt::Done(Nanos::ZERO) };
        let freed = flow.acknowledge();
        let free = self.cost().tcp_free;
        let work = self.cost().times(free, freed);
        Attempt::Done(work + self.acknowledged(cpu, task, socket))
    }

    /// Nothing more will be sent from here: readers at the other end hear of it.
    pub(super) fn socket_shutdown(&mut self, cpu: CpuId, task: TaskId, socket: SocketId) -> Attempt {
        let peer = self.peer(socket);
        self.objects.sockets[peer.index()].shut |= peer != socket;
        let woken = self.wake_at(cpu, Some(task), peer, Side::Readers, usize::MAX);
        Attempt::Done(self.wake_cost(woken))
    }
}
