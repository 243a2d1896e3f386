//! Reads the CPUs of real machines: hwloc XML, `lscpu`, sysfs trees; and writes them as a scenario's `[machine]`.
//!
//! Files are limited in size, and what cannot be represented is refused by name.

mod archive;
mod cpuinfo;
mod cpus;
mod error;
mod hwloc;
mod idle;
mod lscpu;
mod summary;
mod sysfs;
mod toml;

pub use archive::{Archive, Contents, is_archive, read_contents};
pub use error::ImportError;
pub use hwloc::read_hwloc;
pub use idle::{ImportedIdle, idle_to_toml, read_idle_info, read_idle_sysfs};
pub use lscpu::{read_lscpu_json, read_lscpu_parsable};
pub use summary::read_lscpu_text;
pub use sysfs::{Directory, SysFs, read_sysfs};
pub use toml::to_toml;

use sim_core::machine::topology::Topology;

/// The largest file that is read: 16 MiB.
pub const MAX_BYTES: usize = 16 << 20;

/// A machine as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The machine.
    pub topology: Topology,
    /// What it was read from, in words.
    pub source: &'static str,
    /// What was assumed or left out.
    pub notes: Vec<String>,
}

/// Reads a machine from a file of any kind this module knows.
///
/// # Errors
/// When it is none of them, is too large, or describes what cannot be represented.
pub fn read_text(text: &str) -> Result<Imported, ImportError> {
    check_size(text)?;
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().as_bytes().first() {
        Some(b'<') => read_hwloc(text),
        Some(b'{') => read_lscpu_json(text),
        _ if text.lines().any(lscpu::is_header) => read_lscpu_parsable(text),
        _ if text.lines().any(|l| l.starts_with("CPU(s):")) => read_lscpu_text(text),
        _ => Err(ImportError::UnknownFormat),
    }
}

fn check_size(text: &str) -> Result<(), ImportError> {
    if text.len() > MAX_BYTES {
        return Err(ImportError::TooLarge { bytes: text.len(), limit: MAX_BYTES });
    }
    Ok(())
}
