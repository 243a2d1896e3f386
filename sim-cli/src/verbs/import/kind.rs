//! Recognises a file by what is in it, not by its name.

use super::open::{PERF_DATA, TRACE_DAT};
use crate::verbs::topology;
use sim_workloads::topology::is_archive;

/// How much is looked at to recognise a file.
pub(super) const HEAD: usize = 64 << 10;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    RtApp,
    Trace,
    Machine,
    IdleInfo,
    /// Known, and nothing that can be imported, and why.
    Refused(&'static str),
}

impl Kind {
    /// What a user is told.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::RtApp => "an rt-app workload",
            Kind::Trace => "a recorded trace",
            Kind::Machine => "a machine",
            Kind::IdleInfo => "idle states",
            Kind::Refused(_) => "not imported",
        }
    }
}

/// Archives and other binary files by how they begin; those of traces are for the reader of traces to name.
const PACKED: &[&[u8]] =
    &[PERF_DATA, TRACE_DAT, b"2ELIFREP", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"\x7fELF"];

/// How texts in UTF-16 begin.
const UTF_16: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// What of a running kernel's state is known by its first lines, and why it is not imported.
const STATES: &[(&str, &str)] = &[
    (
        "Sched Debug Version:",
        "a state of the run queues (/proc/sched_debug): it shows one instant, not what tasks do; record a trace",
    ),
    (
        "timestamp ",
        "counters of the scheduler (/proc/schedstat): they do not say what tasks do; record a trace",
    ),
    (
        "processor\t: ",
        "/proc/cpuinfo, which does not say what shares caches: lscpu -p or lstopo --of xml does",
    ),
];

/// What a file is that begins like this, unpacked.
pub(super) fn recognise(head: &[u8]) -> Kind {
    if PACKED.iter().any(|magic| head.starts_with(magic)) {
        return Kind::Trace;
    }
    if is_archive(head) {
        return Kind::Machine;
    }
    if UTF_16.iter().any(|mark| head.starts_with(mark)) {
        return Kind::Refused("text in UTF-16: save it as UTF-8");
    }
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}');
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let line = |test: &dyn Fn(&str) -> bool| text.lines().any(|l| test(l.trim_start()));
    let start = text.trim_start();
    if start.is_empty() {
        return Kind::Refused("an empty file");
    }
    if sim_workloads::recorded::is_trace(text) || text.contains("TRACE:\n") || text.contains("TRACE:\r\n") {
        return Kind::Trace;
    }
    if has(&["<topology", "<!DOCTYPE topology"]) {
        return Kind::Machine;
    }
    if start.to_ascii_lowercase().starts_with("<!doctype html")
        || start.to_ascii_lowercase().starts_with("<html")
    {
        return Kind::Trace;
    }
    if start.starts_with('<') {
        return Kind::Refused("XML, and not hwloc's (lstopo --of xml)");
    }
    if text.contains("\"lscpu\"")
        || text.contains("\"cpus\"") && text.contains("\"core\"") && text.contains("\"socket\"")
    {
        return Kind::Machine;
    }
    if line(&|l| l.starts_with("CPUidle driver:") || l.starts_with("Number of idle states:")) {
        return Kind::IdleInfo;
    }
    if json(start) {
        return of_json(text);
    }
    if line(&|l| l.starts_with("CPU(s):") || l.starts_with("# CPU,") || l.starts_with("CPU,"))
        || has(&["parsable format, which can be fed"])
    {
        return Kind::Machine;
    }
    if line(&|l| l.starts_with("node distances:") || l.starts_with("available: ") && l.contains("nodes")) {
        return Kind::Refused(
            "output of numactl -H, which does not say what shares caches: lscpu -p or lstopo --of xml does",
        );
    }
    if let Some((_, why)) = STATES.iter().find(|(begins, _)| line(&|l| l.starts_with(begins))) {
        return Kind::Refused(why);
    }
    if has(&["Runtime ms", "wait time"]) {
        return Kind::Trace;
    }
    if topology::is_toml(text) {
        return Kind::Refused("TOML: a scenario or a machine of our own needs no import (cfsim check)");
    }
    Kind::Refused(UNKNOWN)
}

