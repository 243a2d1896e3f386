//! netperf's tasks, and what it prints of a run.

use super::programs;
use super::remote;
use super::{Netperf, Peer, TCP_RECEIVE_DEFAULT, TCP_SEND_DEFAULT, Test};
use crate::build::Builder;
use crate::model::{Better, Headline, Model, Ran};

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
