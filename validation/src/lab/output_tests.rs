//! Canned consoles and outputs.

use super::*;

fn memory(files: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, text) in files {
        let head = format!("{name} {}", text.len());
        body.extend_from_slice(format!("{head:<63}\n").as_bytes());
        body.extend_from_slice(text.as_bytes());
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes.resize(bytes.len() + 4096, 0);
    bytes
}

fn files(list: &[(&str, &str)]) -> Files {
    Files::read(memory(list).as_slice(), 1 << 20).unwrap().unwrap()
}

#[test]
fn unpacks_files() {
    let files = files(&[("version", "Linux version 6.1\n"), ("trace.txt", ""), ("applied", "a 1 1\n")]);
    assert_eq!(files.text("version").unwrap(), "Linux version 6.1\n");
    assert_eq!(files.bytes("trace.txt").unwrap(), b"");
    assert!(files.bytes("result.json").unwrap_err().to_string().contains("result.json"));
}

#[test]
fn a_guest_that_did_not_end_left_nothing() {
    assert_eq!(Files::read([0; 32].as_slice(), 100).unwrap(), None);
}

#[test]
fn refuses_what_is_no_output() {
    let whole = memory(&[("version", "Linux")]);
    for (at, byte) in [(8, 255), (9, 255), (24, b'x')] {
        let mut broken = whole.clone();
        broken[at] = byte;
        assert!(matches!(Files::read(broken.as_slice(), 1 << 20), Err(LabError::Output(_))), "byte {at}");
    }
    assert!(matches!(Files::read(&whole[..40], 1 << 20), Err(LabError::Output(_))));
    assert!(matches!(Files::read([].as_slice(), 1), Err(LabError::Output(_))));
}

#[test]
fn counts_lost_events() {
    let stats = "/p/cpu0/stats: entries: 9 overrun: 2 commit overrun: 0 bytes: 4 dropped events: 3 read events: 0 \n\
        /p/cpu1/stats: entries: 9 overrun: 0 commit overrun: 0 bytes: 4 dropped events: 4 read events: 0 \n";
    // "commit overrun" is inside "overrun", whose first count is taken.
    assert_eq!(files(&[("trace_stats", stats)]).lost_events().unwrap(), 9);
}

#[test]
fn judges_settings_by_what_is_read_back() {
    let check = |applied: &str| {
        let tunables = "/d/features: START_DEBIT NO_LAST_BUDDY \n/d/latency_ns: 6000000 \n";
        files(&[("applied", applied), ("tunables.txt", tunables)]).check_settings()
    };
    check("latency_ns 6000000 6000000\nfeatures NO_LAST_BUDDY written\n").unwrap();
    let said = |applied: &str| check(applied).unwrap_err().to_string();
    assert_eq!(said("latency_ns 5 6000000\n"), "kernel.sched_latency_ns = 5: this kernel keeps 6000000");
    assert_eq!(
        said("nr_migrate 5 missing\n"),
        "kernel.sched_nr_migrate = 5: this kernel has no such setting"
    );
    assert_eq!(said("latency_ns 5 refused\n"), "kernel.sched_latency_ns = 5: this kernel refuses that");
    assert!(check("features LAST_BUDDY written\n").is_err());
}

const CONSOLE: &str = "[    0.1] early\r\ncfsim-lab: up\r\ncfsim-lab: warning: no trace event power:cpu_idle\r\ncfsim-lab: run\r\n";

#[test]
fn follows_a_console() {
    let progress = Progress::of(CONSOLE);
    assert_eq!(progress.stage.as_deref(), Some("run"));
    assert_eq!(progress.warnings, ["no trace event power:cpu_idle"]);
    assert!(!progress.is_done());
    assert!(
        Progress::of(&format!("{CONSOLE}cfsim-lab: ran\ncfsim-lab: done\n[  1.3] reboot: Power down\n"))
            .is_done()
    );
}

#[test]
fn says_why_there_is_no_output() {
    let said = |console: &str| Progress::of(console).failure(console, "ended").to_string();
    assert!(
        said(CONSOLE)
            .starts_with("the guest ended after 'run'; the end of its console:\n  [    0.1] early\n")
    );
    assert!(
        said(&format!("{CONSOLE}cfsim-lab: error: fork: no memory\n"))
            .starts_with("the guest gave up: fork: no memory")
    );
    let panic = "[    0.9] Kernel panic - not syncing: No working init found.  Try passing init= option\n";
    assert!(said(panic).starts_with("the guest crashed: No working init found."));
    assert!(said("").contains("before its first process started"));
    let long: String = (0..100).map(|i| format!("line {i}\u{1b}[0m\n")).collect();
    assert!(!said(&long).contains("line 91") && said(&long).contains("line 92"));
    assert!(!said(&long).contains('\u{1b}'));
}
