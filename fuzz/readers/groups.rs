//! A map of groups is refused with its line, or read.

use sim_workloads::recorded::{GroupMap, TraceError};

/// Reads a map from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match GroupMap::parse(text) {
        Ok(_) => {}
        Err(TraceError::Groups { line, message }) => assert!(line >= 1 && !message.is_empty()),
        Err(other) => panic!("{other}"),
    }
}
