//! Output of `lscpu -p`, of `lscpu` alone and in JSON, and of `cpupower idle-info`, is refused with a message, or holds what machines must.

use super::imported;
use sim_workloads::topology::{
    read_idle_info, read_lscpu_json, read_lscpu_parsable, read_lscpu_text, read_text,
};

/// Reads a machine from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for reader in [read_lscpu_json, read_lscpu_parsable, read_lscpu_text, read_text] {
        imported::check(reader(text).map(|i| i.topology).map_err(|e| e.to_string()));
    }
    if let Ok(idle) = read_idle_info(text) {
        imported::check_idle(&idle);
    }
}
