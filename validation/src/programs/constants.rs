//! The machine the records were made on, where an instruction takes 1 ns, and the programs' own CPU times.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// As the calibration wrote them.
const CONSTANTS: &str = include_str!("../../programs/constants.json");

/// Costs of kernel paths and work of programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Where they come from.
    pub origin: String,
    /// Costs of kernel paths, ns.
    pub costs_ns: BTreeMap<String, u64>,
    /// By program, the one CPU time that was fitted to its `d8` runs, ns: around a call of netperf and hackbench, for a
    /// block of 32 KiB of gzip and pigz, for one compiler run of make.
    pub work_ns: BTreeMap<String, u64>,
}

impl Constants {
    /// The fitted CPU time of a program. makehog's is make's: a hog beside it changes nothing of what it does.
    pub fn work_of(&self, program: &str) -> Option<u64> {
        self.work_ns.get(if program == "makehog" { "make" } else { program }).copied()
    }

    /// The constants that stand in the file.
    ///
    /// # Errors
    /// Never, unless the project's own file is broken.
    pub fn fixed() -> Result<Constants, serde_json::Error> {
        serde_json::from_str(CONSTANTS)
    }
}
