//! Exit codes, and that mistakes are told on standard error only.

use super::cfsim;
use assert_cmd::assert::Assert;

fn fails(args: &[&str], code: i32, words: &[&str]) -> Assert {
    let assert = cfsim(args).assert().code(code).stdout("");
    let stderr = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    for word in words {
        assert!(stderr.contains(word), "{args:?} does not say {word:?}:\n{stderr}");
    }
    assert
}

#[test]
fn usage_is_2() {
    fails(&["fly"], 2, &["unrecognized subcommand 'fly'"]);
    fails(&["run"], 2, &["<SCENARIO>"]);
    fails(&["compare", "mix.toml"], 2, &["--a or --b"]);
    fails(&["run", "mix.toml", "--set", "hz"], 2, &["key=value"]);
    fails(&["sweep", "mix.toml", "--scan", "kernel.hz", "9", "1", "1"], 2, &["smaller to a larger"]);
    fails(
        &["compare", "mix.toml", "--b", "kernel.hz=100", "--metric", "joy"],
        2,
        &["'joy'", "completion_time_ns"],
    );
    for side in ["seed=3", "run.duration=1s", "run.warmup=1ms"] {
        fails(&["compare", "mix.toml", "--b", side], 2, &["--b: ", "holds for both sides"]);
    }
    fails(&["run", "mix.toml", "--seed", "9223372036854775808"], 2, &["--seed", "9223372036854775807"]);
    fails(&["machine", "show", "abacus"], 2, &["'abacus'", "bare-metal"]);
    fails(&["kernel", "show", "6.6"], 2, &["'6.6'", "6.1-debian"]);
}

#[test]
fn an_invalid_scenario_is_3_with_its_place() {
    fails(&["run", "nowhere.toml"], 3, &["nowhere.toml"]);
    fails(&["run", "mix.toml", "--kernel", "6.6"], 3, &["kernel.profile=6.6", "6.1-debian"]);
    fails(&["run", "mix.toml", "--set", "kernel.features=NO_X"], 3, &["'NO_X'", "LAST_BUDDY"]);
    fails(&["run", "mix.toml", "--set", "costs.coffee=1us"], 3, &["coffee", "tick_to_switch"]);
    fails(
        &["run", "mix.toml", "--set", "costs.fork=1001ms"],
        3,
        &["costs.fork=1001ms", "fork is", "at most"],
    );
    fails(
        &["run", "mix.toml", "--set", "seed=9223372036854775808"],
        3,
        &["whole numbers, which go up to 9223372036854775807"],
    );
    let since_5_16 = ["--kernel", "5.15", "--set", "kernel.sched_idle_min_granularity_ns=1ms"];
    fails(
        &[&["run", "mix.toml"][..], &since_5_16].concat(),
        3,
        &["kernel 5.15 has no sched_idle_min_granularity_ns"],
    );
    let too_short = ["--kernel", "5.12", "--set", "kernel.sched_latency_ns=1us"];
    fails(&[&["run", "mix.toml"][..], &too_short].concat(), 3, &["refused", "100000..=1000000000"]);
    fails(&["study", "mix.toml"], 3, &["mix.toml", "unknown key", "question"]);
}

#[test]
fn a_limit_is_5() {
    fails(&["run", "livelock.toml"], 5, &["no time passes", "spinner#0"]);
}

#[test]
fn an_error_of_a_program_is_1() {
    fails(&["run", "unlocks.toml"], 1, &["thief#0"]);
}

#[test]
fn stalled_tasks_are_named_in_a_warning() {
    let assert = cfsim(&["run", "deadlock.toml"]).assert().success();
    let stderr = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(
        stderr.contains("warning") && stderr.contains("held by one") && stderr.contains("held by two"),
        "{stderr}"
    );
    cfsim(&["--quiet", "run", "deadlock.toml"]).assert().success().stderr("");
}
