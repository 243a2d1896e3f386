//! What tasks are doing that have not ended, what they wait for, and whether that can ever come.

use super::Simulation;
use super::exec::{Op, Then};
use super::pipe::Side;
use crate::id::{BarrierId, ConditionId, CpuId, EpollId, MutexId, PipeId, SemId, SocketId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::task::TaskState;
use crate::observe::Observer;
use crate::program::{Feed, Objects};
use crate::time::Instant;
use std::collections::{BTreeMap, BTreeSet};

/// Up to this many unfinished tasks the engine looks for those who could let the others go on: the search takes time
/// in proportion to their number and that of the objects.
pub const MAX_ANALYSED: usize = 1000;

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The task.
    pub task: TaskId,
    /// What it is doing.
    pub doing: Doing,
}

/// What a task is doing at the end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Its start is still to come.
    NotStarted,
    /// It runs.
    Running(CpuId),
    /// It waits in a run queue.
    Runnable(CpuId),
    /// It sleeps until a time, or waits with a timeout.
    Asleep {
        /// Since when.
        since: Instant,
    },
    /// It waits for another task.
    Waiting {
        /// Since when.
        since: Instant,
        /// For what.
        what: WaitFor,
        /// The tasks known to be able to let it go on, by id: the holder of the mutex, the children, those whose
        /// programs still write, read, post, arrive or make ready.
        feeders: Vec<TaskId>,
    },
}

/// What a task waits for that only another task can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitFor {
    /// Bytes in a pipe.
    Data(PipeId),
    /// Space in a pipe.
    Space(PipeId),
    /// A semaphore above zero.
    Semaphore(SemId),
    /// A mutex.
    Mutex {
        /// The mutex.
        mutex: MutexId,
        /// Who holds it; perhaps a task that has ended.
        owner: Option<TaskId>,
    },
    /// The rest of a barrier's tasks.
    Barrier {
        /// The barrier.
        barrier: BarrierId,
        /// How many are missing.
        missing: u32,
    },
    /// The exit of one child.
    Child,
    /// The exits of all children.
    Children,
    /// An event on an epoll instance.
    Event(EpollId),
    /// A signal to a condition variable.
    Condition(ConditionId),
    /// Something to read at this socket.
    Message(SocketId),
    /// Room to send from this socket.
    Room(SocketId),
    /// The exec or exit of the child it vforked.
    Vfork(TaskId),
}

/// Tasks that can never go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// When the last of the cycle (without one, of all) began to wait.
    pub at: Instant,
    /// All tasks that wait for ever, by id.
    pub tasks: Vec<Unfinished>,
    /// Some of them, each of which waits for the next, the last for the first; empty when they wait for what nobody does.
    pub cycle: Vec<TaskId>,
}

impl WaitFor {
    /// What another task must do, where programs can tell whether they will.
    fn feed(self, objects: &Objects) -> Option<Feed> {
        let peer = |socket: SocketId| objects.sockets[socket.index()].peer;
        match self {
            WaitFor::Message(socket) => Some(Feed::Send(peer(socket))),
            WaitFor::Room(socket) => Some(Feed::Receive(peer(socket))),
            WaitFor::Data(pipe) => Some(Feed::Write(pipe)),
            WaitFor::Space(pipe) => Some(Feed::Read(pipe)),
            WaitFor::Semaphore(sem) => Some(Feed::Post(sem)),
            WaitFor::Barrier { barrier, .. } => Some(Feed::Arrive(barrier)),
            WaitFor::Event(epoll) => Some(Feed::Ready(epoll)),
            WaitFor::Condition(condition) => Some(Feed::Signal(condition)),
            WaitFor::Mutex { .. } | WaitFor::Child | WaitFor::Children | WaitFor::Vfork(_) => None,
        }
    }
}

/// Who may do something: those who can, and whether there are programs that cannot tell.
#[derive(Default)]
struct Feeders {
    known: Vec<TaskId>,
    untold: bool,
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// The tasks that have not ended, by id, and what they are doing.
    pub fn unfinished(&self) -> Vec<Unfinished> {
        self.waits().0
    }

