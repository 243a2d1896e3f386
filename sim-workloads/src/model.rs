//! Workload models: real programs and benchmarks as tables `[workload.NAME]`, each of which makes its own tasks and says
//! what the real program would have printed.

use crate::bench::{cyclictest, dbench, open_loop, schbench, stress_ng, tbench, thread_pool};
use crate::bench::{sched_messaging, sched_pipe};
use crate::build::Builder;
use crate::gzip::{self, Gzip};
use crate::hackbench::{self, Hackbench};
use crate::kernel_compile::{self, KernelCompile};
use crate::netperf::{self, Netperf};
use crate::pigz::{self, Pigz};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::engine::TaskInfo;
use sim_core::observe::{Latencies, Metrics, NetCounts};
use sim_core::program::{Action, Program, ProgramContext};
use sim_core::{Instant, Nanos};
use std::collections::VecDeque;

/// A program or benchmark with the tasks it starts.
pub trait Model {
    /// Adds the model's objects and those of its tasks that exist from the start.
    fn build(&self, builder: &mut Builder);

    /// The figures the real program prints, of a run; those that the run does not have are left out.
    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)>;
}

/// A figure a real program prints as its result.
#[derive(Debug)]
pub struct Headline {
    /// Name in JSON and for `--metric`: the model's name and the figure's.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Name for people at the head of a narrow column.
    pub short: &'static str,
    /// Unit, as the real program prints it.
    pub unit: &'static str,
    /// What it means when it grows.
    pub better: Better,
}

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More of it is faster.
    Higher,
    /// More of it is slower.
    Lower,
}

/// A program that decides several actions at a time.
pub trait Batches: Send {
    /// Adds the next actions, at least one, when all earlier ones are complete.
    fn more(&mut self, cx: &ProgramContext, ready: &mut VecDeque<Action>);
}

impl<F: FnMut(&ProgramContext, &mut VecDeque<Action>) + Send> Batches for F {
    fn more(&mut self, cx: &ProgramContext, ready: &mut VecDeque<Action>) {
        self(cx, ready);
    }
}

/// Plays a program that decides several actions at a time; one that adds none ends.
pub fn batches(mut program: impl Batches + 'static) -> Box<dyn Program> {
    let mut ready = VecDeque::new();
    Box::new(move |cx: &ProgramContext| {
        if ready.is_empty() {
            program.more(cx, &mut ready);
        }
        ready.pop_front().unwrap_or(Action::Exit)
    })
}

/// A run, as its models look at it.
#[derive(Debug, Clone, Copy)]
pub struct Ran<'a> {
    tasks: &'a [TaskInfo],
    metrics: &'a Metrics,
    /// The end of the warm-up.
    from: Instant,
    /// The end of the run.
    to: Instant,
}

