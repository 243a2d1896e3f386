//! Negative controls: a model broken on purpose misses the bars.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use validation::capture::{Capture, find_captures};
use validation::kernels::many::{MANY_BARS, compare_many};
use validation::kernels::{Bar, Breakage, CapturePower, PowerReport, broken_many};

fn captures(kinds: &[&str]) -> Vec<Capture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let found = kinds.iter().flat_map(|kind| find_captures(&root.join(kind)).unwrap());
    found.map(|path| Capture::load(&path).unwrap()).collect()
}

#[test]
fn every_bar_is_missed_by_a_broken_model() {
    let all = captures(&["i-hogs/6.1", "ii-sleeper/6.1"]);
    let report = PowerReport::new(all.iter().map(|c| CapturePower::of(c).unwrap()).collect());
    assert!(report.captures.len() >= 10);
    assert!(report.passed(), "{}", report.to_text());
    let control = |breakage| report.controls.iter().find(|c| c.breakage == breakage).unwrap();
    assert!(!control(Breakage::WrongWeights).bars[0].met(), "shares follow weights");
    assert!(!control(Breakage::LongTurns).bars[2].met(), "turns follow slices");
    assert!(!control(Breakage::NoPreemption).wakeups.met(), "wake-ups preempt");
}

/// A capture on which nothing could go wrong says so.
#[test]
fn a_bar_that_always_holds_is_powerless() {
    let all = captures(&["i-hogs/6.1"]);
    let mut power = CapturePower::of(&all[0]).unwrap();
    power.broken.iter_mut().for_each(|b| b.kept = [true; 3]);
    let report = PowerReport::new(vec![power]);
    assert_eq!(report.powerless, [1; 3]);
    assert!(!report.passed(), "no capture could have disagreed");
    assert_eq!(Bar::ALL.len(), 3);
}

/// Several CPUs: the first capture that keeps its bars misses them with wrong weights or longer turns.
#[test]
fn several_cpus_miss_their_bars_under_a_broken_model() {
    let all = captures(&["vi-smp4/6.1"]);
    let kept: Vec<&Capture> =
        all.iter().filter(|c| compare_many(c, &MANY_BARS).unwrap().ok()).take(3).collect();
    assert!(!kept.is_empty());
    let missed = |c: &&Capture| {
        [Breakage::WrongWeights, Breakage::LongTurns].into_iter().any(|b| !broken_many(c, b).unwrap().ok())
    };
    assert!(kept.iter().any(missed));
}
