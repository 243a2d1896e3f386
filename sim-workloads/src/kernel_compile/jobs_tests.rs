//! Several makes, kinds of jobs, what compilers read.

use super::tests::{Asked, compile};
use super::*;
use crate::dist::Dist;
use crate::scenario::Document;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_core::{End, Simulation};
use std::collections::BTreeMap;

/// A build on so many CPUs, run to its end.
fn built(cpus: u32, table: &str) -> (Simulation<Metrics, NoHooks>, KernelCompile) {
    let text = format!("machine.cpus = {cpus}\n[workload.kernel_compile]\n{table}");
    let document = Document::parse(&text, "make.toml", &[]).unwrap();
    let config = document.resolve().unwrap().config;
    let spec = document.scenario.workload.kernel_compile.clone().unwrap();
    let mut simulation = document.scenario.build(1).simulation(config, Metrics::new(Nanos::ZERO), NoHooks);
    assert_eq!(simulation.run().unwrap().end, End::AllExited);
    (simulation, spec)
}

/// The most tasks of a name alive at one time.
fn most_at_once(simulation: &Simulation<Metrics, NoHooks>, name: &str) -> usize {
    let named = || simulation.tasks().iter().filter(|t| t.path.ends_with(&format!("/{name}")));
    let alive = |at: Instant| named().filter(|t| t.start <= at && t.end.is_none_or(|end| end > at)).count();
    named().map(|t| alive(t.start)).max().unwrap_or(0)
}

/// As many jobs as tokens allow, never more, over all makes; sub-makes count through their own job.
#[test]
fn several_makes_share_the_jobs() {
    for (jobs, makes) in [(1, 3), (4, 3), (4, 8), (6, 2)] {
        let table = format!("jobs = {jobs}\nobjects = 40\nmakes = {makes}\ncc1 = \"20ms\"\nhelpers = []");
        let (simulation, _) = built(8, &table);
        assert_eq!(most_at_once(&simulation, "sh"), jobs, "-j{jobs}, {makes} makes");
        let tokens = simulation.objects().pipes.iter().find(|p| p.name == "make/jobserver").unwrap();
        assert_eq!(tokens.filled, jobs as u64 - 1, "tokens back");
    }
}

/// One make whose directory is done leaves its tokens to the others: with as many jobs as objects left, all run.
#[test]
fn a_make_that_waits_hears_of_a_token() {
    let (simulation, _) = built(8, "jobs = 8\nobjects = 30\nmakes = 2\ncc1 = \"50ms\"\nhelpers = []");
    let (lone, _) = built(8, "jobs = 8\nobjects = 30\ncc1 = \"50ms\"\nhelpers = []");
    let (two, one) = (simulation.now().0 as f64, lone.now().0 as f64);
    assert!((two / one - 1.0).abs() < 0.1, "{two} {one}");
}

#[test]
fn directories_are_archived_in_between_and_the_tail_comes_last() {
    let table = "jobs = 2\nobjects = 4\nmakes = 2\ncc1 = \"20ms\"\nprepare = \"10ms\"\ntail = \"20ms\"\narchive = \"5ms\"";
    let (simulation, _) = built(4, table);
    let span = |path: &str| {
        let task = simulation.tasks().iter().find(|t| t.path == path).unwrap();
        (task.start, task.end.unwrap())
    };
    let order = ["make/prepare", "make/dir#0", "make/ld", "make/tail"].map(span);
    assert!(order.windows(2).all(|w| w[0].1 < w[1].0), "{order:?}");
    for dir in ["make/dir#0", "make/dir#1"] {
        let ((_, ar_end), (_, end)) = (span(&format!("{dir}/ar")), span(dir));
        assert!(ar_end < end);
    }
}

/// Reading headers is part of cc1's work: the kernel's part changes, the sum does not.
#[test]
fn headers_are_read_in_kernel_mode() {
    let headers = Some(Headers { count: 300, distinct: 4000, scan: Dist::constant(Nanos::from_micros(16)) });
    let (plain, with) = (compile(1, 10), KernelCompile { headers, ..compile(1, 10) });
    assert_eq!(with.work(1), plain.work(1));
    let asked = Asked::of(&with, 1);
    assert_eq!(asked.total(), plain.work(1).0);
    assert_eq!(asked.kernel["make/obj#3/cc1"], 300 * 16_000);
    let sleeps = |asked: &Asked| -> Vec<u64> { asked.tasks.values().map(|t| t.1).collect() };
    assert_eq!(sleeps(&asked), sleeps(&Asked::of(&plain, 1)));
}

/// Of 100 headers 30 are new to the first compiler, 30 · 0.7 to the next, …; every source file is.
#[test]
fn a_cold_page_cache_fills() {
    let headers = Some(Headers { count: 30, distinct: 100, scan: Dist::constant(Nanos::ZERO) });
    let spec = KernelCompile { headers, page_cache: PageCache::Cold, io_sleeps: 2, ..compile(1, 40) };
    let mut sleeps: BTreeMap<String, usize> = BTreeMap::new();
    for line in Asked::of(&spec, 1).log {
        if let Some(path) = line.strip_suffix(": io") {
            *sleeps.entry(path.to_owned()).or_default() += 1;
        }
    }
    // The log leaves `make/obj#0/` out.
    assert_eq!((sleeps["cc1"], sleeps["make/obj#39/cc1"]), (2 + 1 + 30, 2 + 1));
    assert!([21, 22].contains(&(sleeps["make/obj#1/cc1"] - 3)));
    let all: usize = sleeps.values().sum();
    assert!((40 * 3 + 95..=40 * 3 + 105).contains(&all), "{all}");
}

#[test]
fn kinds_of_jobs_follow_their_weights() {
    let spec = KernelCompile { mix: Some(Mix { compile: 2, assemble: 1, script: 1 }), ..compile(1, 1000) };
    let kinds: Vec<_> = (0..1000).map(|k| ObjectWork::draw(&spec, 1, k)).collect();
    let of = |kind| kinds.iter().filter(|o| o.kind == kind).count();
    use super::inputs::Kind;
    // Four standard deviations of a binomial draw.
    assert!((437..=563).contains(&of(Kind::Compile)), "{}", of(Kind::Compile));
    assert!((195..=305).contains(&of(Kind::Assemble)), "{}", of(Kind::Assemble));
    let asked = Asked::of(&spec, 1);
    let compilers = asked.tasks.keys().filter(|path| path.ends_with("/cc1")).count();
    assert_eq!(compilers, 1000 - of(Kind::Script));
    assert_eq!(asked.total(), spec.work(1).0);
}

#[test]
fn a_build_prints_what_time_does() {
    let (simulation, spec) = built(2, "jobs = 2\nobjects = 4\ncc1 = \"100ms\"");
    let ran = Ran::new(simulation.tasks(), &simulation.observer, Nanos::ZERO, simulation.now());
    let results: Vec<(&str, f64)> = spec.results(&ran).iter().map(|(h, v)| (h.name, *v)).collect();
    let elapsed = simulation.now().0 as f64 / 1e9;
    assert_eq!(results[0], ("kernel_compile_builds_per_hour", 3600.0 / elapsed));
    assert_eq!(results[1], ("kernel_compile_elapsed_s", elapsed));
    let (work, charged) = (spec.work(1).as_secs_f64(), results[2].1);
    assert!(charged > work && charged < 1.1 * work, "{charged} {work}");
}
