//! The calls netperf makes, and what it says of a run.

use crate::model::Ran;
use crate::scenario::Document;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_core::{End, Nanos};

/// The figures of a run on one CPU where only calls cost something.
fn run(table: &str) -> Vec<(&'static str, f64)> {
    let text = format!(
        "costs.preset = \"zero\"\ncosts.tcp_send = \"4us\"\ncosts.tcp_receive = \"1us\"\ncosts.udp_send = \"4us\"\n\
         costs.udp_receive = \"1us\"\n[workload.netperf]\naround_call = \"0ns\"\n{table}"
    );
    let document = Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let config = document.resolve().expect("it resolves").config;
    let builder = document.scenario.build(1);
    let mut simulation = builder.simulation(config, Metrics::new(Nanos::ZERO), NoHooks);
    let outcome = simulation.run().expect("it runs");
    assert_eq!(outcome.end, End::AllExited, "{table}");
    let ran = Ran::new(simulation.tasks(), &simulation.observer, Nanos::ZERO, outcome.at);
    let results = document.scenario.workload.models().flat_map(|m| m.results(&ran));
    results.map(|(headline, value)| (headline.name, value)).collect()
}

#[test]
fn a_transaction_is_a_request_and_an_answer() {
    for test in ["TCP_RR", "UDP_RR"] {
        // Two sends and two receives: 10 us, whoever preempts whom.
        let results = run(&format!("test = \"{test}\"\ncount = 2000\n"));
        assert_eq!(results[0].0, "netperf_transactions");
        assert!((results[0].1 / 100_000.0 - 1.0).abs() < 0.01, "{results:?}");
    }
}

#[test]
fn a_stream_counts_what_arrives() {
    // A send of 250 bytes takes 4 us and a receive of as many 1 us: 2000 bits in 5 us.
    let table = "test = \"TCP_STREAM\"\nsend_size = 250\nreceive_size = 250\nnodelay = true\nlocal_buffer = \"8KiB\"\n";
    let results = run(&format!("{table}remote_buffer = \"8KiB\"\ncount = 100000\n"));
    assert_eq!(results[0].0, "netperf_throughput");
    assert!((results[0].1 / 400.0 - 1.0).abs() < 0.02, "{results:?}");
}

#[test]
fn datagrams_beyond_the_buffer_are_lost() {
    // Two calls of 5 us together would be 200,000 a second; the sender does not wait for the receiver.
    let results = run("test = \"UDP_STREAM\"\nsend_size = 250\nlength = \"1s\"\n");
    let [(_, throughput), (name, packets)] = results[..] else { panic!("{results:?}") };
    assert_eq!(name, "netperf_packets");
    assert!((throughput - packets * 2e-3).abs() < 1e-6);
    assert!(packets < 250_000.0 && packets > 100_000.0, "{packets}");
}

#[test]
fn all_tests_end_with_default_and_with_odd_sizes() {
    for test in ["TCP_STREAM", "UDP_STREAM", "TCP_RR", "UDP_RR"] {
        for sizes in
            ["", "request_size = 5000\nresponse_size = 70000\n", "local_buffer = 1\nremote_buffer = 1\n"]
        {
            // A datagram of 70000 bytes does not exist.
            if test == "UDP_RR" && !sizes.is_empty() {
                continue;
            }
            assert!(
                !run(&format!("test = \"{test}\"\nlength = \"50ms\"\n{sizes}")).is_empty(),
                "{test} {sizes}"
            );
        }
    }
}
