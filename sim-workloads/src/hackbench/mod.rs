//! hackbench: groups of senders and receivers, each sender to each receiver of its group.
//!
//! The main program starts all of them, waits until each has said that it is ready, lets them go and waits for their
//! ends. hackbench(8); the order of steps is that of a traced run of rt-tests 2.4 (`validation/programs/README.md`).

mod programs;
#[cfg(test)]
mod tests;

use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Bytes, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;

/// The most groups.
pub const MAX_GROUPS: u32 = 1000;
/// The most receivers of a group.
pub const MAX_FDS: u32 = 1000;
/// The most loops.
pub const MAX_LOOPS: u32 = 100_000_000;
/// Send buffer of a unix socket: `net.core.wmem_default`.
const SEND_BUFFER: u64 = 212_992;

/// Parameters of a hackbench run: the table `[workload.hackbench]`. Options of the real program stand in brackets.
///
/// Paths of the tasks: `hackbench`, `hackbench/receiver#3` and `hackbench/sender#3`, numbered through all groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hackbench {
    /// Name, first part of the paths of its tasks: `hackbench` unless given.
    #[serde(default = "default_name", deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Groups (`--groups`): 10 unless given.
    #[serde(default = "ten", deserialize_with = "whole::<_, _, 1, { MAX_GROUPS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_GROUPS as i64 }>")]
    pub groups: u32,
    /// Receivers, and senders, of a group: half of the file descriptors the real program counts (`--fds`): 20 unless given.
    #[serde(default = "twenty", deserialize_with = "whole::<_, _, 1, { MAX_FDS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_FDS as i64 }>")]
    pub fds: u32,
    /// Messages of each sender to each receiver (`--loops`): 100 unless given.
    #[serde(default = "hundred", deserialize_with = "whole::<_, _, 1, { MAX_LOOPS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_LOOPS as i64 }>")]
    pub loops: u32,
    /// Size of a message (`--datasize`): 100 bytes unless given.
    #[serde(default = "message")]
    pub datasize: Bytes,
    /// Pipes instead of unix stream sockets (`--pipe`).
    #[serde(default)]
    pub pipe: bool,
    /// Threads of one process instead of processes (`--threads`).
    #[serde(default)]
    pub threads: bool,
    /// CPU time around a call, in user mode. Default: 150 instructions at 3 per ns (assumption).
    #[serde(default = "around_call")]
    pub around_call: Dist,
    /// CPU time of the main program before it starts others. Default (traced): 1 ms.
    #[serde(default = "setup")]
    pub setup: Dist,
}

fn default_name() -> String {
    "hackbench".to_owned()
}
fn ten() -> u32 {
    10
}
fn twenty() -> u32 {
    20
}
fn hundred() -> u32 {
    100
}
fn message() -> Bytes {
    Bytes(100)
}
fn around_call() -> Dist {
    Dist::constant(Nanos(50))
}
fn setup() -> Dist {
    Dist::constant(Nanos::from_millis(1))
}

/// What hackbench prints.
pub const HEADLINES: &[Headline] = &[Headline {
    name: "hackbench_time",
    title: "hackbench time",
    short: "hackbench",
    unit: "s",
    better: Better::Lower,
}];

impl Default for Hackbench {
    fn default() -> Hackbench {
        Hackbench {
            name: default_name(),
            groups: ten(),
            fds: twenty(),
            loops: hundred(),
            datasize: message(),
            pipe: false,
            threads: false,
            around_call: around_call(),
            setup: setup(),
        }
    }
}

impl Model for Hackbench {
    fn build(&self, builder: &mut Builder) {
        let program = programs::main(self, builder);
        builder.add_plain_task("hackbench", &self.name, program);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let time = run.recorded(&self.name, 0).map(|times| times.max().as_secs_f64());
        HEADLINES.iter().zip(time).collect()
    }
}
