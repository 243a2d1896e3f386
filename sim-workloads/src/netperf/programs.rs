//! netperf, netserver and its child: their calls, made while they run.

use super::{Netperf, Peer};
use crate::dist::Dist;
use crate::model::{Batches, batches};
use sim_core::program::{Action, ChildSpec, Program, ProgramContext, Work};
use sim_core::rng::{self, Stream};
use sim_core::{Instant, SocketId};
use std::collections::VecDeque;

/// What all sides know.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub spec: Netperf,
    pub seed: u64,
    /// netperf's end, and netserver's.
    pub control: [SocketId; 2],
    pub data: [SocketId; 2],
}

/// A control message, bytes. Traced: 656.
pub(super) const CONTROL: u64 = 656;

/// CPU times of one program.
#[derive(Debug)]
struct Times(Stream);

impl Times {
    fn of(plan: &Plan, path: &str) -> Times {
        Times(rng::stream(plan.seed, &format!("{}/{path}", plan.spec.name), "run"))
    }

    fn run(&mut self, work: &Dist) -> Action {
        Action::Run(Work::Capacity(work.sample(&mut self.0)))
    }
}

/// Where a program stands.
#[derive(Debug, Clone, Copy)]
enum Phase {
    Setup,
    Connect,
    Begin,
    Test,
    Over,
}

/// The client.
struct Client {
    plan: Plan,
    times: Times,
    phase: Phase,
    began: Instant,
    sent: u64,
    /// Of a response, what is still to come.
    awaited: u64,
}

fn netperf(plan: &Plan) -> Box<dyn Program> {
    let times = Times::of(plan, "client");
    let plan = plan.clone();
    batches(Client { plan, times, phase: Phase::Setup, began: Instant::ZERO, sent: 0, awaited: 0 })
}

impl Client {
    fn is_over(&self, cx: &ProgramContext) -> bool {
        let (count, length) = self.plan.spec.bounds();
        self.sent >= count || cx.now.saturating_since(self.began) >= length
    }

    fn call(&mut self, cx: &ProgramContext, ready: &mut VecDeque<Action>) {
        let spec = &self.plan.spec;
        let socket = self.plan.data[0];
        if self.awaited > 0 {
            self.awaited -= cx.received.min(self.awaited);
            if self.awaited > 0 {
                return ready.push_back(Action::Receive { socket, max: self.awaited });
            }
            ready.push_back(Action::Count(1));
        }
        if self.is_over(cx) {
            self.phase = Phase::Over;
            let time = cx.now - self.began;
            let result = Action::Receive { socket: self.plan.control[0], max: CONTROL };
            return ready.extend([Action::Record { series: 0, time }, Action::Shutdown(socket), result]);
        }
        self.sent += 1;
        ready.push_back(self.times.run(&spec.around_call));
        if spec.test.is_stream() {
            return ready.push_back(Action::Send { socket, bytes: spec.message() });
        }
        self.awaited = spec.response_size.0;
        ready.push_back(Action::Send { socket, bytes: spec.request_size.0 });
        ready.push_back(Action::Receive { socket, max: self.awaited });
    }
}

impl Batches for Client {
    fn more(&mut self, cx: &ProgramContext, ready: &mut VecDeque<Action>) {
        let control = self.plan.control[0];
        match self.phase {
            Phase::Setup => {
                self.phase = Phase::Connect;
                ready.push_back(self.times.run(&self.plan.spec.setup));
                ready.push_back(Action::Send { socket: control, bytes: CONTROL });
                ready.push_back(self.times.run(&self.plan.spec.ask));
                ready.push_back(Action::Receive { socket: control, max: CONTROL });
            }
            Phase::Connect => {
                self.phase = Phase::Begin;
                ready.push_back(self.times.run(&self.plan.spec.connect));
            }
            Phase::Begin => {
                self.phase = Phase::Test;
                self.began = cx.now;
                self.call(cx, ready);
            }
            Phase::Test => self.call(cx, ready),
            Phase::Over => ready.push_back(Action::Exit),
        }
    }
}

