//! Reported behaviours of real kernels on many CPUs (`scenarios/cases`): what the reports say a faithful simulator shows.
//! Bounds were set before looking.

use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{Event, Latencies, Metrics, Observer, Spread, SwitchKind};
use sim_core::{CpuId, End, Instant, Nanos, TaskId};
use sim_workloads::scenario::Document;
use std::sync::Arc;

/// Which CPU every runnable task is on, over time.
struct Queues {
    warmup: Nanos,
    /// When to look.
    samples: Vec<Nanos>,
    /// Runnable tasks by CPU at each of these times.
    seen: Vec<Vec<Vec<TaskId>>>,
    queued: Vec<Vec<TaskId>>,
    now: Instant,
    /// CPU time idle while any task waits, whatever it may use.
    unclaimed: f64,
    /// Since when a CPU idles beside another with two tasks, and for how long at most.
    idle_since: Option<Instant>,
    longest_idle: Nanos,
    /// Migrations from one CPU to another after the warm-up.
    migrations: Vec<(Instant, CpuId, CpuId)>,
}

impl Queues {
    fn new(cpus: usize, warmup: Nanos, samples: &[u64]) -> Queues {
        Queues {
            warmup,
            samples: samples.iter().map(|us| Nanos(us * 1000)).collect(),
            seen: Vec::new(),
            queued: vec![Vec::new(); cpus],
            now: Instant::ZERO,
            unclaimed: 0.0,
            idle_since: None,
            longest_idle: Nanos::ZERO,
            migrations: Vec::new(),
        }
    }
    fn remove(&mut self, task: TaskId) {
        self.queued.iter_mut().for_each(|q| q.retain(|t| *t != task));
    }
    fn put(&mut self, task: TaskId, cpu: CpuId) {
        self.remove(task);
        self.queued[cpu.index()].push(task);
    }
    /// The state that lasts from the last event until `at`.
    fn advance(&mut self, at: Instant) {
        while self.samples.get(self.seen.len()).is_some_and(|s| s.0 < at.0) {
            self.seen.push(self.queued.clone());
        }
        let crowded = self.queued.iter().any(|q| q.len() > 1);
        let idle = self.queued.iter().filter(|q| q.is_empty()).count();
        let counts = at.0 > self.warmup.0;
        if crowded && idle > 0 && counts {
            let from = self.now.max(Instant(self.warmup.0));
            self.unclaimed += idle as f64 * (at - from).0 as f64;
            let since = *self.idle_since.get_or_insert(from);
            self.longest_idle = self.longest_idle.max(at - since);
        } else {
            self.idle_since = None;
        }
        self.now = at;
    }
}

impl Observer for Queues {
    fn event(&mut self, at: Instant, event: &Event) {
        if at > self.now {
            self.advance(at);
        }
        match *event {
            Event::Wakeup { task, cpu, .. } => self.put(task, cpu),
            Event::Migrate { task, from, to, .. } => {
                if self.queued[from.index()].contains(&task) {
                    self.put(task, to);
                }
                if at.0 >= self.warmup.0 {
                    self.migrations.push((at, from, to));
                }
            }
            Event::Switch { prev: Some(prev), kind: SwitchKind::Blocked | SwitchKind::Exited, .. } => {
                self.remove(prev);
            }
            _ => {}
        }
    }
}

/// What a run did.
struct Ran {
    metrics: Metrics,
    spread: Spread,
    queues: Queues,
    names: Vec<String>,
    kthreads: Vec<bool>,
    cpus: usize,
    span: f64,
}

/// Runs a scenario, looking at its queues at these times, us.
fn run(text: &str, settings: &[&str], samples: &[u64]) -> Ran {
    let split = |s: &&str| s.split_once('=').map(|(k, v)| (k.into(), v.into())).expect("a setting");
    let settings: Vec<(String, String)> = settings.iter().map(split).collect();
    let document =
        Document::parse(text, "case.toml", &settings).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let resolved = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false)));
    let topology = Arc::clone(&resolved.config.kernel.topology);
    let (cpus, warmup) = (topology.nr_cpu_ids(), resolved.warmup);
    let observer =
        ((Metrics::new(warmup), Spread::new(warmup, &topology)), Queues::new(cpus, warmup, samples));
    let mut simulation =
        document.scenario.build(resolved.seed).simulation(resolved.config, observer, NoHooks);
    let outcome = simulation.run().expect("an end");
    assert_eq!(outcome.end, End::Duration);
    let names = simulation.tasks().iter().map(|t| t.name.clone()).collect();
    let kthreads = simulation.tasks().iter().map(|t| t.kthread).collect();
    let ((metrics, mut spread), mut queues) = simulation.observer;
    spread.finish(outcome.at);
    queues.advance(outcome.at);
    Ran { metrics, spread, queues, names, kthreads, cpus, span: (outcome.at.0 - warmup.0) as f64 }
}

