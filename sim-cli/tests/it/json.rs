//! The shape of JSON documents, and that they depend on nothing but their input.

use super::stdout;
use serde_json::Value;

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&stdout(args)).expect("one JSON document")
}

#[test]
fn a_run_has_its_head_its_configuration_and_whole_nanoseconds() {
    let run = json(&["run", "mix.toml", "--format", "json", "--seed", "7"]);
    assert_eq!(run["schema_version"], 2);
    assert_eq!((&run["tool"], &run["kernel"], &run["seed"]), (&"cfsim".into(), &"6.1".into(), &7.into()));
    assert_eq!(run["config_hash"].as_str().unwrap().len(), 64);
    assert_eq!(run["configuration"]["kernel"]["tunables"]["wakeup_granularity_ns"], 2_000_000);
    assert_eq!(run["configuration"]["machine"]["costs"]["tick_to_switch_ns"], 2_000);
    assert!(
        run["notes"][0]
            .as_str()
            .unwrap()
            .contains("make no difference: this machine is described without them")
    );
    let task = &run["tasks"][0];
    for key in ["cpu_time_ns", "turn_mean_ns", "turn_max_ns", "voluntary_switches", "work"] {
        assert!(task[key].is_u64(), "{key}: {}", task[key]);
    }
    for key in ["p50_ns", "p95_ns", "p99_ns", "max_ns"] {
        assert!(run["total"]["latency_after_wakeup"][key].is_u64(), "{key}");
    }
}

/// Every document says which tool, in which version, with which rules.
#[test]
fn every_document_has_the_same_head() {
    let calls: [&[&str]; 9] = [
        &["run", "mix.toml"],
        &["run", "mix.toml", "--runs", "2"],
        &["compare", "mix.toml", "--b", "kernel.hz=100", "--runs", "2"],
        &["sweep", "mix.toml", "--list", "kernel.hz=100,1000"],
        &["study", "study.toml", "--runs", "2"],
        &["kernel", "list"],
        &["kernel", "show", "6.1"],
        &["machine", "show", "guest"],
        &["explain", "mix.toml", "--decision", "1"],
    ];
    let first = json(&[calls[0], &["--format", "json"]].concat());
    assert!(first["model"].as_str().unwrap().contains("+rules."), "{}", first["model"]);
    for call in calls {
        let document = json(&[call, &["--format", "json"]].concat());
        for key in ["schema_version", "tool", "tool_version", "model"] {
            assert!(!document[key].is_null(), "{call:?} {key}");
            assert_eq!(document[key], first[key], "{call:?} {key}");
        }
        assert!(document["verb"].as_str().unwrap().starts_with(call[0]), "{call:?}");
    }
}

#[test]
fn each_side_says_what_it_ran() {
    let compared = json(&["compare", "mix.toml", "--b", "kernel.hz=100", "--runs", "2", "--format", "json"]);
    let hz = |side: &str| compared["comparison"][side]["configuration"]["kernel"]["hz"].clone();
    assert_eq!((hz("a"), hz("b")), (250.into(), 100.into()));
    assert_ne!(compared["comparison"]["a"]["config_hash"], compared["comparison"]["b"]["config_hash"]);
    assert_eq!(compared["comparison"]["a"]["config_hash"], compared["config_hash"]);
    let swept = json(&["sweep", "mix.toml", "--list", "kernel.hz=100,1000", "--format", "json"]);
    assert_eq!(swept["configuration"]["kernel"]["hz"], 250);
    let points = swept["sweep"]["points"].as_array().unwrap();
    assert_eq!(points[0]["config_hash"], compared["comparison"]["b"]["config_hash"]);
    assert_ne!(points[0]["config_hash"], points[1]["config_hash"]);
}

#[test]
fn several_seeds_give_means_by_task() {
    let run = json(&["run", "mix.toml", "--runs", "3", "--format", "json"]);
    let single = json(&["run", "mix.toml", "--format", "json"]);
    let labels =
        |v: &Value| v["tasks"].as_array().unwrap().iter().map(|t| t["label"].clone()).collect::<Vec<_>>();
    assert_eq!(labels(&run), labels(&single));
    let sum: f64 = run["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| t["figures"]["cpu_time_ns"]["mean"].as_f64().unwrap())
        .sum();
    let total =
        run["totals"].as_array().unwrap().iter().find(|t| t["metric"] == "cpu_time_ns").unwrap().clone();
    assert!((sum - total["mean"].as_f64().unwrap()).abs() < 1.0, "{sum} {total}");
}

#[test]
fn durations_of_decisions_say_their_unit() {
    let told = json(&["explain", "mix.toml", "--task", "sleeper", "--to", "100ms", "--format", "json"]);
    let text = told["story"].to_string();
    for key in
        ["min_vruntime", "before", "base", "offset", "after", "lead", "granularity", "behind", "ran", "slice"]
    {
        assert!(!text.contains(&format!("\"{key}\":")), "{key}");
    }
    assert!(text.contains("\"lead_ns\":") && text.contains("\"min_vruntime_ns\":"), "{text}");
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
