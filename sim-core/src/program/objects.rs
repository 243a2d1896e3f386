//! The objects tasks synchronise on: state only. Who is woken when, and what it costs, is the engine's business.

use super::Missed;
use super::remote::{RemoteClient, RemoteSpec};
use super::socket::{Flow, Socket, TcpFlow, TcpReceiver, UdpFlow, UnixFlow};
use crate::id::{BarrierId, ConditionId, EpollId, MutexId, PipeId, SemId, SocketId, TaskId, TimerId};
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Tasks waiting, oldest first.
pub type Waiters = VecDeque<TaskId>;

/// A pipe: bytes buffered up to a capacity.
#[derive(Debug, Clone)]
pub struct Pipe {
    /// Name in the scenario.
    pub name: String,
    /// Most bytes buffered. Linux's default is 16 pages of 4 KiB.
    pub capacity: u64,
    /// Bytes buffered now.
    pub filled: u64,
    /// Whether room appears only as whole pages become empty; see [`Objects::add_paged_pipe`].
    pub pages: Option<Pages>,
    /// Tasks that found it empty.
    pub readers: Waiters,
    /// Tasks that found it full.
    pub writers: Waiters,
}

/// The pages of a pipe with messages of one size, each of which holds so many whole messages: a page has room again only
/// once all that was in it has been read, yet each read of a full pipe wakes a writer. pipe(7), `PIPE_BUF`; measured under Linux 6.1 (`validation/programs/README.md`).
#[derive(Debug, Clone)]
pub struct Pages {
    /// Bytes of a full page.
    pub full: u64,
    /// Read from the oldest page.
    pub read: u64,
    /// Written to the newest page; zero when that is full or there is none.
    pub written: u64,
    /// Pages in use.
    pub used: u64,
}

impl Pages {
    /// Pages of a pipe.
    pub const PER_PIPE: u64 = 16;

    /// Room for messages of the pipe's size, bytes.
    pub fn room(&self) -> u64 {
        let last = if self.written > 0 { self.full - self.written } else { 0 };
        (Pages::PER_PIPE - self.used) * self.full + last
    }

    /// So much was written.
    pub fn write(&mut self, bytes: u64) {
        let end = self.written + bytes;
        let begun = if self.written > 0 { 1 } else { 0 };
        self.used += end.div_ceil(self.full) - begun;
        self.written = end % self.full;
    }

    /// So much was read; `left` is what the pipe still holds.
    pub fn read(&mut self, bytes: u64, left: u64) {
        let end = self.read + bytes;
        self.used -= end / self.full;
        self.read = end % self.full;
        if left == 0 {
            (self.read, self.written, self.used) = (0, 0, 0);
        }
    }
}

/// A counting semaphore on a futex.
#[derive(Debug, Clone)]
pub struct Semaphore {
    /// Name in the scenario.
    pub name: String,
    /// Its value.
    pub value: u64,
    /// Tasks that found it at zero.
    pub waiters: Waiters,
}

/// A mutex on a futex: not handed off, a waker may take it again.
#[derive(Debug, Clone)]
pub struct Mutex {
    /// Name in the scenario.
    pub name: String,
    /// The holder.
    pub owner: Option<TaskId>,
    /// Tasks that found it taken.
    pub waiters: Waiters,
}

/// A barrier for a fixed number of tasks.
#[derive(Debug, Clone)]
pub struct Barrier {
    /// Name in the scenario.
    pub name: String,
    /// How many tasks it waits for.
    pub parties: u32,
    /// How many have arrived in this round.
    pub arrived: u32,
    /// Tasks asleep in this round.
    pub waiters: Waiters,
}

/// An epoll instance, as those see it who wait on it: events that are ready.
#[derive(Debug, Clone)]
pub struct Epoll {
    /// Name in the scenario.
    pub name: String,
    /// Events ready and not yet taken.
    pub ready: u64,
    /// Tasks that found none. Waits are exclusive: one wakes per event.
    pub waiters: Waiters,
}

/// A condition variable on a futex: signals that nobody waits for are lost.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Name in the scenario.
    pub name: String,
    /// Tasks that wait for a signal.
    pub waiters: Waiters,
}

