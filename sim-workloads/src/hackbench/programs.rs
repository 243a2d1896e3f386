//! The main program, senders and receivers.

use super::{Hackbench, SEND_BUFFER};
use crate::build::Builder;
use crate::model::{Batches, batches};
use sim_core::program::{Action, ChildSpec, Program, ProgramContext, Work};
use sim_core::rng::{self, Stream};
use sim_core::{Instant, PipeId, SemId, SocketId};
use std::collections::VecDeque;
use std::sync::Arc;

/// What senders write to and one receiver reads from.
#[derive(Debug, Clone, Copy)]
enum Channel {
    Pipe(PipeId),
    /// The senders' end, and the receiver's.
    Socket([SocketId; 2]),
}

/// What all tasks know.
struct Plan {
    spec: Hackbench,
    seed: u64,
    /// By receiver.
    channels: Vec<Channel>,
    /// One post for each task that is ready.
    ready: SemId,
    /// All wait for it together.
    start: SemId,
}

pub(super) fn main(spec: &Hackbench, builder: &mut Builder) -> Box<dyn Program> {
    let receivers = spec.groups.saturating_mul(spec.fds);
    let objects = &mut builder.objects;
    let channel = |i| {
        let name = format!("{}/channel#{i}", spec.name);
        if spec.pipe {
            Channel::Pipe(objects.add_paged_pipe(&name, spec.datasize.0))
        } else {
            Channel::Socket(objects.add_unix(&name, SEND_BUFFER))
        }
    };
    let channels = (0..receivers).map(channel).collect();
    let ready = objects.add_semaphore(&format!("{}/ready", spec.name), 0);
    let start = objects.add_semaphore(&format!("{}/start", spec.name), 0);
    let plan = Arc::new(Plan { spec: spec.clone(), seed: builder.seed, channels, ready, start });
    let times = plan.times(&spec.name);
    batches(Main { plan, times, forked: 0, step: Step::Setup, began: Instant::ZERO })
}

impl Plan {
    fn times(&self, path: &str) -> Stream {
        rng::stream(self.seed, path, "run")
    }

    fn around(&self, times: &mut Stream) -> Action {
        Action::Run(Work::Capacity(self.spec.around_call.sample(times)))
    }
}

/// Where the main program stands.
enum Step {
    Setup,
    Fork,
    Start,
    Wait,
    End,
    Exit,
}

struct Main {
    plan: Arc<Plan>,
    times: Stream,
    forked: u32,
    step: Step,
    began: Instant,
}

impl Main {
    /// Of each group the receivers, then the senders.
    fn fork(&self, i: u32) -> Action {
        let fds = self.plan.spec.fds;
        let (group, member) = (i / (2 * fds), i % (2 * fds));
        let (kind, number) = if member < fds {
            ("receiver", group * fds + member)
        } else {
            ("sender", group * fds + member - fds)
        };
        let path = format!("{}/{kind}#{number}", self.plan.spec.name);
        let (plan, times) = (Arc::clone(&self.plan), self.plan.times(&path));
        let program = if member < fds {
            batches(Receiver { plan, times, number, state: Reading::Ready, messages: 0, left: 0 })
        } else {
            let first = (group * fds) as usize;
            batches(Sender { plan, times, first, sent: None })
        };
        let child = Box::new(ChildSpec { name: kind.to_owned(), path, program });
        if self.plan.spec.threads { Action::Thread(child) } else { Action::Fork(child) }
    }
}

impl Batches for Main {
    fn more(&mut self, cx: &ProgramContext, out: &mut VecDeque<Action>) {
        let (plan, spec) = (Arc::clone(&self.plan), &self.plan.spec);
        let tasks = spec.groups.saturating_mul(spec.fds).saturating_mul(2);
        match self.step {
            Step::Setup => {
                out.push_back(Action::Run(Work::Capacity(spec.setup.sample(&mut self.times))));
                self.step = Step::Fork;
            }
            Step::Fork => {
                out.push_back(self.fork(self.forked));
                self.forked += 1;
                if self.forked == tasks {
                    self.forked = 0;
                    self.step = Step::Start;
                }
            }
            Step::Start if self.forked < tasks => {
                out.push_back(Action::SemWait(plan.ready));
                self.forked += 1;
            }
            Step::Start => {
                self.began = cx.now;
                out.push_back(Action::SemPost { sem: plan.start, n: tasks });
                self.step = Step::Wait;
            }
            Step::Wait => {
                out.push_back(Action::WaitChildren);
                self.step = Step::End;
            }
            Step::End => {
                out.push_back(Action::Record { series: 0, time: cx.now - self.began });
                self.step = Step::Exit;
            }
            Step::Exit => out.push_back(Action::Exit),
        }
    }
}

/// Writes to each receiver of its group in turn.
struct Sender {
    plan: Arc<Plan>,
    times: Stream,
    /// Of its group.
    first: usize,
    /// None before the start.
    sent: Option<u64>,
}

impl Batches for Sender {
    fn more(&mut self, _: &ProgramContext, out: &mut VecDeque<Action>) {
        let spec = &self.plan.spec;
        let Some(sent) = &mut self.sent else {
            self.sent = Some(0);
            return out
                .extend([Action::SemPost { sem: self.plan.ready, n: 1 }, Action::SemWait(self.plan.start)]);
        };
        let fds = u64::from(spec.fds);
        if *sent == fds * u64::from(spec.loops) {
            return out.push_back(Action::Exit);
        }
        let to = self.first + (*sent % fds) as usize;
        *sent += 1;
        out.push_back(self.plan.around(&mut self.times));
        let bytes = spec.datasize.0;
        out.push_back(match self.plan.channels[to] {
            Channel::Pipe(pipe) => Action::PipeWrite { pipe, bytes },
            Channel::Socket([socket, _]) => Action::Send { socket, bytes },
        });
    }
}

enum Reading {
    Ready,
    /// A receive call has returned.
    Called,
}

/// Reads what all senders of its group write to it.
struct Receiver {
    plan: Arc<Plan>,
    times: Stream,
    number: u32,
    state: Reading,
    messages: u64,
    /// Of a message that came in parts.
    left: u64,
}

impl Batches for Receiver {
    fn more(&mut self, cx: &ProgramContext, out: &mut VecDeque<Action>) {
        let (plan, spec) = (Arc::clone(&self.plan), &self.plan.spec);
        let total = u64::from(spec.fds) * u64::from(spec.loops);
        let channel = plan.channels[self.number as usize];
        if let Reading::Ready = self.state {
            self.state = Reading::Called;
            return out.extend([Action::SemPost { sem: plan.ready, n: 1 }, Action::SemWait(plan.start)]);
        }
        if let (Channel::Socket(_), true) = (channel, self.left > 0) {
            self.left -= cx.received.min(self.left);
        }
        if self.left == 0 {
            if self.messages == total {
                return out.push_back(Action::Exit);
            }
            self.messages += 1;
            self.left = spec.datasize.0;
        }
        out.push_back(plan.around(&mut self.times));
        match channel {
            Channel::Pipe(pipe) => {
                out.push_back(Action::PipeRead { pipe, bytes: self.left });
                self.left = 0;
            }
            Channel::Socket([_, socket]) => out.push_back(Action::Receive { socket, max: self.left }),
        }
    }
}
