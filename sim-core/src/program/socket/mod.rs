//! Sockets over loopback: state only. Who is woken when, and what it costs, is the engine's business.

mod datagram;
mod local;
mod tcp;
#[cfg(test)]
mod tcp_tests;

pub use datagram::UdpFlow;
pub use local::UnixFlow;
pub use tcp::{Pushed, TcpFlow};

use super::Waiters;
use crate::id::SocketId;

/// What comes to a socket.
#[derive(Debug, Clone)]
pub enum Flow {
    /// TCP.
    Tcp(TcpFlow),
    /// UDP.
    Udp(UdpFlow),
    /// A unix stream.
    Unix(UnixFlow),
}

/// One end of a connection.
#[derive(Debug, Clone)]
pub struct Socket {
    /// Name in the scenario.
    pub name: String,
    /// The other end.
    pub peer: SocketId,
    /// What the other end sends, until it is read here.
    pub flow: Flow,
    /// The other end will send nothing more.
    pub shut: bool,
    /// Tasks that wait here for something to read.
    pub readers: Waiters,
    /// Tasks at the other end that wait for room to send to here.
    pub writers: Waiters,
}

impl Socket {
    pub(super) fn new(name: String, peer: SocketId, flow: Flow) -> Socket {
        Socket { name, peer, flow, shut: false, readers: Waiters::new(), writers: Waiters::new() }
    }

    /// Whether all that the other end wrote has been read, and there will be no more.
    pub fn is_at_end(&self) -> bool {
        let drained = match &self.flow {
            Flow::Tcp(flow) => flow.readable() == 0 && flow.is_delivered(),
            Flow::Udp(flow) => !flow.is_readable(),
            Flow::Unix(flow) => flow.readable == 0,
        };
        self.shut && drained
    }
}
