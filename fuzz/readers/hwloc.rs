//! hwloc's XML is refused with a message, or holds what machines must.

use super::imported;

/// Reads a machine from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = sim_workloads::topology::read_hwloc(text);
    imported::check(read.map(|i| i.topology).map_err(|e| e.to_string()));
}