impl Ran {
    /// Shares of one CPU of the tasks of a name.
    fn shares(&self, name: &str) -> Vec<f64> {
        let named = self.metrics.tasks().iter().zip(&self.names).filter(|(_, n)| n.starts_with(name));
        named.map(|(m, _)| m.cpu_time.0 as f64 / self.span).collect()
    }
    /// Part of the time a CPU was busy.
    fn busy(&self, cpu: usize) -> f64 {
        1.0 - self.spread.idle_time[cpu].0 as f64 / self.span
    }
    /// CPUs idle on average while a task waited.
    fn unclaimed(&self) -> f64 {
        self.queues.unclaimed / self.span
    }
    /// Runnable tasks by CPU at a sample, kernel threads aside.
    fn queue_lengths(&self, sample: usize) -> Vec<usize> {
        let tasks = |q: &Vec<TaskId>| q.iter().filter(|t| !self.kthreads[t.index()]).count();
        self.queues.seen[sample].iter().map(tasks).collect()
    }
    /// Latencies after wake-ups of the tasks whose names begin so.
    fn latencies(&self, name: &str) -> Latencies {
        let named = self.metrics.tasks().iter().zip(&self.names).filter(|(_, n)| n.starts_with(name));
        Metrics::sum(named.map(|(m, _)| m)).latency_after_wakeup
    }
}

macro_rules! case {
    ($name:literal) => {
        include_str!(concat!("../../../scenarios/cases/", $name, ".toml"))
    };
}

#[track_caller]
fn between(value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{value} is not between {low} and {high}");
}

#[test]
fn isolated_cpus_do_not_share() {
    for profile in ["kernel.profile=4.19", "kernel.profile=5.10", "kernel.profile=6.1"] {
        let ran = run(case!("isolcpus"), &[profile], &[]);
        let shares = ran.shares("worker");
        assert_eq!(shares.len(), 8);
        shares.iter().for_each(|s| between(*s, 0.12, 0.13));
        between(ran.busy(30), 0.999, 1.0);
        assert!((31..34).all(|cpu| ran.busy(cpu) == 0.0));
    }
    for profile in ["kernel.profile=\"4.19\"", "kernel.profile=\"5.4\""] {
        let control = run(case!("isolcpus"), &["machine.isolcpus=", profile], &[9_999_999]);
        control.shares("worker").iter().for_each(|s| between(*s, 0.45, 0.55));
        assert_eq!(control.queue_lengths(0)[30..34], [2; 4]);
    }
    // Later rules may leave three tasks beside one; all four CPUs are used all the same.
    for profile in ["kernel.profile=\"5.5\"", "kernel.profile=\"5.10\"", "kernel.profile=\"6.1\""] {
        let late = run(case!("isolcpus"), &["machine.isolcpus=", profile], &[]);
        (30..34).for_each(|cpu| between(late.busy(cpu), 0.99, 1.0));
        late.shares("worker").iter().for_each(|s| between(*s, 0.32, 1.0));
    }
}

/// Samples: half a millisecond and 1.9 ms after the change (the next tick comes after 2 ms), and at the end.
#[test]
fn shrunken_masks_pile_up_or_are_dealt_out() {
    let samples = [1_010_500, 1_011_900, 1_999_000];
    let old = run(case!("affinity-shrink"), &[], &samples);
    for sample in [0, 1] {
        let lengths = old.queue_lengths(sample);
        assert_eq!((lengths[8], lengths.iter().sum::<usize>()), (32, 32));
    }
    let spread = old.queue_lengths(2);
    assert!(spread[8..].iter().all(|n| (2..=6).contains(n)), "{spread:?}");
    let new = run(case!("affinity-shrink"), &["kernel.profile=5.7"], &samples);
    assert_eq!(new.queue_lengths(0)[8..], [4; 8]);
}

