//! One direction of a TCP connection over loopback: what the sender has buffered, what the receiver has, and when it
//! acknowledges. No retransmission: loopback loses nothing.
//!
//! Mechanism: RFC 9293 (windows, delayed acknowledgements, silly window avoidance on both sides), RFC 5681 (slow start),
//! tcp(7), socket(7). What those leave open was measured with the trace point `tcp:tcp_probe` and with system calls counted
//! in instructions under Linux 6.1 (`validation/programs/README.md`): how buffers are charged, that segments merge
//! once acknowledged, when windows open.

use std::collections::VecDeque;

/// What a buffer takes of a socket's memory beside its bytes. Measured: with 16384 bytes of send buffer, 13 messages of
/// 1 byte, 11 of 256, 8 of 1024 and 4 of 4096 fit.
const OVERHEAD: u64 = 1280;
/// The largest segment of an interface with an MTU of 65536 bytes, time stamps taken off.
const LOOPBACK_MSS: u64 = 65_483;
/// The segment size assumed of a sender that has sent nothing (RFC 9293, 3.7.1).
const DEFAULT_MSS: u64 = 536;
/// The most pieces a buffer consists of.
const MAX_PIECES: u32 = 17;
/// The initial congestion window, in segments (RFC 6928).
const INITIAL_CWND: u64 = 10;
/// The most acknowledgements sent at once at the start of a connection.
const MAX_QUICK_ACKS: u64 = 16;
/// A window up to this is announced without scaling.
const UNSCALED: u64 = 65_535;

/// A buffer of the sender: one segment.
#[derive(Debug, Clone, Copy)]
struct Segment {
    bytes: u64,
    sent: bool,
}

/// A buffer of the receiver.
#[derive(Debug, Clone, Copy)]
struct Arrived {
    left: u64,
    /// What it takes of the receive buffer until the last byte is read.
    size: u64,
    /// Where the segment it began with ends in the stream.
    first_end: u64,
    /// Segments in it.
    pieces: u32,
}

/// One direction of a connection. Positions count bytes from its beginning.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    sndbuf: u64,
    rcvbuf: u64,
    nodelay: bool,
    mss: u64,
    // The sender.
    queue: VecDeque<Segment>,
    wmem: u64,
    unacked: u64,
    sent: u64,
    window_end: u64,
    cwnd: u64,
    in_flight: u64,
    limited: bool,
    // The receiver.
    arrived: VecDeque<Arrived>,
    rmem: u64,
    received: u64,
    read: u64,
    acked: u64,
    announced_end: u64,
    announced: u64,
    seen_mss: u64,
    quick_acks: u64,
    /// The receiver has answered since the last segment came, and before that one: acknowledgements ride on answers.
    answered: bool,
    interactive: bool,
}

/// What became of pushing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Segments that went to the receiver.
    pub segments: u32,
    /// Acknowledgements sent alone.
    pub acks: u32,
    /// Buffers the sender got back.
    pub freed: u32,
}

impl TcpFlow {
    /// An idle direction with these buffer sizes as the kernel accounts them: twice what `setsockopt` was given.
    pub fn new(sndbuf: u64, rcvbuf: u64, nodelay: bool) -> TcpFlow {
        let window = rcvbuf / 2;
        TcpFlow {
            sndbuf,
            rcvbuf,
            nodelay,
            mss: LOOPBACK_MSS.min(window / 2).max(1),
            queue: VecDeque::new(),
            wmem: 0,
            unacked: 0,
            sent: 0,
            window_end: window,
            cwnd: INITIAL_CWND,
            in_flight: 0,
            limited: false,
            arrived: VecDeque::new(),
            rmem: 0,
            received: 0,
            read: 0,
            acked: 0,
            announced_end: window,
            announced: window,
            seen_mss: DEFAULT_MSS,
            quick_acks: (window / (2 * DEFAULT_MSS)).clamp(2, MAX_QUICK_ACKS),
            answered: false,
            interactive: false,
        }
    }

    /// Takes bytes from a message into the send buffer: how many, and how many new buffers that took. A buffer that is
    /// not sent and not full is filled first; a new one may be had while less than the whole send buffer is in use.
    pub fn admit(&mut self, bytes: u64) -> (u64, u32) {
        let (mut left, mut new) = (bytes, 0);
        while left > 0 {
            let room = self.queue.back().filter(|s| !s.sent).map_or(0, |s| self.mss.saturating_sub(s.bytes));
            if room == 0 {
                if self.wmem >= self.sndbuf {
                    break;
                }
                self.queue.push_back(Segment { bytes: 0, sent: false });
                self.wmem += OVERHEAD;
                new += 1;
                continue;
            }
            let part = left.min(room);
            if let Some(tail) = self.queue.back_mut() {
                tail.bytes += part;
            }
            self.wmem += part;
            left -= part;
        }
        (bytes - left, new)
    }

    /// How many segments could be sent now.
    pub fn sendable(&self) -> u32 {
        let (mut sent, mut in_flight, mut n) = (self.sent, self.in_flight, 0);
        for segment in self.queue.iter().skip(in_flight as usize) {
            if !self.may_send(segment.bytes, sent, in_flight) {
                break;
            }
            sent += segment.bytes;
            in_flight += 1;
            n += 1;
        }
        n
    }

    /// Windows, congestion window and, without `TCP_NODELAY`, Nagle's algorithm.
    fn may_send(&self, bytes: u64, sent: u64, in_flight: u64) -> bool {
        let small_waits = !self.nodelay && bytes < self.mss && in_flight > 0;
        in_flight < self.cwnd && sent + bytes <= self.window_end && !small_waits
    }

