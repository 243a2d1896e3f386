//! From scenario to configuration: defaults, writes to tunables, and mistakes found late that still have their place.

use sim_core::Nanos;
use sim_core::machine::{Costs, Preset};
use sim_workloads::resolve::Resolved;
use sim_workloads::scenario::{Document, ScenarioError};

fn resolve(head: &str) -> Result<Resolved, ScenarioError> {
    let text = format!("{head}\n[run]\nduration = \"1s\"\n[task.hog]\nprogram = [{{ run = \"1ms\" }}]\n");
    Document::parse(&text, "s.toml", &[]).and_then(|document| document.resolve())
}

#[test]
fn defaults_are_one_cpu_of_bare_metal_under_6_1() {
    let resolved = resolve("").unwrap();
    let kernel = &resolved.config.kernel;
    assert_eq!((kernel.profile, kernel.cpus, kernel.hz), ("6.1", 1, 250));
    assert_eq!(resolved.config.machine.costs, Costs::preset(Preset::BareMetal));
    assert_eq!((resolved.warmup, resolved.seed), (Nanos::ZERO, 1));
}

/// core.md §2.3 and §2.5.
#[test]
fn nr_latency_follows_writes_up_to_5_12_and_later_only_a_rewritten_scaling() {
    let nr_latency = |profile: &str, more: &str| {
        let head = format!(
            "machine.cpus = 8\n[kernel]\nprofile = \"{profile}\"\nsched_min_granularity_ns = \"10ms\"\n{more}"
        );
        resolve(&head).unwrap().config.kernel.tunables.nr_latency
    };
    assert_eq!(nr_latency("5.12", ""), 3);
    assert_eq!(nr_latency("5.13", ""), 8);
    assert_eq!(nr_latency("5.13", "rewrite_tunable_scaling = true"), 3);
    assert_eq!(nr_latency("5.12", "sched_latency_ns = \"60ms\""), 6);
}

#[test]
fn scaling_holds_from_boot_and_writes_come_after_it() {
    let head =
        "machine.cpus = 8\n[kernel]\nsched_wakeup_granularity_ns = \"15ms\"\nsched_tunable_scaling = 0";
    let tunables = resolve(head).unwrap().config.kernel.tunables;
    assert_eq!((tunables.latency_ns, tunables.wakeup_granularity_ns), (6_000_000, 15_000_000));
}

#[test]
fn mistakes_have_their_place() {
    let interference = |text: &str| format!("[[machine.interference]]\nkind = \"steal\"\n{text}");
    let cases = [
        ("kernel.profile = \"6.6\"".to_owned(), "s.toml:1:18: '6.6' is not a kernel profile"),
        ("kernel.features = [\"LAST_BUDDY\", \"NO_X\"]".to_owned(), "s.toml:1:34: 'NO_X' is not"),
        (
            "[kernel]\nprofile = \"5.15\"\nsched_idle_min_granularity_ns = \"1ms\"".to_owned(),
            "s.toml:3:33: kernel 5.15 has no sched_idle_min_granularity_ns",
        ),
        (
            "[kernel]\nprofile = \"5.12\"\nsched_latency_ns = \"1us\"".to_owned(),
            "s.toml:3:20: sched_latency_ns = 1000 is refused",
        ),
        (
            interference("cpu = 1\nperiod = \"1ms\"\ntime = \"1us\""),
            "s.toml:3:7: CPU 1 is beyond the machine, which has CPUs 0",
        ),
        (
            interference("cpu = 0\nperiod = \"1ms\"\ntime = \"1ms\""),
            "s.toml:5:8: 1 ms of every 1 ms leaves no time for tasks",
        ),
    ];
    for (head, expected) in cases {
        let message = resolve(&head).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
