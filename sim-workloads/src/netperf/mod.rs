//! netperf over loopback, or from another machine: the streams and the request/response tests.
//!
//! ```text
//! sh ── starts netserver, waits a little, starts netperf
//!
//! netperf ──── control connection ──── netserver ── forks ── netserver (child)
//!    └──────── data connection ──────────────────────────────────┘
//! ```
//!
//! netperf asks for a test on the control connection; netserver forks a child that answers and then takes part in the
//! test on the data connection. The order of steps and their CPU times are those of netperf 2.7 traced under Linux 6.1
//! (`validation/programs/README.md`); they matter, because who leads whom in vruntime when the test begins decides who
//! preempts whom in it.
//!
//! A stream over loopback on one CPU is governed by that and by batching: messages merge while they wait for the
//! receiver's window, and datagrams are lost while their reader waits. Both come from the sockets
//! (`sim-core/src/program/socket/`); this file only makes the calls.
//!
//! With `peer = "remote"` netperf runs on another machine ([`sim_core::program::RemoteClient`]) and netserver here: both
//! connections go through a network card (`[machine.nic]`), and streams come in, as in a test that receives.

mod programs;
mod remote;
#[cfg(test)]
mod remote_tests;
#[cfg(test)]
mod tests;

use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::{Names, PlainName};
use crate::units::{Bytes, Duration, Whole, model_name, optional_whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;

/// The most messages or transactions of one test.
pub const MAX_COUNT: u64 = 1_000_000_000;
/// Linux's default socket buffers: `net.core.wmem_default`, and those TCP starts with (`tcp_rmem`, tcp(7)).
const UDP_DEFAULT: u64 = 212_992;
const TCP_SEND_DEFAULT: u64 = 16_384;
const TCP_RECEIVE_DEFAULT: u64 = 131_072;
/// What `setsockopt` allows (`net.core.rmem_max`); the kernel doubles it (socket(7)).
const BUFFER_MAX: u64 = 212_992;
/// The smallest buffers, as the kernel accounts them (socket(7)).
const LEAST: (u64, u64) = (4608, 2304);

/// Parameters of a netperf test: the table `[workload.netperf]`. Options of the real program stand in brackets.
///
/// Paths of the tasks: `netperf` (the shell), `netperf/client`, `netperf/netserver` and `netperf/netserver/child`; those of
/// further instances begin with `netperf#1` and so on. With a remote peer there is no client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Netperf {
    /// Name, first part of the paths of its tasks: `netperf` unless given.
    #[serde(default = "default_name", deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Which test (`-t`).
    #[schemars(with = "Names<Test>")]
    pub test: Test,
    /// Where netperf runs: loopback (here, unless given) or remote, on another machine that sends to netserver here.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "Option<Names<Peer>>")]
    pub peer: Peer,
    /// How many tests run side by side, each with a connection and a netserver of its own: 1 unless given.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(with = "Option<Instances>")]
    pub instances: Instances,
    /// With a remote peer: the time a call takes netperf there, on a CPU of its own. Default: 1.5 us, an assumption (a send
    /// here takes that, `[costs]`).
    #[serde(default, rename(serialize = "remote_call_ns"), skip_serializing_if = "Option::is_none")]
    pub remote_call: Option<Duration>,
    /// How long (`-l` above zero); 10 s unless this or `count` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Duration>,
    /// How many messages or transactions (`-l` below zero, which counts bytes in a stream), instead of `length`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_whole::<_, _, 1, { MAX_COUNT as i64 }>"
    )]
    #[schemars(with = "Option<Whole<u64, 1, { MAX_COUNT as i64 }>>")]
    pub count: Option<u64>,
    /// Size of a message that is sent (`-m`). Default: the local send buffer for TCP, 65507 bytes at most for UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_size: Option<Bytes>,
    /// The most a receive call takes (`-M`). Default: the remote receive buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_size: Option<Bytes>,
    /// Size of a request (`-r`, first number): 1 unless given.
    #[serde(default = "one_byte")]
    pub request_size: Bytes,
    /// Size of a response (`-r`, second number): 1 unless given.
    #[serde(default = "one_byte")]
    pub response_size: Bytes,
    /// Socket buffers of netperf (`-s`), as given to `setsockopt`; the kernel takes twice that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_buffer: Option<Bytes>,
    /// Socket buffers of netserver (`-S`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_buffer: Option<Bytes>,
    /// `TCP_NODELAY` on both ends (`-D`).
    #[serde(default)]
    pub nodelay: bool,
    /// From the start of netserver to that of netperf: 30 ms unless given.
    #[serde(default = "head_start", with = "crate::units::duration", rename(serialize = "head_start_ns"))]
    #[schemars(with = "Duration")]
    pub head_start: Nanos,
    /// CPU time of netperf from its start to the control message. Default (traced): 2 ms.
    #[serde(default = "setup")]
    pub setup: Dist,
    /// CPU time of netperf from the control message until it waits for the answer. Default (traced): 230 µs.
    #[serde(default = "ask")]
    pub ask: Dist,
    /// CPU time of netperf from the answer to the first call of the test: it connects. Default (traced): 52 µs.
    #[serde(default = "connect")]
    pub connect: Dist,
    /// CPU time of netserver from the control message to the fork. Default (traced): 185 µs.
    #[serde(default = "accept")]
    pub accept: Dist,
    /// CPU time of netserver's child before it answers. Default (traced): 440 µs.
    #[serde(default = "prepare")]
    pub prepare: Dist,
    /// CPU time of either program around a call, in user mode. Default: 260 instructions at 3 per ns; counted.
    #[serde(default = "around_call")]
    pub around_call: Dist,
}

