//! How fast machines with many CPUs are simulated: events per second of real time, by size.

mod support;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim_core::Nanos;
use sim_core::machine::topology::{Shape, Topology};
use std::time::Duration;
use support::{interactive, simulation};

/// A machine of last-level caches with 16 CPUs each, or one with fewer.
fn caches_of_16(cpus: u32) -> Topology {
    Shape::new(1, cpus.div_ceil(16), cpus.min(16), 1).topology().expect("a machine")
}

fn bench(c: &mut Criterion, name: &str, machines: Vec<(Topology, usize)>) {
    let mut group = c.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for (topology, tasks) in machines {
        let cpus = topology.nr_cpu_ids() as u64;
        // About as many events whatever the size, but long enough for loads to settle.
        let for_ = Nanos((1_280_000_000 / cpus).max(50_000_000));
        let run = || simulation(topology.clone(), tasks, interactive, for_, ());
        let events = run().run().expect("the benchmark reaches no limit").events;
        group.throughput(Throughput::Elements(events));
        group.bench_function(BenchmarkId::from_parameter(format!("{cpus}x{tasks}")), |b| {
            b.iter_batched(
                run,
                |mut sim| sim.run().expect("the benchmark reaches no limit"),
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();
}

fn benches(c: &mut Criterion) {
    let shape = |a, b, c, d| Shape::new(a, b, c, d).topology().expect("a machine");
    bench(c, "machines", vec![(shape(1, 1, 8, 1), 32), (shape(2, 1, 16, 2), 512), (shape(2, 12, 8, 2), 768)]);
    bench(c, "scale", (3..=10).map(|k| 1 << k).map(|n| (caches_of_16(n), 2 * n as usize)).collect());
}

criterion_group!(scale, benches);
criterion_main!(scale);
