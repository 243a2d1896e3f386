//! The job server several makes share: a pipe with a token for each job beside the first.
//!
//! As in GNU make (its manual, "POSIX Jobserver Interaction"): every make may run one job without a token, since its
//! own start took one; for each further job it reads a token from the pipe, and when it reaps that job it writes the token
//! back. A make with all its jobs running waits for either a token or the end of a child, as pselect(2) does: all
//! makes that wait hear of a token and one gets it.
//!
//! A wait for two things is an epoll instance of each make here. A make that gives a token back tells every waiting make
//! with a call of its own, and a job tells its make just before it exits. Deviates: D-230.

use sim_core::program::{Action, Objects};
use sim_core::{EpollId, PipeId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The job server of a build.
#[derive(Debug)]
pub(super) struct JobServer {
    pipe: PipeId,
    /// By make: told of ends of its jobs, and of tokens while it waits.
    told: Vec<EpollId>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Tokens in the pipe.
    free: u32,
    /// Makes that wait for a token, in the order in which they came.
    waiting: Vec<usize>,
    /// By make: jobs that have ended and are not yet reaped.
    ended: Vec<u32>,
}

impl JobServer {
    /// A job server for so many jobs and makes.
    pub(super) fn new(objects: &mut Objects, name: &str, jobs: u32, makes: usize) -> JobServer {
        let free = jobs - 1;
        let capacity = Objects::PIPE_CAPACITY.max(u64::from(free));
        let pipe = objects.add_pipe(&format!("{name}/jobserver"), capacity, u64::from(free));
        let told = (0..makes).map(|i| objects.add_epoll(&format!("{name}/told#{i}"))).collect();
        let state = Mutex::new(State { free, waiting: Vec::new(), ended: vec![0; makes] });
        JobServer { pipe, told, state }
    }

    /// Nothing here panics while it holds the lock, and only one program of a run is asked at a time.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a job of this make does last.
    pub(super) fn end_of_job(self: &Arc<Self>, make: usize) -> impl Iterator<Item = Action> + Send + use<> {
        let server = Arc::clone(self);
        std::iter::once_with(move || {
            server.state().ended[make] += 1;
            Action::EpollPost(server.told[make])
        })
    }
}

/// The jobs of one make: what it does until the last of them has been reaped.
pub(super) struct Jobs<F> {
    server: Arc<JobServer>,
    make: usize,
    /// Jobs not yet started.
    left: std::ops::Range<u32>,
    /// Starts a job.
    start: F,
    running: u32,
    /// Tokens read from the pipe and not yet written back.
    tokens: u32,
    /// A token is in the pipe again, of which nobody has been told.
    written: bool,
    ready: VecDeque<Action>,
}

impl<F: FnMut(u32) -> Vec<Action>> Jobs<F> {
    /// The jobs `units` of the make of this number; `start` gives the actions that start one, whose last action must be
    /// [`JobServer::end_of_job`].
    pub(super) fn new(
        server: &Arc<JobServer>,
        make: usize,
        units: std::ops::Range<u32>,
        start: F,
    ) -> Jobs<F> {
        let (server, ready) = (Arc::clone(server), VecDeque::new());
        Jobs { server, make, left: units, start, running: 0, tokens: 0, written: false, ready }
    }

    /// A token is back: those who wait for one are told.
    fn tell(&mut self) {
        let mut state = self.server.state();
        state.free += 1;
        let waiting = std::mem::take(&mut state.waiting);
        self.ready.extend(waiting.into_iter().map(|make| Action::EpollPost(self.server.told[make])));
    }

    /// Reaps a job and gives back its token, unless it was the one without.
    fn reap(&mut self) {
        self.running -= 1;
        self.ready.push_back(Action::WaitChild);
        if self.tokens > 0 {
            self.tokens -= 1;
            self.written = true;
            self.ready.push_back(Action::PipeWrite { pipe: self.server.pipe, bytes: 1 });
        }
    }

    /// Starts a job with a token, or without the first; reaps one that has ended; or waits for either.
    fn go_on(&mut self) {
        let mut state = self.server.state();
        let ended = state.ended[self.make] > 0;
        let may_start = !self.left.is_empty() && (self.running == 0 || state.free > 0);
        if self.running > 0 && (ended || self.left.is_empty()) {
            state.ended[self.make] = state.ended[self.make].saturating_sub(1);
            drop(state);
            self.reap();
        } else if may_start {
            if self.running > 0 {
                state.free -= 1;
                self.tokens += 1;
                self.ready.push_back(Action::PipeRead { pipe: self.server.pipe, bytes: 1 });
            }
            drop(state);
            self.running += 1;
            if let Some(unit) = self.left.next() {
                self.ready.extend((self.start)(unit));
            }
        } else if self.running > 0 {
            if !state.waiting.contains(&self.make) {
                state.waiting.push(self.make);
            }
            self.ready.push_back(Action::EpollWait { epoll: self.server.told[self.make], timeout: None });
        }
    }
}

impl<F: FnMut(u32) -> Vec<Action>> Iterator for Jobs<F> {
    type Item = Action;
    fn next(&mut self) -> Option<Action> {
        if self.ready.is_empty() && self.written {
            self.written = false;
            self.tell();
        }
        if self.ready.is_empty() {
            self.go_on();
        }
        self.ready.pop_front()
    }
}
