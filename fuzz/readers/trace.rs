//! A trace, plain or compressed, is refused or read within its limits.

use validation::capture::trace::{TraceLimits, read_trace};

/// Reads a trace from any bytes.
pub(crate) fn read(data: &[u8]) {
    let limits = TraceLimits { bytes: 1 << 20, line: 4096, events: 1000 };
    match read_trace(data, limits) {
        Err(e) => assert!(!e.to_string().is_empty()),
        Ok((trace, stats)) => {
            assert!(trace.events.len() <= limits.events && stats.lines >= trace.events.len() as u64);
        }
    }
}
