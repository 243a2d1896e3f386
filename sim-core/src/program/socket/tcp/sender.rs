//! The sending end of a TCP connection: its buffer, the windows, Nagle's algorithm.

use super::{INITIAL_CWND, OVERHEAD};
use std::collections::VecDeque;

/// A buffer of the sender: one segment.
#[derive(Debug, Clone, Copy)]
struct Segment {
    bytes: u64,
    sent: bool,
}

/// What a sender has buffered and how far it has come. Positions count bytes from the beginning of the stream.
#[derive(Debug, Clone)]
pub struct TcpSender {
    sndbuf: u64,
    nodelay: bool,
    /// The largest segment.
    pub mss: u64,
    queue: VecDeque<Segment>,
    wmem: u64,
    unacked: u64,
    sent: u64,
    window_end: u64,
    cwnd: u64,
    in_flight: u64,
    limited: bool,
}

impl TcpSender {
    /// A sender with this buffer, as the kernel accounts it; `window`: what the receiver announced first.
    pub fn new(sndbuf: u64, window: u64, nodelay: bool, mss: u64) -> TcpSender {
        TcpSender {
            sndbuf,
            nodelay,
            mss: mss.min(window / 2).max(1),
            queue: VecDeque::new(),
            wmem: 0,
            unacked: 0,
            sent: 0,
            window_end: window,
            cwnd: INITIAL_CWND,
            in_flight: 0,
            limited: false,
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

    /// Sends the next segment if it may: its bytes.
    pub fn send_next(&mut self) -> Option<u64> {
        // Those in flight come first.
        let segment = self.queue.get(self.in_flight as usize).copied()?;
        if !self.may_send(segment.bytes, self.sent, self.in_flight) {
            self.limited |= self.in_flight >= self.cwnd;
            return None;
        }
        self.queue[self.in_flight as usize].sent = true;
        self.sent += segment.bytes;
        self.in_flight += 1;
        Some(segment.bytes)
    }

    /// An acknowledgement up to `acked` comes, with a window up to `window_end`: the buffers that became free.
    pub fn acknowledged(&mut self, acked: u64, window_end: u64) -> u32 {
        self.window_end = window_end;
        let mut freed = 0;
        while let Some(head) =
            self.queue.front().copied().filter(|s| s.sent && self.unacked + s.bytes <= acked)
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

    /// Whether a writer may go on: less than the whole send buffer is in use.
    pub fn writable(&self) -> bool {
        self.wmem < self.sndbuf
    }

    /// Whether writers that sleep are woken: a third of the send buffer is free.
    pub fn wakes_writers(&self) -> bool {
        self.sndbuf.saturating_sub(self.wmem) >= self.wmem / 2 && self.writable()
    }

    /// Whether all that was written has been sent.
    pub fn all_sent(&self) -> bool {
        self.queue.back().is_none_or(|s| s.sent)
    }

    /// Whether nothing it sent waits for an acknowledgement.
    pub fn nothing_in_flight(&self) -> bool {
        self.in_flight == 0
    }
}
