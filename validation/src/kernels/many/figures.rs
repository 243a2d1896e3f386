//! The figures of one run on several CPUs, alike for a capture and its simulation.

use crate::capture::schedstat::LevelCounts;
use crate::capture::spec::{Spec, Step};
use crate::measure::{ManyCpus, Timeline, Wanted, measure_many};
use serde::Serialize;

/// One side's figures. Times in ms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Length of the span: from T0, or from the moment at which pinned tasks are freed.
    pub span_ms: f64,
    /// From T0 to the end of the last task.
    pub makespan_ms: f64,
    /// Switches of all CPUs.
    pub switches: u64,
    /// Switches to an idle task.
    pub idle_entries: u64,
    /// Those while a task waits on some CPU.
    pub idle_entries_while_waiting: u64,
    /// Wake-ups, first ones excluded.
    pub wakeups: u64,
    /// Those onto the task's previous CPU.
    pub wakeups_on_previous: u64,
    /// Changes of CPU by wake-ups.
    pub wake_migrations: u64,
    /// Changes of CPU while runnable.
    pub balance_migrations: u64,
    /// Integral of min(idle CPUs, waiting tasks): CPU-ms.
    pub wasted_cpu_ms: f64,
    /// Waiting of all tasks.
    pub waiting_ms: f64,
    /// Wake-up latency, µs: median, and the value that nine of ten keep.
    pub latency_us: (Option<f64>, Option<f64>),
    /// Distinct CPUs that tasks were put on when forked, before T0.
    pub first_cpus: u32,
    /// Until as many CPUs as can be busy are.
    pub occupied_ms: Option<f64>,
    /// The same for cores with several threads.
    pub cores_ms: Option<f64>,
    /// What the kernel counted of its balancing, by level, smallest domains first.
    pub balance: Vec<LevelCounts>,
}

const MS: f64 = 1e6;

impl Figures {
    /// Measures one side of a capture's experiment.
    pub(super) fn of(timeline: &Timeline, balance: &[LevelCounts], wanted: &Wanted) -> Figures {
        let m: ManyCpus = measure_many(timeline, wanted);
        let ms = |ns: u64| ns as f64 / MS;
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        Figures {
            span_ms: ms(m.span_ns),
            makespan_ms: ms(m.makespan_ns),
            switches: m.switches,
            idle_entries: m.idle_entries,
            idle_entries_while_waiting: m.idle_entries_while_waiting,
            wakeups: m.wakeups,
            wakeups_on_previous: m.wakeups_on_previous,
            wake_migrations: m.wake_migrations,
            balance_migrations: m.balance_migrations,
            wasted_cpu_ms: ms(m.wasted_ns),
            waiting_ms: ms(m.waiting_ns),
            latency_us: (us(m.latency(0.5)), us(m.latency(0.9))),
            first_cpus: m.first_cpus,
            occupied_ms: m.occupied_ns.map(ms),
            cores_ms: m.cores_ns.map(ms),
            balance: balance.to_vec(),
        }
    }

    /// Several runs of one experiment as one: each figure's median. Counters of balancing are sums over the runs' middle
    /// counterparts: the run whose number of tasks moved is the median stands for them.
    pub(super) fn medians<'a>(runs: impl Iterator<Item = &'a Figures>) -> Figures {
        let runs: Vec<&Figures> = runs.collect();
        let count = |of: fn(&Figures) -> u64| middle(runs.iter().map(|f| of(f) as f64).collect()) as u64;
        let time = |of: fn(&Figures) -> f64| middle(runs.iter().map(|f| of(f)).collect());
        let maybe = |of: fn(&Figures) -> Option<f64>| {
            let values = runs.iter().map(|f| of(f).unwrap_or(f64::INFINITY)).collect();
            Some(middle(values)).filter(|v| v.is_finite())
        };
        let mut by_moves = runs.clone();
        by_moves.sort_by_key(|f| f.balanced().all().moved);
        Figures {
            span_ms: time(|f| f.span_ms),
            makespan_ms: time(|f| f.makespan_ms),
            switches: count(|f| f.switches),
            idle_entries: count(|f| f.idle_entries),
            idle_entries_while_waiting: count(|f| f.idle_entries_while_waiting),
            wakeups: count(|f| f.wakeups),
            wakeups_on_previous: count(|f| f.wakeups_on_previous),
            wake_migrations: count(|f| f.wake_migrations),
            balance_migrations: count(|f| f.balance_migrations),
            wasted_cpu_ms: time(|f| f.wasted_cpu_ms),
            waiting_ms: time(|f| f.waiting_ms),
            latency_us: (maybe(|f| f.latency_us.0), maybe(|f| f.latency_us.1)),
            first_cpus: count(|f| f.first_cpus.into()) as u32,
            occupied_ms: maybe(|f| f.occupied_ms),
            cores_ms: maybe(|f| f.cores_ms),
            balance: by_moves.get(runs.len() / 2).map_or_else(Vec::new, |f| f.balance.clone()),
        }
    }

    /// Changes of CPU in all.
    pub fn migrations(&self) -> u64 {
        self.wake_migrations + self.balance_migrations
    }

    /// What was counted of balancing, all levels together.
    pub fn balanced(&self) -> LevelCounts {
        let mut all = LevelCounts::default();
        self.balance.iter().for_each(|level| all += *level);
        all
    }
}

/// The middle value; the upper one of an even number.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// What a spec says of the measures.
pub(super) fn wanted(spec: &Spec, threads_per_core: u32) -> Wanted<'_> {
    let frees = spec.tasks.iter().find(|t| t.body.iter().any(|s| matches!(s, Step::AffinityAll(_))));
    let hogs = spec.tasks.iter().filter(|t| never_waits(&t.body)).count() as u32;
    Wanted { freed_by: frees.map(|t| t.name.as_str()), hogs, threads_per_core }
}

/// Whether tasks of a spec start pinned.
pub(super) fn starts_pinned(spec: &Spec) -> bool {
    spec.tasks.iter().any(|t| t.cpus.is_some())
}

fn never_waits(body: &[Step]) -> bool {
    body.iter().all(|step| match step {
        Step::Run(_) | Step::Spin(_) | Step::Count | Step::Yield | Step::SysIo(_) => true,
        Step::Loop(_, b) | Step::For(_, b) => never_waits(b),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spec::parse_spec;

    #[test]
    fn a_spec_says_who_is_a_hog_and_who_frees_the_others() {
        let spec = "task h count=3 cpu=0 : for 1s { run 5ms count }\ntask p : loop 3 { run 1ms sleep 1ms }\n\
            task ctl nice=-20 : sleep 20ms affall 0-3";
        let spec = parse_spec(spec).unwrap();
        assert_eq!(wanted(&spec, 2), Wanted { freed_by: Some("ctl"), hogs: 3, threads_per_core: 2 });
        assert!(starts_pinned(&spec));
        let free = parse_spec("task b count=2 : loop 2 { run 1ms barrier x 2 }").unwrap();
        assert_eq!(wanted(&free, 1), Wanted { freed_by: None, hogs: 0, threads_per_core: 1 });
        assert!(!starts_pinned(&free));
    }
}
