//! tbench and dbench: clients that replay a file server's traffic (`dbench(1)`).
//!
//! tbench's clients have a server process each and wait for every reply. dbench's clients do the same operations themselves, in
//! the kernel, and wait for the disk when they flush.
//!
//! The load file is not replayed: of a hundred operations so many are reads and writes, in the proportions dbench prints for
//! its own load file, and these carry the same number of bytes each; the rest carry little. Client and server talk through pipes
//! here, in the place of loopback sockets. Deviates: D-231.

use super::{MAX_TASKS, ToDo, add, end_of, plain_name, program, shared};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Bytes, Duration, Whole, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::program::{Action, Objects, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, Nanos, PipeId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// Bytes of a request or reply without data: an SMB header and some parameters (assumption).
const HEADER: u64 = 100;

/// The table `[workload.tbench]`. Tasks: `tbench/client#0`, `tbench/server#0` and so on, processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tbench {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "plain_name")]
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

/// The table `[workload.dbench]`. Tasks: `dbench/client#0` and so on, processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dbench {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "plain_name")]
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
    /// The kernel's work for an operation, without copying. Default 5 us (assumption).
    pub operation: Dist,
    /// The kernel's work for each KiB read or written. Default 100 ns (assumption: 10 GB/s, a warm copy).
    #[serde(rename(serialize = "copy_kib_ns"))]
    pub copy_kib: Duration,
    /// Flushes in a thousand operations, 0 to 1000. Default 12, the share dbench prints.
    #[serde(deserialize_with = "whole::<_, _, 0, 1000>")]
    #[schemars(with = "Whole<u32, 0, 1000>")]
    pub flushes_per_thousand: u32,
    /// How long a flush waits for the disk. Default 0: a file system in memory.
    pub flush: Dist,
}

/// The operations of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Reads in a hundred operations, 0 to 50. Default 27.
    #[serde(deserialize_with = "whole::<_, _, 0, 50>")]
    #[schemars(with = "Whole<u32, 0, 50>")]
    pub reads: u32,
    /// Writes in a hundred operations, 0 to 50. Default 9.
    #[serde(deserialize_with = "whole::<_, _, 0, 50>")]
    #[schemars(with = "Whole<u32, 0, 50>")]
    pub writes: u32,
    /// Bytes of each. Default 15000 (assumption, of the order of what dbench prints: its MB by its reads and writes).
    #[serde(rename(serialize = "size_bytes"))]
    pub size: Bytes,
}

impl Default for Load {
    fn default() -> Load {
        Load { reads: 27, writes: 9, size: Bytes(15_000) }
    }
}

impl Load {
    /// Bytes an operation carries to the server and back beside headers.
    fn draw(self, stream: &mut Stream) -> (u64, u64) {
        match stream.random_range(0..100) {
            n if n < self.reads => (0, self.size.0),
            n if n < self.reads + self.writes => (self.size.0, 0),
            _ => (0, 0),
        }
    }
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

impl Default for Dbench {
    fn default() -> Dbench {
        Dbench {
            name: "dbench".to_owned(),
            clients: 1,
            timelimit: Duration(Nanos::from_secs(600)),
            load: Load::default(),
            operation: Dist::constant(Nanos::from_micros(5)),
            copy_kib: Duration(Nanos(100)),
            flushes_per_thousand: 12,
            flush: Dist::constant(Nanos::ZERO),
        }
    }
}

const fn throughput(name: &'static str, title: &'static str) -> Headline {
    Headline { name, title, short: "MB/s", unit: "MB/s", better: Better::Higher }
}
const fn max_latency(name: &'static str, title: &'static str) -> Headline {
    Headline { name, title, short: "max lat.", unit: "ms", better: Better::Lower }
}

/// What tbench prints.
pub(crate) const TBENCH: [Headline; 2] = [
    throughput("tbench_mb_per_second", "tbench, throughput"),
    max_latency("tbench_max_latency_ms", "tbench, max_latency"),
];
/// What dbench prints.
pub(crate) const DBENCH: [Headline; 2] = [
    throughput("dbench_mb_per_second", "dbench, throughput"),
    max_latency("dbench_max_latency_ms", "dbench, max_latency"),
];

/// Both count bytes read and written, and record how long operations take.
fn results(
    headlines: &'static [Headline; 2],
    name: &str,
    clients: u32,
    run: &Ran<'_>,
) -> Vec<(&'static Headline, f64)> {
    let rates = (0..clients).filter_map(|i| run.work_per_second(&format!("{name}/client#{i}")));
    let Some(latency) = run.recorded(name, 0) else { return Vec::new() };
    headlines.iter().zip([rates.sum::<f64>() / 1e6, latency.max().0 as f64 / 1e6]).collect()
}

/// Tells of an operation that began at `since`, which carried so many bytes.
fn done(since: Instant, now: Instant, bytes: u64, to_do: &mut ToDo) {
    to_do.extend([Action::Record { series: 0, time: now.saturating_since(since) }, Action::Count(bytes)]);
}

fn run(work: Nanos) -> Action {
    Action::Run(Work::Capacity(work))
}

/// A client and its server: the two ways between them, and what the client has asked for; none is its end.
struct Connection {
    there: PipeId,
    back: PipeId,
    asked: Mutex<VecDeque<Option<(u64, u64)>>>,
}

/// Reading a message: its header, and then its data if it has any, as both ends do.
fn read(pipe: PipeId, data: u64) -> impl Iterator<Item = Action> {
    (data > 0).then_some(Action::PipeRead { pipe, bytes: data }).into_iter()
}

impl Tbench {
    fn client(
        &self,
        c: Arc<Connection>,
        mut load: Stream,
        mut work: Stream,
    ) -> impl FnMut(&ProgramContext, &mut ToDo) + Send + use<> {
        let (spec, end) = (self.clone(), end_of(self.timelimit.0));
        let (mut last, mut over) = (None, false);
        move |cx, to_do| {
            if let Some((since, bytes)) = last.take() {
                done(since, cx.now, bytes, to_do);
            }
            if std::mem::replace(&mut over, cx.now >= end) {
                return;
            }
            if over {
                shared(&c.asked).push_back(None);
                return to_do.push_back(Action::PipeWrite { pipe: c.there, bytes: HEADER });
            }
            let (out, back) = spec.load.draw(&mut load);
            last = Some((cx.now, out + back));
            shared(&c.asked).push_back(Some((out, back)));
            to_do.extend([
                run(spec.client_work.sample(&mut work)),
                Action::PipeWrite { pipe: c.there, bytes: HEADER + out },
                Action::PipeRead { pipe: c.back, bytes: HEADER },
            ]);
            to_do.extend(read(c.back, back));
        }
    }

