//! Captures of several CPUs, against the bars and by kernel version.

use std::path::Path;
use std::sync::LazyLock;
use validation::capture::{Capture, find_captures};
use validation::kernels::many::{
    MANY_BARS, ManyBar, ManyComparison, Named, OwnSpread, compare_many, directions, many_causes, own_spreads,
    totals,
};

fn kept() -> Vec<Capture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let folders = ["versions", "vi-smp4", "ix-random-smp4"].map(|f| root.join(f));
    let paths = folders.iter().flat_map(|f| find_captures(f).expect("the folder can be searched"));
    paths.map(|p| Capture::load(&p).expect("the capture can be read")).collect()
}

fn compared(capture: &Capture) -> (String, ManyComparison) {
    (capture.id.name.clone(), compare_many(capture, &MANY_BARS).expect("expressible"))
}

static RUNS: LazyLock<Vec<(String, ManyComparison)>> =
    LazyLock::new(|| kept().iter().map(compared).collect());

fn named(runs: &[(String, ManyComparison)]) -> Vec<Named<'_>> {
    runs.iter().map(|(job, c)| (job.as_str(), c)).collect()
}

/// What the rework of 5.5 changed on real kernels it changes in the simulator.
#[test]
fn versions_differ_in_the_same_directions() {
    let found = directions(&named(&RUNS));
    assert_eq!(found.len(), 12);
    for d in &found {
        assert!(d.real_holds && d.simulated_holds, "{d:?}");
    }
    assert_eq!(totals(&named(&RUNS)).len(), 2 * 19);
}

/// A test that cannot fail proves nothing: with 5.4's rules in place of 5.5's most of it is lost.
#[test]
fn with_the_rules_of_5_4_the_directions_are_lost() {
    let mut runs = RUNS.clone();
    runs.retain(|(_, c)| c.profile != "5.5");
    for mut capture in kept().into_iter().filter(|c| c.id.kind == "5.5") {
        capture.meta.version = "Linux version 5.4.0".to_owned();
        capture.tunables.features.retain(|(name, _)| name != "UTIL_EST_FASTUP");
        let (job, c) = compared(&capture);
        runs.push((job, ManyComparison { profile: "5.5", ..c }));
    }
    let held = directions(&named(&runs)).iter().filter(|d| d.simulated_holds).count();
    assert!(held <= 6, "{held} of 12 still hold");
}

/// The captures that count (the costs were not read from them) keep the bar of 80 %. What is reached without what a real kernel
/// differs from itself, and without the simulator's own band, is pinned, so that nothing of it gets lost.
#[test]
fn captures_keep_the_bars() {
    let counts: Vec<&(String, ManyComparison)> = RUNS
        .iter()
        .filter(|(job, c)| c.cpus.1 > 1 || !["per3_hog", "pp_half_hogs"].contains(&job.as_str()))
        .collect();
    let kept = counts.iter().filter(|(_, c)| c.ok()).count();
    assert!(counts.len() == 122 && kept * 100 >= counts.len() * 80, "{kept} of {}", counts.len());
    let count = |keeps: fn(&ManyComparison) -> bool| RUNS.iter().filter(|(_, c)| keeps(c)).count();
    assert_eq!(RUNS.len(), 128);
    let (alone, within, free) =
        (count(ManyComparison::ok_alone), count(ManyComparison::within), count(ManyComparison::ok_free));
    assert!(alone >= 93 && within >= 71 && free >= 96, "{alone} {within} {free}");
    // One bar at a time.
    let kept = ManyBar::ALL.map(|bar| RUNS.iter().filter(|(_, c)| c.keeps(bar)).count());
    assert!(kept.iter().all(|k| *k >= 117), "{kept:?}");
}

/// Jobs in which tasks share CPUs are chaos on a real kernel: started 3 µs later it seldom keeps the bars against itself.
#[test]
fn a_real_kernel_seldom_keeps_the_bars_against_itself() {
    let spreads = own_spreads();
    let sum = |of: fn(&OwnSpread) -> usize| spreads.iter().map(of).sum::<usize>();
    let (kept, pairs) = (sum(|s| s.pairs.0), sum(|s| s.pairs.1));
    assert!(pairs == 18 * 56 && kept * 4 < pairs, "{kept} of {pairs}");
}

/// Every job with a miss has a cause listed, and every cause has a job with a miss.
#[test]
fn misses_have_causes() {
    let missed: Vec<&str> = RUNS.iter().filter(|(_, c)| !c.ok()).map(|(job, _)| job.as_str()).collect();
    let causes = many_causes();
    for job in &missed {
        assert!(causes.iter().any(|c| c.jobs.iter().any(|j| j == job)), "{job}");
    }
    for c in &causes {
        assert!(c.cause.len() > 20 && c.jobs.iter().any(|j| missed.contains(&j.as_str())), "{c:?}");
    }
}

/// Tasks that are never freed from their CPU show.
#[test]
fn a_broken_experiment_misses_the_bars() {
    let mut hogs = kept().into_iter().find(|c| c.id.to_string() == "5.4/smp4/hogs_cpu0").expect("kept");
    assert!(compared(&hogs).1.keeps(ManyBar::Migrations));
    let freeing = hogs.spec.tasks.pop().expect("tasks");
    assert_eq!(freeing.name, "ctl");
    let broken = compared(&hogs).1;
    assert!(!broken.keeps(ManyBar::Occupied) && !broken.keeps(ManyBar::Share), "{:?}", broken.checks);
}
