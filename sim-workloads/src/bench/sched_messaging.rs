//! `perf bench sched messaging` (`perf-bench(1)`): hackbench by another name, with its figure.

use crate::build::Builder;
use crate::hackbench::{Hackbench, MAX_GROUPS, MAX_LOOPS};
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The table `[workload.perf_bench_sched_messaging]`: groups of 20 senders and 20 receivers, messages of 100 bytes. Tasks as
/// [`Hackbench`] names them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SchedMessaging {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `-g`: number of groups, 1 to [`MAX_GROUPS`]. Default 10.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_GROUPS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_GROUPS as i64 }>")]
    pub group: u32,
    /// `-l`: messages of each sender to each receiver, 1 to [`MAX_LOOPS`]. Default 100.
    #[serde(rename = "nr_loops", deserialize_with = "whole::<_, _, 1, { MAX_LOOPS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_LOOPS as i64 }>")]
    pub loops: u32,
    /// `-p`: pipes instead of sockets.
    pub pipe: bool,
    /// `-t`: threads of one process instead of processes.
    pub thread: bool,
}

impl Default for SchedMessaging {
    fn default() -> SchedMessaging {
        SchedMessaging {
            name: "sched-messaging".to_owned(),
            group: 10,
            loops: 100,
            pipe: false,
            thread: false,
        }
    }
}

/// What it prints.
pub(crate) const HEADLINES: [Headline; 1] = [Headline {
    name: "perf_bench_sched_messaging_s",
    title: "perf bench sched messaging, total time",
    short: "messaging",
    unit: "s",
    better: Better::Lower,
}];

impl SchedMessaging {
    fn as_hackbench(&self) -> Hackbench {
        Hackbench {
            name: self.name.clone(),
            groups: self.group,
            loops: self.loops,
            pipe: self.pipe,
            threads: self.thread,
            ..Hackbench::default()
        }
    }
}

impl Model for SchedMessaging {
    fn build(&self, builder: &mut Builder) {
        self.as_hackbench().build(builder);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let time = self.as_hackbench().results(run).into_iter().map(|(_, seconds)| seconds);
        HEADLINES.iter().zip(time).collect()
    }
}
