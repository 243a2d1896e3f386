//! How the cost of an event grows with the machine: N CPUs in caches of 16, 2N tasks that run and sleep for 1 ms on average.
//!
//! Time is what the thread had a CPU for, where the system tells (Linux), so that other programs disturb less.
//! Prints ns per event for N from 8 to 1024 (or for one N given as argument), and the slope of its logarithm on log N.

#[path = "../benches/support/mod.rs"]
mod support;

use sim_core::Nanos;
use sim_core::machine::topology::{Shape, Topology};
use std::time::Instant;
use support::{interactive, simulation};

/// Before anything is timed, ms.
const WARMUP_MS: u64 = 50;
/// Then events are timed for so long, ms.
const MEASURED_MS: u64 = 200;

fn caches_of_16(cpus: u32) -> Topology {
    Shape::new(1, cpus.div_ceil(16), cpus.min(16), 1).topology().expect("a machine")
}

/// Nanoseconds this thread has run for; without `/proc` since the start.
fn cpu_time(start: Instant) -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = text.and_then(|t| t.split_whitespace().next()?.parse().ok());
    ran.unwrap_or_else(|| start.elapsed().as_nanos() as f64)
}

/// Time and events of a run of `ms` simulated milliseconds.
fn run(cpus: u32, ms: u64) -> (f64, u64) {
    let mut sim = simulation(caches_of_16(cpus), 2 * cpus as usize, interactive, Nanos(ms * 1_000_000), ());
    let start = Instant::now();
    let before = cpu_time(start);
    let events = sim.run().expect("no limit is reached").events;
    (cpu_time(start) - before, events)
}

/// ns per event once load averages have settled: what a longer run takes more than a shorter one. Fewest of some runs.
fn ns_per_event(cpus: u32, runs: u32) -> (f64, u64) {
    let fewest = |ms| (0..runs).map(|_| run(cpus, ms)).min_by(|a, b| a.0.total_cmp(&b.0)).expect("a run");
    let ((short, before), (long, all)) = (fewest(WARMUP_MS), fewest(WARMUP_MS + MEASURED_MS));
    ((long - short) / (all - before) as f64, all - before)
}

fn main() {
    let one = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let (sizes, runs) = one.map_or_else(|| ((3..=10).map(|k| 1u32 << k).collect(), 3), |n| (vec![n], 1));
    let mut points = Vec::new();
    println!("  CPUs  ns/event    events");
    for cpus in sizes {
        let (ns, events) = ns_per_event(cpus, runs);
        println!("{cpus:>6} {ns:>9.0} {events:>9}");
        points.push((f64::from(cpus).ln(), ns.ln()));
    }
    if points.len() > 1 {
        let n = points.len() as f64;
        let (mx, my) =
            (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
        let covariance: f64 = points.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
        let variance: f64 = points.iter().map(|(x, _)| (x - mx).powi(2)).sum();
        println!("slope of log(ns/event) on log(CPUs): {:.3}", covariance / variance);
    }
}