    /// The unfinished tasks, and those of them that wait for programs that cannot tell what they will do.
    fn waits(&self) -> (Vec<Unfinished>, BTreeSet<TaskId>) {
        let ids = || (0..self.infos.len()).filter(|i| self.infos[*i].is_unfinished()).map(TaskId::new);
        let waiters = self.waiters();
        let mut list: Vec<Unfinished> =
            ids().map(|task| Unfinished { task, doing: self.doing(task, &waiters) }).collect();
        let mut untold = BTreeSet::new();
        let mut by_feed: BTreeMap<Feed, Feeders> = BTreeMap::new();
        let analysed = list.len() <= MAX_ANALYSED;
        for Unfinished { task, doing } in &mut list {
            let Doing::Waiting { what, feeders, .. } = doing else { continue };
            if let WaitFor::Mutex { owner, .. } = what {
                feeders.extend(owner.filter(|t| self.infos[t.index()].end.is_none()));
            } else if let WaitFor::Vfork(child) = what {
                feeders.push(*child);
            } else if !analysed {
                untold.insert(*task);
            } else if let Some(feed) = what.feed(&self.objects) {
                let found = by_feed.entry(feed).or_insert_with(|| self.feeders(feed, ids()));
                feeders.clone_from(&found.known);
                if found.untold {
                    untold.insert(*task);
                }
            } else {
                feeders.extend(ids().filter(|child| self.infos[child.index()].parent == Some(*task)));
            }
        }
        (list, untold)
    }

    /// Who waits at barriers and for conditions: what such a task does next does not show it.
    fn waiters(&self) -> BTreeMap<TaskId, WaitFor> {
        let at_barriers = self.objects.barriers.iter().enumerate().flat_map(|(i, b)| {
            let what = WaitFor::Barrier { barrier: BarrierId::new(i), missing: b.parties - b.arrived };
            b.waiters.iter().map(move |t| (*t, what))
        });
        let for_conditions =
            self.objects.conditions.iter().enumerate().flat_map(|(i, c)| {
                c.waiters.iter().map(move |t| (*t, WaitFor::Condition(ConditionId::new(i))))
            });
        at_barriers.chain(for_conditions).collect()
    }

    fn doing(&self, task: TaskId, waiters: &BTreeMap<TaskId, WaitFor>) -> Doing {
        let (kernel, exec) = (self.kernel.task(task), &self.tasks[task.index()]);
        match kernel.state {
            TaskState::Sleeping => {}
            _ if kernel.on_cpu => return Doing::Running(kernel.cpu),
            _ => return Doing::Runnable(kernel.cpu),
        }
        let Some(since) = exec.blocked_since else { return Doing::NotStarted };
        let what = match &exec.then {
            _ if waiters.contains_key(&task) => waiters[&task],
            Then::Attempt(Op::Pipe { pipe, side: Side::Read, .. }) => WaitFor::Data(*pipe),
            Then::Attempt(Op::Pipe { pipe, side: Side::Write, .. }) => WaitFor::Space(*pipe),
            Then::Attempt(Op::Receive { socket, .. }) => WaitFor::Message(*socket),
            Then::Attempt(Op::Send { socket, .. }) => WaitFor::Room(*socket),
            Then::Attempt(Op::SemWait(sem)) => WaitFor::Semaphore(*sem),
            Then::Attempt(Op::Lock(mutex)) => {
                WaitFor::Mutex { mutex: *mutex, owner: self.objects.mutexes[mutex.index()].owner }
            }
            Then::Attempt(Op::WaitChild) => WaitFor::Child,
            Then::Attempt(Op::WaitChildren) => WaitFor::Children,
            // With a timeout it goes on by itself.
            Then::Attempt(Op::EpollWait { epoll, timeout: None }) => WaitFor::Event(*epoll),
            Then::Attempt(Op::VforkWait(child)) => WaitFor::Vfork(*child),
            _ => return Doing::Asleep { since },
        };
        Doing::Waiting { since, what, feeders: Vec::new() }
    }

