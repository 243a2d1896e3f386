//! The lab driver's workload language, interpreted in the simulator as the driver interprets it in the guest.

use super::forking::{Forking, Paths};
use super::lengths::{Correction, Corrections, Ledger, Used};
use crate::capture::spec::{LabRandom, ObjectIx, Span, Step};
use sim_core::program::{Action, ChildSpec, Program, ProgramContext, Work};
use sim_core::{BarrierId, Instant, Nanos, PipeId, SemId};
use std::collections::VecDeque;
use std::sync::Arc;

/// A spec object in the simulator.
#[derive(Clone, Copy, Debug)]
pub(super) enum Handle {
    Semaphore(SemId),
    Pipe(PipeId),
    Barrier(BarrierId),
}

/// What every task of a spec shares.
#[derive(Debug)]
pub(super) struct Shared {
    /// By [`ObjectIx`].
    pub(super) objects: Vec<Handle>,
    /// When tasks are told to stop.
    pub(super) limit: Instant,
    /// How far a `run` overshoots: the loop looks at the clock now and then.
    pub(super) run_overshoot: Nanos,
    /// On several CPUs, how much further at most: the CPU clock goes on while the emulator executes other CPUs.
    pub(super) run_scatter: Nanos,
    /// Of that scatter.
    pub(super) seed: u64,
    /// What single tasks take beside that.
    pub(super) corrections: Arc<Corrections>,
    /// What forks and exits take.
    pub(super) forking: Arc<Forking>,
    /// What tasks used.
    pub(super) used: Arc<Ledger>,
    /// `run` measures turns of a calibrated loop, not the CPU clock.
    pub(super) by_loops: bool,
    /// Turns of the calibrated loop per microsecond.
    pub(super) loops_per_us: f64,
    /// One `getppid` call in kernel mode.
    pub(super) getppid: Nanos,
}

/// A block being executed.
struct Frame {
    body: Arc<Vec<Step>>,
    at: usize,
    again: Again,
}

/// What happens at the end of a block.
enum Again {
    Once,
    Turns(u64),
    Until(Instant),
}

/// A task of a spec, or a child it forked.
pub(super) struct LabTask {
    shared: Arc<Shared>,
    path: String,
    name: String,
    random: LabRandom,
    /// Apart from the workload's own draws.
    scatter: LabRandom,
    correction: Correction,
    paths: Paths,
    runs: u64,
    frames: Vec<Frame>,
    pending: VecDeque<Action>,
    /// Children not waited for, and children forked in all.
    kids: u64,
    forked: u64,
    jobs: Vec<Jobs>,
    /// The block is still to be entered for the first time.
    body: Option<Arc<Vec<Step>>>,
    /// Time of the first period.
    started: Option<Instant>,
}

struct Jobs {
    parallel: u64,
    left: u64,
    body: Arc<Vec<Step>>,
}