#[test]
fn average_loads_hide_idle_cpus() {
    // For all of the ten seconds after the warm-up, at least one CPU idles while tasks wait.
    let old = run(case!("group-imbalance"), &[], &[]);
    assert!(old.unclaimed() >= 1.0, "{}", old.unclaimed());
    assert!(old.queues.longest_idle >= Nanos::from_secs(2), "{}", old.queues.longest_idle);
    for profile in ["kernel.profile=5.5", "kernel.profile=5.10", "kernel.profile=6.1"] {
        let new = run(case!("group-imbalance"), &[profile, "kernel.rules=[]"], &[]);
        between(new.unclaimed() / new.cpus as f64, 0.0, 0.01);
    }
}

#[test]
fn groups_laid_from_one_cpu_hide_an_imbalance() {
    let old = run(case!("group-construction"), &[], &[]);
    assert!((16..24).all(|cpu| old.busy(cpu) == 0.0));
    between(old.shares("hog").iter().sum(), 7.99, 8.01);
    for profile in ["kernel.profile=4.19", "kernel.profile=6.1"] {
        let new = run(case!("group-construction"), &["kernel.rules=[]", profile], &[]);
        between(new.shares("hog").iter().sum(), 14.9, 16.0);
    }
}

#[test]
fn a_talking_pair_stays_on_its_node() {
    let across = |profile| {
        let ran = run(case!("pair-kept-together"), &[profile], &[]);
        // CPUs 0-23 and their siblings 48-71 are node 0.
        let node = |c: CpuId| c.0 / 24 % 2;
        let moves = ran.queues.migrations.iter().filter(|(_, from, to)| node(*from) != node(*to));
        moves.map(|(at, ..)| (at.0 - 2_000_000_000) / 2_000_000_000).collect::<Vec<u64>>()
    };
    // Steady: some in each two seconds of the ten.
    let old = across("kernel.profile=5.5");
    assert!((0..5).all(|i| old.contains(&i)), "{old:?}");
    assert!(old.len() >= 10, "{old:?}");
    assert!(across("kernel.profile=5.6").is_empty());
    assert!(across("kernel.rules=[\"numa-pair\"]").is_empty(), "it is this one change");
}

#[test]
fn idle_cpus_take_tasks_not_utilisation() {
    // From 5.6 on wake-ups by timers stay on an idle CPU, which leaves this case nothing to spread.
    let buggy = run(case!("llc-spread"), &[], &[]);
    let b = buggy.latencies("worker");
    assert!(b.count() > 800 && b.quantile(0.99) >= Nanos(3_000_000), "a slice: {}", b.quantile(0.99));
    let repaired = |setting| {
        let fixed = run(case!("llc-spread"), &[setting], &[]);
        let f = fixed.latencies("worker");
        assert!(f.count() > 800);
        assert!(
            b.quantile(0.5).0.abs_diff(f.quantile(0.5).0) < 50_000,
            "medians differ by tens of us at most"
        );
        assert!(f.quantile(0.99) < Nanos(200_000), "{}", f.quantile(0.99));
        assert!(
            fixed.unclaimed() < buggy.unclaimed() / 2.0,
            "{} of {}",
            fixed.unclaimed(),
            buggy.unclaimed()
        );
        fixed.queues.longest_idle
    };
    repaired("kernel.rules=[\"spread-by-tasks-in-llc\"]");
    // Eight CPUs balance every 8 ms when idle, at a tick of 4 ms.
    let longest = repaired("kernel.profile=\"5.10\"");
    assert!(longest <= Nanos(12_000_000), "{longest}");
    assert!(buggy.queues.longest_idle > Nanos(12_000_000), "{}", buggy.queues.longest_idle);
}

#[test]
fn pinned_tasks_leave_seven_cpus_unclaimed() {
    let ran = run(case!("pinned-to-one-cpu"), &[], &[]);
    let busy: f64 = (0..8).map(|cpu| ran.busy(cpu)).sum::<f64>() / 8.0;
    between(busy, 0.1245, 0.1275);
    between(ran.unclaimed() / 8.0, 0.864, 0.8755);
}

#[test]
fn a_make_leaves_little_unclaimed() {
    let ran = run(case!("make-j8"), &[], &[]);
    let busy: f64 = (0..8).map(|cpu| ran.busy(cpu)).sum::<f64>() / 8.0;
    between(busy, 0.98, 1.0);
    between(ran.unclaimed() / 8.0, 0.0, 0.01);
    // It takes placement and balancing to get there.
    assert!(ran.queues.migrations.len() > 300, "{}", ran.queues.migrations.len());
    let alone = run(case!("make-j8"), &["machine.isolcpus=0-7"], &[]);
    assert!(alone.unclaimed() / 8.0 > 0.5, "{}", alone.unclaimed() / 8.0);
}

