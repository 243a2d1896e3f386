//! tbench: clients that replay a file server's traffic, each with a server of its own (`dbench(1)`).
//!
//! A client has a server process each, over a TCP connection with TCP_NODELAY, and wait for every reply. dbench's clients do the same operations themselves, in
//! the kernel, and wait for the disk when they flush.

use super::load::{Load, done, max_latency, results, throughput};
use super::{MAX_TASKS, ToDo, add, end_of, shared};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Batches, Headline, Model, Ran, batches};
use crate::schema::PlainName;
use crate::units::{Duration, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::program::{Action, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, Nanos, SocketId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Bytes of a request or reply without data: an SMB header and some parameters (assumption).
const HEADER: u64 = 100;

/// Socket buffers a TCP connection starts with (`tcp_wmem`, `tcp_rmem`: tcp(7)).
const TCP_SEND: u64 = 16_384;
/// See [`TCP_SEND`].
const TCP_RECEIVE: u64 = 131_072;

/// The table `[workload.tbench]`. Tasks: `tbench/client#0`, `tbench/server#0` and so on, processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tbench {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `numprocs`: number of clients, 1 to [`MAX_TASKS`]. Default 1.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub clients: u32,
    /// `-t`: how long to run. Default 600 s; 0 is for ever.
    #[serde(rename(serialize = "timelimit_ns"))]
    pub timelimit: Duration,
    /// What is asked for.
    pub load: Load,
    /// Work of the client for an operation. Default 500 ns (assumption).
    pub client_work: Dist,
    /// Work of the server for an operation. Default 500 ns (assumption): it only looks at the request.
    pub server_work: Dist,
}

impl Default for Tbench {
    fn default() -> Tbench {
        let work = || Dist::constant(Nanos(500));
        Tbench {
            name: "tbench".to_owned(),
            clients: 1,
            timelimit: Duration(Nanos::from_secs(600)),
            load: Load::default(),
            client_work: work(),
            server_work: work(),
        }
    }
}

/// What tbench prints.
pub(crate) const HEADLINES: [Headline; 2] = [
    throughput("tbench_mb_per_second", "tbench, throughput"),
    max_latency("tbench_max_latency_ms", "tbench, max_latency"),
];

fn run(work: Nanos) -> Action {
    Action::Run(Work::Capacity(work))
}

/// A client and its server: what the client has asked for and the server has yet to look at.
type Asked = Arc<Mutex<VecDeque<(u64, u64)>>>;

/// A message on its way in, which a receiver takes in as it comes: its header, then its data.
#[derive(Default)]
struct Message {
    left: u64,
}

impl Message {
    /// Takes note of what came; whether it is complete. The end of the connection completes nothing.
    fn took(&mut self, bytes: u64) -> bool {
        self.left = self.left.saturating_sub(bytes);
        self.left == 0
    }
    fn receive(&self, socket: SocketId) -> Action {
        Action::Receive { socket, max: self.left }
    }
}

/// What an end of a connection does next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A client asks; a server waits for a request.
    Begin,
    Header,
    Data,
}

/// Sends requests one at a time and waits for each reply.
struct Client {
    spec: Tbench,
    end: Instant,
    socket: SocketId,
    asked: Asked,
    load: Stream,
    work: Stream,
    stage: Stage,
    message: Message,
    /// The operation under way: since when, its bytes to the server and back.
    since: Instant,
    carries: (u64, u64),
}

impl Batches for Client {
    fn more(&mut self, cx: &ProgramContext, to_do: &mut ToDo) {
        if self.stage != Stage::Begin && !self.message.took(cx.received) {
            return to_do.push_back(self.message.receive(self.socket));
        }
        if self.stage == Stage::Header && self.carries.1 > 0 {
            (self.stage, self.message.left) = (Stage::Data, self.carries.1);
            return to_do.push_back(self.message.receive(self.socket));
        }
        if self.stage != Stage::Begin {
            self.stage = Stage::Begin;
            done(self.since, cx.now, self.carries.0 + self.carries.1, to_do);
        } else if cx.now >= self.end {
            // The second time nothing is left to do.
            to_do.extend((self.end.0 > 0).then_some(Action::Shutdown(self.socket)));
            self.end = Instant::ZERO;
        } else {
            self.carries = self.spec.load.draw(&mut self.load);
            self.since = cx.now;
            shared(&self.asked).push_back(self.carries);
            (self.stage, self.message.left) = (Stage::Header, HEADER);
            let (work, socket) = (self.spec.client_work.sample(&mut self.work), self.socket);
            to_do.extend([run(work), Action::Send { socket, bytes: HEADER + self.carries.0 }]);
            to_do.push_back(self.message.receive(socket));
        }
    }
}

/// Answers requests until the client is gone.
struct Server {
    spec: Tbench,
    socket: SocketId,
    asked: Asked,
    work: Stream,
    stage: Stage,
    message: Message,
    reply: u64,
}

impl Batches for Server {
    fn more(&mut self, cx: &ProgramContext, to_do: &mut ToDo) {
        if self.stage == Stage::Begin {
            (self.stage, self.message.left) = (Stage::Header, HEADER);
            return to_do.push_back(self.message.receive(self.socket));
        }
        if cx.received == 0 {
            return;
        }
        if !self.message.took(cx.received) {
            return to_do.push_back(self.message.receive(self.socket));
        }
        if self.stage == Stage::Header {
            let Some((data, reply)) = shared(&self.asked).pop_front() else { return };
            self.reply = HEADER + reply;
            if data > 0 {
                (self.stage, self.message.left) = (Stage::Data, data);
                return to_do.push_back(self.message.receive(self.socket));
            }
        }
        self.stage = Stage::Begin;
        let work = self.spec.server_work.sample(&mut self.work);
        to_do.extend([run(work), Action::Send { socket: self.socket, bytes: self.reply }]);
    }
}

impl Model for Tbench {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.clients {
            let path = |who: &str| format!("{}/{who}#{i}", self.name);
            let (client, server) = (path("client"), path("server"));
            let buffers = [(TCP_SEND, TCP_RECEIVE); 2];
            let [near, far] = builder.objects.add_tcp(&path("connection"), buffers, true);
            let asked = Asked::default();
            let end = end_of(self.timelimit.0);
            let body = Server {
                spec: self.clone(),
                socket: far,
                asked: Arc::clone(&asked),
                work: builder.stream(&server, "run"),
                stage: Stage::Begin,
                message: Message::default(),
                reply: 0,
            };
            add(builder, server, batches(body));
            let body = Client {
                spec: self.clone(),
                end,
                socket: near,
                asked,
                load: builder.stream(&client, "load"),
                work: builder.stream(&client, "run"),
                stage: Stage::Begin,
                message: Message::default(),
                since: Instant::ZERO,
                carries: (0, 0),
            };
            add(builder, client, batches(body));
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        results(&HEADLINES, &self.name, self.clients, run)
    }
}
