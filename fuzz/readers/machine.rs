//! A machine in TOML is refused with a place and a message, or holds what machines must.

use super::imported;
use sim_workloads::scenario::Machine;

/// Reads a machine from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let machine = Machine::parse(text, "fuzz.toml");
    imported::check(machine.map(|m| (*m.topology).clone()).map_err(|e| e.render(false)));
}