/// A periodic timer that tasks share.
#[derive(Debug, Clone)]
pub struct Timer {
    /// Name in the scenario.
    pub name: String,
    /// Its last expiry that was waited for; its start before the first.
    pub last: Option<Instant>,
}

impl Timer {
    /// The next expiry, if it is still to come. The timer starts when it is asked first.
    pub fn next(&mut self, period: Nanos, missed: Missed, now: Instant) -> Option<Instant> {
        let next = self.last.unwrap_or(now).saturating_add(period);
        let to_come = next > now;
        self.last = Some(if to_come || missed == Missed::CatchUp { next } else { now });
        to_come.then_some(next)
    }
}

/// All objects of a run.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    /// Pipes by [`PipeId`].
    pub pipes: Vec<Pipe>,
    /// Semaphores by [`SemId`].
    pub semaphores: Vec<Semaphore>,
    /// Mutexes by [`MutexId`].
    pub mutexes: Vec<Mutex>,
    /// Barriers by [`BarrierId`].
    pub barriers: Vec<Barrier>,
    /// Epoll instances by [`EpollId`].
    pub epolls: Vec<Epoll>,
    /// Condition variables by [`ConditionId`].
    pub conditions: Vec<Condition>,
    /// Shared timers by [`TimerId`].
    pub timers: Vec<Timer>,
    /// Ends of connections by [`SocketId`].
    pub sockets: Vec<Socket>,
    /// Programs on other machines, by [`Socket::remote`].
    pub remotes: Vec<RemoteClient>,
}

impl Objects {
    /// Linux's default pipe capacity: 16 pages.
    pub const PIPE_CAPACITY: u64 = 16 * 4096;
    /// The receive buffer TCP starts with (`tcp_rmem`, tcp(7)).
    const CONTROL_BUFFER: u64 = 131_072;

