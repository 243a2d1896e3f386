//! pigz: a reader, compressing threads and an ordered writer.
//!
//! ```text
//! pigz (reads) ── jobs ──► compress#0 … #N ── done, by block ──► write (in order)
//!      ▲                                                            │
//!      └──────────────────── input buffers ─────────────────────────┘
//! ```
//!
//! pigz(1). The main thread reads a block into a free buffer and queues it; a compressing thread takes the oldest; the
//! writer waits for the next block in order, writes it and frees its buffer. Locks and condition variables are taken
//! together as semaphores. Deviates: D-221.

mod programs;

use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Bytes, Whole, model_name, optional_whole, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;

/// The most compressing threads.
pub const MAX_PROCESSES: u32 = 1000;
/// The most blocks of a file.
const MAX_BLOCKS: u64 = 1_000_000;
/// The block that `block_work` is for.
const BLOCK: u64 = 32_768;

/// Parameters of pigz: the table `[workload.pigz]`. Options of the real program stand in brackets.
///
/// Paths of the tasks: `pigz`, `pigz/compress#0`, … and `pigz/write`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pigz {
    /// Name, first part of the paths of its tasks: `pigz` unless given.
    #[serde(default = "default_name", deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Compressing threads (`--processes`): 8 unless given, as on a machine with 8 CPUs.
    #[serde(default = "eight", deserialize_with = "whole::<_, _, 1, { MAX_PROCESSES as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_PROCESSES as i64 }>")]
    pub processes: u32,
    /// Size of a block (`--blocksize`): 128 KiB unless given.
    #[serde(default = "blocksize")]
    pub blocksize: Bytes,
    /// Size of the file: at most a million blocks are compressed.
    pub size: Bytes,
    /// How many blocks may be read and not yet written: two for each thread and three unless given.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_whole::<_, _, 1, 1_000_000>"
    )]
    #[schemars(with = "Option<Whole<u32, 1, 1_000_000>>")]
    pub queue_depth: Option<u32>,
    /// CPU time to compress 32 KiB. Default: 1.65 ms, -6 on text at 20 MB/s (assumption).
    #[serde(default = "block_work")]
    pub block_work: Dist,
    /// CPU time to read 32 KiB. Default: 10 µs (assumption).
    #[serde(default = "call")]
    pub read: Dist,
    /// CPU time to write what became of 32 KiB. Default: 10 µs (assumption).
    #[serde(default = "call")]
    pub write: Dist,
}

fn default_name() -> String {
    "pigz".to_owned()
}
fn eight() -> u32 {
    8
}
fn blocksize() -> Bytes {
    Bytes(131_072)
}
fn block_work() -> Dist {
    Dist::constant(Nanos::from_micros(1650))
}
fn call() -> Dist {
    Dist::constant(Nanos::from_micros(10))
}

/// What `time pigz` shows, and the rate that follows.
pub const HEADLINES: &[Headline] = &[
    Headline { name: "pigz_time", title: "pigz time", short: "pigz", unit: "s", better: Better::Lower },
    Headline { name: "pigz_rate", title: "pigz rate", short: "pigz", unit: "MB/s", better: Better::Higher },
];

impl Pigz {
    /// Default parameters.
    pub fn new(size: Bytes) -> Pigz {
        Pigz {
            name: default_name(),
            processes: eight(),
            blocksize: blocksize(),
            size,
            queue_depth: None,
            block_work: block_work(),
            read: call(),
            write: call(),
        }
    }

    fn blocks(&self) -> u64 {
        self.size.0.div_ceil(self.blocksize.0).min(MAX_BLOCKS)
    }

    fn depth(&self) -> u32 {
        self.queue_depth.unwrap_or(2 * self.processes + 3)
    }

    /// Bytes of a block: the last may be short.
    fn bytes(&self, block: u64) -> u64 {
        self.blocksize.0.min(self.size.0.saturating_sub(block.saturating_mul(self.blocksize.0)))
    }
}

impl Model for Pigz {
    fn build(&self, builder: &mut Builder) {
        let program = programs::main(self, builder);
        builder.add_plain_task("pigz", &self.name, program);
    }

    /// The rate counts bytes read, as the writer has written what became of them.
    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let [time, rate] = HEADLINES else { return Vec::new() };
        let done = run.elapsed(&self.name).filter(|_| run.finished(&self.name) && run.is_whole());
        let time = done.map(|t| (time, t.as_secs_f64()));
        let rate = run.work_per_second(&self.name).map(|bytes| (rate, bytes / 1e6));
        time.into_iter().chain(rate).collect()
    }
}
