use super::*;
use crate::dist::Dist;
use crate::scenario::Scenario;
use proptest::prelude::*;
use sim_core::program::{Action, Program, ProgramContext, Work};
use std::collections::BTreeMap;
use std::num::NonZeroU32;

pub(super) fn compile(jobs: u32, objects: u32) -> KernelCompile {
    KernelCompile::new(NonZeroU32::new(jobs).unwrap(), objects)
}

/// What a build asks for, found by playing every program, each child at once when it is forked.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// By path: CPU time and sleep.
    pub tasks: BTreeMap<String, (u64, u64)>,
    /// Of each pipe, bytes written less bytes read.
    pipes: BTreeMap<usize, i128>,
    /// Of each semaphore, posts less waits.
    semaphores: BTreeMap<usize, i64>,
    counted: u64,
    /// By path: work in kernel mode, part of the CPU time.
    pub kernel: BTreeMap<String, u64>,
    /// In order: `path: action`, for actions that are not a run.
    pub log: Vec<String>,
}

impl Asked {
    pub(super) fn of(spec: &KernelCompile, seed: u64) -> Asked {
        let mut builder = Builder::new(seed);
        spec.build(&mut builder);
        assert_eq!(builder.tasks.len(), 1);
        let mut asked = Asked::default();
        for task in builder.tasks {
            asked.play(&task.path, task.program);
        }
        asked
    }
    fn play(&mut self, path: &str, mut program: Box<dyn Program>) {
        let cx =
            ProgramContext { now: Instant::ZERO, task: TaskId::new(0), cpu_time: Nanos::ZERO, received: 0 };
        assert!(self.tasks.insert(path.to_owned(), (0, 0)).is_none(), "two tasks at {path}");
        loop {
            let action = program.next(&cx);
            let task = self.tasks.get_mut(path).unwrap();
            match &action {
                Action::Run(Work::Capacity(n)) => task.0 += n.0,
                Action::KernelRun(n) => {
                    task.0 += n.0;
                    *self.kernel.entry(path.to_owned()).or_default() += n.0;
                }
                Action::Io(n) => task.1 += n.0,
                Action::PipeWrite { pipe, bytes } => {
                    *self.pipes.entry(pipe.index()).or_default() += i128::from(*bytes)
                }
                Action::PipeRead { pipe, bytes } => {
                    *self.pipes.entry(pipe.index()).or_default() -= i128::from(*bytes)
                }
                Action::SemPost { sem, n } => {
                    *self.semaphores.entry(sem.index()).or_default() += i64::from(*n)
                }
                Action::SemWait(sem) => *self.semaphores.entry(sem.index()).or_default() -= 1,
                Action::Count(n) => self.counted += n,
                _ => {}
            }
            let name = match &action {
                Action::Run(_) | Action::KernelRun(_) => String::new(),
                Action::Fork(child) => format!("fork {}", child.name),
                Action::Exec { name } => format!("exec {name}"),
                Action::PipeWrite { bytes, .. } => format!("write {bytes}"),
                Action::PipeRead { bytes, .. } => format!("read {bytes}"),
                Action::SemPost { .. } => "exec done".to_owned(),
                Action::SemWait(_) => "wait for exec".to_owned(),
                Action::Io(_) => "io".to_owned(),
                other => format!("{other:?}"),
            };
            if !name.is_empty() {
                self.log.push(format!("{}: {name}", path.trim_start_matches("make/obj#0/")));
            }
            match action {
                Action::Exit => return,
                Action::Fork(child) => self.play(&child.path, child.program),
                _ => {}
            }
        }
    }
    pub(super) fn total(&self) -> u64 {
        self.tasks.values().map(|t| t.0).sum()
    }
}

