//! What tasks ask for: the interface between the workload model and the engine.

mod action;
mod objects;
mod remote;
mod socket;

pub use action::{Action, ChildSpec, Missed, TaskSpec, Work};
pub use objects::{Barrier, Condition, Epoll, Mutex, Objects, Pages, Pipe, Semaphore, Timer, Waiters};

pub use remote::{Frame, Inbound, RemoteClient, RemoteSpec, RemoteTest};
pub use socket::{
    Flow, Held, Pushed, Socket, TcpFlow, TcpReceiver, TcpSender, UdpFlow, UnixFlow, frame_memory,
};

use crate::id::{BarrierId, ConditionId, EpollId, PipeId, SemId, SocketId, TaskId};
use crate::time::{Instant, Nanos};

/// What a program may look at when it decides what to do next. Nothing here tells it where or how it was scheduled
/// except by the clock, so a program that ignores the clock asks for the same things under every scheduler.
#[derive(Debug, Clone, Copy)]
pub struct ProgramContext {
    /// The current time.
    pub now: Instant,
    /// The task itself.
    pub task: TaskId,
    /// CPU time the task has used so far.
    pub cpu_time: Nanos,
    /// What the last receive returned: bytes, zero at the end of a stream.
    pub received: u64,
}

/// The life of one task as a sequence of [`Action`]s.
pub trait Program: Send {
    /// The next action. Called once when the task first runs and then each time the previous action is complete.
    /// After [`Action::Exit`] it is not called again.
    fn next(&mut self, cx: &ProgramContext) -> Action;

    /// Whether the program, or a child it has yet to fork, may still do this; none when it cannot tell. Asked only for
    /// reports on tasks that wait.
    fn may(&self, _feed: Feed) -> Option<bool> {
        None
    }
}

/// What lets a task go on that waits for an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feed {
    /// A write into a pipe, for a reader.
    Write(PipeId),
    /// A read from a pipe, for a writer.
    Read(PipeId),
    /// A post to a semaphore.
    Post(SemId),
    /// An arrival at a barrier.
    Arrive(BarrierId),
    /// An event on an epoll instance.
    Ready(EpollId),
    /// A send from this socket, for a reader at its other end.
    Send(SocketId),
    /// A receive at this socket, for a writer at its other end.
    Receive(SocketId),
    /// A signal or broadcast to a condition variable.
    Signal(ConditionId),
}

impl<F: FnMut(&ProgramContext) -> Action + Send> Program for F {
    fn next(&mut self, cx: &ProgramContext) -> Action {
        self(cx)
    }
}
