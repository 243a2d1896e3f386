//! How fast one CPU is simulated: simulated context switches per second of real time.

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim_core::machine::topology::Topology;
use sim_core::observe::{Event, Observer};
use sim_core::program::{Action, Program, Work};
use sim_core::{Instant, Nanos};
use std::time::Duration;
use support::{interactive, simulation};

/// Counts switches.
#[derive(Default)]
struct Switches(u64);

impl Observer for Switches {
    fn event(&mut self, _at: Instant, event: &Event) {
        self.0 += u64::from(matches!(event, Event::Switch { .. }));
    }
}

fn hog(_seed: u64) -> Box<dyn Program> {
    Box::new(|_: &_| Action::Run(Work::Capacity(Nanos::from_secs(1000))))
}

fn one() -> Topology {
    Topology::uniform(1).expect("a machine may have one CPU")
}

fn bench(c: &mut Criterion, name: &str, program: fn(u64) -> Box<dyn Program>, tasks: &[usize], for_: Nanos) {
    let mut group = c.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for n in tasks {
        let mut counted = simulation(one(), *n, program, for_, Switches::default());
        counted.run().expect("the benchmark reaches no limit");
        group.throughput(Throughput::Elements(counted.observer.0));
        group.bench_with_input(BenchmarkId::from_parameter(n), n, |b, n| {
            b.iter_batched(
                || simulation(one(), *n, program, for_, ()),
                |mut sim| sim.run().expect("the benchmark reaches no limit"),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn benches(c: &mut Criterion) {
    bench(c, "hogs", hog, &[2, 8, 64], Nanos::from_secs(20));
    bench(c, "interactive", interactive, &[8, 64], Nanos::from_secs(1));
}

criterion_group!(switches, benches);
criterion_main!(switches);
