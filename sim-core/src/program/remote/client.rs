//! netperf on another machine. It asks for a test on a control connection, waits for the answer, and makes its calls one
//! after another on a CPU of its own.

use super::{Frame, Inbound};
use crate::id::SocketId;
use crate::program::TcpSender;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// The largest piece of a datagram: an MTU of 1500 bytes less the IP header.
const FRAGMENT: u64 = 1480;
/// The most of them: a datagram holds 65507 bytes, and no receive queue more than this.
const MOST_FRAGMENTS: u64 = 65_536;

/// What it does in a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteTest {
    /// It sends messages of this many bytes one after another.
    Stream {
        /// Bytes of a message.
        message: u64,
    },
    /// It sends a request and waits for the response.
    Transactions {
        /// Bytes of a request.
        request: u64,
        /// Bytes of a response.
        response: u64,
    },
}

/// How a program outside is set up.
#[derive(Debug, Clone, Copy)]
pub struct RemoteSpec {
    /// When it asks for the test.
    pub start: Instant,
    /// Bytes of the message with which it asks.
    pub greeting: u64,
    /// What it does.
    pub test: RemoteTest,
    /// TCP with this send buffer; UDP without.
    pub sndbuf: Option<u64>,
    /// `TCP_NODELAY`.
    pub nodelay: bool,
    /// The window it is told first.
    pub window: u64,
    /// How long a call takes it.
    pub call: Nanos,
    /// Messages or transactions at most.
    pub count: u64,
    /// How long the test lasts at most.
    pub length: Nanos,
    /// The ends here: of the control connection, and of the data connection.
    pub sockets: [SocketId; 2],
}

/// Where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not asked yet.
    Start,
    /// It waits for the answer.
    Asked,
    /// It makes calls.
    Test,
    /// It waits for this many bytes of a response.
    Response(u64),
    /// It has made its last call; what is in its buffer is still sent.
    Drains,
    /// It does nothing more.
    Over,
}

/// A program on another machine.
#[derive(Debug, Clone)]
pub struct RemoteClient {
    spec: RemoteSpec,
    number: u32,
    phase: Phase,
    sender: Option<TcpSender>,
    /// When its next call is done.
    call_at: Instant,
    began: Instant,
    /// Calls made, and of the last message what is not in the buffer yet.
    calls: u64,
    left: u64,
    /// Acknowledgements and answers on their way, by the time at which they come.
    inbox: VecDeque<(Instant, Inbound)>,
}

impl RemoteClient {
    /// The largest segment: an MTU of 1500 bytes less the headers.
    pub const SEGMENT: u64 = 1448;

    /// Program `number`, not yet started.
    pub fn new(spec: RemoteSpec, number: u32) -> RemoteClient {
        let sender =
            spec.sndbuf.map(|buf| TcpSender::new(buf, spec.window, spec.nodelay, RemoteClient::SEGMENT));
        let (call_at, began) = (spec.start, spec.start);
        let (phase, inbox) = (Phase::Start, VecDeque::new());
        RemoteClient { spec, number, phase, sender, call_at, began, calls: 0, left: 0, inbox }
    }

    /// Messages it has given to the network: over UDP, datagrams sent.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Bytes of the largest segment to this receiver.
    pub fn segment(&self) -> u64 {
        self.sender.as_ref().map_or(RemoteClient::SEGMENT, |sender| sender.mss)
    }

    /// Whether it holds back something: a window or an acknowledgement is missing.
    pub fn has_unsent(&self) -> bool {
        self.left > 0 || self.sender.as_ref().is_some_and(|sender| !sender.all_sent())
    }

    /// Something comes for it.
    pub fn deliver(&mut self, at: Instant, what: Inbound) {
        self.inbox.push_back((at, what));
    }

