//! `cfsim topology`: the CPUs of machines and the scheduling domains kernels make of them.

mod domains;
mod import;
mod machine;
mod show;

use crate::failure::Failure;
use crate::load::{read_head, read_text_up_to};
use clap::{Args, Subcommand};
use import::ImportArgs;
pub(crate) use import::{import_file, import_idle_info};
use show::ShowArgs;
use sim_core::CpuMask;
use sim_core::machine::topology::Topology;
use sim_workloads::scenario::IdleSpec;
use sim_workloads::scenario::{Machine, named_machine};
use sim_workloads::topology::{
    Archive, Directory, ImportError, Imported, MAX_BYTES, SysFs, read_idle_sysfs, read_sysfs,
    read_text as read_machine,
};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Show the CPUs of a machine and its scheduling domains, or write them as a scenario's [machine]
#[derive(Debug, Args)]
pub(crate) struct TopologyArgs {
    #[command(subcommand)]
    verb: TopologyVerb,
}

#[derive(Debug, Subcommand)]
enum TopologyVerb {
    Show(ShowArgs),
    Import(ImportArgs),
}

pub(crate) fn main(args: &TopologyArgs) -> Result<(), Failure> {
    match &args.verb {
        TopologyVerb::Show(args) => show::main(args),
        TopologyVerb::Import(args) => import::main(args),
    }
}

/// A machine and where it comes from.
struct Source {
    topology: Arc<Topology>,
    partitions: Vec<CpuMask>,
    /// The kernel profile of the scenario.
    profile: Option<String>,
    from: String,
    notes: Vec<String>,
    /// Its idle states.
    idle: Option<IdleSpec>,
}

impl Source {
    fn imported(imported: Imported, what: &str) -> Source {
        Source {
            topology: Arc::new(imported.topology),
            partitions: Vec::new(),
            profile: None,
            from: format!("{what} ({})", imported.source),
            notes: imported.notes,
            idle: None,
        }
    }

    /// A shape or a machine's name, or else a file.
    fn named_or_file(text: &str) -> Result<Source, Failure> {
        match named_machine(text) {
            Ok(desc) => {
                let impossible =
                    |e: sim_core::machine::topology::TopologyError| Failure::Usage(e.to_string());
                let topology = Arc::new(Topology::new(desc).map_err(impossible)?);
                Ok(Source {
                    topology,
                    partitions: Vec::new(),
                    profile: None,
                    from: text.to_owned(),
                    notes: Vec::new(),
                    idle: None,
                })
            }
            Err(message) => match Path::new(text) {
                path if text == "-" || path.exists() => Source::file(path),
                _ => Err(Failure::Usage(format!("there is no file '{text}', and {message}"))),
            },
        }
    }

    /// A scenario, a machine as `import` writes it, or what other programs write about machines.
    fn file(path: &Path) -> Result<Source, Failure> {
        let name = path.display().to_string();
        if path.is_file() && Archive::is_one(&read_head(path, ARCHIVE_HEAD)?) {
            return Source::archive(path);
        }
        let text = read_text_up_to(path, MAX_BYTES)?;
        let foreign = |failed| Failure::Machine { place: name.clone(), error: failed };
        if is_toml(&text) {
            let machine = Machine::parse(&text, &name)?;
            return Ok(Source {
                topology: machine.topology,
                partitions: machine.partitions,
                profile: machine.profile,
                from: if machine.name.is_empty() { name } else { format!("{name}: {}", machine.name) },
                notes: Vec::new(),
                idle: machine.idle,
            });
        }
        Ok(Source::imported(read_machine(&text).map_err(foreign)?, &name))
    }

    /// A tree as `/sys` is, or the running machine's.
    fn sysfs(root: Option<&PathBuf>) -> Result<Source, Failure> {
        let root = root.cloned().unwrap_or_else(|| PathBuf::from("/"));
        let name = root.display().to_string();
        let failed = |error| Failure::Machine { place: name.clone(), error };
        Source::tree(&Directory { root }, &name).map_err(failed)
    }

    /// A copy of `/sys` in a tar archive.
    fn archive(path: &Path) -> Result<Source, Failure> {
        let name = path.display().to_string();
        let failed = |error| Failure::Machine { place: name.clone(), error };
        let opened = File::open(path).map_err(|source| Failure::Read { file: path.to_owned(), source })?;
        let tree = Archive::read(opened).map_err(failed)?;
        Source::tree(&tree, &name).map_err(failed)
    }

    fn tree(tree: &impl SysFs, name: &str) -> Result<Source, ImportError> {
        let mut source = Source::imported(read_sysfs(tree)?, name);
        if let Some(idle) = read_idle_sysfs(tree)? {
            source.idle = Some(idle.spec);
            source.notes.extend(idle.notes);
        }
        Ok(source)
    }
}

/// How much of a file shows whether it is a tar archive.
const ARCHIVE_HEAD: u64 = 512;

/// The machine that a text names: a shape, a machine's name, or a file.
pub(crate) fn machine_of(text: &str) -> Result<Arc<Topology>, Failure> {
    Source::named_or_file(text).map(|s| s.topology)
}

/// Whether a text is TOML with a `[machine]` or a scenario rather than what other programs write.
pub(crate) fn is_toml(text: &str) -> bool {
    let table = |line: &str| {
        let line = line.trim_start();
        line.starts_with('[') || line.split_once('=').is_some_and(|(key, _)| !key.contains([',', ':', '<']))
    };
    text.lines().find(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#')).is_some_and(table)
}
