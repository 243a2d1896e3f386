//! cyclictest: threads that sleep until the next of their periods and measure how late they wake (`cyclictest(8)`), under
//! a fair policy: `--policy=other`.
//!
//! The next period is counted from the one before; periods that have passed are left out. The first begins an interval after
//! the start.

use super::{MAX_TASKS, add, one_process, program, us};
use crate::build::Builder;
use crate::model::{Better, Headline, Model, Ran};
use crate::schema::{Names, PlainName, is_default};
use crate::units::{Duration, Whole, model_name, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::kernel::Policy;
use sim_core::program::Action;
use sim_core::{Instant, Nanos};

/// The table `[workload.cyclictest]`. Tasks: `cyclictest` (the first thread) and `cyclictest/thread#1` and so on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cyclictest {
    /// First part of the paths of its tasks.
    #[serde(deserialize_with = "model_name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// `-t`: number of threads, 1 to [`MAX_TASKS`]. Default 1.
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_TASKS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_TASKS as i64 }>")]
    pub threads: u32,
    /// `-i`: interval of the first thread. Default 1 ms.
    #[serde(rename(serialize = "interval_ns"))]
    pub interval: Duration,
    /// `-d`: how much longer each further thread's interval is. Default 500 us.
    #[serde(rename(serialize = "distance_ns"))]
    pub distance: Duration,
    /// `-l`: number of loops of each thread. Default 0: without end.
    #[serde(deserialize_with = "whole::<_, _, 0, 1_000_000_000>")]
    #[schemars(with = "Whole<u32, 0, 1_000_000_000>")]
    pub loops: u32,
    /// `--policy`: normal (called other there), batch or idle. Default normal.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "Names<Policy>")]
    pub policy: Policy,
}

impl Default for Cyclictest {
    fn default() -> Cyclictest {
        Cyclictest {
            name: "cyclictest".to_owned(),
            threads: 1,
            interval: Duration(Nanos::from_micros(1000)),
            distance: Duration(Nanos::from_micros(500)),
            loops: 0,
            policy: Policy::Normal,
        }
    }
}

const fn latency(name: &'static str, title: &'static str, short: &'static str) -> Headline {
    Headline { name, title, short, unit: "us", better: Better::Lower }
}

/// What it prints, over all threads.
pub(crate) const HEADLINES: [Headline; 3] = [
    latency("cyclictest_max_us", "cyclictest, latency, max", "cyc. max"),
    latency("cyclictest_avg_us", "cyclictest, latency, avg", "cyc. avg"),
    latency("cyclictest_min_us", "cyclictest, latency, min", "cyc. min"),
];

impl Model for Cyclictest {
    fn build(&self, builder: &mut Builder) {
        let mut threads = Vec::new();
        for i in 0..self.threads {
            let longer = self.distance.0.0.saturating_mul(u64::from(i));
            // At least a nanosecond, so that there is a next period.
            let interval = Nanos(self.interval.0.0.saturating_add(longer).max(1));
            let (loops, mut done, mut next) = (self.loops, 0, None::<Instant>);
            let body = program(move |cx, to_do| {
                if let Some(due) = next {
                    to_do.push_back(Action::Record { series: 0, time: cx.now.saturating_since(due) });
                    done += u32::from(loops > 0);
                }
                if loops > 0 && done >= loops {
                    next = None;
                    return;
                }
                let from = next.unwrap_or(cx.now);
                // The first period after now.
                let passed = cx.now.saturating_since(from).0 / interval.0;
                let due = from.saturating_add(Nanos(interval.0.saturating_mul(passed + 1)));
                next = Some(due);
                to_do.push_back(Action::SleepUntil(due));
            });
            let path = if i == 0 { self.name.clone() } else { format!("{}/thread#{i}", self.name) };
            threads.push(add(builder, path, body));
            builder.tasks.last_mut().into_iter().for_each(|task| task.policy = self.policy);
        }
        one_process(builder, threads);
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        let Some(times) = run.recorded(&self.name, 0) else { return Vec::new() };
        HEADLINES.iter().zip([us(times.max()), us(times.mean()), us(times.quantile(0.0))]).collect()
    }
}
