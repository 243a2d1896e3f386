//! What schbench's threads do.

use super::{REQUEST, Schbench, WAKEUP};
use crate::bench::{ToDo, shared};
use rand::RngExt;
use sim_core::program::{Action, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, Nanos, SemId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// A message thread and its workers.
pub(super) struct Room {
    pub spec: Schbench,
    pub end: Instant,
    pub message: SemId,
    pub workers: Vec<SemId>,
    pub state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// Workers that wait to be woken, the last come last.
    list: Vec<usize>,
    /// The message thread's futex: somebody has posted it since it was last reset.
    posted: bool,
    /// By worker: requests to do, by the time they were sent.
    sent: Vec<VecDeque<Instant>>,
}

impl State {
    /// Of so many workers, before any of them has come.
    pub(super) fn of(workers: usize) -> State {
        State { sent: vec![VecDeque::new(); workers], ..State::default() }
    }
}

impl Room {
    /// Posts the message thread's futex, unless somebody has.
    fn post(&self, to_do: &mut ToDo) {
        if !std::mem::replace(&mut shared(&self.state).posted, true) {
            to_do.push_back(Action::SemPost { sem: self.message, n: 1 });
        }
    }

    /// A round of the message thread: its futex is reset, its list woken; then it waits for a post.
    fn wake_all(&self, now: Instant, to_do: &mut ToDo) {
        let mut state = shared(&self.state);
        if std::mem::take(&mut state.posted) {
            to_do.push_back(Action::SemWait(self.message));
        }
        while let Some(worker) = state.list.pop() {
            state.sent[worker].push_back(now);
            to_do.push_back(Action::SemPost { sem: self.workers[worker], n: 1 });
        }
        if now < self.end {
            to_do.push_back(Action::SemWait(self.message));
        }
    }

    /// The message thread has been posted: it takes its time before the next round, while time is left.
    fn delay(&self, now: Instant, stream: &mut Stream, to_do: &mut ToDo) {
        shared(&self.state).posted = false;
        if now >= self.end {
            return;
        }
        let (sleep, think) = (self.spec.sleeptime.0, self.spec.message_cputime.0);
        if !think.is_zero() {
            to_do.push_back(Action::Run(Work::Clock(think)));
        }
        if !sleep.is_zero() {
            let jitter = stream.random_range(0..(sleep.0 / 4).max(1));
            to_do.push_back(Action::Sleep(Nanos(sleep.0.saturating_add(jitter))));
        }
    }

    /// The message thread's next request, to worker `turn`, and the sleep after it.
    fn request(&self, now: Instant, turn: usize, to_do: &mut ToDo) {
        let worker = turn % self.workers.len();
        // Those who wait when the time is up are woken to see it.
        let workers = if now < self.end { worker..worker + 1 } else { 0..self.workers.len() };
        for worker in workers {
            shared(&self.state).sent[worker].push_back(now);
            to_do.push_back(Action::SemPost { sem: self.workers[worker], n: 1 });
        }
        if now < self.end {
            to_do.push_back(Action::Sleep(Nanos(1_000_000_000 / u64::from(self.spec.rps))));
        }
    }

    /// A worker thinks, from when it was woken.
    fn think(&self, now: Instant, sent: Option<Instant>, to_do: &mut ToDo) {
        let waited = |sent| Action::Record { series: WAKEUP, time: now.saturating_since(sent) };
        to_do.extend(sent.map(waited));
        to_do.extend([Action::Run(Work::Clock(self.spec.cputime.0)), Action::Count(1)]);
    }

    /// A worker is done, puts itself on the list, and waits.
    fn ask(&self, now: Instant, number: usize, sent: Option<Instant>, to_do: &mut ToDo) {
        let took = |sent| Action::Record { series: REQUEST, time: now.saturating_since(sent) };
        to_do.extend(sent.map(took));
        if self.spec.rps == 0 {
            shared(&self.state).list.push(number);
            self.post(to_do);
        }
        to_do.push_back(Action::SemWait(self.workers[number]));
    }
}

pub(super) fn message_thread(
    room: Arc<Room>,
    mut stream: Stream,
) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let (mut posted, mut turn, mut over) = (false, 0, false);
    move |cx, to_do| {
        if room.spec.rps > 0 {
            if !std::mem::replace(&mut over, cx.now >= room.end) {
                room.request(cx.now, turn, to_do);
                turn += 1;
            }
        } else if std::mem::take(&mut posted) {
            room.delay(cx.now, &mut stream, to_do);
        }
        if room.spec.rps == 0 && to_do.is_empty() {
            room.wake_all(cx.now, to_do);
            posted = true;
        }
    }
}

pub(super) fn worker(room: Arc<Room>, number: usize) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let mut sent = None;
    // With requests by rate a worker waits first.
    let mut thought = room.spec.rps > 0;
    move |cx, to_do| {
        if cx.now >= room.end {
            return;
        }
        if thought {
            room.ask(cx.now, number, sent, to_do);
        } else {
            sent = shared(&room.state).sent[number].pop_front();
            room.think(cx.now, sent, to_do);
        }
        thought = !thought;
    }
}

/// The main thread: when the time is up it posts the message threads that wait.
pub(super) fn main_thread(
    rooms: Vec<Arc<Room>>,
    end: Instant,
) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let mut told = false;
    move |cx, to_do| {
        if cx.now < end {
            to_do.push_back(Action::SleepUntil(end));
        } else if !std::mem::replace(&mut told, true) {
            rooms.iter().for_each(|room| room.post(to_do));
        }
    }
}