const UNKNOWN: &str = "of no known kind: rt-app workloads, traces (ftrace, trace-cmd report, perf script, systrace, perf.data, \
                       trace.dat), machines (hwloc XML, lscpu) and cpupower idle-info are recognised";

/// Whether a text begins as JSON does, comments aside.
fn json(start: &str) -> bool {
    let mut rest = start;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some((_, after)) = comment.split_once("*/") else { return false };
            rest = after;
        } else if let Some(comment) = rest.strip_prefix("//") {
            let Some((_, after)) = comment.split_once('\n') else { return false };
            rest = after;
        } else {
            return rest.starts_with(['{', '"', '[']);
        }
    }
}

fn of_json(text: &str) -> Kind {
    let key = |names: &[&str]| names.iter().any(|name| text.contains(&format!("\"{name}\"")));
    if key(&["tasks", "threads"])
        || key(&["global"]) && key(&["duration", "default_policy", "calibration", "run", "resources"])
    {
        return Kind::RtApp;
    }
    if key(&["board", "nrg_model", "cpus-freqs"]) {
        return Kind::Refused(
            "the description of a board as LISA has it: it names cores and their energy, not what shares caches",
        );
    }
    if key(&["resources"]) {
        // A part of a workload, which the reader refuses as such.
        return Kind::RtApp;
    }
    if key(&["traceEvents", "displayTimeUnit"]) || key(&["ph"]) && key(&["ts"]) {
        return Kind::Refused("a trace in Chrome's JSON: write it out as ftrace text or systrace");
    }
    if text.len() >= HEAD {
        return Kind::RtApp;
    }
    Kind::Refused("JSON, and neither an rt-app workload (tasks, global) nor lscpu -J")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_content() {
        let cases: [(&str, Kind); 14] = [
            ("/* x */ { \"tasks\": {} }", Kind::RtApp),
            ("// x\n{ \"global\": { \"duration\": 1 } }", Kind::RtApp),
            ("# tracer: nop\n", Kind::Trace),
            ("a 1 [000] 1.0: sched:sched_switch: x", Kind::Trace),
            ("<!DOCTYPE html>\n<html>", Kind::Trace),
            ("capturing\nTRACE:\nx", Kind::Trace),
            ("PERFILE2", Kind::Trace),
            ("<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc.dtd\">", Kind::Machine),
            ("Architecture: x86_64\nCPU(s): 4\n", Kind::Machine),
            ("{ \"lscpu\": [] }", Kind::Machine),
            (
                "# The following is the parsable format, which can be fed to other\n# CPU,Core\n0,0",
                Kind::Machine,
            ),
            ("CPUidle driver: intel_idle\n", Kind::IdleInfo),
            ("{\"tasks", Kind::Refused("JSON, and neither an rt-app workload (tasks, global) nor lscpu -J")),
            ("hello", Kind::Refused(UNKNOWN)),
        ];
        for (text, kind) in cases {
            assert_eq!(recognise(text.as_bytes()), kind, "{text}");
        }
        for refused in [
            "",
            "[task.a]\nprogram = []",
            "available: 2 nodes (0-1)\n",
            "<?xml?><svg/>",
            "{ \"board\": {} }",
            "{ \"traceEvents\": [] }",
            "[{\"ph\": \"B\", \"ts\": 1}]",
            "version 15\ntimestamp 4295\ncpu0 0 0 0\n",
            "Sched Debug Version: v0.11, 5.10.0\n",
            "processor\t: 0\nvendor_id\t: x\n",
        ] {
            assert!(matches!(recognise(refused.as_bytes()), Kind::Refused(_)), "{refused}");
        }
    }
}