    /// When it does something next.
    pub fn next(&self) -> Option<Instant> {
        let calls = match self.phase {
            Phase::Start => true,
            Phase::Test => self.sender.as_ref().is_none_or(TcpSender::writable),
            Phase::Asked | Phase::Response(_) | Phase::Drains | Phase::Over => false,
        };
        let call = calls.then_some(self.call_at);
        call.into_iter().chain(self.inbox.front().map(|(at, _)| *at)).min()
    }

    /// Does what it does at `now`, which is what [`next`](RemoteClient::next) said; `busy_until`: its line is busy until
    /// then. Frames go to `send`.
    pub fn step(&mut self, now: Instant, busy_until: Instant, send: &mut impl FnMut(Frame)) {
        if self.inbox.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, what)) = self.inbox.pop_front() {
                self.receive(now, what);
            }
        } else if self.phase == Phase::Start {
            self.phase = Phase::Asked;
            return send(self.frame(self.spec.sockets[0], self.spec.greeting, 1));
        } else if self.phase == Phase::Test {
            self.call(now, busy_until, send);
        }
        self.transmit(now, send);
    }

    fn receive(&mut self, now: Instant, what: Inbound) {
        match (what, self.phase) {
            (Inbound::Ack(acked, window_end), _) => {
                if let Some(sender) = &mut self.sender {
                    sender.acknowledged(acked, window_end);
                }
            }
            (Inbound::Data(_), Phase::Asked) => {
                self.phase = Phase::Test;
                (self.began, self.call_at) = (now, now.saturating_add(self.spec.call));
            }
            (Inbound::Data(bytes), Phase::Response(left)) => {
                let left = left.saturating_sub(bytes);
                self.phase = if left > 0 { Phase::Response(left) } else { self.next_call(now) };
            }
            (Inbound::Data(_), _) => {}
        }
        // What had no room may have it now.
        self.call_at = self.call_at.max(now);
    }

    /// The call before is complete.
    fn next_call(&mut self, now: Instant) -> Phase {
        self.call_at = now.saturating_add(self.spec.call);
        let over = self.calls >= self.spec.count || now.saturating_since(self.began) >= self.spec.length;
        if over { Phase::Drains } else { Phase::Test }
    }

    fn call(&mut self, now: Instant, busy_until: Instant, send: &mut impl FnMut(Frame)) {
        let (message, awaited) = match self.spec.test {
            RemoteTest::Stream { message } => (message, 0),
            RemoteTest::Transactions { request, response } => (request, response),
        };
        if self.left == 0 {
            (self.left, self.calls) = (message, self.calls + 1);
        }
        match &mut self.sender {
            Some(sender) => self.left -= sender.admit(self.left).0,
            None => {
                self.left = 0;
                send(self.frame(
                    self.spec.sockets[1],
                    message,
                    message.div_ceil(FRAGMENT).clamp(1, MOST_FRAGMENTS) as u32,
                ));
            }
        }
        if self.left > 0 {
            return;
        }
        self.phase = if awaited > 0 { Phase::Response(awaited) } else { self.next_call(now) };
        // A sender of datagrams waits for its own line.
        if self.sender.is_none() {
            self.call_at = self.call_at.max(busy_until);
        }
    }

    /// Sends what windows let through, and the end of the stream when all is sent.
    fn transmit(&mut self, now: Instant, send: &mut impl FnMut(Frame)) {
        let socket = self.spec.sockets[1];
        while let Some(bytes) = self.sender.as_mut().and_then(TcpSender::send_next) {
            send(self.frame(socket, bytes, 1));
        }
        if self.phase == Phase::Drains && !self.has_unsent() {
            self.phase = Phase::Over;
            send(Frame { last: true, datagram: false, ..self.frame(socket, 0, 1) });
        }
        self.call_at = self.call_at.max(now);
    }

    fn frame(&self, socket: SocketId, bytes: u64, frames: u32) -> Frame {
        let datagram = self.sender.is_none() && socket == self.spec.sockets[1];
        let full = !datagram && bytes == self.segment();
        Frame { socket, remote: self.number, bytes, frames, full, datagram, last: false }
    }
}
