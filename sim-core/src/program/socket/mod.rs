//! Sockets: state only. Who is woken when, and what it costs, is the engine's business.

mod datagram;
mod local;
mod tcp;

pub use datagram::{UdpFlow, frame_memory};
pub use local::UnixFlow;
pub use tcp::{Held, Pushed, TcpFlow, TcpReceiver, TcpSender};

use super::Waiters;
use crate::id::SocketId;

/// What comes to a socket.
#[derive(Debug, Clone)]
pub enum Flow {
    /// TCP.
    Tcp(TcpFlow),
    /// TCP from another machine.
    Remote(TcpReceiver),
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
    /// The other end; itself if that is another machine's.
    pub peer: SocketId,
    /// Whose end the other one is, if it is another machine's; see [`super::RemoteClient`].
    pub remote: Option<u32>,
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
        Socket {
            name,
            peer,
            remote: None,
            flow,
            shut: false,
            readers: Waiters::new(),
            writers: Waiters::new(),
        }
    }

    /// Whether all that the other end wrote has been read, and there will be no more.
    pub fn is_at_end(&self) -> bool {
        let drained = match &self.flow {
            Flow::Tcp(flow) => flow.receiver.readable() == 0 && flow.sender.all_sent(),
            Flow::Remote(receiver) => receiver.readable() == 0,
            Flow::Udp(flow) => !flow.is_readable(),
            Flow::Unix(flow) => flow.readable == 0,
        };
        self.shut && drained
    }
}