/// The child of netserver that takes part in the test.
struct Child {
    plan: Plan,
    times: Times,
    phase: Phase,
    began: Instant,
    /// Of a request, what is still to come.
    awaited: u64,
}

impl Child {
    /// Counts bytes in a stream; answers a request that is complete.
    fn received(&mut self, bytes: u64, ready: &mut VecDeque<Action>) {
        let spec = &self.plan.spec;
        let socket = self.plan.data[1];
        if spec.test.is_stream() {
            return ready.push_back(Action::Count(bytes));
        }
        self.awaited -= bytes.min(self.awaited);
        if self.awaited == 0 {
            self.awaited = spec.request_size.0;
            if spec.peer == Peer::Remote {
                ready.push_back(Action::Count(1));
            }
            ready.push_back(Action::Send { socket, bytes: spec.response_size.0 });
        }
    }

    fn receive(&mut self, ready: &mut VecDeque<Action>) {
        let spec = &self.plan.spec;
        let max = if spec.test.is_stream() { spec.receive_max() } else { self.awaited };
        ready.push_back(self.times.run(&spec.around_call));
        ready.push_back(Action::Receive { socket: self.plan.data[1], max });
    }
}

impl Batches for Child {
    fn more(&mut self, cx: &ProgramContext, ready: &mut VecDeque<Action>) {
        let control = Action::Send { socket: self.plan.control[1], bytes: CONTROL };
        match self.phase {
            Phase::Setup => {
                self.phase = Phase::Begin;
                ready.extend([self.times.run(&self.plan.spec.prepare), control]);
            }
            Phase::Begin | Phase::Connect => {
                (self.phase, self.began) = (Phase::Test, cx.now);
                self.receive(ready);
            }
            Phase::Test if cx.received > 0 => {
                self.received(cx.received, ready);
                self.receive(ready);
            }
            Phase::Test => {
                self.phase = Phase::Over;
                if self.plan.spec.peer == Peer::Remote {
                    ready.push_back(Action::Record { series: 0, time: cx.now - self.began });
                }
                ready.push_back(control);
            }
            Phase::Over => ready.push_back(Action::Exit),
        }
    }
}

/// The daemon: waits for one client, forks, and waits for the child.
fn netserver(plan: &Plan) -> Box<dyn Program> {
    let mut times = Times::of(plan, "netserver");
    let child = Child {
        plan: plan.clone(),
        times: Times::of(plan, "netserver/child"),
        phase: Phase::Setup,
        began: Instant::ZERO,
        awaited: plan.spec.request_size.0,
    };
    let child = fork(plan, "netserver", "netserver/child", batches(child));
    let request = Action::Receive { socket: plan.control[1], max: CONTROL };
    play([request, times.run(&plan.spec.accept), child, Action::WaitChildren])
}

/// Starts netserver, later netperf, and waits for both.
pub(super) fn shell(plan: &Plan) -> Box<dyn Program> {
    play([
        start_netserver(plan),
        Action::Sleep(plan.spec.head_start),
        fork(plan, "netperf", "client", netperf(plan)),
        Action::WaitChildren,
    ])
}

pub(super) fn start_netserver(plan: &Plan) -> Action {
    fork(plan, "netserver", "netserver", netserver(plan))
}

fn fork(plan: &Plan, name: &str, path: &str, program: Box<dyn Program>) -> Action {
    let path = format!("{}/{path}", plan.spec.name);
    Action::Fork(Box::new(ChildSpec { name: name.to_owned(), path, program }))
}

pub(super) fn play<const N: usize>(steps: [Action; N]) -> Box<dyn Program> {
    let mut steps = steps.into_iter();
    Box::new(move |_: &ProgramContext| steps.next().unwrap_or(Action::Exit))
}
