//! `cfsim import auto`: imports a file as what it is recognised to be.

use super::kind::{HEAD, Kind, recognise};
use super::trace::{self, TraceArgs};
use super::{parse_waiver, write_scenario};
use crate::failure::Failure;
use crate::load::read_text_up_to;
use crate::output::Talk;
use crate::verbs::topology;
use clap::Args;
use sim_workloads::rtapp;
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
descriptions of machines (as cfsim topology import reads them, archives of /sys among them) and what cpupower idle-info
prints, plain or packed with gzip or bzip2. Anything else is refused with what it is, where that can be told. Other options of
a kind are those of its own verb.")]
pub(super) struct AutoArgs {
    /// The file
    file: PathBuf,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What of an rt-app workload may be left out (cfsim import rt-app)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = parse_waiver)]
    waive: Vec<String>,
}

pub(super) fn main(args: &AutoArgs, talk: Talk) -> Result<(), Failure> {
    if args.file.is_dir() {
        let message = "a folder: cfsim topology import --sysfs-root reads copies of /sys";
        return Err(refused(&args.file, message));
    }
    if args.file.exists() && !args.file.is_file() {
        // It is opened anew when its kind is known: of a pipe the beginning would be lost.
        let message =
            "no regular file: save it first, or name its kind (cfsim import trace - reads standard input)";
        return Err(refused(&args.file, message));
    }
    let kind = recognise(&head(&args.file)?);
    talk.progress(&format!("{}: {}", args.file.display(), kind.name()));
    match kind {
        Kind::RtApp => {
            let text = read_text_up_to(&args.file, rtapp::MAX_BYTES)?;
            let name = args.file.display().to_string();
            let imported =
                rtapp::import(&[(&name, &text)], &rtapp::Options { waive: args.waive.clone(), cpus: None })?;
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
    unpack(source, HEAD).map(|unpacked| unpacked.head).map_err(failed)
}

fn refused(file: &Path, why: &str) -> Failure {
    Failure::Unrecognised { file: file.to_owned(), why: why.to_owned() }
}
