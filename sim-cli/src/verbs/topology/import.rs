//! `cfsim topology import`: a machine as a scenario's `[machine]`.

use super::Source;
use crate::failure::Failure;
use crate::load::read_text_up_to;
use crate::output;
use clap::Args;
use sim_workloads::topology::{MAX_BYTES, idle_to_toml, read_idle_info, to_toml};
use sim_workloads::units::comment;
use std::path::{Path, PathBuf};

/// Write a machine as TOML, for the machine table of a scenario
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim topology import > machine.toml
  lscpu -J -e | cfsim topology import - -o machine.toml
  cfsim topology import topology.xml
  cfsim topology import topology.xml --idle-info idle-info.txt

Reads hwloc's XML (lstopo --of xml), lscpu -p, lscpu -J -e, lscpu -J, lscpu, and sysfs trees, also as tar archives;
gzip and bzip2 are taken off. A summary (lscpu without -p or -e) does not say which CPU is where: a regular machine is assumed, or it is refused. Idle states come from sysfs
trees (cpuidle/state*) and from cpupower idle-info.")]
pub(crate) struct ImportArgs {
    /// The file; - is standard input. Without it, the running machine's /sys is read
    file: Option<PathBuf>,
    /// A copy of another machine's /sys, or a folder that holds one
    #[arg(long, value_name = "DIR", conflicts_with = "file")]
    sysfs_root: Option<PathBuf>,
    /// What `cpupower idle-info` prints, for the idle states
    #[arg(long, value_name = "FILE")]
    idle_info: Option<PathBuf>,
    /// Where to write; standard output unless given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn main(args: &ImportArgs) -> Result<(), Failure> {
    let mut source = match &args.file {
        Some(file) => Source::file(file)?,
        None => Source::sysfs(args.sysfs_root.as_ref())?,
    };
    if let Some(file) = &args.idle_info {
        let text = read_text_up_to(file, MAX_BYTES)?;
        let failed = |error| Failure::Machine { place: file.display().to_string(), error };
        let idle = read_idle_info(&text).map_err(failed)?;
        source.idle = Some(idle.spec);
        source.notes.extend(idle.notes);
    }
    write(&source, args.output.as_deref())
}

/// Imports a machine from a file.
pub(crate) fn import_file(file: &Path, output: &Path) -> Result<(), Failure> {
    write(&Source::file(file)?, Some(output))
}

/// Imports the idle states that `cpupower idle-info` prints.
pub(crate) fn import_idle_info(file: &Path, output: &Path) -> Result<(), Failure> {
    let text = read_text_up_to(file, MAX_BYTES)?;
    let failed = |error| Failure::Machine { place: file.display().to_string(), error };
    let idle = read_idle_info(&text).map_err(failed)?;
    let notes: String = idle.notes.iter().map(|note| comment(note)).collect();
    let head = comment(&format!("from {}", file.display()));
    put(format!("{head}{notes}[machine]\n{}", idle_to_toml(&idle.spec)), Some(output))
}

fn write(source: &Source, output: Option<&Path>) -> Result<(), Failure> {
    let notes = source.notes.iter().map(|note| comment(note));
    let head = comment(&format!("from {}", source.from)) + &notes.collect::<String>();
    let idle = source.idle.as_ref().map(idle_to_toml).unwrap_or_default();
    let text = head + &to_toml(&source.topology) + &idle;
    put(text, output)
}

fn put(text: String, output: Option<&Path>) -> Result<(), Failure> {
    match output {
        Some(file) => {
            std::fs::write(file, text).map_err(|source| Failure::Create { file: file.to_owned(), source })
        }
        None => output::text(&text),
    }
}