/// A:B near 50:50, B slightly less; without autogroups by weight, 1024 to 15.
#[test]
fn sessions_share_evenly_whatever_their_niceness() {
    let share = |settings: &[&str]| {
        let ran = run(case!("nice-across-sessions"), settings, &[]);
        let sum = |name| ran.shares(name).iter().sum::<f64>();
        sum("nice") / (sum("first") + sum("nice"))
    };
    between(share(&[]), 0.45, 0.505);
    between(share(&["kernel.sched_autogroup_enabled=false"]), 0.012, 0.017);
}

/// Which of the sixteen caches hold hogs at the end, and how many hogs each node has.
#[test]
fn new_tasks_use_as_many_caches_as_there_are() {
    let used = |setting| {
        let ran = run(case!("imbalance-and-caches"), &[setting], &[3_900_000]);
        let lengths = ran.queue_lengths(0);
        // Eight cores a cache; siblings are 128 apart.
        let hogs = |caches: std::ops::Range<usize>| {
            let of = |cpu: usize| caches.contains(&(cpu % 128 / 8));
            (0..256).filter(|cpu| of(*cpu)).map(|cpu| lengths[cpu]).sum::<usize>()
        };
        let caches = (0..16).filter(|c| hogs(*c..*c + 1) > 0).count();
        (caches, hogs(0..8), hogs(8..16))
    };
    let (caches, here, there) = used("kernel.profile=\"5.15\"");
    assert!(caches <= 12 && here.max(there) >= 12, "{caches} caches, {here} and {there}");
    assert_eq!(used("kernel.profile=\"6.1\""), (16, 8, 8));
}

#[test]
fn idle_policy_hogs_are_no_obstacle() {
    let ran = |profile| run(case!("idle-policy-wake-target"), &[profile], &[]);
    let new = ran("kernel.profile=\"5.6\"");
    let latency = new.latencies("short");
    assert!(latency.count() >= 1900, "{}", latency.count());
    assert!(latency.quantile(0.99) < Nanos(50_000), "{}", latency.quantile(0.99));
    // What the short tasks use, a tenth of a CPU each, and little else is missing: a CPU whose hog was pulled away while it
    // ran a short task idles until it balances.
    between(new.shares("hog").iter().sum::<f64>() + new.shares("short").iter().sum::<f64>(), 7.8, 8.001);
    between(new.shares("short").iter().sum(), 0.39, 0.41);
    // It is their policy that makes them give way: without wakeup preemption normal hogs do not.
    let blind = "kernel.features=[\"NO_WAKEUP_PREEMPTION\"]";
    let latency = |settings: &[&str]| {
        run(case!("idle-policy-wake-target"), settings, &[]).latencies("short").quantile(0.99)
    };
    assert!(latency(&[blind]) < Nanos(50_000));
    assert!(latency(&[blind, "task.hog.policy=normal"]) > Nanos(1_000_000));
}

#[test]
fn yielders_take_most_of_the_machine() {
    let ran = run(case!("yield-loops"), &[], &[]);
    let (worker, yielders) = (ran.shares("worker")[0], ran.shares("yielder").iter().sum::<f64>());
    // Seventeen tasks on eight CPUs: 0.47 each.
    between(worker, 0.3, 0.65);
    between(worker + yielders, 7.99, 8.001);
    let yields: u64 = ran.metrics.tasks().iter().map(|t| t.work).sum();
    assert!(yields as f64 / ran.span * 1e9 > 16.0 * 8000.0, "{yields} yields");
}

/// The document's ratios, within 0.3 points; shifted by ten levels within 0.2 of them.
#[test]
fn nice_levels_are_ratios() {
    let upper = |from: i32, levels: i32| {
        let settings = [format!("task.upper.nice={from}"), format!("task.lower.nice={}", from + levels)];
        run(case!("nice-ladder"), &settings.each_ref().map(String::as_str), &[]).shares("upper")[0]
    };
    for (levels, share) in [(1, 0.555), (5, 0.7535), (10, 0.903), (19, 0.9856)] {
        let plain = upper(0, levels);
        between(plain, share - 0.003, share + 0.003);
        let shifted = upper(-10, levels);
        between(shifted, plain - 0.002, plain + 0.002);
    }
}

/// Every case that comes along has a test here; `kernel-build` has its own file.
#[test]
fn all_are_tested() {
    let source = include_str!("cases.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/cases");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    for file in &files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let tested = source.contains(&format!("case!(\"{name}\")")) || name == "kernel-build";
        assert!(tested, "{name} has no test");
    }
    assert!(files.len() >= 14);
}
