//! The shape of JSON documents, and that they depend on nothing but their input.

use super::stdout;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).expect("one JSON document")
}

#[test]
fn a_run_has_its_head_its_configuration_and_whole_nanoseconds() {
    let run = json(&["run", "mix.toml", "--format", "json", "--seed", "7"]);
    assert_eq!(run["schema_version"], 1);
    assert_eq!((&run["tool"], &run["model"], &run["seed"]), (&"cfsim".into(), &"6.1".into(), &7.into()));
    assert_eq!(run["config_hash"].as_str().unwrap().len(), 64);
    assert_eq!(run["configuration"]["kernel"]["tunables"]["wakeup_granularity_ns"], 2_000_000);
    assert_eq!(run["configuration"]["machine"]["costs"]["tick_to_switch_ns"], 2_000);
    assert!(run["notes"][0].as_str().unwrap().contains("interim rule"));
    let task = &run["tasks"][0];
    for key in ["cpu_time_ns", "turn_mean_ns", "turn_max_ns", "voluntary_switches", "work"] {
        assert!(task[key].is_u64(), "{key}: {}", task[key]);
    }
    for key in ["p50_ns", "p95_ns", "p99_ns", "max_ns"] {
        assert!(run["total"]["latency_after_wakeup"][key].is_u64(), "{key}");
    }
}

#[test]
fn the_hash_is_of_the_configuration_without_the_seed() {
    let hash = |more: &[&str]| {
        json(&[&["run", "mix.toml", "--format", "json"], more].concat())["config_hash"].clone()
    };
    assert_eq!(hash(&["--seed", "1"]), hash(&["--seed", "2"]));
    assert_ne!(hash(&[]), hash(&["--set", "kernel.hz=1000"]));
    assert_ne!(hash(&[]), hash(&["--set", "task.sleeper.nice=1"]));
}

#[test]
fn results_do_not_depend_on_threads_or_on_the_moment() {
    let cases: [&[&str]; 3] = [
        &["run", "mix.toml", "--runs", "6", "--format", "json"],
        &["compare", "mix.toml", "--b", "kernel.sched_wakeup_granularity_ns=15ms", "--runs", "4"],
        &["study", "study.toml", "--format", "json"],
    ];
    for case in cases {
        let one = stdout(&[case, &["--jobs", "1"]].concat());
        assert_eq!(one, stdout(&[case, &["--jobs", "2"]].concat()), "{case:?}");
        assert_eq!(one, stdout(case), "{case:?}");
    }
}

#[test]
fn settings_may_be_named_or_set() {
    let named = stdout(&["run", "mix.toml", "--kernel", "5.12", "--duration", "1s", "--warmup", "100ms"]);
    let set = ["kernel.profile=5.12", "run.duration=1s", "run.warmup=100ms"];
    let set = set.iter().flat_map(|s| ["--set", s]);
    assert_eq!(named, stdout(&["run", "mix.toml"].into_iter().chain(set).collect::<Vec<_>>()));
}