/// One object of 5,000 bytes of text, two pieces: its work is 89.869 ms and 5,000 times 8.128 µs.
fn one_object(hand_over: HandOver) -> Vec<String> {
    let spec = KernelCompile {
        hand_over,
        cc1: Dist::constant(Nanos::from_micros(89_869 + 5 * 8_128)),
        helpers: vec![Helper { name: "mv".to_owned(), work: Dist::constant(Nanos::from_millis(1)) }],
        io_sleeps: 1,
        ..compile(4, 1)
    };
    Asked::of(&spec, 1).log
}

/// The sequence of the trace in `validation/workloads/README.md`: gcc starts as when cc1 is done.
#[test]
fn one_object_through_a_file() {
    let want = [
        "make: fork sh",
        "sh: exec sh",
        "sh: exec done",
        "sh: fork gcc",
        "gcc: exec gcc",
        "gcc: fork cc1",
        "cc1: exec cc1",
        "cc1: exec done",
        "cc1: io",
        "cc1: Exit",
        "gcc: wait for exec",
        "gcc: WaitChild",
        "gcc: fork as",
        "as: exec as",
        "as: exec done",
        "as: Exit",
        "gcc: wait for exec",
        "gcc: WaitChild",
        "gcc: Exit",
        "sh: WaitChild",
        "sh: fork mv",
        "helper#0: exec mv",
        "helper#0: Exit",
        "sh: WaitChild",
        "sh: Count(1)",
        "sh: Exit",
        "make: wait for exec",
        "make: WaitChildren",
        "make: fork ld",
        "make/ld: exec ld",
        "make/ld: exec done",
        "make/ld: Exit",
        "make: wait for exec",
        "make: WaitChild",
        "make: Exit",
    ];
    assert_eq!(one_object(HandOver::File), want);
}

#[test]
fn one_object_through_a_pipe() {
    let log = one_object(HandOver::Pipe);
    let of = |who: &str| -> Vec<&str> { log.iter().filter_map(|l| l.strip_prefix(who)).collect() };
    assert_eq!(of("cc1: "), ["exec cc1", "exec done", "io", "write 4096", "write 904", "Exit"]);
    assert_eq!(of("as: "), ["exec as", "exec done", "read 4096", "read 904", "Exit"]);
    let gcc = ["fork cc1", "wait for exec", "fork as", "wait for exec", "WaitChild", "WaitChild", "Exit"];
    assert_eq!(of("gcc: ")[1..], gcc);
}

#[test]
fn a_lone_make_never_runs_more_than_its_jobs() {
    for (jobs, objects) in [(1, 5), (3, 10), (16, 4)] {
        let log = Asked::of(&compile(jobs, objects), 1).log;
        let mut running = 0;
        let mut most = 0;
        for line in log.iter().filter_map(|l| l.strip_prefix("make: ")) {
            match line {
                "fork sh" => running += 1,
                "WaitChild" => running -= 1,
                "WaitChildren" => break,
                _ => {}
            }
            most = most.max(running);
        }
        assert_eq!(most, jobs.min(objects), "-j{jobs}");
    }
}

