//! `perf bench sched pipe`: two tasks pass a word to and fro through two pipes (`perf-bench(1)`).

use super::{add, one_process, program};
use crate::build::Builder;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::PipeId;
use sim_core::program::{Action, Objects};

/// Bytes of a word.
const WORD: u64 = 4;

/// The table `[workload.perf_bench_sched_pipe]`. Tasks: `sched-pipe` and `sched-pipe/peer`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedPipe {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `-l`: number of loops, each there and back, 1 to 1000000000. Default 1000000.
    #[serde(rename = "loop", deserialize_with = "whole::<_, _, 1, 1_000_000_000>")]
    #[schemars(with = "Whole<u32, 1, 1_000_000_000>")]
    pub loops: u32,
    /// `-T`: threads of one process instead of processes.
    pub threaded: bool,
}

impl Default for SchedPipe {
    fn default() -> SchedPipe {
        SchedPipe { name: "sched-pipe".to_owned(), loops: 1_000_000, threaded: false }
    }
}

/// What it prints.
pub(crate) const HEADLINES: [Headline; 2] = [
    Headline {
        name: "perf_bench_sched_pipe_ops_per_second",
        title: "perf bench sched pipe, ops/sec",
        short: "ops/s",
        unit: "1/s",
        better: Better::Higher,
    },
    Headline {
        name: "perf_bench_sched_pipe_us_per_op",
        title: "perf bench sched pipe, usecs/op",
        short: "us/op",
        unit: "us",
        better: Better::Lower,
    },
];

impl Model for SchedPipe {
    fn build(&self, builder: &mut Builder) {
        let pipe = |objects: &mut Objects, way: &str| {
            objects.add_pipe(&format!("{}/{way}", self.name), Objects::PIPE_CAPACITY, 0)
        };
        let (there, back) = (pipe(&mut builder.objects, "there"), pipe(&mut builder.objects, "back"));
        let read = |pipe: PipeId| move || Action::PipeRead { pipe, bytes: WORD };
        let write = |pipe: PipeId| move || Action::PipeWrite { pipe, bytes: WORD };
        let (mut left, send, receive) = (self.loops, write(there), read(back));
        let first = program(move |_, to_do| {
            if left > 0 {
                left -= 1;
                to_do.extend([send(), receive(), Action::Count(1)]);
            }
        });
        let (mut left, receive, send) = (self.loops, read(there), write(back));
        let peer = program(move |_, to_do| {
            if left > 0 {
                left -= 1;
                to_do.extend([receive(), send()]);
            }
        });
        let tasks =
            [add(builder, self.name.clone(), first), add(builder, format!("{}/peer", self.name), peer)];
        if self.threaded {
            one_process(builder, tasks);
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let Some(rate) = run.work_per_second(&self.name).filter(|rate| *rate > 0.0) else {
            return Vec::new();
        };
        HEADLINES.iter().zip([rate, 1e6 / rate]).collect()
    }
}