/// Where netperf runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    /// On this machine.
    #[default]
    Loopback,
    /// On another machine.
    Remote,
}

/// How many tests run side by side.
type Instances = Whole<u32, 1, 1024>;

/// A netperf test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    /// Messages one way over TCP.
    #[serde(rename = "TCP_STREAM")]
    TcpStream,
    /// Datagrams one way.
    #[serde(rename = "UDP_STREAM")]
    UdpStream,
    /// A request and a response at a time over TCP.
    #[serde(rename = "TCP_RR")]
    TcpRr,
    /// The same with datagrams.
    #[serde(rename = "UDP_RR")]
    UdpRr,
}

fn default_name() -> String {
    "netperf".to_owned()
}
fn is_default(peer: &Peer) -> bool {
    *peer == Peer::default()
}
fn one() -> Instances {
    Whole(1)
}
fn is_one(instances: &Instances) -> bool {
    instances.0 == 1
}
fn one_byte() -> Bytes {
    Bytes(1)
}
fn head_start() -> Nanos {
    Nanos::from_millis(30)
}
fn setup() -> Dist {
    Dist::constant(Nanos::from_micros(2000))
}
fn ask() -> Dist {
    Dist::constant(Nanos::from_micros(230))
}
fn connect() -> Dist {
    Dist::constant(Nanos::from_micros(52))
}
fn accept() -> Dist {
    Dist::constant(Nanos::from_micros(185))
}
fn prepare() -> Dist {
    Dist::constant(Nanos::from_micros(440))
}
fn around_call() -> Dist {
    Dist::constant(Nanos(90))
}

impl Test {
    fn is_stream(self) -> bool {
        matches!(self, Test::TcpStream | Test::UdpStream)
    }
    fn is_tcp(self) -> bool {
        matches!(self, Test::TcpStream | Test::TcpRr)
    }
}

/// What netperf prints.
pub const HEADLINES: &[Headline] = &[
    Headline {
        name: "netperf_throughput",
        title: "netperf throughput",
        short: "netperf",
        unit: "10^6 bits/s",
        better: Better::Higher,
    },
    Headline {
        name: "netperf_packets",
        title: "netperf, datagrams received",
        short: "packets",
        unit: "packets/s",
        better: Better::Higher,
    },
    Headline {
        name: "netperf_transactions",
        title: "netperf transactions",
        short: "netperf",
        unit: "trans/s",
        better: Better::Higher,
    },
    Headline {
        name: "netperf_lost",
        title: "netperf, datagrams lost here",
        short: "lost",
        unit: "%",
        better: Better::Lower,
    },
];

impl Netperf {
    /// A test with all defaults.
    pub fn new(test: Test) -> Netperf {
        Netperf {
            name: default_name(),
            test,
            peer: Peer::default(),
            instances: one(),
            remote_call: None,
            length: None,
            count: None,
            send_size: None,
            receive_size: None,
            request_size: one_byte(),
            response_size: one_byte(),
            local_buffer: None,
            remote_buffer: None,
            nodelay: false,
            head_start: head_start(),
            setup: setup(),
            ask: ask(),
            connect: connect(),
            accept: accept(),
            prepare: prepare(),
            around_call: around_call(),
        }
    }

