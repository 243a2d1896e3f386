//! The receiving end of a TCP connection: its buffer, the window it announces, when it acknowledges.

use super::{DEFAULT_MSS, MAX_QUICK_ACKS, OVERHEAD, UNSCALED};
use std::collections::VecDeque;

/// The most pieces a buffer consists of.
const MAX_PIECES: u32 = 17;

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
    /// Bytes that could still be copied in behind its own.
    room: u64,
}

/// What a receiver knows of the other end when it thinks of acknowledging: over loopback both ends are one kernel's.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// The sender has something that it may not send yet.
    pub unsent: bool,
    /// The window is all it can wait for.
    pub by_window: bool,
}

/// What a receiver has. Positions count bytes from the beginning of the stream.
#[derive(Debug, Clone)]
pub struct TcpReceiver {
    rcvbuf: u64,
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

impl TcpReceiver {
    /// An empty receiver with this buffer, as the kernel accounts it: twice what `setsockopt` was given.
    pub fn new(rcvbuf: u64) -> TcpReceiver {
        let window = rcvbuf / 2;
        TcpReceiver {
            rcvbuf,
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

    /// The window a sender may use from the start.
    pub fn first_window(&self) -> u64 {
        self.rcvbuf / 2
    }

    /// A segment comes over loopback; true if it is acknowledged at once.
    pub fn arrive(&mut self, bytes: u64) -> bool {
        // What it began with is acknowledged and the sender has let go of it: it can take more in.
        let merges = |tail: &Arrived, acked| tail.first_end <= acked && tail.pieces < MAX_PIECES;
        match self.arrived.back_mut() {
            Some(tail) if merges(tail, self.acked) => {
                tail.pieces += 1;
                tail.left += bytes;
                tail.size += bytes;
                self.rmem += bytes;
            }
            _ => self.push(bytes, OVERHEAD + bytes, 0),
        }
        self.account(bytes, bytes)
    }

    /// Bytes come from a network card, in segments of up to `segment`, in memory of this size with so much room left for
    /// more: a small segment is copied into the buffer before it where it has room.
    pub fn arrive_in(&mut self, bytes: u64, segment: u64, size: u64, room: u64) -> bool {
        match self.arrived.back_mut().filter(|tail| bytes <= tail.room) {
            Some(tail) => {
                tail.left += bytes;
                tail.room -= bytes;
            }
            None => self.push(bytes, size, room),
        }
        self.account(bytes, segment)
    }

    fn push(&mut self, bytes: u64, size: u64, room: u64) {
        let first_end = self.received + bytes;
        self.arrived.push_back(Arrived { left: bytes, size, first_end, pieces: 1, room });
        self.rmem += size;
    }

    /// A segment has come; true if it is acknowledged at once.
    fn account(&mut self, bytes: u64, segment: u64) -> bool {
        self.seen_mss = self.seen_mss.max(segment);
        self.received += bytes;
        self.interactive = std::mem::take(&mut self.answered);
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
    pub fn window_left(&self) -> u64 {
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
    pub fn wants_ack(&self, held: Held) -> bool {
        let (unacked, empty) = (self.received - self.acked, self.arrived.is_empty());
        if unacked > self.seen_mss || unacked > 0 && empty && !self.interactive {
            return true;
        }
        let (left, window) = (self.window_left(), self.window());
        let opens = 2 * left <= self.rcvbuf / 2 && window > 0 && window >= 2 * left;
        // A sender whose segment does not fit would ask for the window by a probe; a delayed acknowledgement that Nagle's
        // algorithm waits for would come by itself.
        opens || empty && held.unsent && (unacked > 0 || held.by_window && window > left)
    }

    /// The receiver acknowledges all it has, with a window that never takes back what was announced: up to where, and
    /// where the window ends.
    pub fn acknowledge(&mut self) -> (u64, u64) {
        self.announced = self.window().max(self.window_left());
        self.acked = self.received;
        self.announced_end = self.received + self.announced;
        (self.acked, self.announced_end)
    }

    /// The receiver sends an answer, which carries an acknowledgement if one is due.
    pub fn answer(&mut self) -> Option<(u64, u64)> {
        self.answered = true;
        (self.received > self.acked).then(|| self.acknowledge())
    }
}
