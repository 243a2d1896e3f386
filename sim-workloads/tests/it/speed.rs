//! `[machine.frequency]`, `[machine.smt]`, `[machine.cache]`, `[machine.ipc]`, and the kind of a task's work.

use super::parse;
use sim_core::Nanos;
use sim_core::machine::frequency::{Arch, Governor};
use sim_core::machine::{
    CacheConfig, FULL_SPEED, FrequencyConfig, MachineConfig, SmtConfig, WorkClass, WorkKind,
};
use sim_workloads::scenario::Document;

const REST: &str = "[run]\nduration = \"1s\"\n[task.t]\nprogram = [{ run = \"1ms\" }]\n";
const I7: &str = "turbo = [\"4.6GHz\", \"4300 MHz\"]\nbase = \"3.2GHz\"\n";

fn machine(text: &str) -> MachineConfig {
    let text = format!("{text}\n{REST}");
    // The schema agrees.
    parse(&text).unwrap();
    Document::parse(&text, "test.toml", &[]).unwrap().resolve().unwrap().config.machine
}

#[track_caller]
fn refused(text: &str, expected: &str) {
    let text = format!("{text}\n{REST}");
    let error = Document::parse(&text, "test.toml", &[]).and_then(|d| d.resolve()).expect_err(&text);
    assert_eq!(error.to_string(), format!("test.toml:{expected}"), "{text}");
}

#[test]
fn without_the_tables_everything_is_off() {
    let machine = machine("");
    assert!(!machine.has_pace());
    assert_eq!(machine.smt, SmtConfig::default());
}

#[test]
fn tables_switch_parts_on_with_typical_figures() {
    assert_eq!(machine("[machine.smt]").smt, SmtConfig::TYPICAL);
    assert_eq!(machine("[machine.cache]").cache, CacheConfig::I7_8700);
    let f = machine(&format!("[machine.frequency]\ngovernor = \"performance\"\n{I7}")).frequency;
    let expected = FrequencyConfig {
        governor: Some(Governor::Performance),
        min_khz: 800_000,
        base_khz: 3_200_000,
        turbo_khz: vec![4_600_000, 4_300_000],
        step_khz: 100_000,
        latency: FrequencyConfig::LATENCY,
        deep_after: None,
        arch: Arch::X86,
    };
    assert_eq!(f, expected);
}

#[test]
fn figures_are_read() {
    let smt = machine("[machine.smt]\ncompute = 0.5\nmemory = 1").smt;
    assert_eq!((smt.compute, smt.memory), (FULL_SPEED / 2, FULL_SPEED));
    let cache = machine(
        "[machine.cache]\nprivate = \"1MiB\"\nllc = \"32MiB\"\nmemory_bandwidth = 10000\ncold_speed = 0.25",
    );
    assert_eq!((cache.cache.private_bytes, cache.cache.memory_mb_s), (1 << 20, 10_000));
    assert_eq!(cache.cache.cold_speed, FULL_SPEED / 4);
    let ipc = machine("[machine.ipc]\nmemory = 0.55").ipc;
    assert_eq!((ipc.compute, ipc.memory), (2000, 550));
    for (keys, governor) in [
        ("governor = \"fixed\"\nclock = \"2.9GHz\"", Governor::Fixed { khz: 2_900_000 }),
        (
            "governor = \"schedutil\"\nrate_limit = \"2ms\"",
            Governor::Schedutil { rate_limit: Nanos::from_millis(2) },
        ),
        (
            "governor = \"powersave\"\nstart = \"800MHz\"",
            Governor::Powersave { start_khz: 800_000, ramp: Nanos::from_micros(500) },
        ),
    ] {
        let f = machine(&format!("[machine.frequency]\narch = \"arm\"\ndeep_after = \"1ms\"\n{keys}\n{I7}"))
            .frequency;
        assert_eq!(
            (f.governor, f.arch, f.deep_after),
            (Some(governor), Arch::Arm, Some(Nanos::from_millis(1)))
        );
    }
}

