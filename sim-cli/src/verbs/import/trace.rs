//! `cfsim import trace`: what a recorded trace holds, and its workload.

use super::open::open;
use super::summary::TraceSummary;
use super::write_scenario;
use crate::failure::Failure;
use crate::load::read_text_up_to;
use crate::output::{self, Format, Talk};
use clap::Args;
use sim_core::Nanos;
use sim_core::kernel::Profile;
use sim_workloads::recorded::{
    GroupMap, Limits, MAX_MAP_BYTES, Options, Part, Sleeps, TraceError, import, summarize,
};
use std::path::{Path, PathBuf};

/// Turn a recorded trace of scheduling events into a scenario
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim import trace trace.txt --summary
  cfsim import trace trace.txt -o workload.toml --kernel 6.1
  cfsim run workload.toml --set kernel.sched_wakeup_granularity_ns=15ms
  cfsim import trace sched.txt.gz --from 10s --to 12s --map groups.txt -o part.toml

Reads what ftrace (/sys/kernel/tracing/trace), trace-cmd report, perf script, perf sched script, systrace and atrace write,
plain, with gzip or bzip2, perf.data, and trace.dat where trace-cmd is installed. Record sched_switch, sched_wakeup, sched_wakeup_new, sched_process_fork and sched_process_exit.

Every task becomes a program: how long it ran, whom it woke, who woke it. What the trace shows to be woken by another task
waits for that task; what a timer or an interrupt woke sleeps until then. Times include what the recorded machine took, so
the scenario adds no costs. A map of groups has lines PID /group, NAME /group, NAME* /group and /group WEIGHT.
What was lost, assumed or left out stands at the head of the scenario.")]
pub(super) struct TraceArgs {
    /// The trace; - is standard input
    file: PathBuf,
    /// Only say what the trace holds
    #[arg(long)]
    summary: bool,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "summary")]
    format: Format,
    /// Which task belongs to which cgroup, a file
    #[arg(long, value_name = "GROUPS", conflicts_with = "summary")]
    map: Option<PathBuf>,
    /// Take the trace from so long after its first event on
    #[arg(long, value_name = "TIME", default_value = "0s")]
    from: Nanos,
    /// Take it up to so long after its first event
    #[arg(long, value_name = "TIME")]
    to: Option<Nanos>,
    /// How sleeps end that no task of the trace ends: when they did, or after as long as they took
    #[arg(long, value_name = "HOW", value_parser = ["absolute", "relative"], default_value = "absolute")]
    sleeps: String,
    /// The recorded kernel's profile
    #[arg(long, value_name = "PROFILE")]
    kernel: Option<String>,
    /// The recorded kernel's tick frequency; without it, as preemptions show it
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(100..=1000))]
    hz: Option<u32>,
    /// How many CPUs the machine has; without it, as many as the trace shows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cpus: Option<u32>,
    /// Where to write; standard output unless given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl TraceArgs {
    /// Everything as it is unless said otherwise.
    pub(super) fn of(file: &Path, output: &Path) -> TraceArgs {
        TraceArgs {
            file: file.to_owned(),
            summary: false,
            format: Format::Text,
            map: None,
            from: Nanos::ZERO,
            to: None,
            sleeps: "absolute".to_owned(),
            kernel: None,
            hz: None,
            cpus: None,
            output: Some(output.to_owned()),
        }
    }
}

pub(super) fn main(args: &TraceArgs, talk: Talk) -> Result<(), Failure> {
    let part = Part { from_ns: args.from.0, to_ns: args.to.map(|to| to.0) };
    let failed = |error: TraceError| Failure::Trace { file: args.file.clone(), error };
    if args.to.is_some_and(|to| to <= args.from) {
        return Err(Failure::Usage(format!(
            "--to {} does not lie after --from {}",
            part.to_ns.unwrap_or(0),
            args.from
        )));
    }
    let source = open(&args.file)?;
    if args.summary {
        let summary = summarize(source, &Limits::default(), part).map_err(failed)?;
        return output::print(&TraceSummary(summary), args.format);
    }
    let groups = match &args.map {
        Some(map) => {
            let text = read_text_up_to(map, MAX_MAP_BYTES)?;
            GroupMap::parse(&text).map_err(|error| Failure::Trace { file: map.clone(), error })?
        }
        None => GroupMap::default(),
    };
    if let Some(kernel) = &args.kernel {
        Profile::by_name(kernel).map_err(|e| Failure::Usage(e.to_string()))?;
    }
    let sleeps = if args.sleeps == "relative" { Sleeps::Relative } else { Sleeps::Absolute };
    let (cpus, kernel, hz) = (args.cpus, args.kernel.clone(), args.hz);
    let options = Options { part, sleeps, groups, cpus, kernel, hz };
    let imported = import(source, &Limits::default(), &options).map_err(failed)?;
    imported.notes.iter().for_each(|note| talk.warn(note));
    write_scenario(&imported.scenario, args.output.as_deref())
}