    /// Send and receive buffer of one end as the kernel accounts them.
    fn buffers(&self, asked: Option<Bytes>) -> (u64, u64) {
        let set = |least: u64| asked.map(|b| (2 * b.0.min(BUFFER_MAX)).max(least));
        let (send, receive) = match self.test.is_tcp() {
            true => (TCP_SEND_DEFAULT, TCP_RECEIVE_DEFAULT),
            false => (UDP_DEFAULT, UDP_DEFAULT),
        };
        (set(LEAST.0).unwrap_or(send), set(LEAST.1).unwrap_or(receive))
    }

    fn message(&self) -> u64 {
        let default = self.buffers(self.local_buffer).0;
        let most = if self.test.is_tcp() { u64::MAX } else { 65_507 };
        self.send_size.map_or(default, |b| b.0).min(most)
    }

    fn receive_max(&self) -> u64 {
        self.receive_size.map_or(self.buffers(self.remote_buffer).1, |b| b.0)
    }

    /// Messages to send, and how long at most.
    fn bounds(&self) -> (u64, Nanos) {
        let seconds = self.length.map_or(Nanos::from_secs(10), |d| d.0);
        match self.count {
            Some(count) => (count, self.length.map_or(Nanos(u64::MAX), |d| d.0)),
            None => (u64::MAX, seconds),
        }
    }
}

impl Model for Netperf {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.instances.0 {
            let spec = Netperf { name: self.instance(i), ..self.clone() };
            let program = match self.peer {
                Peer::Loopback => programs::shell(&spec.loopback(builder)),
                Peer::Remote => remote::shell(&spec, builder),
            };
            builder.add_plain_task("sh", &spec.name, program);
        }
    }

    /// Bytes are counted by netserver's child in streams, transactions by netperf, or by the child if netperf is remote; the
    /// time of the test is what the clock of who counts showed, or that of the run if it was cut or had a warm-up.
    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let rates: Option<Vec<f64>> =
            (0..self.instances.0).map(|i| self.rate(run, &self.instance(i))).collect();
        let Some(rate) = rates.map(|rates| rates.iter().sum::<f64>()) else { return Vec::new() };
        let [throughput, packets, transactions, lost] = HEADLINES else { return Vec::new() };
        let mut results = match self.test {
            Test::TcpStream => vec![(throughput, rate * 8e-6)],
            Test::UdpStream => vec![(throughput, rate * 8e-6), (packets, rate / self.message() as f64)],
            Test::TcpRr | Test::UdpRr => vec![(transactions, rate)],
        };
        let network = run.network();
        let gone = network.ring_drops + network.socket_drops;
        if self.peer == Peer::Remote && gone + network.datagrams > 0 {
            results.push((lost, 100.0 * gone as f64 / (gone + network.datagrams) as f64));
        }
        results
    }
}

impl Netperf {
    /// The name of one of its tests.
    fn instance(&self, i: u32) -> String {
        if i == 0 { self.name.clone() } else { format!("{}#{i}", self.name) }
    }

    /// What one of its tests counted per second.
    fn rate(&self, run: &Ran<'_>, name: &str) -> Option<f64> {
        let counts = match self.peer {
            Peer::Loopback => format!("{name}/client"),
            Peer::Remote => format!("{name}/netserver/child"),
        };
        let measured = run.recorded(&counts, 0).filter(|_| run.is_whole()).map(|times| times.max());
        let elapsed = measured.or_else(|| run.elapsed(&counts))?;
        Some(run.work(name) as f64 / elapsed.as_secs_f64())
    }

    /// Both ends here.
    fn loopback(&self, builder: &mut Builder) -> programs::Plan {
        let (local, remote) = (self.buffers(self.local_buffer), self.buffers(self.remote_buffer));
        let objects = &mut builder.objects;
        let plain = (TCP_SEND_DEFAULT, TCP_RECEIVE_DEFAULT);
        let control = objects.add_tcp(&format!("{}/control", self.name), [plain, plain], true);
        let path = format!("{}/data", self.name);
        let data = match self.test.is_tcp() {
            true => objects.add_tcp(&path, [local, remote], self.nodelay),
            false => objects.add_udp(&path, [local.1, remote.1]),
        };
        programs::Plan { spec: self.clone(), seed: builder.seed, control, data }
    }
}
