//! TCP. Over loopback a direction of a connection is both ends at once ([`TcpFlow`]); what comes from another machine has
//! its [`TcpReceiver`] here and its [`TcpSender`] there. No retransmission: nothing is lost.
//!
//! Mechanism: RFC 9293 (windows, delayed acknowledgements, silly window avoidance on both sides), RFC 5681 (slow start),
//! tcp(7), socket(7). What those leave open was measured with the trace point `tcp:tcp_probe` and with system calls counted
//! in instructions under Linux 6.1 (`validation/programs/README.md`): how buffers are charged, that segments merge
//! once acknowledged, when windows open.

mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::{Held, TcpReceiver};
pub use sender::TcpSender;

/// What a buffer takes of a socket's memory beside its bytes. Measured: with 16384 bytes of send buffer, 13 messages of
/// 1 byte, 11 of 256, 8 of 1024 and 4 of 4096 fit.
const OVERHEAD: u64 = 1280;
/// The largest segment of an interface with an MTU of 65536 bytes, time stamps taken off.
const LOOPBACK_MSS: u64 = 65_483;
/// The segment size assumed of a sender that has sent nothing (RFC 9293, 3.7.1).
const DEFAULT_MSS: u64 = 536;
/// The initial congestion window, in segments (RFC 6928).
const INITIAL_CWND: u64 = 10;
/// The most acknowledgements sent at once at the start of a connection.
const MAX_QUICK_ACKS: u64 = 16;
/// A window up to this is announced without scaling.
const UNSCALED: u64 = 65_535;

/// One direction of a connection over loopback: what the sender has buffered, what the receiver has, and when it
/// acknowledges.
#[derive(Debug, Clone)]
pub struct TcpFlow {
    /// The sending end.
    pub sender: TcpSender,
    /// The receiving end.
    pub receiver: TcpReceiver,
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
        let receiver = TcpReceiver::new(rcvbuf);
        let sender = TcpSender::new(sndbuf, receiver.first_window(), nodelay, LOOPBACK_MSS);
        TcpFlow { sender, receiver }
    }

    /// Sends what can be sent; the receiver acknowledges at once what it does not delay.
    pub fn push(&mut self) -> Pushed {
        let mut pushed = Pushed::default();
        while let Some(bytes) = self.sender.send_next() {
            pushed.segments += 1;
            if self.receiver.arrive(bytes) {
                pushed.acks += 1;
                pushed.freed += self.acknowledge();
            }
        }
        pushed
    }

    /// Whether the receiver, having read, acknowledges or opens the window by a segment of its own.
    pub fn wants_ack(&self) -> bool {
        let (unsent, by_window) = (!self.sender.all_sent(), self.sender.nothing_in_flight());
        self.receiver.wants_ack(Held { unsent, by_window })
    }

    /// The receiver acknowledges all it has; the sender's buffers that became free.
    pub fn acknowledge(&mut self) -> u32 {
        let (acked, window_end) = self.receiver.acknowledge();
        self.sender.acknowledged(acked, window_end)
    }

    /// The receiver sends an answer: it carries the acknowledgement. The buffers that became free.
    pub fn answer(&mut self) -> u32 {
        self.receiver.answer().map_or(0, |(acked, window_end)| self.sender.acknowledged(acked, window_end))
    }
}
