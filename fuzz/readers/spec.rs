//! A workload of a capture is refused with a message, or every task has its random stream.

use validation::capture::spec::parse_spec;

/// Reads a workload from any bytes.
pub(crate) fn read(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse_spec(text) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok(spec) => drop(spec.task_streams()),
    }
}
