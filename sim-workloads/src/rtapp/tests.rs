//! What files become.

use super::{Imported, Options, import};
use crate::scenario::Document;

fn of(text: &str) -> Imported {
    import(&[("w.json", text)], &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn refused(text: &str) -> String {
    import(&[("w.json", text)], &Options::default()).unwrap_err().to_string()
}

/// The program of the only task.
fn program(text: &str) -> String {
    let imported = of(text);
    let document = Document::parse(&imported.scenario, "s.toml", &[])
        .unwrap_or_else(|e| panic!("{e}\n{}", imported.scenario));
    document.resolve().unwrap();
    let start = imported.scenario.find("program = [\n").unwrap() + "program = [\n".len();
    imported.scenario[start..].trim_end().trim_end_matches(']').trim_end().to_owned()
}

#[test]
fn repeated_keys_are_a_sequence() {
    let text = r#"{"tasks": {"t": {"loop": 2, "run": 1000, "sleep": 2000, "run": 3000}}}"#;
    let lines: Vec<String> = program(text).lines().map(|line| line.trim().to_owned()).collect();
    let expected = [
        "{ repeat = 2, do = [",
        "{ run = \"1000us\" },",
        "{ sleep = \"2000us\" },",
        "{ run = \"3000us\" },",
        "] },",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn threads_loop_for_ever_and_phases_once() {
    let text = r#"{"tasks": {"t": {"phases": {
        "p": {"loop": 3, "run": 5, "timer": {"ref": "unique", "period": 100}},
        "p": {"run": 7.5, "timer": {"ref": "unique1", "period": 100, "mode": "absolute"}}}}},
        "global": {"duration": 2}}"#;
    let program = program(text);
    assert!(program.starts_with("    { forever = ["), "{program}");
    assert!(program.contains("{ repeat = 3, do = ["), "{program}");
    assert!(program.contains("{ timer = \"t.unique\", every = \"100us\" }"), "{program}");
    assert!(program.contains("{ run = \"7500ns\" }"), "{program}");
    assert!(
        program.contains("{ timer = \"t.unique1\", every = \"100us\", missed = \"catch_up\" }"),
        "{program}"
    );
    assert!(of(text).scenario.contains("duration = \"2000000us\""));
}

#[test]
fn instances_have_timers_of_their_own_and_share_named_ones() {
    let text = r#"{"tasks": {"t": {"instance": 2, "run": 5, "timer": {"ref": "unique", "period": 100},
        "timer1": {"ref": "tick", "period": 200}}}}"#;
    let program = program(text);
    assert!(program.contains("timer = \"t.unique.%\"") && program.contains("timer = \"tick\""), "{program}");
    assert!(of(text).notes.iter().any(|n| n.contains("no end: it is cut off after 10 s")));
}

#[test]
fn threads_wait_for_each_other() {
    let text = r#"{"tasks": {
        "a": {"loop": 5, "suspend", "run": 10, "lock": "m", "wait": {"ref": "c", "mutex": "m"}, "unlock": "m"},
        "b": {"loop": 5, "sleep": 100, "resume": "a", "sleep": 100, "lock": "m", "signal": "c", "unlock": "m"},
        "c": {"loop": 5, "barrier": "b", "sem_post": "s"}, "d": {"loop": 5, "barrier": "b", "sem_wait": "s"}}}"#;
    let scenario = of(text).scenario;
    for part in [
        "{ cond_wait = \"resume_a\" }",
        "{ broadcast = \"resume_a\" }",
        "{ cond_wait = \"c\", mutex = \"m\" }",
        "[barriers.\"b\"]\nparties = 2",
    ] {
        assert!(scenario.contains(part), "{part}\n{scenario}");
    }
    Document::parse(&scenario, "s.toml", &[]).unwrap().resolve().unwrap();
}

#[test]
fn settings_of_phases_hold_from_there_and_cpus_go_back() {
    let text = r#"{"tasks": {"t": {"cpus": [2], "priority": -5, "phases": {
        "p": {"cpus": [0], "run": 1, "taskgroup": "/tg1/tg11"}, "q": {"run": 1}}}}}"#;
    let program = program(text);
    let affinities: Vec<&str> =
        program.matches("affinity = \"0\"").chain(program.matches("affinity = \"2\"")).collect();
    assert_eq!(affinities.len(), 2, "{program}");
    assert!(program.contains("move_to_group = \"/tg1/tg11\""), "{program}");
    assert!(of(text).scenario.contains("nice = -5") && of(text).scenario.contains("cpus = 3"));
}

