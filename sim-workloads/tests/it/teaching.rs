//! The teaching scenarios show what their comments say. Every expected value is one of the reference (the section of
//! the specification of CFS is named) or follows from the arithmetic stated; bounds are set before looking.

use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{Event, Metrics, Observer, TaskMetrics};
use sim_core::{End, Instant, Nanos, TaskId};
use sim_workloads::scenario::Document;

/// Switches of CPU 0 after the warm-up.
#[derive(Default)]
struct Switches {
    warmup: Nanos,
    list: Vec<(Instant, Option<TaskId>, Option<TaskId>)>,
}

impl Observer for Switches {
    fn event(&mut self, at: Instant, event: &Event) {
        if let Event::Switch { cpu, prev, next, .. } = event
            && cpu.0 == 0
            && at.0 >= self.warmup.0
        {
            self.list.push((at, *prev, *next));
        }
    }
}

/// What a run did.
struct Ran {
    metrics: Metrics,
    switches: Switches,
    names: Vec<String>,
    seconds: f64,
}

/// Runs a teaching scenario with settings like `kernel.hz=100`.
fn run(text: &str, settings: &[&str]) -> Ran {
    let settings: Vec<(String, String)> = settings
        .iter()
        .map(|s| s.split_once('=').expect("a setting"))
        .map(|(k, v)| (k.into(), v.into()))
        .collect();
    let document =
        Document::parse(text, "teaching.toml", &settings).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let resolved = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false)));
    let built = document.scenario.build(resolved.seed);
    let warmup = resolved.warmup;
    let observer = (Metrics::new(warmup), Switches { warmup, ..Switches::default() });
    let mut simulation = built.simulation(resolved.config, observer, NoHooks);
    let outcome = simulation.run().expect("an end");
    assert_eq!(outcome.end, End::Duration);
    let names = simulation.tasks().iter().map(|t| t.name.clone()).collect();
    let (metrics, switches) = simulation.observer;
    Ran { metrics, switches, names, seconds: (outcome.at.0 - warmup.0) as f64 / 1e9 }
}

impl Ran {
    /// All tasks of a name together.
    fn of(&self, name: &str) -> TaskMetrics {
        let named = self.metrics.tasks().iter().zip(&self.names).filter(|(_, n)| *n == name);
        Metrics::sum(named.map(|(m, _)| m))
    }
    /// CPU time of a name in CPUs.
    fn share(&self, name: &str) -> f64 {
        self.of(name).cpu_time.0 as f64 / 1e9 / self.seconds
    }
    /// Units of work a second.
    fn rate(&self, name: &str) -> f64 {
        self.of(name).work as f64 / self.seconds
    }
    /// Complete turns of a name on CPU 0, ms.
    fn turns(&self, name: &str) -> Vec<f64> {
        let turn = |w: &[(Instant, Option<TaskId>, Option<TaskId>)]| {
            w[1].1.filter(|t| self.names[t.index()] == name).map(|_| (w[1].0 - w[0].0).0 as f64 / 1e6)
        };
        self.switches.list.windows(2).filter_map(turn).collect()
    }
    /// The part of the turns of a name that are as long as one of `ms`, to a quarter of a tick of HZ 1000.
    fn turns_of(&self, name: &str, ms: &[f64]) -> f64 {
        let turns = self.turns(name);
        assert!(turns.len() >= 10, "only {} turns of {name}", turns.len());
        let fits = |t: &&f64| ms.iter().any(|m| (**t - m).abs() < 0.25);
        turns.iter().filter(fits).count() as f64 / turns.len() as f64
    }
    fn mean_turn(&self, name: &str) -> f64 {
        let turns = self.turns(name);
        turns.iter().sum::<f64>() / turns.len() as f64
    }
    /// The part of a name's wake-ups on a busy CPU that preempted.
    fn preempting(&self, name: &str) -> f64 {
        let m = self.of(name);
        assert!(m.wakeups_on_busy >= 100, "only {} wake-ups", m.wakeups_on_busy);
        m.wakeup_preemptions as f64 / m.wakeups_on_busy as f64
    }
    /// Run-queue latency after wake-ups, ms: shortest, mean, longest.
    fn latency(&self, name: &str) -> (f64, f64, f64) {
        let l = self.of(name).latency_after_wakeup;
        assert!(l.count() >= 50, "only {} latencies", l.count());
        let ms = |n: Nanos| n.0 as f64 / 1e6;
        (ms(l.quantile(0.0)), ms(l.mean()), ms(l.max()))
    }
}

