//! `cfsim import auto`: recognises a file by what is in it, not by its name.

use super::open::{HEAD, PERF_DATA, TRACE_DAT};
use super::trace::{self, TraceArgs};
use super::write_scenario;
use crate::failure::Failure;
use crate::load::read_text_up_to;
use crate::output::Talk;
use crate::verbs::topology;
use clap::Args;
use sim_workloads::rtapp;
use sim_workloads::topology::is_archive;
use sim_workloads::unpack::unpack;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Recognise a file by its content and turn it into a scenario, or into the part of one that it is
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim import auto workload.json -o workload.toml
  cfsim import auto trace.html -o workload.toml
  cfsim import auto topology.xml -o machine.toml

Recognised are rt-app workloads, recorded traces (as cfsim import trace reads them, perf.data and trace.dat among them),
descriptions of machines (as cfsim topology import reads them) and what cpupower idle-info prints. Anything else is refused
with what it is, where that can be told. Options of a kind are those of its own verb.")]
pub(super) struct AutoArgs {
    /// The file
    file: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    RtApp,
    Trace,
    Machine,
    IdleInfo,
    /// Known, and nothing that can be imported, and why.
    Refused(&'static str),
}

pub(super) fn main(args: &AutoArgs, talk: Talk) -> Result<(), Failure> {
    if args.file.is_dir() {
        let message = "a folder: cfsim topology import --sysfs-root reads copies of /sys";
        return Err(refused(&args.file, message));
    }
    let kind = recognise(&head(&args.file)?);
    talk.progress(&format!("{}: {}", args.file.display(), kind.name()));
    match kind {
        Kind::RtApp => {
            let text = read_text_up_to(&args.file, rtapp::MAX_BYTES)?;
            let name = args.file.display().to_string();
            let imported = rtapp::import(&[(&name, &text)], &rtapp::Options::default())?;
            imported.notes.iter().for_each(|note| talk.warn(note));
            write_scenario(&imported.scenario, Some(&args.output))
        }
        Kind::Trace => trace::main(&TraceArgs::of(&args.file, &args.output), talk),
        Kind::Machine => topology::import_file(&args.file, &args.output),
        Kind::IdleInfo => topology::import_idle_info(&args.file, &args.output),
        Kind::Refused(why) => Err(refused(&args.file, why)),
    }
}

/// The beginning of what a file holds.
fn head(file: &Path) -> Result<Vec<u8>, Failure> {
    let failed = |source| Failure::Read { file: file.to_owned(), source };
    let source = File::open(file).map_err(failed)?;
    unpack(source, HEAD as usize).map(|unpacked| unpacked.head).map_err(failed)
}

fn refused(file: &Path, why: &str) -> Failure {
    Failure::Unrecognised { file: file.to_owned(), why: why.to_owned() }
}

impl Kind {
    fn name(self) -> &'static str {
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

fn recognise(head: &[u8]) -> Kind {
    if PACKED.iter().any(|magic| head.starts_with(magic)) {
        return Kind::Trace;
    }
    if is_archive(head) {
        return Kind::Machine;
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
            return rest.starts_with('{') || rest.starts_with('"');
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
    if key(&["traceEvents", "displayTimeUnit"]) {
        return Kind::Refused("a trace in Chrome's JSON: write it out as ftrace text or systrace");
    }
    if text.len() as u64 >= HEAD {
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
            ("\x7fELF", Kind::Trace),
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
        ] {
            assert!(matches!(recognise(refused.as_bytes()), Kind::Refused(_)), "{refused}");
        }
    }
}
