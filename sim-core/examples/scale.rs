//! How the cost of an event grows with the machine: N CPUs in caches of 16, 2N tasks that run and sleep for 1 ms on average.
//!
//! Prints ns per event for N from 8 to 1024 (or for one N given as argument), and the slope of its logarithm on log N.

#[path = "../benches/support/mod.rs"]
mod support;

use sim_core::Nanos;
use sim_core::machine::topology::{Shape, Topology};
use std::time::Instant;
use support::{interactive, simulation};

fn caches_of_16(cpus: u32) -> Topology {
    Shape::new(1, cpus.div_ceil(16), cpus.min(16), 1).topology().expect("a machine")
}

/// Fewest ns per event of some runs, and the number of events.
fn ns_per_event(cpus: u32, runs: u32) -> (f64, u64) {
    let for_ = Nanos(6_400_000_000 / u64::from(cpus));
    let run = |_| {
        let mut sim = simulation(caches_of_16(cpus), 2 * cpus as usize, interactive, for_, ());
        let start = Instant::now();
        let events = sim.run().expect("no limit is reached").events;
        (start.elapsed().as_nanos() as f64 / events as f64, events)
    };
    (0..runs).map(run).min_by(|a, b| a.0.total_cmp(&b.0)).expect("at least one run")
}

fn main() {
    let one = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let (sizes, runs) = one.map_or(((3..=10).map(|k| 1u32 << k).collect(), 5), |n| (vec![n], 1));
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
