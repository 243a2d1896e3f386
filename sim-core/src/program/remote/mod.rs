//! What is outside of the machine: programs on other machines that talk to sockets here. State only: when they act and
//! what they send. What the network and this machine make of it is the engine's business. Deviates: D-271.

mod client;

pub use client::{RemoteClient, RemoteSpec, RemoteTest};

use super::Objects;
use super::socket::{Flow, Socket, TcpReceiver, UdpFlow};
use crate::id::SocketId;

/// The receive buffer TCP starts with (`tcp_rmem`, tcp(7)).
const CONTROL_BUFFER: u64 = 131_072;

/// What a program outside sends to a socket here: a segment, or a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where it goes.
    pub socket: SocketId,
    /// Which program sends it.
    pub remote: u32,
    /// Bytes of the program.
    pub bytes: u64,
    /// Frames on the wire: a datagram that is too large for one goes in several.
    pub frames: u32,
    /// A segment that is as large as segments can be.
    pub full: bool,
    /// Whether it is lost where there is no room for it: a datagram.
    pub datagram: bool,
    /// Nothing comes after it.
    pub last: bool,
}

/// What comes to a program outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inbound {
    /// An acknowledgement up to the first position, with a window up to the second.
    Ack(u64, u64),
    /// Bytes of an answer.
    Data(u64),
}

impl Objects {
    /// Adds a program on another machine with its control connection and its data connection, whose receive buffer here is
    /// `rcvbuf`, as the kernel accounts it. The ends here; those of `spec` are replaced, and so is its window.
    pub fn add_remote(&mut self, name: &str, rcvbuf: u64, spec: RemoteSpec) -> [SocketId; 2] {
        let number = self.remotes.len() as u32;
        let receiver = TcpReceiver::new(rcvbuf);
        let window = receiver.first_window();
        let data =
            if spec.sndbuf.is_some() { Flow::Remote(receiver) } else { Flow::Udp(UdpFlow::new(rcvbuf)) };
        let control = Flow::Remote(TcpReceiver::new(CONTROL_BUFFER));
        let sockets = [("control", control), ("data", data)].map(|(end, flow)| {
            let id = SocketId::new(self.sockets.len());
            self.sockets.push(Socket::new(format!("{name}/{end}"), id, flow));
            self.sockets[id.index()].remote = Some(number);
            id
        });
        self.remotes.push(RemoteClient::new(RemoteSpec { sockets, window, ..spec }, number));
        sockets
    }
}
