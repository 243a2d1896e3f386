//! What is outside, the line and the card's receive queues: when frames come, which are lost, which are merged.

use super::softirq::Softirq;
use crate::id::CpuId;
use crate::machine::NicConfig;
use crate::program::{Frame, Inbound, RemoteClient};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Bytes of a frame on the wire beside the program's: Ethernet 14 + 4 + 8 + 12, IP 20, and TCP with time stamps 32 or UDP 8.
const TCP_HEADERS: u64 = 90;
const UDP_HEADERS: u64 = 66;
/// The most steps in one look at what is outside.
const STEPS: u64 = 100_000;
/// A merged packet holds at most this much (the largest IP packet).
const MERGED: u64 = 65_535;

/// A receive queue of the card.
#[derive(Debug)]
pub(super) struct RxQueue {
    pub(super) cpu: CpuId,
    ring: VecDeque<Frame>,
    /// Frames in it: a datagram may be several.
    held: u32,
    /// When the first frame came that has not been told, and how many have.
    pub(super) first: Option<Instant>,
    pub(super) untold: u32,
    /// Whether frames interrupt; not while the queue is polled.
    pub(super) interrupts: bool,
}

/// The network as this machine sees it.
#[derive(Debug)]
pub(in super::super) struct Net {
    pub(super) nic: NicConfig,
    pub(super) remotes: Vec<RemoteClient>,
    /// Programs outside by when they do something; entries that are not true any more are dropped when they come.
    agenda: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Frames on their way, by when they come.
    wire: VecDeque<(Instant, Frame)>,
    line_free: Instant,
    pub(super) queues: Vec<RxQueue>,
    /// By CPU.
    pub(super) softirqs: Vec<Softirq>,
    /// The event that is planned: which one, and when.
    pub(super) generation: u32,
    pub(super) armed: Option<Instant>,
}

impl Net {
    /// The network; none where nobody is outside.
    pub(in super::super) fn new(
        remotes: Vec<RemoteClient>,
        nic: Option<&NicConfig>,
        cpus: u32,
    ) -> Option<Box<Net>> {
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

    pub(in super::super) fn armed_as(&self, generation: u32) -> bool {
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

    /// What happens outside up to `now`, and what it brings into the receive queues: steps, and datagrams lost. After many
    /// steps the rest is left to the next call, so that limits on events are looked at.
    pub(super) fn advance(&mut self, now: Instant) -> (u64, u32) {
        let mut lost = 0;
        for steps in 0..STEPS {
            let outside = self.next_outside().filter(|(at, _)| *at <= now);
            let comes = self.wire.front().map(|(at, _)| *at).filter(|at| *at <= now);
            match (outside, comes) {
                (Some((at, remote)), comes) if comes.is_none_or(|comes| at < comes) => self.act(at, remote),
                (_, Some(_)) => lost += self.come(),
                _ => return (steps, lost),
            }
        }
        (STEPS, lost)
    }

    fn act(&mut self, at: Instant, remote: u32) {
        self.agenda.pop();
        let (nic, wire, line_free) = (&self.nic, &mut self.wire, &mut self.line_free);
        let busy_until = *line_free;
        let client = &mut self.remotes[remote as usize];
        client.step(at, busy_until, &mut |frame: Frame| {
            let headers = if frame.datagram { UDP_HEADERS } else { TCP_HEADERS };
            let busy = nic.line_time(frame.bytes, frame.frames, headers);
            *line_free = at.max(*line_free).saturating_add(busy);
            wire.push_back((line_free.saturating_add(nic.latency), frame));
        });
        self.plan(remote);
    }

    /// The next frame comes into its queue, or is lost: 1 then. Segments wait in front of a full queue. Deviates: D-271.
    fn come(&mut self) -> u32 {
        let Some((at, frame)) = self.wire.pop_front() else { return 0 };
        let row = self.queue_of(frame.remote);
        let queue = &mut self.queues[row];
        if frame.datagram && queue.held.saturating_add(frame.frames) > self.nic.ring {
            return 1;
        }
        queue.held = queue.held.saturating_add(frame.frames);
        queue.untold = queue.untold.saturating_add(frame.frames);
        queue.first.get_or_insert(at);
        queue.ring.push_back(frame);
        0
    }

    fn queue_of(&self, remote: u32) -> usize {
        remote as usize % self.queues.len()
    }

    /// Takes the next packet out of a queue: a datagram, a segment, or full segments that are merged, of at most so many
    /// frames.
    pub(super) fn take(&mut self, queue: usize, most: u32) -> Option<Frame> {
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
    pub(super) fn interrupt_at(&self, queue: &RxQueue) -> Option<Instant> {
        let first = queue.first.filter(|_| queue.interrupts)?;
        let enough = self.nic.rx_frames > 0 && queue.untold >= self.nic.rx_frames;
        Some(if enough { first } else { first.saturating_add(self.nic.rx_usecs) })
    }

    /// When something must be looked at; nothing while all queues are polled.
    pub(super) fn next(&mut self) -> Option<Instant> {
        if self.queues.iter().all(|queue| !queue.interrupts) {
            return None;
        }
        let interrupt = self.queues.iter().filter_map(|queue| self.interrupt_at(queue)).min();
        let outside = self.next_outside().map(|(at, _)| at);
        let comes = self.wire.front().map(|(at, _)| *at);
        interrupt.into_iter().chain(outside).chain(comes).min()
    }

    /// Something goes out to a program.
    pub(super) fn send_out(&mut self, now: Instant, remote: u32, what: Inbound) {
        self.remotes[remote as usize].deliver(now.saturating_add(self.nic.latency), what);
        self.plan(remote);
    }
}
