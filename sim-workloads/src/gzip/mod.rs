//! gzip: files compressed side by side, each by a process of its own that never waits for anything but the CPU.
//!
//! Input comes from a warm page cache and output goes into it. gzip(1).

use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Batches, Better, Headline, Model, Ran, batches};
use crate::schema::{PlainName, is_default};
use crate::units::{Bytes, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::machine::{WorkClass, WorkKind};
use sim_core::program::{Action, ChildSpec, ProgramContext, Work};
use sim_core::rng::{self, Stream};
use std::collections::VecDeque;

/// The most files.
pub const MAX_FILES: u32 = 10_000;
/// What gzip reads at a time: its input buffer.
const BLOCK: u64 = 32_768;

/// Parameters of gzip: the table `[workload.gzip]`.
///
/// Paths of the tasks: `gzip` (the shell that starts them all and waits) and `gzip/file#0`, ….
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gzip {
    /// Name, first part of the paths of its tasks: `gzip` unless given.
    #[serde(default = "default_name", deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// How many files are compressed side by side: 1 unless given.
    #[serde(default = "one", deserialize_with = "whole::<_, _, 1, { MAX_FILES as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_FILES as i64 }>")]
    pub files: u32,
    /// Size of a file.
    pub size: Bytes,
    /// CPU time to compress 32 KiB. Default: 1.65 ms, gzip -6 on text at 20 MB/s (assumption).
    #[serde(default = "block_work")]
    pub block_work: Dist,
    /// CPU time of a read or write call of the page cache. Default: 5 µs (assumption).
    #[serde(default = "call")]
    pub call: Dist,
    /// What limits the speed of its tasks: compute or memory.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "crate::schema::Names<WorkClass>")]
    pub class: WorkClass,
    /// What each of its tasks uses again and again, for caches; nothing unless given.
    #[serde(default, rename(serialize = "working_set_bytes"), skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
}

fn default_name() -> String {
    "gzip".to_owned()
}
fn one() -> u32 {
    1
}
fn block_work() -> Dist {
    Dist::constant(Nanos::from_micros(1650))
}
fn call() -> Dist {
    Dist::constant(Nanos::from_micros(5))
}

/// What `time gzip` shows, and the rate that follows.
pub const HEADLINES: &[Headline] = &[
    Headline { name: "gzip_time", title: "gzip time", short: "gzip", unit: "s", better: Better::Lower },
    Headline { name: "gzip_rate", title: "gzip rate", short: "gzip", unit: "MB/s", better: Better::Higher },
];

impl Gzip {
    /// One file with default costs.
    pub fn new(size: Bytes) -> Gzip {
        let (block_work, call) = (block_work(), call());
        Gzip {
            name: default_name(),
            files: 1,
            size,
            block_work,
            call,
            class: WorkClass::default(),
            working_set: None,
        }
    }
}

impl Model for Gzip {
    fn build(&self, builder: &mut Builder) {
        let file = |i| {
            let path = format!("{}/file#{i}", self.name);
            let times = rng::stream(builder.seed, &path, "run");
            let program = batches(Compressor { spec: self.clone(), times, left: self.size.0 });
            Action::Fork(Box::new(ChildSpec { name: "gzip".to_owned(), path, program }))
        };
        let mut steps =
            (0..self.files).map(file).chain([Action::WaitChildren]).collect::<Vec<_>>().into_iter();
        let working_set = self.working_set.map_or(0, |b| b.0);
        let shell = builder.add_plain_task(
            "sh",
            &self.name,
            Box::new(move |_: &ProgramContext| steps.next().unwrap_or(Action::Exit)),
        );
        builder.kinds.push((shell, WorkKind { class: self.class, working_set }));
    }

    /// The time is that of all files; the rate counts bytes read.
    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let [time, rate] = HEADLINES else { return Vec::new() };
        let done = run.elapsed(&self.name).filter(|_| run.finished(&self.name) && run.is_whole());
        let time = done.map(|t| (time, t.as_secs_f64()));
        let rate = run.work_per_second(&self.name).map(|bytes| (rate, bytes / 1e6));
        time.into_iter().chain(rate).collect()
    }
}

/// Reads a block, compresses it, writes what came of it.
struct Compressor {
    spec: Gzip,
    times: Stream,
    left: u64,
}

impl Batches for Compressor {
    fn more(&mut self, _: &ProgramContext, out: &mut VecDeque<Action>) {
        if self.left == 0 {
            return out.push_back(Action::Exit);
        }
        let bytes = self.left.min(BLOCK);
        self.left -= bytes;
        let work = self.spec.block_work.sample(&mut self.times);
        let work = Nanos((u128::from(work.0) * u128::from(bytes) / u128::from(BLOCK)) as u64);
        let (read, write) = (self.spec.call.sample(&mut self.times), self.spec.call.sample(&mut self.times));
        let work = Action::Run(Work::Capacity(work));
        out.extend([Action::KernelRun(read), work, Action::KernelRun(write), Action::Count(bytes)]);
    }
}
