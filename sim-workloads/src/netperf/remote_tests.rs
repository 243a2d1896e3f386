//! Tests from another machine: what is sent is received or counted as lost, and who gets the CPU.

use crate::model::Ran;
use crate::scenario::Document;
use sim_core::engine::TaskInfo;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_core::{End, Nanos, Simulation};

struct Run {
    simulation: Simulation<Metrics>,
    results: Vec<(&'static str, f64)>,
}

impl Run {
    fn result(&self, name: &str) -> f64 {
        self.results
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
            .unwrap_or_else(|| panic!("{name}"))
    }

    /// Messages the other machines gave to the network.
    fn sent(&self) -> u64 {
        self.simulation.remotes().iter().map(|remote| remote.calls()).sum()
    }

    fn task(&self, path: &str) -> (usize, &TaskInfo) {
        let mut tasks = self.simulation.tasks().iter().enumerate();
        tasks.find(|(_, t)| t.path == path).unwrap_or_else(|| panic!("no {path}"))
    }

    fn cpu_time(&self, path: &str) -> Nanos {
        self.simulation.observer.tasks()[self.task(path).0].cpu_time
    }
}

fn run(head: &str, table: &str) -> Run {
    let text = format!("{head}\n[workload.netperf]\npeer = \"remote\"\nhead_start = \"1ms\"\n{table}\n");
    let document = Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let config = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false))).config;
    let builder = document.scenario.build(1);
    let mut simulation = builder.simulation(config, Metrics::new(Nanos::ZERO), NoHooks);
    let outcome = simulation.run().unwrap_or_else(|e| panic!("{table}: {e}"));
    assert_eq!(outcome.end, End::AllExited, "{head} {table}");
    let ran = Ran::new(simulation.tasks(), &simulation.observer, Nanos::ZERO, outcome.at);
    let results = document.scenario.workload.models().flat_map(|m| m.results(&ran));
    let results = results.map(|(headline, value)| (headline.name, value)).collect();
    Run { simulation, results }
}

const ZERO: &str = "costs.preset = \"zero\"";

#[test]
fn datagrams_are_received_or_counted_as_lost() {
    for (head, call) in
        [("", "200ns"), ("machine.cpus = 4", "200ns"), ("machine.nic.ring = 8", "1us"), ("", "20us")]
    {
        let table = format!(
            "test = \"UDP_STREAM\"\nsend_size = 256\nlength = \"50ms\"\nremote_call = \"{call}\"\ninstances = 2"
        );
        let r = run(head, &table);
        let net = r.simulation.observer.network();
        assert_eq!(r.sent(), net.datagrams + net.ring_drops + net.socket_drops, "{head} {call}");
        let read: u64 = r.simulation.observer.tasks().iter().map(|t| t.work).sum();
        assert_eq!(read, net.datagrams * 256, "{head} {call}");
        let lost = (net.ring_drops + net.socket_drops) as f64 / r.sent() as f64;
        assert!((r.result("netperf_lost") - 100.0 * lost).abs() < 1e-9);
        assert_eq!(lost > 0.0, call != "20us", "{head} {call}: {lost}");
    }
}

#[test]
fn segments_are_never_lost_whatever_the_sizes() {
    for message in [1, 256, 1448, 5000, 100_000] {
        for buffer in ["1", "8KiB", "200KiB"] {
            for nodelay in [false, true] {
                let table = format!(
                    "test = \"TCP_STREAM\"\nsend_size = {message}\nlocal_buffer = \"{buffer}\"\nremote_buffer = \"{buffer}\"\n\
                     nodelay = {nodelay}\ncount = 300\nremote_call = \"1us\""
                );
                let table = table.replace("\"1\"", "1");
                let r = run("machine.nic.ring = 1", &table);
                let net = r.simulation.observer.network();
                assert_eq!((net.ring_drops, net.socket_drops), (0, 0));
                let read: u64 = r.simulation.observer.tasks().iter().map(|t| t.work).sum();
                assert_eq!((r.sent(), read), (300, 300 * message), "{table}");
            }
        }
    }
}

#[test]
fn requests_of_any_size_are_answered() {
    for (request, response) in [(1, 1), (1500, 1), (5000, 70_000), (20_000, 3)] {
        for test in ["TCP_RR", "UDP_RR"] {
            let table = format!(
                "test = \"{test}\"\ncount = 200\nrequest_size = {request}\nresponse_size = {response}"
            );
            let r = run("", &table);
            assert_eq!(r.simulation.observer.tasks().iter().map(|t| t.work).sum::<u64>(), 200, "{table}");
        }
    }
}

/// A call of 1.5 us, 84 bytes on the wire at 10 Gbit/s (67 ns), 10 us each way and 20 us until the card interrupts.
#[test]
fn a_transaction_takes_the_way_there_and_back() {
    for test in ["TCP_RR", "UDP_RR"] {
        let r = run(ZERO, &format!("test = \"{test}\"\ncount = 2000"));
        let expected = 1e9 / if test == "TCP_RR" { 41_572.0 } else { 41_567.0 };
        assert!((r.result("netperf_transactions") / expected - 1.0).abs() < 0.001, "{test} {:?}", r.results);
    }
}