#[test]
fn a_task_says_what_kind_of_work_it_does() {
    let text = format!(
        "{REST}class = \"memory\"\nworking_set = \"256KiB\"\n[workload.kernel_compile]\njobs = 1\nobjects = 1\nworking_set = 4096\n"
    );
    let scenario = parse(&text).unwrap();
    let kinds: Vec<WorkKind> = scenario.build(1).kinds.iter().map(|(_, kind)| *kind).collect();
    let memory = WorkKind { class: WorkClass::Memory, working_set: 256 << 10 };
    assert_eq!(kinds, [memory, WorkKind { class: WorkClass::Compute, working_set: 4096 }]);
}

#[test]
fn parts_are_switched_off_by_name() {
    let all =
        format!("[machine.smt]\n[machine.cache]\n[machine.frequency]\ngovernor = \"performance\"\n{I7}");
    let m = machine(&format!("[machine]\nwithout = [\"smt\", \"cache\", \"frequency\"]\n{all}"));
    assert!(!m.has_pace());
    let m = machine(&format!("[machine]\nwithout = [\"turbo\"]\n{all}"));
    assert_eq!((m.frequency.limit_khz(1), m.frequency.limit_khz(6)), (4_600_000, 4_600_000));
}

#[test]
fn mistakes_are_named() {
    let frequency = |keys: &str| format!("[machine.frequency]\ngovernor = \"performance\"\n{keys}");
    for (text, expected) in [
        (
            "[machine.smt]\ncompute = 0.2".to_owned(),
            "2:11: found the number 0.2, expected a number from 0.3 to 1",
        ),
        (
            "[machine.cache]\ncold_speed = 1".to_owned(),
            "2:14: found the number 1, expected a number from 0 to 0.99",
        ),
        (
            "[machine.cache]\nllc = \"128KiB\"".to_owned(),
            "2:7: 131072 bytes are less than the 262144 bytes of the private caches",
        ),
        (
            "[machine.cache]\nremote_bandwidth = 8000".to_owned(),
            "2:20: 8000 MB/s is more than the 7900 MB/s of the node's own memory",
        ),
        (frequency("turbo = []\nbase = \"3GHz\""), "3:9: 0 clocks: allowed are 1 to 256"),
        (
            frequency("turbo = [\"3GHz\", \"3.1GHz\"]\nbase = \"3GHz\""),
            "3:9: 3.1 GHz for 2 active cores is more than 3 GHz for 1",
        ),
        (
            frequency("turbo = [\"3GHz\"]\nbase = \"3.5GHz\""),
            "4:8: 3.5 GHz is beyond the highest clock, 3 GHz",
        ),
        (
            frequency("turbo = [\"3\"]\nbase = \"3GHz\""),
            "3:10: found the text \"3\", expected a clock from 1 MHz to 10 GHz, like \"4.6GHz\" or \"800MHz\"",
        ),
        (
            frequency("turbo = [\"3GHz\"]\nbase = \"11GHz\""),
            "4:8: found the text \"11GHz\", expected a clock from 1 MHz to 10 GHz, like \"4.6GHz\" or \"800MHz\"",
        ),
        (
            frequency("turbo = [\"3GHz\"]\nbase = \"3GHz\"\nrate_limit = \"1ms\""),
            "5:14: 'rate_limit' belongs to governor = \"schedutil\"",
        ),
        (
            format!("[machine.frequency]\ngovernor = \"fixed\"\n{I7}"),
            "2:12: governor = \"fixed\" needs 'clock', like clock = \"3.2GHz\"",
        ),
        (
            format!("[machine.frequency]\ngovernor = \"ondemand\"\n{I7}"),
            "2:12: unknown value 'ondemand': allowed are fixed, performance, schedutil, powersave",
        ),
    ] {
        refused(&text, expected);
    }
}