    /// Sends what can be sent; the receiver acknowledges at once what it does not delay.
    pub fn push(&mut self) -> Pushed {
        let mut pushed = Pushed::default();
        // Those in flight come first.
        while let Some(segment) = self.queue.get(self.in_flight as usize).copied() {
            if !self.may_send(segment.bytes, self.sent, self.in_flight) {
                self.limited |= self.in_flight >= self.cwnd;
                break;
            }
            let bytes = segment.bytes;
            self.queue[self.in_flight as usize].sent = true;
            self.sent += bytes;
            self.in_flight += 1;
            pushed.segments += 1;
            if self.arrive(bytes) {
                pushed.acks += 1;
                pushed.freed += self.acknowledge();
            }
        }
        pushed
    }

    /// A segment reaches the receiver; true if it acknowledges at once.
    fn arrive(&mut self, bytes: u64) -> bool {
        self.seen_mss = self.seen_mss.max(bytes);
        self.received += bytes;
        self.interactive = std::mem::take(&mut self.answered);
        match self.arrived.back_mut() {
            // What it began with is acknowledged and the sender has let go of it: it can take more in.
            Some(tail) if tail.first_end <= self.acked && tail.pieces < MAX_PIECES => {
                tail.pieces += 1;
                tail.left += bytes;
                tail.size += bytes;
                self.rmem += bytes;
            }
            _ => {
                let size = OVERHEAD + bytes;
                self.arrived.push_back(Arrived { left: bytes, size, first_end: self.received, pieces: 1 });
                self.rmem += size;
            }
        }
        if self.interactive {
            return false;
        }
        let quick = self.quick_acks > 0;
        self.quick_acks -= u64::from(quick);
        quick || self.received - self.acked > self.seen_mss && self.window() >= self.announced
    }

    /// The window the receiver could announce: half of what is free of its buffer, in whole segments where windows are not
    /// scaled; none below one segment. A window once announced stays while it is within one segment of that.
    fn window(&self) -> u64 {
        let full = self.rcvbuf / 2;
        let free = self.rcvbuf.saturating_sub(self.rmem) / 2;
        let mss = self.seen_mss.min(full).max(1);
        if free < full / 2 && (free < full / 16 || free < mss) {
            return 0;
        }
        if full > UNSCALED {
            return free;
        }
        let stays = self.announced <= free && self.announced + mss > free;
        if stays { self.announced } else { free / mss * mss }
    }

    /// What is left of the window announced last.
    fn window_left(&self) -> u64 {
        self.announced_end - self.received.min(self.announced_end)
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.received - self.read
    }

    /// Reads up to `max` bytes: how many, and how many buffers became free.
    pub fn read(&mut self, max: u64) -> (u64, u32) {
        let (mut left, mut freed) = (max, 0);
        while let Some(head) = self.arrived.front_mut() {
            let part = left.min(head.left);
            head.left -= part;
            left -= part;
            if head.left > 0 {
                break;
            }
            self.rmem -= head.size;
            self.arrived.pop_front();
            freed += 1;
        }
        self.read += max - left;
        (max - left, freed)
    }

    /// Whether the receiver, having read, acknowledges or opens the window by a segment of its own.
    pub fn wants_ack(&self) -> bool {
        let (unacked, empty) = (self.received - self.acked, self.arrived.is_empty());
        if unacked > self.seen_mss || unacked > 0 && empty && !self.interactive {
            return true;
        }
        let (left, window) = (self.window_left(), self.window());
        let opens = 2 * left <= self.rcvbuf / 2 && window > 0 && window >= 2 * left;
        // A sender whose segment does not fit would ask for the window by a probe; a delayed acknowledgement that Nagle's
        // algorithm waits for would come by itself.
        let held = empty && self.queue.iter().any(|s| !s.sent);
        opens || held && (unacked > 0 || self.in_flight == 0 && window > left)
    }

    /// The receiver acknowledges all it has, with a window that never takes back what was announced; the sender's
    /// buffers that became free.
    pub fn acknowledge(&mut self) -> u32 {
        self.announced = self.window().max(self.window_left());
        self.acked = self.received;
        self.announced_end = self.received + self.announced;
        self.window_end = self.announced_end;
        let mut freed = 0;
        while let Some(head) =
            self.queue.front().copied().filter(|s| s.sent && self.unacked + s.bytes <= self.acked)
        {
            self.queue.pop_front();
            self.unacked += head.bytes;
            self.wmem -= OVERHEAD + head.bytes;
            freed += 1;
        }
        self.in_flight -= u64::from(freed);
        if std::mem::take(&mut self.limited) {
            self.cwnd = self.cwnd.saturating_add(u64::from(freed));
        }
        freed
    }

    /// The receiver sends an answer: it carries the acknowledgement. The buffers that became free.
    pub fn answer(&mut self) -> u32 {
        self.answered = true;
        if self.received > self.acked { self.acknowledge() } else { 0 }
    }

    /// Whether a writer may go on: less than the whole send buffer is in use.
    pub fn writable(&self) -> bool {
        self.wmem < self.sndbuf
    }

    /// Whether writers that sleep are woken: a third of the send buffer is free.
    pub fn wakes_writers(&self) -> bool {
        self.sndbuf.saturating_sub(self.wmem) >= self.wmem / 2 && self.writable()
    }

    /// Whether all that was written has reached the receiver.
    pub fn is_delivered(&self) -> bool {
        self.queue.iter().all(|s| s.sent)
    }
}
