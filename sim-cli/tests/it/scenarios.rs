//! `check`, `new` and `schema`, and what is said about tasks that never end.

use super::{cfsim, stdout};
use serde_json::Value;

fn stderr(args: &[&str], code: i32) -> String {
    let output = cfsim(args).assert().code(code).get_output().stderr.clone();
    String::from_utf8(output).expect("UTF-8")
}

#[test]
fn check_says_in_two_lines_what_would_run() {
    let text = stdout(&["check", "mix.toml"]);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.starts_with("mix.toml: ") && text.contains("kernel 6.1, HZ 250"), "{text}");
}

#[test]
fn check_shows_mistakes_with_a_caret_and_goes_on() {
    let text = stderr(&["check", "mix.toml", "--set", "kernel.sched_latncy_ns=1ms"], 3);
    assert!(text.contains("^^^") && text.contains("did you mean 'sched_latency_ns'?"), "{text}");
    let assert = cfsim(&["check", "study.toml", "mix.toml", "nowhere.toml"]).assert().code(3);
    let output = assert.get_output();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("mix.toml: "));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("unknown key 'question'") && text.contains("2 of 3 files"), "{text}");
}

#[test]
fn every_scenario_that_comes_along_passes_check() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let mut files = Vec::new();
    for folder in [folder.to_owned(), format!("{folder}/teaching")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path().display().to_string();
            // Studies lie beside the scenarios.
            if path.ends_with(".toml") && !std::fs::read_to_string(&path).unwrap().contains("question = ") {
                files.push(path);
            }
        }
    }
    let args: Vec<&str> = std::iter::once("check").chain(files.iter().map(String::as_str)).collect();
    assert_eq!(stdout(&args).lines().count(), 2 * files.len());
}

#[test]
fn new_scenarios_pass_check_and_replace_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for template in ["wakeup", "pipe", "make"] {
        let args = ["new", template, "--template", template];
        cfsim(&args).current_dir(&folder).assert().success();
        let file = format!("{template}.toml");
        cfsim(&["check", &file]).current_dir(&folder).assert().success();
        let text = std::fs::read_to_string(folder.path().join(&file)).unwrap();
        assert!(text.contains(&format!("name = \"{template}\"")) && !text.contains("NAME"), "{text}");
        assert_eq!(stdout(&["new", template, "--template", template, "-o", "-"]), text);
        std::fs::write(folder.path().join(&file), "mine").unwrap();
        cfsim(&args).current_dir(&folder).assert().code(1).stdout("");
        assert_eq!(std::fs::read_to_string(folder.path().join(&file)).unwrap(), "mine");
    }
    for name in ["", "a/b", "..", "a\"b", "a b"] {
        cfsim(&["new", name]).current_dir(&folder).assert().code(2);
    }
}

#[test]
fn the_schema_is_one_json_document() {
    let schema: Value = serde_json::from_str(&stdout(&["schema"])).unwrap();
    assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    assert!(schema["definitions"]["KernelSpec"]["properties"]["sched_latency_ns"].is_object());
}

#[test]
fn a_deadlock_is_told_with_its_cycle() {
    let text = stderr(&["run", "deadlock.toml", "--set", "costs.preset=zero"], 0);
    // Both want their second mutex when they wake, at 1 ms; the second of them closes the cycle.
    let cycle = "deadlock at 1.00 ms: one waits for mutex right held by two, since 1.00 ms; two waits for mutex left \
                 held by one, since 1.00 ms";
    assert!(text.contains(cycle), "{text}");
}

#[test]
fn unfinished_tasks_are_told_at_the_end_and_at_a_limit() {
    let text = stdout(&["run", "mix.toml"]);
    assert!(text.contains("\nnot finished: "), "{text}");
    let run: Value = serde_json::from_str(&stdout(&["run", "mix.toml", "--format", "json"])).unwrap();
    assert!(!run["unfinished"].as_array().unwrap().is_empty());
    let text = stderr(&["run", "livelock.toml"], 5);
    assert!(text.contains("not finished: spinner runs on CPU 0"), "{text}");
}