#[track_caller]
fn between(value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{value} is not between {low} and {high}");
}

macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!("../../../scenarios/teaching/", $name, ".toml"))
    };
}

/// §15.2; §15.13: 16 ms in 249 of 250 turns by the reference, 244 of 248 and 246 of 247 on real kernels.
#[test]
fn extra_tick() {
    let text = scenario!("extra-tick");
    between(run(text, &[]).turns_of("hog", &[16.0]), 0.95, 1.0);
    between(run(text, &["costs.preset=zero"]).turns_of("hog", &[12.0]), 0.99, 1.0);
}

/// §15.3 and §15.13: shares of 75.35 and 24.65 %, measured within 0.1; nice 5 in turns of 4 and 8 ms only, nice 0 in
/// 20 ms mostly (135 of 148 turns on 6.1).
#[test]
fn nice_0_and_5() {
    let text = scenario!("nice-0-and-5");
    for hz in ["kernel.hz=250", "kernel.hz=1000", "kernel.hz=100"] {
        let ran = run(text, &[hz]);
        between(
            ran.share("nice5") / (ran.share("nice0") + ran.share("nice5")),
            0.2465 - 0.005,
            0.2465 + 0.005,
        );
    }
    let ran = run(text, &[]);
    between(ran.turns_of("nice5", &[4.0, 8.0]), 0.98, 1.0);
    between(ran.turns_of("nice0", &[20.0]), 0.85, 1.0);
}

/// §15.2; §15.13: 12 ms in 237 of 246 and 240 of 250 turns on real kernels.
#[test]
fn three_hogs() {
    let text = scenario!("three-hogs");
    between(run(text, &[]).turns_of("hog", &[12.0]), 0.93, 1.0);
    between(run(text, &["costs.preset=zero"]).turns_of("hog", &[8.0]), 0.99, 1.0);
    between(run(text, &["task.hog.count=4"]).turns_of("hog", &[8.0]), 0.93, 1.0);
}

/// §15.4: d = 12 ms, strictly more than the granularity. A wake-up may find a reschedule already asked for by the tick.
#[test]
fn sleeper_credit() {
    let text = scenario!("sleeper-credit");
    for (granularity, low, high) in
        [("4ms", 0.97, 1.0), ("11900us", 0.97, 1.0), ("12ms", 0.0, 0.0), ("15ms", 0.0, 0.0)]
    {
        let setting = format!("kernel.sched_wakeup_granularity_ns={granularity}");
        between(run(text, &[&setting]).preempting("sleeper"), low, high);
    }
    let (_, mean, _) = run(text, &["kernel.sched_wakeup_granularity_ns=12ms"]).latency("sleeper");
    between(mean, 1.7, 2.3);
}

/// §15.4: granularity 9 683 215 ns for nice 4, 12 226 865 for nice 5; credit 12 ms, 24 ms without GENTLE_FAIR_SLEEPERS.
#[test]
fn too_light_to_preempt() {
    let text = scenario!("too-light-to-preempt");
    between(run(text, &[]).preempting("sleeper"), 0.0, 0.0);
    between(run(text, &["task.sleeper.nice=4"]).preempting("sleeper"), 0.97, 1.0);
    between(run(text, &["kernel.features=NO_GENTLE_FAIR_SLEEPERS"]).preempting("sleeper"), 0.97, 1.0);
}

/// §7.2 row 6; §15.4: the wait is the rest of the tick, uniform over 4 ms. About 300 wake-ups: the mean of 2 ms has a
/// standard error of 1.155 / √300 = 0.07 ms.
#[test]
fn batch_wakee() {
    let text = scenario!("batch-wakee");
    let ran = run(text, &[]);
    between(ran.preempting("sleeper"), 0.0, 0.0);
    let (_, mean, longest) = ran.latency("sleeper");
    between(mean, 1.7, 2.3);
    between(longest, 3.5, 4.1);
    between(run(text, &["task.sleeper.policy=normal"]).preempting("sleeper"), 0.97, 1.0);
}

/// §7.2 row 5: before the rows that look at the wakee's policy and at the granularity.
#[test]
fn idle_policy_hog() {
    let text = scenario!("idle-policy-hog");
    between(run(text, &[]).preempting("sleeper"), 0.97, 1.0);
    between(run(text, &["task.hog.policy=normal"]).preempting("sleeper"), 0.0, 0.0);
}