#[test]
fn a_stream_is_no_faster_than_its_line() {
    let buffers =
        "local_buffer = \"208KiB\"\nremote_buffer = \"208KiB\"\nsend_size = \"16KiB\"\nremote_call = \"1us\"";
    let head = format!("{ZERO}\nmachine.nic.line_rate = 1000");
    let r = run(&head, &format!("test = \"TCP_STREAM\"\ncount = 2000\n{buffers}"));
    // Of 1538 bytes on the wire 1448 are the program's; the test's beginning is slower.
    let most = 1000.0 * 1448.0 / 1538.0;
    let throughput = r.result("netperf_throughput");
    assert!(throughput <= most * 1.001 && throughput > most * 0.9, "{throughput}");
}

/// Datagrams that come faster than a CPU can take them in, to a receiver that a full socket keeps busy for longer than its
/// turns: neither ever sleeps.
#[test]
fn a_flood_is_left_to_ksoftirqd_which_shares_the_cpu() {
    let head = "costs.udp_receive = \"50us\"\nmachine.cpus = 1";
    let table = "test = \"UDP_STREAM\"\nsend_size = 64\nlength = \"1s\"\nremote_call = \"200ns\"";
    let r = run(head, table);
    let net = r.simulation.observer.network();
    assert!(net.ksoftirqd > 0 && net.squeezed > 0 && net.ring_drops > 0 && net.socket_drops > 0, "{net:?}");
    let (thread, child) = (r.cpu_time("ksoftirqd/0"), r.cpu_time("netperf/netserver/child"));
    let share = thread.as_secs_f64() / (thread + child).as_secs_f64();
    assert!((share - 0.5).abs() < 0.02, "{share}: two tasks of the same weight");
}

#[test]
fn a_budget_that_is_never_used_up_leaves_nothing_to_ksoftirqd() {
    let table = "test = \"UDP_STREAM\"\nsend_size = 64\nlength = \"100ms\"\nremote_call = \"10us\"";
    let net = run("", table).simulation.observer.network();
    assert_eq!((net.ksoftirqd, net.squeezed), (0, 0));
}

#[test]
fn an_idle_receiver_wakes_for_each_datagram_and_interrupts_are_gathered() {
    let table = "test = \"UDP_STREAM\"\nsend_size = 64\ncount = 200\nremote_call = \"1ms\"";
    let r = run("", table);
    let (child, _) = r.task("netperf/netserver/child");
    let (wakeups, net) = (r.simulation.observer.tasks()[child].wakeups, r.simulation.observer.network());
    // One at its start; the end comes right behind the last datagram. The request for the test interrupts, too.
    assert_eq!((wakeups, net.interrupts, net.frames), (201, 201, 202));
    // Ten at a time within the card's delay, or as many as the card waits for.
    let gathered = run(ZERO, &table.replace("1ms", "2us")).simulation.observer.network();
    assert!((18..=21).contains(&gathered.interrupts), "{gathered:?}");
    let head = format!("{ZERO}\nmachine.nic.rx_frames = 5");
    let by_frames = run(&head, &table.replace("1ms", "2us")).simulation.observer.network();
    assert!((38..=42).contains(&by_frames.interrupts), "{by_frames:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let table = "test = \"TCP_STREAM\"\nsend_size = 256\nnodelay = true\nlength = \"20ms\"\ninstances = 6";
    let once = || {
        let r = run("machine.cpus = 4", table);
        (r.sent(), r.results[0].1.to_bits(), r.simulation.observer.context_switches())
    };
    assert_eq!(once(), once());
}

/// In a guest the interrupts of virtual CPUs that do not execute wait, and nothing is lost by that.
#[test]
fn a_guest_on_a_contended_host_receives_all() {
    let head = "costs.preset = \"guest\"\nmachine.cpus = 2\nmachine.host.machine.cpus = 2\n\
                machine.host.guest = [{ name = \"other\", vcpus = 3 }]";
    let r = run(head, "test = \"TCP_STREAM\"\nsend_size = 256\nnodelay = true\ncount = 3000\ninstances = 3");
    let read: u64 = r.simulation.observer.tasks().iter().map(|t| t.work).sum();
    assert_eq!((r.sent(), read), (9000, 9000 * 256));
}

/// A flood that nobody takes in counts among the events of a run, whose limit stays in force.
#[test]
fn a_flood_without_end_reaches_the_limit_of_events() {
    let head = "machine.nic.line_rate = 1000000\nmachine.cpus = 1";
    let table =
        "test = \"UDP_STREAM\"\nsend_size = 1\nlength = \"10s\"\nremote_call = \"1ns\"\ninstances = 4";
    let text = format!("{head}\n[workload.netperf]\npeer = \"remote\"\n{table}\n");
    let document = Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let mut config = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false))).config;
    config.limits.events = 3_000_000;
    let mut simulation = document.scenario.build(1).simulation(config, Metrics::new(Nanos::ZERO), NoHooks);
    let stopped = simulation.run().expect_err("more than three million frames");
    assert!(stopped.to_string().contains("3000000"), "{stopped}");
}

#[test]
fn what_a_card_cannot_be_is_refused() {
    let refused = |head: &str| {
        let text =
            format!("machine.cpus = 2\n{head}\n[workload.netperf]\ntest = \"TCP_RR\"\npeer = \"remote\"\n");
        let parsed = Document::parse(&text, "test.toml", &[]).and_then(|d| d.resolve().map(|_| ()));
        parsed.expect_err(head).render(false)
    };
    for (head, says) in [
        ("machine.nic.cpus = \"0-3\"", "beyond the machine"),
        ("machine.nic.latency = \"2s\"", "at most"),
        ("machine.nic.ring = 0", "from 1 to 65536"),
        ("machine.nic.speed = 3", "speed"),
    ] {
        let message = refused(head);
        assert!(message.contains(says), "{head}: {message}");
    }
}
