//! Threads of one process switch for less than processes do.

use sim_core::Nanos;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_workloads::scenario::Document;

/// Two tasks that wake each other a thousand times on one CPU: when they end, and how often the CPU switched.
fn ping_pong(process: &str) -> (u64, u64) {
    let text = format!(
        "[costs]\npreset = \"zero\"\ncontext_switch = \"3us\"\nthread_switch = \"1us\"\n\
         [semaphores.a]\nvalue = 1\n\
         [task.a]\n{process}\nprogram = [{{ repeat = 1000, do = [{{ wait = \"a\" }}, {{ run = \"5us\" }}, {{ post = \"b\" }}] }}]\n\
         [task.b]\n{process}\nprogram = [{{ repeat = 1000, do = [{{ wait = \"b\" }}, {{ run = \"5us\" }}, {{ post = \"a\" }}] }}]\n"
    );
    let document = Document::parse(&text, "s.toml", &[]).unwrap();
    let config = document.resolve().unwrap().config;
    let mut sim = document.scenario.build(1).simulation(config, Metrics::new(Nanos::ZERO), NoHooks);
    (sim.run().unwrap().at.0, sim.observer.context_switches())
}

#[test]
fn switches_within_a_process_cost_thread_switches() {
    let (apart, switches) = ping_pong("");
    let (together, same) = ping_pong("process = \"p\"");
    assert_eq!(switches, same);
    let saved = (apart - together) / 2_000;
    // All but the first from idle and those behind the end of a thread are between the two.
    assert!(switches > 1_900 && (switches - 4..=switches).contains(&saved), "{switches} {saved}");
}

#[test]
fn a_process_has_a_name() {
    let text = "[task.a]\nprocess = \"a b\"\nprogram = [{ run = \"5us\" }]\n";
    let refused = Document::parse(text, "s.toml", &[]).unwrap_err().to_string();
    assert!(refused.starts_with("s.toml:2:"), "{refused}");
}