/// §15.13: 4 ms every 1365 ms or so (1352 to 1364 on 6.1); weights 3 and 1024 give 0.292 %.
#[test]
fn idle_policy_share() {
    let ran = run(scenario!("idle-policy-share"), &[]);
    between(ran.turns_of("idle", &[4.0]), 1.0, 1.0);
    between(ran.mean_turn("normal"), 1350.0, 1370.0);
    between(ran.share("idle"), 0.0027, 0.0031);
}

/// §15.5: at the first tick at which the parent has advanced by the vslice of 11 999 994 ns, 12 to 16 ms after the fork.
#[test]
fn fork_behind() {
    let (shortest, _, longest) = run(scenario!("fork-behind"), &[]).latency("child");
    between(shortest, 11.9, 13.0);
    between(longest, 15.0, 16.1);
}

/// §5.5 step 3: the parent is rescheduled when it returns from fork.
#[test]
fn child_runs_first() {
    let text = scenario!("child-runs-first");
    between(run(text, &[]).latency("child").2, 0.0, 0.02);
    between(run(text, &["kernel.sched_child_runs_first=0"]).latency("child").0, 11.9, 13.0);
}

/// §8.5: equal shares; §15.13 (6.1): turns of the hog of 14 ms, 8 to 12 ms and 3 to 7 ms. §6.5: yields are involuntary.
#[test]
fn sched_yield() {
    let text = scenario!("yield");
    for (granularity, low, high) in [("0ns", 13.0, 15.0), ("4ms", 8.0, 12.0), ("20ms", 3.0, 7.0)] {
        let setting = format!("kernel.sched_wakeup_granularity_ns={granularity}");
        let ran = run(text, &[&setting]);
        between(ran.share("hog"), 0.48, 0.52);
        between(ran.mean_turn("hog"), low, high);
        assert_eq!(ran.of("spinner").voluntary, 0);
    }
}

/// §15.13: 0.67 of the round trips alone, 0.66 with a granularity of 15 ms and then (almost) no involuntary switch of
/// the pair.
#[test]
fn ping_pong_and_hog() {
    let text = scenario!("ping-pong-and-hog");
    let alone = run(text, &["task.hog.start=1min"]).rate("ping");
    between(run(text, &[]).rate("ping") / alone, 0.64, 0.69);
    let coarse = run(text, &["kernel.sched_wakeup_granularity_ns=15ms"]);
    between(coarse.rate("ping") / alone, 0.63, 0.69);
    assert!(coarse.of("ping").involuntary <= 2, "{}", coarse.of("ping").involuntary);
}

/// §7.4, §15.7: nine tasks on the queue at a wake-up are at least sched_nr_latency. A hog interrupted in its turn of 4
/// ms is at most that far behind the leftmost. Without the feature the interrupted hog goes on only if it is leftmost:
/// in the last of each round of eight turns.
#[test]
fn last_buddy() {
    let text = scenario!("last-buddy");
    let returns = |ran: &Ran| {
        let sleeper = |t: Option<TaskId>| t.is_some_and(|t| ran.names[t.index()] == "sleeper");
        let pairs: Vec<_> = ran.switches.list.windows(2).filter(|w| sleeper(w[0].2)).collect();
        assert!(pairs.len() > 200, "{}", pairs.len());
        pairs.iter().filter(|w| w[0].1 == w[1].2).count() as f64 / pairs.len() as f64
    };
    between(returns(&run(text, &[])), 0.8, 1.0);
    between(returns(&run(text, &["kernel.features=NO_LAST_BUDDY"])), 0.0, 0.3);
}

/// §2.3; the "nrlat test" of §15.13: 8 ms on 5.10, 4 ms on 6.1, 8 ms after tunable_scaling has been written again.
#[test]
fn nr_latency_frozen() {
    let text = scenario!("nr-latency-frozen");
    between(run(text, &[]).turns_of("hog", &[4.0]), 0.93, 1.0);
    between(run(text, &["kernel.profile=5.10-debian"]).turns_of("hog", &[8.0]), 0.93, 1.0);
    between(run(text, &["kernel.rewrite_tunable_scaling=true"]).turns_of("hog", &[8.0]), 0.93, 1.0);
}

/// §15.2, the rows with a delay.
#[test]
fn ticks_of_every_frequency() {
    let text = scenario!("hz");
    for (hz, turn) in [(100, 20.0), (250, 16.0), (300, 13.333), (1000, 13.0)] {
        let ran = run(text, &[&format!("kernel.hz={hz}")]);
        between(ran.turns_of("hog", &[turn]), 0.95, 1.0);
    }
}

