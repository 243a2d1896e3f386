//! What the jobs of a build are, and what they read: kinds of jobs, header files, the page cache.

use super::costs;
use crate::dist::Dist;
use crate::schema::is_default;
use crate::units::{Whole, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::rng::Stream;

/// The most header files of one build, and of one compiler.
pub const MAX_HEADERS: u32 = 100_000;
/// The largest weight of a kind of jobs.
pub const MAX_WEIGHT: u32 = 1_000_000;

/// What the page cache holds when the build starts.
///
/// Cold, every source file waits for the disk once, and so does every header for the compiler that is the first to
/// read it ([`Headers`]): each such read is one more [`io_sleep`](super::KernelCompile::io_sleep). Objects are taken to be
/// compiled in their order, so that what an object asks for does not depend on the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageCache {
    /// Everything that is read.
    #[default]
    Warm,
    /// Nothing of what is compiled.
    Cold,
}

/// The header files a compiler reads. For each it calls open, fstat, read and close, in kernel mode; that is part of
/// cc1's work before its first output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Headers {
    /// How many one compiler reads, 1 to [`MAX_HEADERS`]; a kernel file's number is of the order of hundreds (assumption).
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_HEADERS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_HEADERS as i64 }>")]
    pub count: u32,
    /// Of how many different ones in the whole build, each as likely, 1 to [`MAX_HEADERS`]. Default (assumption): 4000.
    #[serde(
        default = "costs::distinct_headers",
        deserialize_with = "whole::<_, _, 1, { MAX_HEADERS as i64 }>"
    )]
    #[schemars(with = "Whole<u32, 1, { MAX_HEADERS as i64 }>")]
    pub distinct: u32,
    /// Kernel time of each. Default (measured): 16 µs.
    #[serde(default = "costs::header_scan")]
    pub scan: Dist,
}

impl Headers {
    /// How many headers the compiler of object `k` is the first to read: the expected number, rounded up or down by
    /// chance.
    pub(super) fn first_reads(&self, k: u32, stream: &mut Stream) -> u32 {
        let seen = 1.0 - f64::from(self.count.min(self.distinct)) / f64::from(self.distinct);
        let expected = f64::from(self.count) * libm::pow(seen, f64::from(k));
        (expected + stream.random::<f64>()) as u32
    }
}

/// Of which kinds the jobs of a build are: weights, in any unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Jobs that compile C, 0 to [`MAX_WEIGHT`].
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "weight")]
    #[schemars(with = "Whole<u32, 0, { MAX_WEIGHT as i64 }>")]
    pub compile: u32,
    /// Jobs that assemble a `.S` file, which cc1 only preprocesses, 0 to [`MAX_WEIGHT`].
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "weight")]
    #[schemars(with = "Whole<u32, 0, { MAX_WEIGHT as i64 }>")]
    pub assemble: u32,
    /// Jobs that run the helpers alone, as those that generate or check a file do, 0 to [`MAX_WEIGHT`].
    #[serde(default, skip_serializing_if = "is_default", deserialize_with = "weight")]
    #[schemars(with = "Whole<u32, 0, { MAX_WEIGHT as i64 }>")]
    pub script: u32,
}

fn weight<'de, D: serde::Deserializer<'de>>(d: D) -> Result<u32, D::Error> {
    whole::<_, _, 0, { MAX_WEIGHT as i64 }>(d)
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Compile,
    Assemble,
    Script,
}

impl Mix {
    /// A draw. Without any weight every job compiles.
    pub(super) fn draw(self, stream: &mut Stream) -> Kind {
        let all = self.compile + self.assemble + self.script;
        let at = stream.random_range(0..all.max(1));
        if all == 0 || at < self.compile {
            Kind::Compile
        } else if at < self.compile + self.assemble {
            Kind::Assemble
        } else {
            Kind::Script
        }
    }
}

/// One thing a compiler reads before it goes on with its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Read {
    /// The wait for the disk, if it is not cached.
    pub sleep: Option<Nanos>,
    /// The kernel's work.
    pub scan: Nanos,
}
