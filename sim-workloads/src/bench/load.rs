//! The operations of dbench and tbench, and the figures both print.
//!
//! The load file is not replayed: of a hundred operations so many are reads and writes, in the proportions dbench prints for
//! its own load file, and these carry the same number of bytes each; the rest carry little. Deviates: D-231.

use super::ToDo;
use crate::model::{Better, Headline, Ran};
use crate::units::{Bytes, Whole, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Instant;
use sim_core::program::Action;
use sim_core::rng::Stream;

/// The operations of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Reads in a hundred operations, 0 to 50. Default 27.
    #[serde(deserialize_with = "whole::<_, _, 0, 50>")]
    #[schemars(with = "Whole<u32, 0, 50>")]
    pub reads: u32,
    /// Writes in a hundred operations, 0 to 50. Default 9.
    #[serde(deserialize_with = "whole::<_, _, 0, 50>")]
    #[schemars(with = "Whole<u32, 0, 50>")]
    pub writes: u32,
    /// Bytes of each. Default 15000 (assumption, of the order of what dbench prints: its MB by its reads and writes).
    #[serde(rename(serialize = "size_bytes"))]
    pub size: Bytes,
}

impl Default for Load {
    fn default() -> Load {
        Load { reads: 27, writes: 9, size: Bytes(15_000) }
    }
}

impl Load {
    /// Bytes an operation carries to the server and back beside headers.
    pub(super) fn draw(self, stream: &mut Stream) -> (u64, u64) {
        match stream.random_range(0..100) {
            n if n < self.reads => (0, self.size.0),
            n if n < self.reads + self.writes => (self.size.0, 0),
            _ => (0, 0),
        }
    }
}

pub(super) const fn throughput(name: &'static str, title: &'static str) -> Headline {
    Headline { name, title, short: "MB/s", unit: "MB/s", better: Better::Higher }
}
pub(super) const fn max_latency(name: &'static str, title: &'static str) -> Headline {
    Headline { name, title, short: "max lat.", unit: "ms", better: Better::Lower }
}

/// Both count bytes read and written, and record how long operations take.
pub(super) fn results(
    headlines: &'static [Headline; 2],
    name: &str,
    clients: u32,
    run: &Ran<'_>,
) -> Vec<(&'static Headline, f64)> {
    let rates = (0..clients).filter_map(|i| run.work_per_second(&format!("{name}/client#{i}")));
    let Some(latency) = run.recorded(name, 0) else { return Vec::new() };
    headlines.iter().zip([rates.sum::<f64>() / 1e6, latency.max().0 as f64 / 1e6]).collect()
}

/// Tells of an operation that began at `since`, which carried so many bytes.
pub(super) fn done(since: Instant, now: Instant, bytes: u64, to_do: &mut ToDo) {
    to_do.extend([Action::Record { series: 0, time: now.saturating_since(since) }, Action::Count(bytes)]);
}
