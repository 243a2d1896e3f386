//! An open-loop request service: requests come at their own rate whatever becomes of them, wait in a queue, and are served
//! by a pool of workers.
//!
//! Latency counts from a request's arrival, not from when somebody got to it, so that a service that falls behind shows it. One
//! task takes requests in; it sleeps from one arrival to the next, and when it comes late it takes in all that have arrived.
//! What does not fit in the queue is dropped.

use super::{MAX_TASKS, ToDo, add, end_of, one_process, program, shared, us};
use crate::build::Builder;
use crate::dist::{Dist, Shape};
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::{Names, PlainName};
use crate::units::{Duration, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use sim_core::program::{Action, ProgramContext, Work};
use sim_core::rng::Stream;
use sim_core::{Instant, Nanos, SemId};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The range of [`OpenLoop::rate`].
pub const RATE: std::ops::RangeInclusive<f64> = 0.001..=10_000_000.0;
/// The most requests in a queue.
pub const MAX_QUEUE: u32 = 1_000_000;

/// How requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random: a Poisson process.
    #[default]
    Poisson,
    /// At equal distances.
    Constant,
}

/// The table `[workload.open_loop]`. Tasks: `requests`, which takes them in, and `requests/worker#0` and so on, threads of one
/// process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OpenLoop {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Requests a second, 0.001 to 10000000. Default 1000.
    #[serde(deserialize_with = "rate")]
    #[schemars(range(min = *RATE.start(), max = *RATE.end()))]
    pub rate: f64,
    /// How they arrive. Default Poisson.
    #[schemars(with = "Names<Arrivals>")]
    pub arrivals: Arrivals,
    /// Work of a request. Default exponential, mean 500 us.
    pub service: Dist,
    /// Workers, 1 to [`MAX_TASKS`]. Default 4.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub workers: u32,
    /// Requests that may wait, 1 to [`MAX_QUEUE`]; those beyond are dropped. Default 1000000.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_QUEUE as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_QUEUE as i64 }>")]
    pub queue: u32,
    /// How long requests arrive. Default 0: for ever.
    #[serde(rename(serialize = "runtime_ns"))]
    pub runtime: Duration,
}

impl Default for OpenLoop {
    fn default() -> OpenLoop {
        OpenLoop {
            name: "requests".to_owned(),
            rate: 1000.0,
            arrivals: Arrivals::Poisson,
            service: exponential(Nanos::from_micros(500)),
            workers: 4,
            queue: MAX_QUEUE,
            runtime: Duration(Nanos::ZERO),
        }
    }
}

fn exponential(mean: Nanos) -> Dist {
    Dist { shape: Shape::Exponential(mean), min: None, max: None }
}

fn rate<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    let rate = f64::deserialize(d)?;
    if RATE.contains(&rate) {
        return Ok(rate);
    }
    Err(D::Error::custom(format_args!("rate is {rate}: allowed is {} to {}", RATE.start(), RATE.end())))
}

const fn latency(name: &'static str, title: &'static str, short: &'static str) -> Headline {
    Headline { name, title, short, unit: "us", better: Better::Lower }
}

/// What a load generator prints.
pub(crate) const HEADLINES: [Headline; 8] = [
    latency("open_loop_latency_p99_us", "requests, latency, p99", "lat. p99"),
    latency("open_loop_latency_p50_us", "requests, latency, p50", "lat. p50"),
    latency("open_loop_latency_p90_us", "requests, latency, p90", "lat. p90"),
    latency("open_loop_latency_p999_us", "requests, latency, p99.9", "lat. p99.9"),
    latency("open_loop_latency_mean_us", "requests, latency, mean", "lat. mean"),
    latency("open_loop_wait_mean_us", "requests, time in the queue, mean", "queue mean"),
    Headline {
        name: "open_loop_requests_per_second",
        title: "requests, served per second",
        short: "served/s",
        unit: "1/s",
        better: Better::Higher,
    },
    Headline {
        name: "open_loop_drops_per_second",
        title: "requests, dropped per second",
        short: "drops/s",
        unit: "1/s",
        better: Better::Lower,
    },
];

/// Series of recorded times.
const LATENCY: u8 = 0;
const WAIT: u8 = 1;

