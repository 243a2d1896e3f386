//! stress-ng's CPU stressor (`stress-ng(1)`): hogs, or tasks that load a CPU to a percentage, which count bogus operations.

use super::{MAX_TASKS, ToDo, add, end_of, program};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Duration, Whole, model_name, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::program::{Action, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, Nanos};

/// The longest random slice of `cpu_load_slice = 0`.
const RANDOM_SLICE: Nanos = Nanos::from_millis(500);

/// The table `[workload.stress_ng]`. Tasks: `stress-ng/cpu#0` and so on, processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StressNg {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `--cpu`: number of workers, 1 to [`MAX_TASKS`]. Default 1.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub cpu: u32,
    /// `--cpu-load`: percent of a CPU's time each worker wants, 1 to 100. Default 100.
    #[serde(deserialize_with = "whole::<_, _, 1, 100>")]
    #[schemars(with = "Whole<u32, 1, 100>")]
    pub cpu_load: u32,
    /// `--cpu-load-slice`: length of a busy stretch under `cpu_load`: ms, or, below zero, a number of operations; 0 is a random
    /// length up to half a second. -1000000 to 1000000, default -64.
    #[serde(deserialize_with = "whole::<_, _, -1_000_000, 1_000_000>")]
    #[schemars(with = "Whole<i32, -1_000_000, 1_000_000>")]
    pub cpu_load_slice: i32,
    /// `--cpu-ops`: each worker stops after so many operations. Default 0: it does not.
    #[serde(deserialize_with = "whole::<_, _, 0, 1_000_000_000>")]
    #[schemars(with = "Whole<u32, 0, 1_000_000_000>")]
    pub cpu_ops: u32,
    /// `--timeout`: when workers stop. Default one day; 0 is never.
    #[serde(rename(serialize = "timeout_ns"))]
    pub timeout: Duration,
    /// Work of one operation. Default 1 ms (assumption: it depends on the method and the machine).
    pub bogo_op: Dist,
}

impl Default for StressNg {
    fn default() -> StressNg {
        StressNg {
            name: "stress-ng".to_owned(),
            cpu: 1,
            cpu_load: 100,
            cpu_load_slice: -64,
            cpu_ops: 0,
            timeout: Duration(Nanos::from_secs(86_400)),
            bogo_op: Dist::constant(Nanos::from_millis(1)),
        }
    }
}

/// What it prints, over all workers.
pub(crate) const HEADLINES: [Headline; 3] = [
    Headline {
        name: "stress_ng_bogo_ops_per_second",
        title: "stress-ng, bogo ops/s (real time)",
        short: "bogo ops/s",
        unit: "1/s",
        better: Better::Higher,
    },
    Headline {
        name: "stress_ng_bogo_ops",
        title: "stress-ng, bogo ops",
        short: "bogo ops",
        unit: "",
        better: Better::Higher,
    },
    Headline {
        name: "stress_ng_bogo_ops_per_cpu_second",
        title: "stress-ng, bogo ops/s (usr+sys time)",
        short: "ops/CPU s",
        unit: "1/s",
        better: Better::Higher,
    },
];

/// A worker.
struct Worker {
    spec: StressNg,
    work: Stream,
    slices: Stream,
    end: Instant,
    done: u32,
    /// The busy stretch: since when, operations in it, and its length where that is a time.
    since: Instant,
    in_slice: u32,
    slice: Nanos,
}

impl Worker {
    fn slice_is_over(&self, now: Instant) -> bool {
        let operations = self.spec.cpu_load_slice.min(0).unsigned_abs();
        if operations > 0 {
            self.in_slice >= operations
        } else {
            now.saturating_since(self.since) >= self.slice
        }
    }

    fn start_slice(&mut self, now: Instant) {
        (self.since, self.in_slice) = (now, 0);
        self.slice = match u64::try_from(self.spec.cpu_load_slice) {
            Ok(0) => Nanos(self.slices.random_range(0..RANDOM_SLICE.0)),
            Ok(ms) => Nanos::from_millis(ms),
            Err(_) => Nanos::ZERO,
        };
    }

    /// After a busy stretch a worker sleeps so long that the stretch is its share of both.
    fn step(&mut self, cx: &ProgramContext, to_do: &mut ToDo) {
        let enough = self.spec.cpu_ops > 0 && self.done >= self.spec.cpu_ops;
        if enough || cx.now >= self.end {
            return;
        }
        if self.in_slice == 0 {
            self.start_slice(cx.now);
        } else if self.spec.cpu_load < 100 && self.slice_is_over(cx.now) {
            let busy = u128::from(cx.now.saturating_since(self.since).0);
            let load = u128::from(self.spec.cpu_load);
            self.in_slice = 0;
            return to_do.push_back(Action::Sleep(Nanos((busy * (100 - load) / load) as u64)));
        }
        self.done = self.done.saturating_add(1);
        self.in_slice = self.in_slice.saturating_add(1);
        let work = self.spec.bogo_op.sample(&mut self.work).max(Nanos(1));
        to_do.extend([Action::Run(Work::Capacity(work)), Action::Count(1)]);
    }
}

impl Model for StressNg {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.cpu {
            let path = format!("{}/cpu#{i}", self.name);
            let mut worker = Worker {
                spec: self.clone(),
                work: builder.stream(&path, "run"),
                slices: builder.stream(&path, "slice"),
                end: end_of(self.timeout.0),
                done: 0,
                since: Instant::ZERO,
                in_slice: 0,
                slice: Nanos::ZERO,
            };
            add(builder, path, program(move |cx, to_do| worker.step(cx, to_do)));
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let ops = run.work(&self.name) as f64;
        let cpu_time = run.cpu_time(&self.name).as_secs_f64();
        let workers = (0..self.cpu).filter_map(|i| run.work_per_second(&format!("{}/cpu#{i}", self.name)));
        let rate: f64 = workers.sum();
        if ops == 0.0 || cpu_time == 0.0 {
            return Vec::new();
        }
        HEADLINES.iter().zip([rate, ops, ops / cpu_time]).collect()
    }
}