    /// Adds a pipe holding `filled` bytes. A job server is a pipe that holds its tokens, one byte each.
    pub fn add_pipe(&mut self, name: &str, capacity: u64, filled: u64) -> PipeId {
        assert!(filled <= capacity, "pipe {name} holds more than its capacity");
        let pipe = Pipe {
            name: name.to_owned(),
            capacity,
            filled,
            pages: None,
            readers: Waiters::new(),
            writers: Waiters::new(),
        };
        self.pipes.push(pipe);
        PipeId::new(self.pipes.len() - 1)
    }
    /// Adds an empty pipe of Linux's default capacity for messages of one size, with room by the page. Messages longer than
    /// half a page make use of every byte.
    pub fn add_paged_pipe(&mut self, name: &str, message: u64) -> PipeId {
        let full = (4096 / message.clamp(1, 4096)) * message.min(4096);
        let capacity = Pages::PER_PIPE * full;
        let id = self.add_pipe(name, capacity, 0);
        let pages = Pages { full, read: 0, written: 0, used: 0 };
        self.pipes[id.index()].pages = (message <= 2048).then_some(pages);
        id
    }
    /// Adds a semaphore with an initial value.
    pub fn add_semaphore(&mut self, name: &str, value: u64) -> SemId {
        self.semaphores.push(Semaphore { name: name.to_owned(), value, waiters: Waiters::new() });
        SemId::new(self.semaphores.len() - 1)
    }
    /// Adds a free mutex.
    pub fn add_mutex(&mut self, name: &str) -> MutexId {
        self.mutexes.push(Mutex { name: name.to_owned(), owner: None, waiters: Waiters::new() });
        MutexId::new(self.mutexes.len() - 1)
    }
    /// Adds an epoll instance on which nothing is ready.
    pub fn add_epoll(&mut self, name: &str) -> EpollId {
        self.epolls.push(Epoll { name: name.to_owned(), ready: 0, waiters: Waiters::new() });
        EpollId::new(self.epolls.len() - 1)
    }
    /// Adds a condition variable.
    pub fn add_condition(&mut self, name: &str) -> ConditionId {
        self.conditions.push(Condition { name: name.to_owned(), waiters: Waiters::new() });
        ConditionId::new(self.conditions.len() - 1)
    }
    /// Adds a timer that has not started.
    pub fn add_timer(&mut self, name: &str) -> TimerId {
        self.timers.push(Timer { name: name.to_owned(), last: None });
        TimerId::new(self.timers.len() - 1)
    }
    /// Adds the two ends of a TCP connection over loopback. `bufs`: send and receive buffer of each end, as the kernel
    /// accounts them.
    pub fn add_tcp(&mut self, name: &str, bufs: [(u64, u64); 2], nodelay: bool) -> [SocketId; 2] {
        let [(snd0, rcv0), (snd1, rcv1)] = bufs;
        let flow = |snd, rcv| Flow::Tcp(TcpFlow::new(snd, rcv, nodelay));
        self.add_connection(name, [flow(snd1, rcv0), flow(snd0, rcv1)])
    }
    /// Adds two UDP sockets connected with each other over loopback, with their receive buffers.
    pub fn add_udp(&mut self, name: &str, rcvbufs: [u64; 2]) -> [SocketId; 2] {
        self.add_connection(name, rcvbufs.map(|rcvbuf| Flow::Udp(UdpFlow::new(rcvbuf))))
    }
    /// Adds a pair of unix stream sockets.
    pub fn add_unix(&mut self, name: &str, sndbuf: u64) -> [SocketId; 2] {
        self.add_connection(name, [0, 1].map(|_| Flow::Unix(UnixFlow::new(sndbuf))))
    }
    /// Adds a program on another machine with its control connection and its data connection, whose receive buffer here is
    /// `rcvbuf`, as the kernel accounts it. The ends here; those of `spec` are replaced, and so is its window.
    pub fn add_remote(&mut self, name: &str, rcvbuf: u64, spec: RemoteSpec) -> [SocketId; 2] {
        let number = self.remotes.len() as u32;
        let receiver = TcpReceiver::new(rcvbuf);
        let window = receiver.first_window();
        let data =
            if spec.sndbuf.is_some() { Flow::Remote(receiver) } else { Flow::Udp(UdpFlow::new(rcvbuf)) };
        let control = Flow::Remote(TcpReceiver::new(Objects::CONTROL_BUFFER));
        let sockets = [("control", control), ("data", data)].map(|(end, flow)| {
            let id = SocketId::new(self.sockets.len());
            self.sockets.push(Socket::new(format!("{name}/{end}"), id, flow));
            self.sockets[id.index()].remote = Some(number);
            id
        });
        self.remotes.push(RemoteClient::new(RemoteSpec { sockets, window, ..spec }, number));
        sockets
    }
    /// `flows`: what comes to the first end, and to the second.
    fn add_connection(&mut self, name: &str, flows: [Flow; 2]) -> [SocketId; 2] {
        let first = self.sockets.len();
        let ids = [SocketId::new(first), SocketId::new(first + 1)];
        let [a, b] = flows;
        self.sockets.push(Socket::new(name.to_owned(), ids[1], a));
        self.sockets.push(Socket::new(name.to_owned(), ids[0], b));
        ids
    }
    /// Adds a barrier for `parties` tasks.
    pub fn add_barrier(&mut self, name: &str, parties: u32) -> BarrierId {
        assert!(parties > 0, "barrier {name} needs at least one task");
        self.barriers.push(Barrier { name: name.to_owned(), parties, arrived: 0, waiters: Waiters::new() });
        BarrierId::new(self.barriers.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_missed_its_expiry_starts_anew_or_catches_up() {
        let mut timer = Timer { name: String::new(), last: None };
        let mut next = |missed, now| timer.next(Nanos(10), missed, Instant(now)).map(|at| at.0);
        assert_eq!(next(Missed::Restart, 100), Some(110));
        assert_eq!(next(Missed::Restart, 115), Some(120));
        // 130 has passed: no sleep; the next is 10 after now, or 10 after the missed one.
        assert_eq!(next(Missed::Restart, 137), None);
        assert_eq!(next(Missed::Restart, 140), Some(147));
        assert_eq!(next(Missed::CatchUp, 170), None);
        assert_eq!(next(Missed::CatchUp, 170), None);
        assert_eq!(next(Missed::CatchUp, 171), Some(177));
    }
}