/// §6.3: in kernel mode the reschedule waits for the return to user mode. The wake-up falls anywhere in a call of 10 ms:
/// 5 ms in the mean, with a standard error of 2.9 / √300 = 0.17 ms.
#[test]
fn preempt_model() {
    let text = scenario!("preempt-model");
    let (_, mean, longest) = run(text, &[]).latency("sleeper");
    between(mean, 4.3, 5.7);
    between(longest, 9.0, 10.1);
    let (_, _, longest) = run(text, &["kernel.preempt=full"]).latency("sleeper");
    between(longest, 0.0, 0.02);
}

/// A section of 1 ms that one task at a time may be in: 1000 a second, less some microseconds of each for system calls,
/// switches and wake-ups.
#[test]
fn mutex_serialises() {
    let text = scenario!("mutex-serialises");
    between(run(text, &[]).rate("worker"), 980.0, 1000.0);
    between(run(text, &["machine.cpus=1"]).rate("worker"), 980.0, 1000.0);
}

/// Tokens divided by the 10 ms each is held.
#[test]
fn job_server() {
    let text = scenario!("job-server");
    between(run(text, &[]).rate("worker"), 197.0, 200.2);
    between(run(text, &["job_servers.make.tokens=4"]).rate("worker"), 394.0, 400.4);
}

/// §10.5: charged to whoever runs, unless IRQ time is accounted. Three quarters of the CPU remain for work.
#[test]
fn interrupts_charged() {
    let text = scenario!("interrupts-charged");
    for (setting, charged) in
        [("kernel.irq_time_accounting=false", 1.0), ("kernel.irq_time_accounting=true", 0.75)]
    {
        let ran = run(text, &[setting]);
        between(ran.share("hog"), charged - 0.01, charged + 0.001);
        between(ran.rate("hog"), 742.0, 750.2);
    }
}

/// An idle CPU is chosen where there is one .
#[test]
fn one_cpu_each() {
    let ran = run(scenario!("one-cpu-each"), &[]);
    for task in ran.metrics.tasks() {
        between(task.cpu_time.0 as f64 / 1e9 / ran.seconds, 0.99, 1.0);
        assert_eq!(task.migrations, 0);
    }
}

/// smp.md §5.3, §5.7, §5.8, §5.10: three quarters of the exit latency of the state chosen. A tick that comes while the CPU
/// sleeps cuts one sleep of four in two, and the second part may be in another state: the median is looked at.
#[test]
fn idle_states() {
    let text = scenario!("idle-states");
    let median =
        |settings: &[&str]| run(text, settings).of("wakee").latency_after_wakeup.quantile(0.5).0 as f64 / 1e3;
    between(median(&[]), 99.7, 99.8);
    between(median(&["machine.idle.latency_qos=10us"]), 7.4, 7.6);
    between(median(&["machine.idle.table=poll"]), 0.2, 0.21);
    // A cost of nothing.
    between(median(&["machine.idle.table=halt"]), 0.0, 0.0);
}

/// smp.md §5.6, §8: a polling guest is not called by interrupts.
#[test]
fn haltpoll() {
    let text = scenario!("haltpoll");
    let halting = run(text, &[]).rate("ping");
    let polling = run(text, &["machine.idle.table=haltpoll"]).rate("ping");
    assert!(polling > 2.0 * halting, "{polling} and {halting} turns a second");
}

/// §12.2: 1 ms and 50 µs of slack, and up to 10 µs of path: 1 s / 1.060 ms to 1 s / 1.050 ms.
#[test]
fn timer_slack() {
    let text = scenario!("timer-slack");
    between(run(text, &[]).rate("sleeper"), 943.0, 952.4);
    between(run(text, &["costs.timer_slack=0ns"]).rate("sleeper"), 990.0, 1000.0);
}

/// §7.7: no granularity involved.
#[test]
fn idle_cpu_wakeup() {
    let ran = run(scenario!("idle-cpu-wakeup"), &[]);
    between(ran.latency("sleeper").2, 0.0, 0.02);
    assert_eq!(ran.of("sleeper").wakeups_on_busy, 0);
}

/// core.md §10.5; the host's ticks and switches take some of the rest.
#[test]
fn stolen_time() {
    let text = scenario!("stolen-time");
    for (settings, share) in [(vec![], 2.0), (vec!["kernel.steal_time_accounting=true"], 1.0)] {
        let ran = run(text, &settings);
        between(ran.rate("hog"), 990.0, 1000.0);
        between(ran.share("hog"), share - 0.02, share + 0.005);
    }
}

