//! `cfsim import`: workloads of other programs as scenarios.

mod auto;
mod kind;
mod open;
mod perf_data;
mod summary;
mod trace;

use crate::failure::Failure;
use crate::load::read_text_up_to;
use crate::output::{self, Talk};
use clap::{Args, Subcommand};
use sim_workloads::rtapp::{self, WAIVABLE};
use sim_workloads::scenario::Document;
use std::path::{Path, PathBuf};

/// Turn a recorded trace, or a workload of another program, into a scenario
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, Subcommand)]
enum Kind {
    RtApp(RtAppArgs),
    Trace(trace::TraceArgs),
    Auto(auto::AutoArgs),
}

/// Turn an rt-app workload into a scenario
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim import rt-app workload.json > workload.toml
  cfsim import rt-app threads.json global.json --cpus 8 -o workload.toml
  cfsim run workload.json --kernel 5.10 --set machine.cpus=8

Reads today's grammar, with comments, trailing commas, repeated keys (which are a sequence) and bare \"suspend\", and of the
first one exec and period. What is not modelled is refused by name and place, unless it is waived:
  mem, memrun, iorun   work on memory and writes take no time
  policy               real-time and deadline threads run as SCHED_OTHER
  membind, uclamp      are left out
What was left out or assumed stands at the head of the scenario.")]
struct RtAppArgs {
    /// The files of one workload, which may come in parts
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What may be left out
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = parse_waiver)]
    waive: Vec<String>,
    /// How many CPUs the machine has; without it, as many as the workload names
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    cpus: Option<u32>,
    /// Where to write; standard output unless given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A name of what may be left out.
pub(crate) fn parse_waiver(name: &str) -> Result<String, String> {
    let known = WAIVABLE.iter().any(|(n, _)| *n == name);
    let all: Vec<_> = WAIVABLE.iter().map(|(n, _)| *n).collect();
    if known { Ok(name.to_owned()) } else { Err(format!("allowed are {}", all.join(", "))) }
}

pub(crate) fn main(args: &ImportArgs, talk: Talk) -> Result<(), Failure> {
    match &args.kind {
        Kind::RtApp(args) => rtapp_workload(args, talk),
        Kind::Trace(args) => trace::main(args, talk),
        Kind::Auto(args) => auto::main(args, talk),
    }
}

fn rtapp_workload(args: &RtAppArgs, talk: Talk) -> Result<(), Failure> {
    let mut files = Vec::new();
    for file in &args.files {
        files.push((file.display().to_string(), read_text_up_to(file, rtapp::MAX_BYTES)?));
    }
    let named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let options = rtapp::Options { waive: args.waive.clone(), cpus: args.cpus };
    let imported = rtapp::import(&named, &options)?;
    imported.notes.iter().for_each(|note| talk.warn(note));
    write_scenario(&imported.scenario, args.output.as_deref())
}

/// Writes an imported scenario. What cannot run is said now, not when somebody runs it.
fn write_scenario(scenario: &str, to: Option<&Path>) -> Result<(), Failure> {
    Document::parse(scenario, "the imported scenario", &[])?.resolve()?;
    match to {
        Some(file) => {
            std::fs::write(file, scenario).map_err(|source| Failure::Create { file: file.to_owned(), source })
        }
        None => output::text(scenario),
    }
}
