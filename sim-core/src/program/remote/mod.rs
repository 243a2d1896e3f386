//! What is outside of the machine: programs on other machines that talk to sockets here. State only: when they act and
//! what they send. What the network and this machine make of it is the engine's business. Deviates: D-271.

mod client;

pub use client::{RemoteClient, RemoteSpec, RemoteTest};

use crate::id::SocketId;

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