struct Service {
    spec: OpenLoop,
    end: Instant,
    queued: SemId,
    /// Arrivals that wait; past the end of arrivals, a worker finds none and stops.
    queue: Mutex<VecDeque<Instant>>,
}

/// Takes requests in.
fn intake(service: Arc<Service>, mut stream: Stream) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let gap = match service.spec.arrivals {
        Arrivals::Poisson => exponential(Nanos((1e9 / service.spec.rate) as u64)),
        Arrivals::Constant => Dist::constant(Nanos((1e9 / service.spec.rate) as u64)),
    };
    let mut next: Option<Instant> = None;
    let mut told = false;
    move |cx, to_do| {
        let due = next.unwrap_or_else(|| cx.now.saturating_add(gap.sample(&mut stream)));
        if due >= service.end {
            // Every worker finds an empty queue once.
            if !std::mem::replace(&mut told, true) {
                to_do.push_back(Action::SemPost { sem: service.queued, n: service.spec.workers });
            }
            return;
        }
        if cx.now < due {
            next = Some(due);
            return to_do.push_back(Action::SleepUntil(due));
        }
        next = Some(due.saturating_add(gap.sample(&mut stream)));
        let mut queue = shared(&service.queue);
        if queue.len() < service.spec.queue as usize {
            queue.push_back(due);
            to_do.push_back(Action::SemPost { sem: service.queued, n: 1 });
        } else {
            // Drops are what this task counts.
            to_do.push_back(Action::Count(1));
        }
    }
}

/// Serves requests, each when it is the oldest.
fn worker(service: Arc<Service>, mut stream: Stream) -> impl FnMut(&ProgramContext, &mut ToDo) + Send {
    let mut serving: Option<Instant> = None;
    let mut asked = false;
    move |cx, to_do| {
        if let Some(arrived) = serving.take() {
            let time = cx.now.saturating_since(arrived);
            to_do.extend([Action::Record { series: LATENCY, time }, Action::Count(1)]);
        }
        if !std::mem::replace(&mut asked, true) {
            return to_do.push_back(Action::SemWait(service.queued));
        }
        asked = false;
        serving = shared(&service.queue).pop_front();
        if let Some(arrived) = serving {
            let work = service.spec.service.sample(&mut stream);
            let time = cx.now.saturating_since(arrived);
            to_do.extend([Action::Record { series: WAIT, time }, Action::Run(Work::Capacity(work))]);
        }
    }
}

impl Model for OpenLoop {
    fn build(&self, builder: &mut Builder) {
        let queued = builder.objects.add_semaphore(&format!("{}/queue", self.name), 0);
        let (end, queue) = (end_of(self.runtime.0), Mutex::new(VecDeque::new()));
        let service = Arc::new(Service { spec: self.clone(), end, queued, queue });
        let body = intake(Arc::clone(&service), builder.stream(&self.name, "arrivals"));
        let intake = add(builder, self.name.clone(), program(body));
        // Arrivals are no timers.
        builder.timer_slack.push((intake, Nanos(1)));
        let mut threads = vec![intake];
        for i in 0..self.workers {
            let path = format!("{}/worker#{i}", self.name);
            let body = worker(Arc::clone(&service), builder.stream(&path, "service"));
            threads.push(add(builder, path, program(body)));
        }
        one_process(builder, threads);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let Some(elapsed) = run.elapsed(&self.name) else { return Vec::new() };
        let latency = run.recorded(&self.name, LATENCY.into());
        let of = |q| latency.as_ref().map(|t| us(t.quantile(q)));
        let served: u64 = (0..self.workers).map(|i| run.work(&format!("{}/worker#{i}", self.name))).sum();
        let dropped = run.work(&self.name) - served;
        let rate = |n: u64| Some(n as f64 / elapsed.as_secs_f64());
        let values = [
            of(0.99),
            of(0.5),
            of(0.9),
            of(0.999),
            latency.as_ref().map(|t| us(t.mean())),
            run.recorded(&self.name, WAIT.into()).map(|t| us(t.mean())),
            rate(served),
            rate(dropped),
        ];
        HEADLINES.iter().zip(values).filter_map(|(headline, value)| Some((headline, value?))).collect()
    }
}