impl LabTask {
    /// A task that first does `setup` and then runs `body`.
    pub(super) fn new(
        shared: Arc<Shared>,
        path: String,
        name: String,
        random: LabRandom,
        body: Arc<Vec<Step>>,
        setup: impl IntoIterator<Item = Action>,
    ) -> LabTask {
        LabTask {
            scatter: LabRandom::for_seed(
                path.bytes().fold(shared.seed, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b))),
            ),
            correction: shared.corrections.get(&name).copied().unwrap_or_default(),
            paths: shared.forking.get(&name).copied().unwrap_or_default(),
            runs: 0,
            shared,
            path,
            name,
            random,
            frames: Vec::new(),
            pending: setup.into_iter().collect(),
            kids: 0,
            forked: 0,
            jobs: Vec::new(),
            body: Some(body),
            started: None,
        }
    }

    fn stopped(&self, now: Instant) -> bool {
        now >= self.shared.limit
    }

    fn push(&mut self, body: Arc<Vec<Step>>, again: Again) {
        self.frames.push(Frame { body, at: 0, again });
    }

    fn fork(&mut self, body: Arc<Vec<Step>>) -> Action {
        let number = self.forked;
        (self.kids, self.forked) = (self.kids + 1, self.forked + 1);
        let short: String = self.name.chars().take(10).collect();
        let name: String = format!("{short}_{number}").chars().take(15).collect();
        let path = format!("{}/{number}", self.path);
        let child =
            LabTask::new(self.shared.clone(), path.clone(), name.clone(), self.random.child(), body, []);
        let fork = Action::Fork(Box::new(ChildSpec { name, path, program: Box::new(child) }));
        if self.correction.after_fork > 0 {
            self.pending.push_front(Action::KernelRun(Nanos(self.correction.after_fork)));
        }
        self.after(self.paths.fork_ns, fork)
    }

    /// An action that comes after a path of so many ns.
    fn after(&mut self, ns: u64, action: Action) -> Action {
        if ns == 0 {
            return action;
        }
        self.pending.push_front(action);
        Action::KernelRun(Nanos(ns))
    }

    fn run(&mut self, ns: u64) -> Action {
        if self.shared.by_loops {
            return Action::Run(Work::Capacity(Nanos(ns)));
        }
        self.runs += 1;
        let scatter = self.scatter.pick(Span { lo: 0, hi: self.shared.run_scatter.0 });
        let ns = ns.saturating_add(self.shared.run_overshoot.0).saturating_add(scatter);
        Action::Run(Work::CpuTime(Nanos(ns.saturating_add_signed(self.correction.run))))
    }

    /// One step as an action; none when it only changed what comes next.
    fn step(&mut self, step: &Step, cx: &ProgramContext) -> Option<Action> {
        let handle = |o: &ObjectIx| self.shared.objects[usize::from(o.0)];
        Some(match step {
            Step::Run(span) => {
                let ns = self.random.pick(*span);
                self.run(ns)
            }
            Step::Spin(turns) => {
                Action::Run(Work::Capacity(Nanos((*turns as f64 * 1000.0 / self.shared.loops_per_us) as u64)))
            }
            Step::Sleep(span) => Action::SleepUntil(cx.now + Nanos(self.random.pick(*span))),
            Step::Period(period) => {
                let first = self.started.unwrap_or(cx.now);
                let turn = cx.now.saturating_since(first).0 / period + 1;
                Action::SleepUntil(first + Nanos(turn * period))
            }
            Step::Post(o, n) => match handle(o) {
                Handle::Semaphore(sem) => Action::SemPost { sem, n: *n },
                _ => return None,
            },
            Step::Wait(o) => match handle(o) {
                Handle::Semaphore(sem) => Action::SemWait(sem),
                _ => return None,
            },
            Step::Write(o, n) => match handle(o) {
                Handle::Pipe(pipe) => Action::PipeWrite { pipe, bytes: u64::from(*n) },
                _ => return None,
            },
            Step::Read(o, n) => match handle(o) {
                Handle::Pipe(pipe) => Action::PipeRead { pipe, bytes: u64::from(*n) },
                _ => return None,
            },
            Step::Barrier(o, _) => match handle(o) {
                Handle::Barrier(b) => Action::Barrier(b),
                _ => return None,
            },
            Step::Yield => Action::Yield,
            Step::Count => Action::Count(1),
            Step::Loop(turns, body) => {
                if *turns > 0 && !self.stopped(cx.now) {
                    self.push(Arc::new(body.clone()), Again::Turns(*turns));
                }
                return None;
            }
            Step::For(ns, body) => {
                if *ns > 0 && !self.stopped(cx.now) {
                    self.push(Arc::new(body.clone()), Again::Until(cx.now + Nanos(*ns)));
                }
                return None;
            }
            Step::Fork(body) => self.fork(Arc::new(body.clone())),
            Step::Join if self.kids > 0 => {
                self.kids -= 1;
                Action::WaitChild
            }
            Step::Join => return None,
            Step::JoinAll => return self.wait_all(),
            Step::Jobs { parallel, count, body } => {
                self.jobs.push(Jobs { parallel: *parallel, left: *count, body: Arc::new(body.clone()) });
                return None;
            }
            Step::SysIo(n) => Action::KernelRun(Nanos(self.shared.getppid.0 * n)),
            Step::Affinity(mask) => Action::SetAffinity(mask.clone()),
            Step::AffinityAll(mask) => Action::SetSiblingsAffinity(mask.clone()),
        })
    }

    fn wait_all(&mut self) -> Option<Action> {
        let waits = std::mem::take(&mut self.kids);
        self.pending.extend((0..waits).map(|_| Action::WaitChild));
        self.pending.pop_front()
    }

    /// The next action of a running `jobs` step.
    fn next_job(&mut self, now: Instant) -> Option<Action> {
        let stopped = self.stopped(now);
        let jobs = self.jobs.last_mut()?;
        if jobs.left == 0 || stopped {
            self.jobs.pop();
            return self.wait_all();
        }
        if self.kids >= jobs.parallel.max(1) {
            self.kids -= 1;
            return Some(Action::WaitChild);
        }
        jobs.left -= 1;
        let body = jobs.body.clone();
        Some(self.fork(body))
    }

    /// Moves to the next turn of the innermost block, or out of it.
    fn end_of_block(&mut self, now: Instant) {
        let stopped = self.stopped(now);
        let Some(frame) = self.frames.last_mut() else { return };
        frame.at = 0;
        let again = match &mut frame.again {
            Again::Once => false,
            Again::Turns(left) => {
                *left -= 1;
                *left > 0 && !stopped
            }
            Again::Until(end) => now < *end && !stopped,
        };
        if !again {
            self.frames.pop();
        }
    }
}

impl Program for LabTask {
    fn next(&mut self, cx: &ProgramContext) -> Action {
        loop {
            if let Some(action) = self.pending.pop_front() {
                return action;
            }
            if let Some(body) = self.body.take() {
                self.started = Some(cx.now);
                self.push(body, Again::Once);
            }
            if !self.jobs.is_empty() {
                if let Some(action) = self.next_job(cx.now) {
                    return action;
                }
                continue;
            }
            let Some(frame) = self.frames.last_mut() else {
                if let Some(wait) = self.wait_all() {
                    return wait;
                }
                let used = Used { runs: self.runs, forks: self.forked, cpu_ns: cx.cpu_time.0 };
                self.shared.used.note(&self.name, used);
                return self.after(self.paths.exit_ns, Action::Exit);
            };
            let body = frame.body.clone();
            let Some(step) = body.get(frame.at) else {
                self.end_of_block(cx.now);
                continue;
            };
            frame.at += 1;
            if let Some(action) = self.step(step, cx) {
                return action;
            }
        }
    }
}
