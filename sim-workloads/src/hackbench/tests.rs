//! What hackbench asks for.

use crate::model::Ran;
use crate::scenario::Document;
use sim_core::End;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;

/// Time of a run on one CPU at no cost but the messages', and the number of tasks.
fn run(table: &str) -> (f64, usize) {
    let text = format!(
        "costs.preset = \"zero\"\ncosts.unix_send = \"2us\"\ncosts.pipe = \"1us\"\n[workload.hackbench]\n\
         setup = \"0ns\"\naround_call = \"0ns\"\n{table}"
    );
    let document = Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let config = document.resolve().expect("it resolves").config;
    let builder = document.scenario.build(1);
    let mut simulation = builder.simulation(config, Metrics::new(sim_core::Nanos::ZERO), NoHooks);
    let outcome = simulation.run().expect("it runs");
    assert_eq!(outcome.end, End::AllExited);
    let ran = Ran::new(simulation.tasks(), &simulation.observer, sim_core::Nanos::ZERO, outcome.at);
    let results = document.scenario.workload.models().flat_map(|m| m.results(&ran));
    let results: Vec<f64> = results.map(|(_, value)| value).collect();
    assert_eq!(results.len(), 1);
    (results[0], simulation.tasks().len())
}

#[test]
fn every_sender_writes_to_every_receiver_of_its_group() {
    for (groups, fds, loops) in [(1, 3, 5), (2, 4, 100), (3, 1, 1000)] {
        let table = format!("groups = {groups}\nfds = {fds}\nloops = {loops}\n");
        let (messages, tasks) = (f64::from(groups * fds * fds * loops), 2 * groups * fds + 1);
        let close = |(seconds, n): (f64, usize), each: f64| {
            assert_eq!(n, tasks as usize);
            assert!((seconds / (messages * each) - 1.0).abs() < 1e-6, "{seconds} for {messages} messages");
        };
        close(run(&table), 2e-6);
        // A write and a read.
        close(run(&format!("{table}pipe = true\n")), 2e-6);
    }
}

#[test]
fn large_messages_pass_in_parts() {
    let table = "groups = 1\nfds = 2\nloops = 20\ndatasize = \"300KiB\"\n";
    assert!(run(table).0 > 0.0);
    assert!(run(&format!("{table}pipe = true\nthreads = true\n")).0 > 0.0);
}
