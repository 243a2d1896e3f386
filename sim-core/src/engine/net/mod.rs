//! The network: programs on other machines, the line, the receive queues of the card. `softirq.rs` takes frames out of the
//! queues, `receive.rs` gives them to sockets and sends what goes out.
//!
//! What is outside of the machine is looked at when the card or a poll needs it: between interrupts that are switched off,
//! a flood of frames takes no events of its own.

mod receive;
mod softirq;

use super::Simulation;
use super::queue::Happening;
use crate::id::CpuId;
use crate::kernel::hooks::Hooks;
use crate::machine::NicConfig;
use crate::observe::{Context, Event, NetEvent, Observer};
use crate::program::{Frame, Inbound, RemoteClient};
use crate::time::Instant;
use softirq::Softirq;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of a frame on the wire beside the program's: Ethernet 14 + 4 + 8 + 12, IP 20, and TCP with time stamps 32 or UDP 8.
const TCP_HEADERS: u64 = 90;
const UDP_HEADERS: u64 = 66;
/// A merged packet holds at most this much (the largest IP packet).
const MERGED: u64 = 65_535;

/// A receive queue of the card.
#[derive(Debug)]
struct RxQueue {
    cpu: CpuId,
    ring: VecDeque<Frame>,
    /// Frames in it: a datagram may be several.
    held: u32,
    /// When the first frame came that has not been told, and how many have.
    first: Option<Instant>,
    untold: u32,
    /// Whether frames interrupt; not while the queue is polled.
    interrupts: bool,
}

/// The network as this machine sees it.
#[derive(Debug)]
pub(super) struct Net {
    nic: NicConfig,
    remotes: Vec<RemoteClient>,
    /// Programs outside by when they do something; entries that are not true any more are dropped when they come.
    agenda: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Frames on their way, by when they come.
    wire: VecDeque<(Instant, Frame)>,
    line_free: Instant,
    queues: Vec<RxQueue>,
    /// By CPU.
    softirqs: Vec<Softirq>,
    /// The event that is planned: which one, and when.
    generation: u32,
    armed: Option<Instant>,
}

impl Net {
    /// The network; none where nobody is outside.
    pub(super) fn new(remotes: Vec<RemoteClient>, nic: Option<&NicConfig>, cpus: u32) -> Option<Box<Net>> {
        if remotes.is_empty() {
            return None;
        }
        let nic = nic.cloned().unwrap_or_else(|| NicConfig::typical(cpus));
        let queue = |cpu: &CpuId| RxQueue {
            cpu: *cpu,
            ring: VecDeque::with_capacity(nic.ring as usize),
            held: 0,
            first: None,
            untold: 0,
            interrupts: true,
        };
        let mut net = Net {
            queues: nic.queues.iter().map(queue).collect(),
            nic,
            remotes,
            agenda: BinaryHeap::new(),
            wire: VecDeque::new(),
            line_free: Instant::ZERO,
            softirqs: (0..cpus).map(|_| Softirq::default()).collect(),
            generation: 0,
            armed: None,
        };
        (0..net.remotes.len() as u32).for_each(|remote| net.plan(remote));
        Some(Box::new(net))
    }

    pub(super) fn armed_as(&self, generation: u32) -> bool {
        self.armed.is_some() && self.generation == generation
    }

    fn plan(&mut self, remote: u32) {
        if let Some(at) = self.remotes[remote as usize].next() {
            self.agenda.push(Reverse((at, remote)));
        }
    }

    /// When somebody outside does something next.
    fn next_outside(&mut self) -> Option<(Instant, u32)> {
        while let Some(Reverse((at, remote))) = self.agenda.peek().copied() {
            if self.remotes[remote as usize].next() == Some(at) {
                return Some((at, remote));
            }
            self.agenda.pop();
        }
        None
    }

    /// All that happens outside up to `now`, and what it brings into the receive queues; datagrams lost there.
    fn advance(&mut self, now: Instant) -> u32 {
        let mut lost = 0;
        loop {
            let outside = self.next_outside().filter(|(at, _)| *at <= now);
            let comes = self.wire.front().map(|(at, _)| *at).filter(|at| *at <= now);
            match (outside, comes) {
                (Some((at, remote)), comes) if comes.is_none_or(|comes| at < comes) => self.act(at, remote),
                (_, Some(_)) => lost += self.come(),
                _ => return lost,
            }
        }
    }

    fn act(&mut self, at: Instant, remote: u32) {
        self.agenda.pop();
        let (nic, wire, line_free) = (&self.nic, &mut self.wire, &mut self.line_free);
        let busy_until = *line_free;
        let client = &mut self.remotes[remote as usize];
        client.step(at, busy_until, &mut |frame: Frame| {
            let headers = if frame.datagram { UDP_HEADERS } else { TCP_HEADERS };
            *line_free = at.max(*line_free) + nic.line_time(frame.bytes, frame.frames, headers);
            wire.push_back((line_free.saturating_add(nic.latency), frame));
        });
        self.plan(remote);
    }

    /// The next frame comes into its queue, or is lost: 1 then. Segments wait in front of a full queue. Deviates: D-271.
    fn come(&mut self) -> u32 {
        let Some((at, frame)) = self.wire.pop_front() else { return 0 };
        let row = self.queue_of(frame.remote);
        let queue = &mut self.queues[row];
        if frame.datagram && queue.held + frame.frames > self.nic.ring {
            return 1;
        }
        queue.held += frame.frames;
        queue.untold += frame.frames;
        queue.first.get_or_insert(at);
        queue.ring.push_back(frame);
        0
    }

    fn queue_of(&self, remote: u32) -> usize {
        remote as usize % self.queues.len()
    }

    /// Takes the next packet out of a queue: a datagram, a segment, or full segments that are merged, of at most so many
    /// frames.
    fn take(&mut self, queue: usize, most: u32) -> Option<Frame> {
        let q = &mut self.queues[queue];
        let mut packet = q.ring.pop_front()?;
        q.held -= packet.frames;
        while self.nic.gro && packet.full && packet.frames < most {
            let next = q.ring.front().filter(|next| next.socket == packet.socket && !next.last);
            let Some(next) = next.filter(|next| packet.bytes + next.bytes <= MERGED).copied() else { break };
            q.ring.pop_front();
            q.held -= next.frames;
            packet.bytes += next.bytes;
            packet.frames += next.frames;
            packet.full = next.full;
        }
        Some(packet)
    }

    /// When a queue interrupts, as things stand.
    fn interrupt_at(&self, queue: &RxQueue) -> Option<Instant> {
        let first = queue.first.filter(|_| queue.interrupts)?;
        let enough = self.nic.rx_frames > 0 && queue.untold >= self.nic.rx_frames;
        Some(if enough { first } else { first.saturating_add(self.nic.rx_usecs) })
    }

    /// When something must be looked at; nothing while all queues are polled.
    fn next(&mut self) -> Option<Instant> {
        if self.queues.iter().all(|queue| !queue.interrupts) {
            return None;
        }
        let interrupt = self.queues.iter().filter_map(|queue| self.interrupt_at(queue)).min();
        let outside = self.next_outside().map(|(at, _)| at);
        let comes = self.wire.front().map(|(at, _)| *at);
        interrupt.into_iter().chain(outside).chain(comes).min()
    }

    /// Something goes out to a program.
    fn send_out(&mut self, now: Instant, remote: u32, what: Inbound) {
        self.remotes[remote as usize].deliver(now.saturating_add(self.nic.latency), what);
        self.plan(remote);
    }
}

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
        let lost = net.advance(self.now);
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