    fn server(
        &self,
        c: Arc<Connection>,
        mut work: Stream,
    ) -> impl FnMut(&ProgramContext, &mut ToDo) + Send + use<> {
        let (spec, mut waits) = (self.clone(), true);
        move |_, to_do| {
            if std::mem::replace(&mut waits, false) {
                return to_do.push_back(Action::PipeRead { pipe: c.there, bytes: HEADER });
            }
            let Some((out, back)) = shared(&c.asked).pop_front().flatten() else { return };
            waits = true;
            to_do.extend(read(c.there, out));
            let reply = Action::PipeWrite { pipe: c.back, bytes: HEADER + back };
            to_do.extend([run(spec.server_work.sample(&mut work)), reply]);
        }
    }
}

impl Model for Tbench {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.clients {
            let path = |who: &str| format!("{}/{who}#{i}", self.name);
            let (client, server) = (path("client"), path("server"));
            let there = builder.objects.add_pipe(&path("there"), Objects::PIPE_CAPACITY, 0);
            let back = builder.objects.add_pipe(&path("back"), Objects::PIPE_CAPACITY, 0);
            let c = Arc::new(Connection { there, back, asked: Mutex::default() });
            let body = self.server(Arc::clone(&c), builder.stream(&server, "run"));
            add(builder, server, program(body));
            let body = self.client(c, builder.stream(&client, "load"), builder.stream(&client, "run"));
            add(builder, client, program(body));
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        results(&TBENCH, &self.name, self.clients, run)
    }
}

impl Model for Dbench {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.clients {
            let path = format!("{}/client#{i}", self.name);
            let (spec, end) = (self.clone(), end_of(self.timelimit.0));
            let (mut load, mut work) = (builder.stream(&path, "load"), builder.stream(&path, "run"));
            let mut last = None;
            let body = move |cx: &ProgramContext, to_do: &mut ToDo| {
                if let Some((since, bytes)) = last.take() {
                    done(since, cx.now, bytes, to_do);
                }
                if cx.now >= end {
                    return;
                }
                let (out, back) = spec.load.draw(&mut load);
                last = Some((cx.now, out + back));
                let copy = u128::from(out + back) * u128::from(spec.copy_kib.0.0) / 1024;
                let operation = spec.operation.sample(&mut work).0.max(1).saturating_add(copy as u64);
                to_do.push_back(Action::KernelRun(Nanos(operation)));
                let flushes = load.random_range(0..1000) < spec.flushes_per_thousand;
                let flush = if flushes { spec.flush.sample(&mut work) } else { Nanos::ZERO };
                to_do.extend((!flush.is_zero()).then_some(Action::Sleep(flush)));
            };
            add(builder, path, program(body));
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        results(&DBENCH, &self.name, self.clients, run)
    }
}
