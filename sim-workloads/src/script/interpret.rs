//! Runs compiled programs: one operation after the other, with a stack of the loops that are open.

use super::{Code, Op};
use sim_core::program::{Action, ChildSpec, Feed, Program, ProgramContext, Work};
use sim_core::rng::{self, Stream};
use sim_core::{Instant, Nanos};
use std::sync::Arc;

/// A task's program at some point of its execution. Draws come from streams keyed by the task's path and the kind of
/// step, so that a sleep more or less does not move the lengths of runs.
pub(crate) struct Script {
    code: Arc<Code>,
    state: State,
}

/// What changes while a program runs, and what it draws from.
struct State {
    seed: u64,
    path: String,
    /// The next operation.
    at: usize,
    loops: Vec<Loop>,
    /// The last expiry of each periodic timer that has been started.
    timers: Vec<Option<Instant>>,
    /// How many children of each name there have been.
    children: Vec<u32>,
    run: Stream,
    run_cpu: Stream,
    kernel: Stream,
    sleep: Stream,
}

/// An open loop: what decides about another turn.
#[derive(Debug, Clone, Copy)]
enum Loop {
    /// Turns left, the current one included.
    Turns(u64),
    /// No new turn from this time on.
    Before(Instant),
    Forever,
}

impl Script {
    pub(crate) fn new(code: Arc<Code>, seed: u64, path: String) -> Script {
        let stream = |purpose| rng::stream(seed, &path, purpose);
        let state = State {
            at: 0,
            loops: Vec::with_capacity(code.depth),
            timers: vec![None; code.timers],
            children: vec![0; code.children.len()],
            run: stream("run"),
            run_cpu: stream("run_cpu"),
            kernel: stream("kernel"),
            sleep: stream("sleep"),
            seed,
            path,
        };
        Script { code, state }
    }
}

impl State {
    /// The path of the next child of this name: `parent/name#index`.
    fn fork(&mut self, name: &str, counter: usize, code: &Arc<Code>) -> ChildSpec {
        let path = format!("{}/{name}#{}", self.path, self.children[counter]);
        self.children[counter] += 1;
        let program = Box::new(Script::new(Arc::clone(code), self.seed, path.clone()));
        ChildSpec { name: name.to_owned(), path, program }
    }

    /// The next expiry of a timer; the first is one period after the task first gets here.
    fn expiry(&mut self, timer: usize, every: Nanos, now: Instant) -> Instant {
        let next = self.timers[timer].unwrap_or(now).saturating_add(every);
        self.timers[timer] = Some(next);
        next
    }

    /// Ends a turn: the operation to go on with.
    fn turn(&mut self, body: usize, now: Instant) -> usize {
        let again = match self.loops.last_mut() {
            Some(Loop::Turns(left)) => {
                *left -= 1;
                *left > 0
            }
            Some(Loop::Before(end)) => now < *end,
            Some(Loop::Forever) => true,
            None => false,
        };
        if again {
            return body;
        }
        self.loops.pop();
        self.at + 1
    }
}

impl Program for Script {
    /// Bounded: the scenario's checks see to it that every turn of a loop reaches an action.
    fn next(&mut self, cx: &ProgramContext) -> Action {
        let Script { code, state } = self;
        while let Some(op) = code.ops.get(state.at) {
            match op {
                Op::Repeat { times } => state.loops.push(Loop::Turns(*times)),
                Op::For { duration } => state.loops.push(Loop::Before(cx.now.saturating_add(*duration))),
                Op::Forever => state.loops.push(Loop::Forever),
                Op::Until { time, end } => {
                    if cx.now >= *time {
                        state.at = end + 1;
                        continue;
                    }
                    state.loops.push(Loop::Before(*time));
                }
                Op::End { body } => {
                    state.at = state.turn(*body, cx.now);
                    continue;
                }
                action => {
                    state.at += 1;
                    return state.act(action, cx.now);
                }
            }
            state.at += 1;
        }
        Action::Exit
    }

    fn may(&self, feed: Feed) -> Option<bool> {
        // In a loop any of its steps may come again; where the outermost loop began is not kept.
        let from = if self.state.loops.is_empty() { self.state.at } else { 0 };
        Some(self.code.last.get(&feed).is_some_and(|last| *last >= from))
    }
}

impl State {
    fn act(&mut self, op: &Op, now: Instant) -> Action {
        match op {
            Op::Run(dist) => Action::Run(Work::Capacity(dist.sample(&mut self.run))),
            Op::RunCpu(dist) => Action::Run(Work::CpuTime(dist.sample(&mut self.run_cpu))),
            Op::Kernel(dist) => Action::KernelRun(dist.sample(&mut self.kernel)),
            Op::Sleep(dist) => Action::Sleep(dist.sample(&mut self.sleep)),
            Op::Io(dist) => Action::Io(dist.sample(&mut self.sleep)),
            Op::SleepUntil(time) => Action::SleepUntil(*time),
            Op::Period { every, timer } => Action::SleepUntil(self.expiry(*timer, *every, now)),
            Op::Write(pipe, bytes) => Action::PipeWrite { pipe: *pipe, bytes: *bytes },
            Op::Read(pipe, bytes) => Action::PipeRead { pipe: *pipe, bytes: *bytes },
            Op::Post(sem, n) => Action::SemPost { sem: *sem, n: *n },
            Op::PostAndStay(sem, n) => Action::SemPostAndStay { sem: *sem, n: *n },
            Op::Wait(sem) => Action::SemWait(*sem),
            Op::Lock(mutex) => Action::Lock(*mutex),
            Op::Unlock(mutex) => Action::Unlock(*mutex),
            Op::Barrier(barrier) => Action::Barrier(*barrier),
            Op::CondWait(condition, mutex) => Action::CondWait { condition: *condition, mutex: *mutex },
            Op::Signal(condition) => Action::Signal(*condition),
            Op::Broadcast(condition) => Action::Broadcast(*condition),
            Op::Timer { timer, every, missed } => {
                Action::TimerWait { timer: *timer, period: *every, missed: *missed }
            }
            Op::EpollPost(epoll) => Action::EpollPost(*epoll),
            Op::EpollWait(epoll, timeout) => Action::EpollWait { epoll: *epoll, timeout: *timeout },
            Op::Fork { name, vfork, counter, code } => {
                let child = Box::new(self.fork(name, *counter, code));
                if *vfork { Action::Vfork(child) } else { Action::Fork(child) }
            }
            Op::WaitChild => Action::WaitChild,
            Op::WaitChildren => Action::WaitChildren,
            Op::Exec(name) => Action::Exec { name: name.clone() },
            Op::Yield => Action::Yield,
            Op::Nice(nice) => Action::SetNice(*nice),
            Op::Policy(policy) => Action::SetPolicy(*policy),
            Op::Affinity(cpus) => Action::SetAffinity(cpus.clone()),
            Op::MoveToGroup(group) => Action::MoveToGroup(*group),
            Op::TimerSlack(slack) => Action::SetTimerSlack(*slack),
            Op::Count(n) => Action::Count(*n),
            // Loops are handled where operations are fetched.
            Op::Exit
            | Op::Repeat { .. }
            | Op::Until { .. }
            | Op::For { .. }
            | Op::Forever
            | Op::End { .. } => Action::Exit,
        }
    }
}
