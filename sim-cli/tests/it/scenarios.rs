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
    let assert = cfsim(&["check", "nowhere.toml", "mix.toml", "study.toml"]).assert().code(3);
    let output = assert.get_output();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("mix.toml: ") && text.contains("study.toml: a study of 1 comparison and 1 sweep"),
        "{text}"
    );
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("nowhere.toml") && text.contains("1 of 3 files"), "{text}");
}

#[test]
fn mistakes_in_studies_have_a_caret_and_a_suggestion() {
    let good = include_str!("../data/study.toml");
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/mix.toml"),
        folder.path().join("mix.toml"),
    )
    .unwrap();
    let cases = [
        ("runs = 3", "run = 3", "did you mean 'runs'?"),
        ("runs = 3", "runs = 0", "expected a whole number from 1 to 100000"),
        ("runs = 3", "runs = 3\nmetrics = [\"completion_tine\"]", "did you mean 'completion_time_ns'?"),
        ("runs = 3", "runs = 3\nequivalence = \"1\"", "is not a margin"),
        ("values = [\"100\", \"1000\"]", "values = []", "expected a list of 1 to 1000 texts"),
        (
            "values = [\"100\", \"1000\"]",
            "values = { from = \"1\", to = \"2\" }",
            "the key 'step' is missing",
        ),
        ("label = \"default\"", "label = \"default\", set = { seed = \"2\" }", "holds for both sides"),
        ("title = \"HZ\"", "title = 5", "found the number 5"),
    ];
    for (old, new, expected) in cases {
        assert!(good.contains(old), "{old}");
        std::fs::write(folder.path().join("s.toml"), good.replace(old, new)).unwrap();
        for verb in ["study", "check"] {
            let output = cfsim(&[verb, "s.toml"])
                .current_dir(&folder)
                .assert()
                .code(3)
                .stdout("")
                .get_output()
                .stderr
                .clone();
            let text = String::from_utf8(output).unwrap();
            assert!(
                text.contains(expected) && text.contains("s.toml:") && text.contains('^'),
                "{new}: {text}"
            );
        }
    }
    // What only the scenario knows.
    let text = good.replace("kernel.hz", "kernel.hx");
    std::fs::write(folder.path().join("s.toml"), text).unwrap();
    let output =
        cfsim(&["check", "s.toml"]).current_dir(&folder).assert().code(3).get_output().stderr.clone();
    assert!(String::from_utf8(output).unwrap().contains("did you mean 'hz'?"));
}

#[test]
fn every_scenario_that_comes_along_passes_check() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios");
    let mut files = Vec::new();
    for folder in [folder.to_owned(), format!("{folder}/teaching"), format!("{folder}/cases")] {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path().display().to_string();
            if path.ends_with(".toml") {
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
    assert_eq!(stdout(&["schema"]), stdout(&["schema", "scenario"]));
    let study: Value = serde_json::from_str(&stdout(&["schema", "study"])).unwrap();
    assert_eq!(study["additionalProperties"], false);
    let keys: Vec<&String> = study["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 9, "{keys:?}");
    assert!(study["definitions"]["ComparePart"]["properties"]["a"].is_object());
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
