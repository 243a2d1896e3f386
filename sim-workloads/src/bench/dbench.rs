//! dbench: clients that do a file server's operations, in the kernel, and wait for the disk when they flush (`dbench(1)`).

use super::load::{Load, done, max_latency, results, throughput};
use super::{MAX_TASKS, ToDo, add, end_of, program};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Duration, Whole, model_name, whole};
use rand::RngExt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::Nanos;
use sim_core::program::{Action, ProgramContext};

/// The table `[workload.dbench]`. Tasks: `dbench/client#0` and so on, processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Dbench {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `numprocs`: number of clients, 1 to [`MAX_TASKS`]. Default 1.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub clients: u32,
    /// `-t`: how long to run. Default 600 s; 0 is for ever.
    #[serde(rename(serialize = "timelimit_ns"))]
    pub timelimit: Duration,
    /// What is asked for.
    pub load: Load,
    /// The kernel's work for an operation, without copying. Default 5 us (assumption).
    pub operation: Dist,
    /// The kernel's work for each KiB read or written. Default 100 ns (assumption: 10 GB/s, a warm copy).
    #[serde(rename(serialize = "copy_kib_ns"))]
    pub copy_kib: Duration,
    /// Flushes in a thousand operations, 0 to 1000. Default 12, the share dbench prints.
    #[serde(deserialize_with = "whole::<_, _, 0, 1000>")]
    #[schemars(with = "Whole<u32, 0, 1000>")]
    pub flushes_per_thousand: u32,
    /// How long a flush waits for the disk. Default 0: a file system in memory.
    pub flush: Dist,
}

impl Default for Dbench {
    fn default() -> Dbench {
        Dbench {
            name: "dbench".to_owned(),
            clients: 1,
            timelimit: Duration(Nanos::from_secs(600)),
            load: Load::default(),
            operation: Dist::constant(Nanos::from_micros(5)),
            copy_kib: Duration(Nanos(100)),
            flushes_per_thousand: 12,
            flush: Dist::constant(Nanos::ZERO),
        }
    }
}

/// What dbench prints.
pub(crate) const HEADLINES: [Headline; 2] = [
    throughput("dbench_mb_per_second", "dbench, throughput"),
    max_latency("dbench_max_latency_ms", "dbench, max_latency"),
];

impl Model for Dbench {
    fn build(&self, builder: &mut Builder) {
        for i in 0..self.clients {
            let path = format!("{}/client#{i}", self.name);
            let (spec, end) = (self.clone(), end_of(self.timelimit.0));
            let (mut load, mut work) = (builder.stream(&path, "load"), builder.stream(&path, "run"));
            let mut last = None;
            let body = move |cx: &ProgramContext, to_do: &mut ToDo| {
                if let Some((since, bytes)) = last.take() {
                    done(since, cx.now, bytes, to_do);
                }
                if cx.now >= end {
                    return;
                }
                let (out, back) = spec.load.draw(&mut load);
                last = Some((cx.now, out + back));
                let copy = u128::from(out + back) * u128::from(spec.copy_kib.0.0) / 1024;
                let operation = spec.operation.sample(&mut work).0.max(1).saturating_add(copy as u64);
                to_do.push_back(Action::KernelRun(Nanos(operation)));
                let flushes = load.random_range(0..1000) < spec.flushes_per_thousand;
                let flush = if flushes { spec.flush.sample(&mut work) } else { Nanos::ZERO };
                to_do.extend((!flush.is_zero()).then_some(Action::Io(flush)));
            };
            add(builder, path, program(body));
        }
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        results(&HEADLINES, &self.name, self.clients, run)
    }
}