impl<'a> Ran<'a> {
    /// A run that ended at `to`; `metrics` left out what came before `warmup`.
    pub fn new(tasks: &'a [TaskInfo], metrics: &'a Metrics, warmup: Nanos, to: Instant) -> Ran<'a> {
        Ran { tasks, metrics, from: Instant(warmup.0), to }
    }

    /// The task at `path` and all below it.
    fn under(self, path: &str) -> impl Iterator<Item = (usize, &'a TaskInfo)> {
        let is_under = move |task: &TaskInfo| {
            let rest = task.path.strip_prefix(path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.tasks.iter().enumerate().filter(move |(_, task)| is_under(task))
    }

    /// Units of work counted by the task at `path` and all below it.
    pub fn work(self, path: &str) -> u64 {
        self.under(path).map(|(i, _)| self.metrics.tasks()[i].work).sum()
    }

    /// Voluntary and involuntary switches of the task at `path` and all below it.
    pub fn switches(self, path: &str) -> u64 {
        self.under(path).map(|(i, _)| &self.metrics.tasks()[i]).map(|t| t.voluntary + t.involuntary).sum()
    }

    /// What came over the network.
    pub fn network(self) -> NetCounts {
        self.metrics.network()
    }

    /// Whether nothing was left out and every task has ended.
    pub fn is_whole(self) -> bool {
        self.from == Instant::ZERO && self.tasks.iter().all(|task| !task.is_unfinished())
    }

    /// CPU time of the task at `path` and all below it.
    pub fn cpu_time(self, path: &str) -> Nanos {
        Nanos(self.under(path).map(|(i, _)| self.metrics.tasks()[i].cpu_time.0).sum())
    }

    /// Whether the task at `path` has ended.
    pub fn finished(self, path: &str) -> bool {
        self.tasks.iter().any(|task| task.path == path && task.end.is_some())
    }

    /// From the start of the task at `path` to its end, or to the end of the run; what lies in the warm-up is left out.
    pub fn elapsed(self, path: &str) -> Option<Nanos> {
        let task = self.tasks.iter().find(|task| task.path == path)?;
        let (start, end) = (task.start.max(self.from), task.end.unwrap_or(self.to));
        Some(end.saturating_since(start)).filter(|span| !span.is_zero())
    }

    /// Units of work per second of the task at `path` and all below it.
    pub fn work_per_second(self, path: &str) -> Option<f64> {
        Some(self.work(path) as f64 / self.elapsed(path)?.as_secs_f64())
    }

    /// The times that the task at `path` and all below it recorded in a series; none without any.
    pub fn recorded(self, path: &str, series: usize) -> Option<Latencies> {
        let mut all = Latencies::default();
        for (i, _) in self.under(path) {
            self.metrics.tasks()[i].recorded.get(series).into_iter().for_each(|times| all.merge(times));
        }
        (all.count() > 0).then_some(all)
    }
}

macro_rules! workloads {
    ($($(#[doc = $doc:literal])+ $field:ident: $model:ty, $headlines:expr;)*) => {
        /// The `[workload.*]` tables: models that make their own tasks.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a table of workloads")]
        pub struct Workloads {
            $($(#[doc = $doc])+
            #[serde(skip_serializing_if = "Option::is_none")]
            pub $field: Option<$model>,)*
        }

        impl Workloads {
            /// The models of a scenario, in the order in which they create their tasks.
            pub fn models(&self) -> impl Iterator<Item = &dyn Model> {
                let all: [Option<&dyn Model>; _] = [$(self.$field.as_ref().map(|m| m as &dyn Model)),*];
                all.into_iter().flatten()
            }
        }

        /// The figures of all models.
        pub fn headlines() -> impl Iterator<Item = &'static Headline> {
            let all: [&'static [Headline]; _] = [$($headlines),*];
            all.into_iter().flatten()
        }
    };
}

workloads! {
    /// `[workload.kernel_compile]`
    kernel_compile: KernelCompile, &kernel_compile::HEADLINES;
    /// `[workload.netperf]`
    netperf: Netperf, netperf::HEADLINES;
    /// `[workload.gzip]`
    gzip: Gzip, gzip::HEADLINES;
    /// `[workload.pigz]`
    pigz: Pigz, pigz::HEADLINES;
    /// `[workload.hackbench]`
    hackbench: Hackbench, hackbench::HEADLINES;
    /// `[workload.cyclictest]`
    cyclictest: cyclictest::Cyclictest, &cyclictest::HEADLINES;
    /// `[workload.dbench]`
    dbench: dbench::Dbench, &dbench::HEADLINES;
    /// `[workload.open_loop]`
    open_loop: open_loop::OpenLoop, &open_loop::HEADLINES;
    /// `[workload.perf_bench_sched_messaging]`
    perf_bench_sched_messaging: sched_messaging::SchedMessaging, &sched_messaging::HEADLINES;
    /// `[workload.perf_bench_sched_pipe]`
    perf_bench_sched_pipe: sched_pipe::SchedPipe, &sched_pipe::HEADLINES;
    /// `[workload.schbench]`
    schbench: schbench::Schbench, &schbench::HEADLINES;
    /// `[workload.stress_ng]`
    stress_ng: stress_ng::StressNg, &stress_ng::HEADLINES;
    /// `[workload.tbench]`
    tbench: tbench::Tbench, &tbench::HEADLINES;
    /// `[workload.thread_pool]`
    thread_pool: thread_pool::ThreadPool, &thread_pool::HEADLINES;
}

impl Workloads {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.models().next().is_none()
    }
}
