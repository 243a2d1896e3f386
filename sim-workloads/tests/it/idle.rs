//! `[machine.idle]`, and idle states of real machines.

use super::parse;
use crate::corpus::sysfs::Lines;
use sim_core::Nanos;
use sim_core::machine::idle::{GovernorKind, IdleConfig, TABLES};
use sim_workloads::scenario::Document;
use sim_workloads::topology::{idle_to_toml, read_idle_info, read_idle_sysfs};

const HOG: &str = "[run]\nduration = \"1s\"\n[task.hog]\nprogram = [{ run = \"1ms\" }]\n";

fn resolved(idle: &str) -> Result<IdleConfig, String> {
    let text = format!("[machine]\ncpus = 4\n{idle}\n{HOG}");
    parse(&text).map_err(|e| e.to_string())?;
    let document = Document::parse(&text, "s.toml", &[]).map_err(|e| e.to_string())?;
    Ok(document.resolve().map_err(|e| e.to_string())?.config.machine.idle)
}

fn idle(keys: &str) -> Result<IdleConfig, String> {
    resolved(&format!("[machine.idle]\n{keys}"))
}

fn names(config: &IdleConfig) -> Vec<(&str, bool)> {
    config.states.iter().map(|s| (s.name.as_str(), s.disabled)).collect()
}

#[test]
fn tables_by_name_and_what_is_switched_off() {
    for table in TABLES {
        let config = idle(&format!("table = \"{}\"", table.name)).unwrap();
        assert_eq!(config, IdleConfig::of(table));
    }
    assert!(resolved("").unwrap().is_off());
    let some =
        idle("table = \"skx\"\ndisabled = [\"C1E\"]\ngovernor = \"teo\"\nlatency_qos = \"20us\"").unwrap();
    assert_eq!(names(&some), [("POLL", false), ("C1", false), ("C1E", true), ("C6", false)]);
    assert_eq!((some.governor, some.latency_limit), (GovernorKind::Teo, Nanos::from_micros(20)));
    let shallow = idle("table = \"skl\"\nmax_cstate = 2\nlatency_factor = 1.0").unwrap();
    assert_eq!(names(&shallow), [("POLL", false), ("C1", false), ("C1E", false)]);
    assert_eq!(shallow.states[2].entry_and_exit(Nanos::ZERO), (Nanos::ZERO, Nanos::from_micros(10)));
    let limits = idle("table = \"skl\"\ncpu_latency_qos = { \"1-2\" = \"5us\" }").unwrap();
    let of = |cpu| limits.limit_of(sim_core::CpuId(cpu)).0;
    assert_eq!((of(0), of(1), of(2), of(3)), (2_000_000_000_000, 5_000, 5_000, 2_000_000_000_000));
}

#[test]
fn mistakes_say_what_is_allowed() {
    let cases = [
        ("table = \"pentium\"", "'pentium' is not a table of idle states: allowed are nehalem,"),
        ("governor = \"menu\"", "neither a table nor states"),
        (
            "table = \"skl\"\nstates = [{ name = \"C1\", latency = \"1us\", residency = \"1us\" }]",
            "there is a table too",
        ),
        ("table = \"skl\"\ndisabled = [\"C5\"]", "'C5' is no state: there are POLL, C1, C1E, C3,"),
        ("table = \"halt\"\ndisabled = [\"HLT\"]", "one must be left"),
        ("table = \"skl\"\npoll = false", "'poll' goes with 'states'"),
        ("table = \"skl\"\nlatency_factor = 1.5", "1.5 is no part: allowed is 0 to 1"),
        ("table = \"skl\"\ngovernor = \"best\"", "allowed are menu, teo, ladder, haltpoll, none"),
        (
            "table = \"skl\"\ncpu_latency_qos = { \"4\" = \"5us\" }",
            "go beyond the machine, which has CPUs 0-3",
        ),
        ("states = [{ name = \"A\", latency = \"2s\", residency = \"2s\" }]", "more than 1 s"),
        (
            "states = [{ name = \"A\", latency = \"2us\", residency = \"2us\", entry = \"3us\" }]",
            "a part of the latency",
        ),
        (
            "states = [{ name = \"A\", latency = \"2us\", residency = \"2us\" }, { name = \"B\", latency = \"1us\", residency = \"3us\" }]",
            "states stand in order",
        ),
        (
            "states = [{ name = \"A\", latency = \"2us\", residency = \"2us\" }, { name = \"A\", latency = \"2us\", residency = \"3us\" }]",
            "a name of its own",
        ),
    ];
    for (keys, expected) in cases {
        let message = idle(keys).unwrap_err();
        assert!(message.contains(expected), "{keys}: {message}");
    }
    let old =
        format!("kernel.profile = \"4.19\"\nmachine.idle = {{ table = \"skl\", governor = \"teo\" }}\n{HOG}");
    let message = Document::parse(&old, "s.toml", &[]).unwrap().resolve().unwrap_err().to_string();
    assert!(message.contains("2:") && message.contains("no governor teo"), "{message}");
}