/// smp.md §1.6 and §9.3, W11: without a shared cache a wake-up looks at no other CPU than the previous one and the waker's.
/// The longest wait is bounded by a slice of a few ms on the one hand, by path costs on the other.
#[test]
fn flat_topology() {
    let text = scenario!("flat-topology");
    let longest = |ran: Ran| ran.of("worker").latency_after_wakeup.max().0 as f64 / 1e6;
    between(longest(run(text, &[])), 1.0, 12.0);
    between(longest(run(text, &["machine.topology=1x1x4x1"])), 0.0, 0.3);
}

/// When the tasks of a scenario ended, ms.
fn ends(text: &str, settings: &[(&str, &str)]) -> Vec<f64> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let document = Document::parse(text, "teaching.toml", &settings).unwrap();
    let config = document.resolve().unwrap().config;
    let mut simulation = document.scenario.build(1).simulation(config, (), NoHooks);
    assert_eq!(simulation.run().unwrap().end, End::AllExited);
    simulation.tasks().iter().filter(|t| !t.kthread).map(|t| t.end.unwrap().0 as f64 / 1e6).collect()
}

/// The arithmetic of its comment, to 0.01 ms for 0.6 not being a multiple of 1/65536; and with other speeds.
#[test]
fn shared_core() {
    let text = scenario!("shared-core");
    let near = |settings, long, short| {
        let ends = ends(text, settings);
        between(ends[0], long - 0.01, long + 0.01);
        between(ends[1], short - 0.01, short + 0.01);
    };
    near(&[], 1200.0, 900.0);
    // Cores of their own.
    near(&[("machine.topology", "1x1x2x1")], 1000.0, 700.0);
    // At half speed short takes 600 ms, long does 300 of its 600 meanwhile.
    near(&[("machine.smt.compute", "0.5")], 1300.0, 1000.0);
}

/// 1 ms of work takes 4.6/4.3 ms on six active cores.
#[test]
fn turbo() {
    let text = scenario!("turbo");
    assert_eq!(run(text, &[]).of("hog").work, 1000);
    between(run(text, &["task.hog.count=6"]).rate("hog"), 6.0 * 934.0, 6.0 * 935.0);
    between(run(text, &["task.hog.count=2"]).rate("hog"), 2.0 * 977.0, 2.0 * 978.3);
    // schedutil needs some time to see that the hog wants it all.
    between(run(text, &["machine.frequency.governor=schedutil"]).rate("hog"), 700.0, 999.0);
}

/// 199 refills of 10.24 us; of 1.28 us for 32 KiB; from another socket's memory at 7.9 GB/s, for 3.9 when away from home.
#[test]
fn cold_cache() {
    let text = scenario!("cold-cache");
    let near = |ends: Vec<f64>, ms: f64| between(ends[0], ms - 1e-6, ms + 1e-6);
    near(ends(text, &[]), 200.0 + 199.0 * 0.01024);
    near(ends(text, &[("task.mover.working_set", "32KiB")]), 200.0 + 199.0 * 0.00128);
    let away = ends(text, &[("machine.topology", "2x1x1x1")])[0];
    // Whole ns are lost at each.
    between(away - 200.0, 100.0 * 0.067_216 + 99.0 * 0.033_182, 100.0 * 0.067_217 + 99.0 * 0.033_183);
}

/// Every teaching scenario has a test here, and is valid.
#[test]
fn all_are_tested() {
    let source = include_str!("teaching.rs");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../scenarios/teaching");
    let mut found = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let tested = source.contains(&format!("scenario!(\"{name}\")"));
        assert!(tested, "{name} has no test");
        found += 1;
    }
    assert!(found >= 15, "{found}");
}

/// The last of a's two locks closes the cycle, 5 ms after the start and some system calls.
#[test]
fn deadlock() {
    let text = scenario!("deadlock");
    let document = Document::parse(text, "deadlock.toml", &[]).unwrap();
    let built = document.scenario.build(1);
    let mut simulation = built.simulation(document.resolve().unwrap().config, (), NoHooks);
    assert!(matches!(simulation.run().unwrap().end, End::Stalled(_)));
    let deadlock = simulation.deadlock().unwrap();
    between(deadlock.at.0 as f64 / 1e6, 5.0, 5.1);
    assert_eq!(deadlock.cycle, [TaskId(0), TaskId(1)]);
}
