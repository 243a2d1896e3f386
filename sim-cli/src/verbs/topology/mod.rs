//! `cfsim topology`: the CPUs of machines and the scheduling domains kernels make of them.

mod domains;
mod import;
mod machine;
mod show;

use crate::failure::Failure;
use clap::{Args, Subcommand};
use import::ImportArgs;
pub(crate) use import::{import_file, import_idle_info};
use show::ShowArgs;
use sim_core::CpuMask;
use sim_core::machine::topology::Topology;
use sim_workloads::scenario::IdleSpec;
use sim_workloads::scenario::{Machine, named_machine};
use sim_workloads::topology::{
    Contents, Directory, ImportError, Imported, SysFs, read_contents, read_idle_sysfs, read_sysfs,
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
        let foreign = |failed| Failure::Machine { place: name.clone(), error: failed };
        let text = match contents(path, &foreign)? {
            Contents::Text(text) => text,
            Contents::Archive(archive) => return Source::tree(&archive, &name),
        };
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
        Source::tree(&Directory { root }, &name)
    }

    /// A tree of files, with the idle states it tells of.
    fn tree(tree: &impl SysFs, name: &str) -> Result<Source, Failure> {
        let failed = |error| Failure::Machine { place: name.to_owned(), error };
        let imported = read_sysfs(tree).map_err(failed)?;
        let mut source = Source::imported(imported, name);
        if let Some(idle) = read_idle_sysfs(tree).map_err(failed)? {
            source.idle = Some(idle.spec);
            source.notes.extend(idle.notes);
        }
        Ok(source)
    }
}

/// What a file holds; `-` is standard input.
fn contents(path: &Path, failed: &dyn Fn(ImportError) -> Failure) -> Result<Contents, Failure> {
    if path.as_os_str() == "-" {
        return read_contents(std::io::stdin().lock()).map_err(failed);
    }
    let file = File::open(path).map_err(|source| Failure::Read { file: path.to_owned(), source })?;
    read_contents(file).map_err(failed)
}

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
