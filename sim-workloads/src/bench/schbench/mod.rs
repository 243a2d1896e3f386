//! schbench (Chris Mason): threads that message each other and measure how long waking takes.
//!
//! A worker thinks for `cputime` by the clock, puts itself on its message thread's list, posts that thread's futex unless
//! somebody has, and waits on its own. The message thread wakes all of its list, last come first, waits for a post, thinks for
//! `message_cputime`, and sleeps for `sleeptime` and up to a quarter of it more at random. Wakeup latency is the time from the
//! beginning of the message thread's round to the worker's return. With `rps` the message thread sends so many requests a
//! second to its workers in turn instead, and a worker thinks for `cputime` for each. (From the tool's usage text, its README
//! and reading what it does; the `-p` and `-a` modes are left out. The first version's think time is `cputime`; later ones
//! multiply matrices instead, whose time depends on the machine.)

mod threads;

use super::{MAX_TASKS, add, end_of, one_process, program, us};
use crate::build::Builder;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::PlainName;
use crate::units::{Duration, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::observe::Latencies;
use sim_core::{Nanos, SemId};
use std::sync::{Arc, Mutex};
use threads::{Room, State, main_thread, message_thread, worker};

/// The table `[workload.schbench]`. Tasks: `schbench`, `schbench/message#0` and `schbench/message#0/worker#3`, threads of one
/// process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Schbench {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `-m`: number of message threads, 1 to [`MAX_TASKS`]. Default 2.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub message_threads: u32,
    /// `-t`: worker threads of each message thread, 1 to [`MAX_TASKS`]. Default 16.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub threads: u32,
    /// `-r`: how long to run before exiting. Default 30 s; 0 is for ever.
    #[serde(rename(serialize = "runtime_ns"))]
    pub runtime: Duration,
    /// `-s`: message thread latency. Default 10 ms, as the usage text says.
    #[serde(rename(serialize = "sleeptime_ns"))]
    pub sleeptime: Duration,
    /// `-c`: how long to think during a loop. Default 10 ms, as the usage text says.
    #[serde(rename(serialize = "cputime_ns"))]
    pub cputime: Duration,
    /// `-C`: how long a message thread thinks during a loop. Default 0, as in versions without the option.
    #[serde(rename(serialize = "message_cputime_ns"))]
    pub message_cputime: Duration,
    /// `-R`: requests a second and message thread, 0 to 1000000. Default 0: workers ask.
    #[serde(deserialize_with = "whole::<_, _, 0, 1_000_000>")]
    #[schemars(with = "Whole<u32, 0, 1_000_000>")]
    pub rps: u32,
}

impl Default for Schbench {
    fn default() -> Schbench {
        let ms = |n| Duration(Nanos::from_millis(n));
        Schbench {
            name: "schbench".to_owned(),
            message_threads: 2,
            threads: 16,
            runtime: ms(30_000),
            sleeptime: ms(10),
            cputime: ms(10),
            message_cputime: ms(0),
            rps: 0,
        }
    }
}

const fn latency(name: &'static str, title: &'static str, short: &'static str) -> Headline {
    Headline { name, title, short, unit: "us", better: Better::Lower }
}

/// What schbench prints, p99 first, as it marks it.
pub(crate) const HEADLINES: [Headline; 9] = [
    latency("schbench_wakeup_p99_us", "schbench, wakeup latency, p99", "wakeup p99"),
    latency("schbench_wakeup_p50_us", "schbench, wakeup latency, p50", "wakeup p50"),
    latency("schbench_wakeup_p90_us", "schbench, wakeup latency, p90", "wakeup p90"),
    latency("schbench_wakeup_p995_us", "schbench, wakeup latency, p99.5", "wakeup p99.5"),
    latency("schbench_wakeup_p999_us", "schbench, wakeup latency, p99.9", "wakeup p99.9"),
    latency("schbench_wakeup_max_us", "schbench, wakeup latency, max", "wakeup max"),
    latency("schbench_request_p50_us", "schbench, request latency, p50", "request p50"),
    latency("schbench_request_p99_us", "schbench, request latency, p99", "request p99"),
    Headline {
        name: "schbench_rps",
        title: "schbench, requests per second",
        short: "rps",
        unit: "1/s",
        better: Better::Higher,
    },
];

/// Series of recorded times.
const WAKEUP: u8 = 0;
const REQUEST: u8 = 1;

impl Model for Schbench {
    fn build(&self, builder: &mut Builder) {
        let end = end_of(self.runtime.0);
        let (mut rooms, mut threads) = (Vec::new(), Vec::new());
        for m in 0..self.message_threads {
            let path = format!("{}/message#{m}", self.name);
            let names = (0..self.threads).map(|w| format!("{path}/worker#{w}"));
            let workers: Vec<SemId> = names.map(|name| builder.objects.add_semaphore(&name, 0)).collect();
            let message = builder.objects.add_semaphore(&path, 0);
            let state = Mutex::new(State::of(workers.len()));
            let room = Arc::new(Room { spec: self.clone(), end, message, workers, state });
            let body = message_thread(Arc::clone(&room), builder.stream(&path, "jitter"));
            threads.push(add(builder, path.clone(), program(body)));
            for w in 0..self.threads {
                let body = worker(Arc::clone(&room), w as usize);
                threads.push(add(builder, format!("{path}/worker#{w}"), program(body)));
            }
            rooms.push(room);
        }
        threads.push(add(builder, self.name.clone(), program(main_thread(rooms, end))));
        one_process(builder, threads);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let wakeup = run.recorded(&self.name, WAKEUP.into());
        let request = run.recorded(&self.name, REQUEST.into());
        let of = |times: &Option<Latencies>, q| times.as_ref().map(|t| us(t.quantile(q)));
        let values = [
            of(&wakeup, 0.99),
            of(&wakeup, 0.5),
            of(&wakeup, 0.9),
            of(&wakeup, 0.995),
            of(&wakeup, 0.999),
            wakeup.as_ref().map(|t| us(t.max())),
            of(&request, 0.5),
            of(&request, 0.99),
            run.work_per_second(&self.name),
        ];
        HEADLINES.iter().zip(values).filter_map(|(headline, value)| Some((headline, value?))).collect()
    }
}
