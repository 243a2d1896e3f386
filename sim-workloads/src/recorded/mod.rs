//! Recorded traces of scheduling events: read as ftrace, `trace-cmd report`, `perf script` and systrace write them, and turned
//! into a workload of bursts, sleeps and wake-ups.

mod clock;
mod error;
mod event;
mod flags;
mod groups;
mod import;
mod line;
mod order;
mod payload;
mod reader;
mod record;
mod source;
mod spread;
mod state;
mod stats;
mod steps;
mod summary;
#[cfg(test)]
mod tests;
mod thread;
mod wakers;
mod write;

pub use error::{Nothing, TraceError};
pub use flags::{Context, Flags};
pub use groups::{GroupMap, MAX_MAP_BYTES};
pub use import::{Imported, Options, import, summarize};
pub use line::{EventLine, Line, is_trace, parse_line};
pub use payload::{Malformed, Named, Payload, Wake, payload};
pub use record::{Oddities, Part};
pub use state::Left;
pub use stats::{Form, Limits, Stats};
pub use summary::{Latency, Summary, TaskSummary};
pub use write::Sleeps;
