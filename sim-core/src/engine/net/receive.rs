//! What comes from other machines reaches sockets; what goes out to them.

use super::super::Simulation;
use super::super::actions::Attempt;
use super::super::exec::Op;
use super::super::socket::Side;
use crate::id::{CpuId, SocketId};
use crate::kernel::hooks::Hooks;
use crate::machine::Costs;
use crate::observe::{Event, NetEvent, Observer};
use crate::program::{Flow, Frame, Held, Inbound, RemoteClient, frame_memory};
use crate::time::Nanos;

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Whether the other end of a socket is another machine's.
    pub(in super::super) fn is_remote(&self, socket: SocketId) -> bool {
        self.objects.sockets[socket.index()].remote.is_some()
    }

    /// A packet has gone through the protocols: it is in its socket, or lost, and readers are woken. The work of that.
    pub(super) fn net_receive(&mut self, cpu: CpuId, packet: Frame) -> Nanos {
        if packet.last {
            self.objects.sockets[packet.socket.index()].shut = true;
            return self.net_wake(cpu, packet.socket, usize::MAX);
        }
        let memory = frame_memory().saturating_mul(u64::from(packet.frames));
        let segment = self.remotes()[packet.remote as usize].segment();
        let (mut readers, mut acks) = (usize::MAX, false);
        match &mut self.objects.sockets[packet.socket.index()].flow {
            Flow::Remote(receiver) => {
                let room = if packet.frames == 1 { segment.saturating_sub(packet.bytes) } else { 0 };
                acks = receiver.arrive_in(packet.bytes, packet.bytes.min(segment), memory, room);
            }
            Flow::Udp(flow) => {
                let kept = flow.arrive_in(packet.bytes, memory);
                let what = if kept { NetEvent::Datagram } else { NetEvent::SocketDrop };
                self.observer.event(self.now, &Event::Net { cpu, what });
                // Waits for datagrams are exclusive.
                readers = usize::from(kept);
            }
            Flow::Tcp(_) | Flow::Unix(_) => return Nanos::ZERO,
        }
        let mut work = Nanos::ZERO;
        if acks {
            self.net_acknowledge(packet.socket);
            work += self.cost().net_send;
        }
        work + self.net_wake(cpu, packet.socket, readers)
    }

    /// Wakes readers from the softirq; the task it interrupted counts as the waker.
    fn net_wake(&mut self, cpu: CpuId, socket: SocketId, most: usize) -> Nanos {
        let by = self.kernel.rq(cpu).curr;
        let woken = self.wake_at(cpu, by, socket, Side::Readers, most);
        self.wake_cost(woken)
    }

    /// What is received here is acknowledged, with the window as it stands.
    pub(in super::super) fn net_acknowledge(&mut self, socket: SocketId) {
        if let Flow::Remote(receiver) = &mut self.objects.sockets[socket.index()].flow {
            let (acked, window_end) = receiver.acknowledge();
            self.net_send(socket, Inbound::Ack(acked, window_end));
        }
    }

    fn net_send(&mut self, socket: SocketId, what: Inbound) {
        let remote = self.objects.sockets[socket.index()].remote;
        if let (Some(net), Some(remote)) = (&mut self.net, remote) {
            net.send_out(self.now, remote, what);
            self.arm_wire();
        }
    }

    /// A message to another machine: neither its window nor the send buffer stops it. Deviates: D-271.
    pub(in super::super) fn net_send_call(&self, socket: SocketId, bytes: u64) -> Attempt {
        let frames = bytes.div_ceil(RemoteClient::SEGMENT).max(1);
        let work = Nanos(self.cost().net_send.0.saturating_mul(frames));
        Attempt::Then(work, Op::Deliver { socket, bytes, left: 0 })
    }

    /// It goes out. An answer carries the acknowledgement of what was asked.
    pub(in super::super) fn net_transmit(&mut self, socket: SocketId, bytes: u64) -> Attempt {
        if let Flow::Remote(receiver) = &mut self.objects.sockets[socket.index()].flow
            && let Some((acked, window_end)) = receiver.answer()
        {
            self.net_send(socket, Inbound::Ack(acked, window_end));
        }
        self.net_send(socket, Inbound::Data(bytes));
        Attempt::Done(Nanos::ZERO)
    }

    /// Whether a receiver that has read acknowledges or opens its window.
    pub(in super::super) fn net_wants_ack(&self, socket: SocketId) -> bool {
        let s = &self.objects.sockets[socket.index()];
        let (Flow::Remote(receiver), Some(remote)) = (&s.flow, s.remote) else { return false };
        let client = &self.remotes()[remote as usize];
        // What is on its way or was acknowledged may let it go on; a window that a segment fits into does.
        let by_window = receiver.window_left() < client.segment();
        receiver.wants_ack(Held { unsent: client.has_unsent(), by_window })
    }
}

impl Costs {
    /// A receive call acknowledges: over loopback that takes in what the sender does as well.
    pub(in super::super) fn acknowledgement(&self, remote: bool) -> Nanos {
        if remote { self.net_send } else { self.tcp_ack }
    }
}
