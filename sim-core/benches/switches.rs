//! How fast one CPU is simulated: simulated context switches per second of real time.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use sim_core::kernel::{KernelConfig, Policy, Profile};
use sim_core::machine::{Costs, MachineConfig, Preset};
use sim_core::observe::{Event, Observer};
use sim_core::program::{Action, Objects, Program, TaskSpec, Work};
use sim_core::{GroupId, Instant, Limits, Nanos, SimConfig, Simulation};
use std::time::Duration;

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

/// Runs and sleeps for exponentially distributed times of 1 ms on average, from a multiplicative congruential generator.
fn interactive(seed: u64) -> Box<dyn Program> {
    let (mut state, mut runs) = (2 * seed + 1, false);
    Box::new(move |_: &_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let uniform = ((state >> 11) + 1) as f64 / (1u64 << 53) as f64;
        let time = Nanos((-uniform.ln() * 1e6) as u64 + 1);
        runs = !runs;
        if runs { Action::Run(Work::Capacity(time)) } else { Action::Sleep(time) }
    })
}

/// `tasks` tasks of a kind on one CPU of 6.1 with the costs of a bare-metal machine.
fn simulation<O: Observer>(
    tasks: usize,
    program: fn(u64) -> Box<dyn Program>,
    for_: Nanos,
    observer: O,
) -> Simulation<O> {
    let profile = Profile::by_name("6.1").expect("6.1 is a profile");
    let config = SimConfig {
        kernel: KernelConfig::new(profile, 1),
        machine: MachineConfig::new(Costs::preset(Preset::BareMetal)),
        duration: Some(for_),
        limits: Limits::default(),
    };
    let mut sim = Simulation::new(config, Objects::default(), observer);
    for i in 0..tasks {
        sim.add_task(TaskSpec {
            name: format!("T{i}"),
            path: format!("T{i}"),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program: program(i as u64),
        });
    }
    sim
}

fn bench(c: &mut Criterion, name: &str, program: fn(u64) -> Box<dyn Program>, tasks: &[usize], for_: Nanos) {
    let mut group = c.benchmark_group(name);
    group.sample_size(20).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    for n in tasks {
        let mut counted = simulation(*n, program, for_, Switches::default());
        counted.run().expect("the benchmark reaches no limit");
        group.throughput(Throughput::Elements(counted.observer.0));
        group.bench_with_input(BenchmarkId::from_parameter(n), n, |b, n| {
            b.iter_batched(
                || simulation(*n, program, for_, ()),
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