    fn feeders(&self, feed: Feed, unfinished: impl Iterator<Item = TaskId>) -> Feeders {
        let mut feeders = Feeders::default();
        // Those who wait at a barrier have arrived.
        let arrived = match feed {
            Feed::Arrive(barrier) => Some(&self.objects.barriers[barrier.index()].waiters),
            _ => None,
        };
        for task in unfinished.filter(|t| arrived.is_none_or(|waiters| !waiters.contains(t))) {
            match self.tasks[task.index()].program.may(feed) {
                Some(true) => feeders.known.push(task),
                Some(false) => {}
                None => feeders.untold = true,
            }
        }
        feeders
    }

    /// The tasks that can never go on, whatever the others do; none when there is no such task. Tasks that wait for
    /// programs that cannot tell what they will do count only when nothing can happen any more, and so do all when more
    /// than [`MAX_ANALYSED`] are unfinished.
    pub fn deadlock(&self) -> Option<Deadlock> {
        let (list, untold) = self.waits();
        let stalled = self.queue.is_idle();
        if list.len() > MAX_ANALYSED && !stalled {
            return None;
        }
        let mut free: BTreeSet<TaskId> = BTreeSet::new();
        let mut stuck: Vec<Unfinished> = Vec::new();
        for u in list {
            match &u.doing {
                Doing::Waiting { .. } if stalled || !untold.contains(&u.task) => stuck.push(u),
                _ => {
                    free.insert(u.task);
                }
            }
        }
        // Whoever may be let go on by a free task is free.
        loop {
            let (still, freed): (Vec<_>, Vec<_>) = stuck.into_iter().partition(|u| !can_go_on(u, &free));
            stuck = still;
            if freed.is_empty() {
                break;
            }
            free.extend(freed.iter().map(|u| u.task));
        }
        let cycle = find_cycle(&stuck);
        let since =
            stuck.iter().filter(|u| cycle.is_empty() || cycle.contains(&u.task)).map(Unfinished::since);
        let at = since.max()?;
        Some(Deadlock { at, tasks: stuck, cycle })
    }
}

/// Whether tasks that may go on can let this one go on: all children must end for one who waits for all.
fn can_go_on(u: &Unfinished, free: &BTreeSet<TaskId>) -> bool {
    let is_free = |t: &TaskId| free.contains(t);
    match &u.doing {
        Doing::Waiting { what: WaitFor::Children, feeders, .. } => feeders.iter().all(is_free),
        Doing::Waiting { feeders, .. } => feeders.iter().any(is_free),
        _ => true,
    }
}

impl Unfinished {
    fn since(&self) -> Instant {
        match self.doing {
            Doing::Asleep { since } | Doing::Waiting { since, .. } => since,
            Doing::NotStarted | Doing::Running(_) | Doing::Runnable(_) => Instant::ZERO,
        }
    }

    fn feeders(&self) -> &[TaskId] {
        match &self.doing {
            Doing::Waiting { feeders, .. } => feeders,
            _ => &[],
        }
    }
}

/// Tasks each of which can be let go on only by others, among them the next: depth first, each task entered once.
fn find_cycle(stuck: &[Unfinished]) -> Vec<TaskId> {
    let feeders: BTreeMap<TaskId, &[TaskId]> = stuck.iter().map(|u| (u.task, u.feeders())).collect();
    // Where on the path a task is; none once it has been left.
    let mut entered: BTreeMap<TaskId, Option<usize>> = BTreeMap::new();
    for start in feeders.keys() {
        let mut path: Vec<(TaskId, usize)> = Vec::new();
        let mut enter = (!entered.contains_key(start)).then_some(*start);
        loop {
            if let Some(task) = enter.take() {
                entered.insert(task, Some(path.len()));
                path.push((task, 0));
            }
            let Some((task, tried)) = path.last_mut() else { break };
            let Some(next) = feeders[task].get(*tried).copied() else {
                entered.insert(*task, None);
                path.pop();
                continue;
            };
            *tried += 1;
            match entered.get(&next) {
                Some(Some(first)) => return path[*first..].iter().map(|(t, _)| *t).collect(),
                Some(None) => {}
                None => enter = feeders.contains_key(&next).then_some(next),
            }
        }
    }
    Vec::new()
}