#[test]
fn forked_threads_bring_their_program_along() {
    let text = r#"{"tasks": {"a": {"instance": 0, "loop": 1, "run": 10}, "b": {"loop": 2, "fork": "a", "run": 20}}}"#;
    assert!(program(text).contains("{ fork = \"a\", program = ["));
    let itself = r#"{"tasks": {"a": {"loop": 1, "fork": "b"}, "b": {"loop": 1, "fork": "b"}}}"#;
    assert!(refused(itself).contains("forks itself"), "{}", refused(itself));
    let nobody = r#"{"tasks": {"a": {"fork": "z"}}}"#;
    assert_eq!(refused(nobody), "w.json:1:18: forks 'z', which is no thread of this workload");
}

#[test]
fn what_is_not_modelled_is_refused_by_name_and_place_unless_waived() {
    for (text, message, waive) in [
        (
            r#"{"tasks": {"t": {"run": 1, "mem": 100}}}"#,
            "w.json:1:28: mem is not modelled; --waive mem leaves it out",
            "mem",
        ),
        (r#"{"tasks": {"t": {"run": 1, "iorun": 100}}}"#, "w.json:1:28: iorun is not modelled", "iorun"),
        (
            r#"{"tasks": {"t": {"policy": "SCHED_FIFO", "priority": 50, "run": 1}}}"#,
            "1:18: policy SCHED_FIFO is not modelled",
            "policy",
        ),
        (r#"{"tasks": {"t": {"util_min": 50, "run": 1}}}"#, "1:18: util_min is not modelled", "uclamp"),
        (
            r#"{"tasks": {"t": {"nodes_membind": [0], "run": 1}}}"#,
            "1:18: nodes_membind is not modelled",
            "membind",
        ),
        (
            r#"{"tasks": {"t": {"run": 1}}, "global": {"default_policy": "SCHED_RR"}}"#,
            "default_policy SCHED_RR is not modelled",
            "policy",
        ),
    ] {
        assert!(refused(text).contains(message), "{}", refused(text));
        let options = Options { waive: vec![waive.to_owned()], cpus: None };
        let imported = import(&[("w.json", text)], &options).unwrap();
        assert!(
            imported.scenario.contains(&format!("# waived, 1 times: {waive}: ")),
            "{}",
            imported.scenario
        );
        Document::parse(&imported.scenario, "s.toml", &[]).unwrap();
    }
}

#[test]
fn the_first_grammar_is_read_without_its_resources() {
    let text = r#"{"tasks": {"t": {"exec": 1000, "period": 5000, "deadline": 5000, "loops": 4}}}"#;
    let program = program(text);
    assert!(
        program.contains("repeat = 4") && program.contains("every = \"5000us\", missed = \"catch_up\""),
        "{program}"
    );
    let resources =
        r#"{"tasks": {"t": {"exec": 1000, "period": 5000, "lock_order": ["r1"], "resources": {"r1": {}}}}}"#;
    assert!(
        refused(resources)
            .contains("first grammar (exec and period, up to 2014): 'lock_order' in it is not read")
    );
}

#[test]
fn a_workload_may_come_in_parts() {
    let parts = [
        ("a.json", r#"{"tasks": {"a": {"loop": 1, "run": 1}}}"#),
        ("b.json", r#"{"global": {"duration": 3}}"#),
    ];
    assert!(import(&parts, &Options::default()).unwrap().scenario.contains("duration = \"3000000us\""));
    let bad = [parts[0], ("c.json", r#"{"tasks": {"c": {"run": "x"}}}"#)];
    let message = import(&bad, &Options::default()).unwrap_err().to_string();
    assert_eq!(message, "c.json:1:25: 'run' is 'x': it takes a time in microseconds, 0 to 3600000000");
    assert!(refused("{}").contains("no threads"));
}

#[test]
fn what_is_left_out_is_told_on_one_line() {
    let text = "{\"tasks\": {\"t\": {\"loop\": 1, \"run\": 5, \"\u{7}\u{0}lock\": 3}}}";
    let imported = import(&[("a.json", text)], &Options::default()).unwrap();
    assert!(imported.notes.iter().any(|n| n.contains("lock")), "{:?}", imported.notes);
    Document::parse(&imported.scenario, "a.toml", &[]).unwrap();
}

#[test]
fn phases_of_the_first_grammar_are_named() {
    let text = r#"{"tasks": {"t": {"phases": {"p": {"exec": 1000, "sleep": false}}}}}"#;
    let error = import(&[("a.json", text)], &Options::default()).unwrap_err();
    assert!(error.to_string().contains("first grammar"), "{error}");
}