/// CPU 0 of a real server with Skylake CPUs, and of one with EPYC 7002.
const SKX: &str = "\
sys/devices/system/cpu/online: 0-1
sys/devices/system/cpu/cpuidle/current_governor: menu
sys/devices/system/cpu/cpu0/cpuidle/state0/name: POLL
sys/devices/system/cpu/cpu0/cpuidle/state0/desc: CPUIDLE CORE POLL IDLE
sys/devices/system/cpu/cpu0/cpuidle/state0/latency: 0
sys/devices/system/cpu/cpu0/cpuidle/state0/residency: 0
sys/devices/system/cpu/cpu0/cpuidle/state0/disable: 0
sys/devices/system/cpu/cpu0/cpuidle/state1/name: C1
sys/devices/system/cpu/cpu0/cpuidle/state1/desc: MWAIT 0x00
sys/devices/system/cpu/cpu0/cpuidle/state1/latency: 2
sys/devices/system/cpu/cpu0/cpuidle/state1/residency: 2
sys/devices/system/cpu/cpu0/cpuidle/state1/disable: 0
sys/devices/system/cpu/cpu0/cpuidle/state2/name: C1E
sys/devices/system/cpu/cpu0/cpuidle/state2/desc: MWAIT 0x01
sys/devices/system/cpu/cpu0/cpuidle/state2/latency: 10
sys/devices/system/cpu/cpu0/cpuidle/state2/residency: 20
sys/devices/system/cpu/cpu0/cpuidle/state2/disable: 0
sys/devices/system/cpu/cpu0/cpuidle/state3/name: C6
sys/devices/system/cpu/cpu0/cpuidle/state3/desc: MWAIT 0x20
sys/devices/system/cpu/cpu0/cpuidle/state3/latency: 133
sys/devices/system/cpu/cpu0/cpuidle/state3/residency: 600
sys/devices/system/cpu/cpu0/cpuidle/state3/disable: 0
";
const ROME: &str = "\
sys/devices/system/cpu/cpuidle/current_governor_ro: menu
sys/devices/system/cpu/cpu0/cpuidle/state0/name: POLL
sys/devices/system/cpu/cpu0/cpuidle/state1/name: C1
sys/devices/system/cpu/cpu0/cpuidle/state1/desc: ACPI FFH MWAIT 0x0
sys/devices/system/cpu/cpu0/cpuidle/state1/latency: 1
sys/devices/system/cpu/cpu0/cpuidle/state1/residency: 2
sys/devices/system/cpu/cpu0/cpuidle/state2/name: C2
sys/devices/system/cpu/cpu0/cpuidle/state2/desc: ACPI IOPORT 0x814
sys/devices/system/cpu/cpu0/cpuidle/state2/latency: 400
sys/devices/system/cpu/cpu0/cpuidle/state2/residency: 800
sys/devices/system/cpu/cpu0/cpuidle/state2/disable: 1
";
const IDLE_INFO: &str = "\
CPUidle driver: intel_idle
CPUidle governor: menu
analyzing CPU 0:

Number of idle states: 4
Available idle states: POLL C1 C1E C6
POLL:
Flags/Description: CPUIDLE CORE POLL IDLE
Latency: 0
Usage: 4338722
Duration: 32917820
C1:
Flags/Description: MWAIT 0x00
Latency: 2
Usage: 202782261
Duration: 9259454371
C1E (DISABLED) :
Flags/Description: MWAIT 0x01
Latency: 10
Usage: 126552375
Duration: 31762469023
C6:
Flags/Description: MWAIT 0x20
Latency: 133
Usage: 708330302
Duration: 3409706493833
";

#[test]
fn states_of_real_machines() {
    let read = |text: &str| read_idle_sysfs(&Lines::new(text)).unwrap().unwrap();
    let skx = read(SKX);
    assert_eq!(skx.notes, ["CPU 1 has other idle states than CPU 0, whose are taken"]);
    let table = idle("table = \"skx\"").unwrap();
    assert_eq!(resolved(&idle_to_toml(&skx.spec)).unwrap(), table, "the table of these CPUs");
    let rome = resolved(&idle_to_toml(&read(ROME).spec)).unwrap();
    assert_eq!(names(&rome), [("POLL", false), ("C1", false), ("C2", true)]);
    let mut states = rome.states.clone();
    states[2].disabled = false;
    assert_eq!(states, idle("table = \"zen\"").unwrap().states);
    assert_eq!(read_idle_sysfs(&Lines::new("")), Ok(None));
}

#[test]
fn what_cpupower_prints() {
    let info = read_idle_info(IDLE_INFO).unwrap();
    assert!(info.notes[0].contains("no target residencies"), "{:?}", info.notes);
    let config = resolved(&idle_to_toml(&info.spec)).unwrap();
    assert_eq!(names(&config), [("POLL", false), ("C1", false), ("C1E", true), ("C6", false)]);
    let residencies: Vec<u64> = config.states.iter().map(|s| s.residency.0 / 1000).collect();
    assert_eq!(residencies, [0, 2, 30, 399]);
    assert!(config.states[3].flushes && config.states[3].monitors && !config.states[2].flushes);
    let refused = |text: &str| read_idle_info(text).unwrap_err().to_string();
    assert_eq!(refused("hello"), "a list of idle states is missing");
    assert!(refused(&IDLE_INFO.replace("Latency: 133", "Latency: -1")).contains("found '-1'"));
    assert!(refused(&"C1:\nLatency: 1\n".repeat(11)).contains("more than 10 idle states"));
}

#[test]
fn trees_that_say_what_cannot_be() {
    let refused = |text: &str| read_idle_sysfs(&Lines::new(text)).unwrap_err().to_string();
    let far = refused(&SKX.replace("state3/latency: 133", "state3/latency: 99999999999999999999"));
    assert!(far.contains("state3/latency: found '99999999999999999999'"), "{far}");
    let many: String =
        (0..12).map(|i| format!("sys/devices/system/cpu/cpu0/cpuidle/state{i}/name: C{i}\n")).collect();
    assert!(refused(&many).contains("more than 10 idle states"));
    let long = SKX.replace("state3/name: C6", &format!("state3/name: {}", "C".repeat(99)));
    assert!(refused(&long).contains("a name of at most 32 bytes"));
}