/// An object asks for the same whatever the number of jobs, of makes, or of other objects.
#[test]
fn draws_belong_to_the_object() {
    let few = Asked::of(&compile(1, 20), 7);
    let many = Asked::of(&KernelCompile { makes: NonZeroU32::new(3).unwrap(), ..compile(16, 40) }, 7);
    let objects: Vec<_> = few.tasks.iter().filter(|(path, _)| path.starts_with("make/obj#")).collect();
    assert_eq!(objects.len(), 20 * (4 + 7));
    for (path, asked) in objects {
        assert_eq!(Some(asked), many.tasks.get(path), "{path}");
    }
    assert_ne!(few.tasks, Asked::of(&compile(1, 20), 8).tasks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// Work asked is the sum of the draws, every byte of text that is written is read, nobody waits for an exec that does not come,
    /// every token is given back, and every object is counted.
    #[test]
    fn nothing_is_lost(
        seed: u64, jobs in 1u32..40, objects in 1u32..20, makes in 1u32..6, piped: bool, scale in 0.001..1000.0,
        cc1 in 0u64..2_000_000_000, sleeps in 0u32..4, headers in 0u32..50, cold: bool, kinds in (0u32..3, 0u32..3, 0u32..3),
    ) {
        let constant = |n| Some(Dist::constant(Nanos(n)));
        let spec = KernelCompile {
            makes: NonZeroU32::new(makes).unwrap(),
            hand_over: if piped { HandOver::Pipe } else { HandOver::File },
            work_scale: scale,
            cc1: Dist::constant(Nanos(cc1)),
            io_sleeps: sleeps,
            headers: (headers > 0).then(|| Headers { count: headers, distinct: 60, scan: Dist::constant(Nanos(16_000)) }),
            page_cache: if cold { PageCache::Cold } else { PageCache::Warm },
            mix: Some(Mix { compile: kinds.0, assemble: kinds.1, script: kinds.2 }),
            prepare: constant(5_000),
            tail: constant(7_000),
            archive: constant(9_000),
            ..compile(jobs, objects)
        };
        let asked = Asked::of(&spec, seed);
        prop_assert_eq!(Nanos(asked.total()), spec.work(seed));
        prop_assert_eq!(asked.counted, u64::from(objects));
        prop_assert!(asked.pipes.values().all(|rest| *rest == 0), "{:?}", asked.pipes);
        prop_assert!(asked.semaphores.values().all(|rest| *rest == 0), "{:?}", asked.semaphores);
    }
}

/// The default of cc1 is the fit of the committed measurement, and draws follow it.
#[test]
fn cc1_is_what_was_measured() {
    let table = include_str!("../../../validation/workloads/compile-time.csv");
    let logs: Vec<f64> = table
        .lines()
        .filter(|l| l.starts_with("git,"))
        .map(|l| l.split(',').nth(4).unwrap().parse::<f64>().unwrap().ln())
        .collect();
    let (mean, sd) = moments(&logs);
    assert_eq!((logs.len(), mean.exp().round()), (59, 363_950.0));
    assert!((sd - 0.890).abs() < 0.0005, "{sd}");
    let spec = compile(1, 4000);
    let drawn: Vec<f64> = (0..4000)
        .map(|k| (ObjectWork::draw(&spec, 1, k).cc1.into_iter().sum::<Nanos>().0 as f64 / 1e3).ln())
        .collect();
    let (drawn_mean, drawn_sd) = moments(&drawn);
    // Four standard errors of 4,000 draws.
    assert!((drawn_mean - mean).abs() < 4.0 * sd / 4000f64.sqrt(), "{drawn_mean} {mean}");
    assert!((drawn_sd - sd).abs() < 4.0 * sd / 8000f64.sqrt(), "{drawn_sd} {sd}");
}

fn moments(x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (mean, (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

fn scenario(table: &str) -> Result<Scenario, String> {
    let text = format!("[workload.kernel_compile]\n{table}");
    Scenario::parse(&text, "make.toml", &[]).map_err(|e| e.to_string())
}

#[test]
fn a_scenario_needs_jobs_and_objects_only() {
    let parsed = scenario("jobs = 16\nobjects = 100").unwrap();
    assert_eq!(parsed.workload.kernel_compile, Some(compile(16, 100)));
}

#[test]
fn a_scenario_can_set_everything() {
    let parsed = scenario(
        "name = \"kbuild\"\njobs = 2\nobjects = 3\nmakes = 4\nhand_over = \"file\"\nwork_scale = 1.5\ncc1 = \"80ms\"\n\
         gcc = \"2ms\"\nsh = \"1ms\"\nmake_start = \"9ms\"\nmake_job = { exponential = \"1ms\" }\nlink_start = \"1s\"\n\
         link_object = \"1ms\"\nhelpers = [{ name = \"mv\", work = \"3ms\" }]\nio_sleeps = 0\nio_sleep = \"0ns\"\n\
         page_cache = \"cold\"\nheaders = { count = 300 }\nmix = { compile = 97, script = 3 }\nprepare = \"9s\"\n\
         tail = \"8s\"\narchive = \"5ms\"\npolicy = \"idle\"",
    );
    let spec = parsed.unwrap().workload.kernel_compile.unwrap();
    assert_eq!((spec.name.as_str(), spec.jobs.get(), spec.objects, spec.makes.get()), ("kbuild", 2, 3, 4));
    assert_eq!(
        (spec.hand_over, spec.work_scale.to_bits(), spec.io_sleeps),
        (HandOver::File, 1.5f64.to_bits(), 0)
    );
    let json = serde_json::to_value(&spec).unwrap();
    assert_eq!(json["cc1"]["constant_ns"], 80_000_000);
    assert_eq!(json["make_job"]["exponential_mean_ns"], 1_000_000);
    assert_eq!((&json["hand_over"], &json["helpers"][0]["name"]), (&"file".into(), &"mv".into()));
}

#[test]
fn extreme_values_do_not_overflow() {
    let longest = Dist::constant(crate::units::MAX_DURATION);
    let helper = Helper { name: "mv".to_owned(), work: longest.clone() };
    let spec = KernelCompile {
        work_scale: *WORK_SCALE.end(),
        cc1: longest.clone(),
        gcc: longest.clone(),
        sh: longest.clone(),
        make_job: longest.clone(),
        link_object: longest,
        helpers: vec![helper; MAX_HELPERS],
        ..compile(1, 100)
    };
    assert_eq!(spec.work(1), Nanos::MAX);
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("objects = 1", "jobs"),
        ("jobs = 1", "objects"),
        ("jobs = 0\nobjects = 1", "1 to 4096"),
        ("jobs = 5000\nobjects = 1", "1 to 4096"),
        ("jobs = 1\nobjects = 100001", "1 to 100000"),
        ("jobs = 1\nobjects = 1\nmakes = 0", "1 to 1000"),
        ("jobs = 1\nobjects = 1\nwork_scale = 0.0", "0.001 to 1000"),
        ("jobs = 1\nobjects = 1\nwork_scale = nan", "0.001 to 1000"),
        ("jobs = 1\nobjects = 1\ncc1 = \"5\"", "unit"),
        ("jobs = 1\nobjects = 1\ncc1 = { lognormal = { median = \"1ms\", sigma = -1.0 } }", "sigma"),
        ("jobs = 1\nobjects = 1\nhand_over = \"fifo\"", "fifo"),
        ("jobs = 1\nobjects = 1\nhelpers = [{ name = \"a/b\", work = \"1ms\" }]", "a/b"),
        ("jobs = 1\nobjects = 1\nio_sleeps = 1001", "0 to 1000"),
        ("jobs = 1\nobjects = 1\nname = \"\"", "name"),
        ("jobs = 1\nobjects = 1\nheaders = { count = 0 }", "1 to 100000"),
        ("jobs = 1\nobjects = 1\nheaders = {}", "count"),
        ("jobs = 1\nobjects = 1\nmix = { compile = -1 }", "0 to 1000000"),
        ("jobs = 1\nobjects = 1\nmix = { cxx = 1 }", "cxx"),
        ("jobs = 1\nobjects = 1\npage_cache = \"luke\"", "luke"),
        ("jobs = 1\nobjects = 1\njbos = 2", "jbos"),
    ];
    let many = "{ name = \"mv\", work = \"1ms\" },".repeat(MAX_HELPERS + 1);
    let many = format!("jobs = 1\nobjects = 1\nhelpers = [{many}]");
    let cases = cases.into_iter().chain([(many.as_str(), "at most 100")]);
    for (table, expected) in cases {
        let error = scenario(table).unwrap_err();
        assert!(error.contains(expected), "{table:?}: {error}");
    }
}
