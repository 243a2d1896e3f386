//! The loop is closed: what a reader of traces finds in a trace is what the run's own metrics say.

use super::{EventSet, FIRST_PID, Ftrace, Style, TraceEvent};
use crate::load::{Loaded, ScenarioText};
use crate::simulate;
use regex::Regex;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{Event, Metrics, Observer};
use sim_core::{Instant, Nanos};
use std::collections::BTreeMap;
use validation::capture::trace::{Trace, TraceKind, TraceLimits, read_trace};

const MIX: &str = r#"
name = "mix"
seed = 3
[kernel]
profile = "6.1"
sched_latency_ns = "24ms"
sched_min_granularity_ns = "3ms"
sched_wakeup_granularity_ns = "4ms"
[run]
duration = "2s"
[task.hog]
count = 2
program = [{ forever = [{ run = "10ms" }] }]
[task.sleeper]
nice = -5
program = [{ forever = [{ sleep = { uniform = ["5ms", "30ms"] } }, { run = "300us" }] }]
[task.ping]
program = [{ forever = [{ run = "50us" }, { write = "a", bytes = 1 }, { read = "b", bytes = 1 }] }]
[task.pong]
program = [{ forever = [{ read = "a", bytes = 1 }, { run = "70us" }, { write = "b", bytes = 1 }, "yield"] }]
"#;

const FORKS: &str = r#"
name = "forks"
[kernel]
profile = "5.10"
preempt = "full"
[machine]
cpus = 2
[task."a-name-of-more-than-15-bytes"]
count = 3
program = [
    { repeat = 5, do = [
        { fork = "child", program = [{ run = "2ms" }, { exec = "prog" }, { run = "9ms" }, { sleep = "1ms" }, { kernel = "5ms" }] },
        { run = "3ms" },
        "wait_child",
    ] },
]
"#;

/// What the run says of its wake-ups: when, and need_resched after it.
#[derive(Default)]
struct Wakeups(Vec<(u64, bool)>);

impl Observer for Wakeups {
    fn event(&mut self, at: Instant, event: &Event) {
        if let Event::Wakeup { resched_after, .. } = *event {
            self.0.push((at.0, resched_after));
        }
    }
}

fn load(text: &str) -> Loaded {
    ScenarioText::of("test.toml", text).with(&[]).unwrap()
}

fn traced(text: &str, nanoseconds: bool, events: &[TraceEvent]) -> (String, Metrics, Wakeups) {
    let loaded = load(text);
    let kernel = &loaded.resolved.config.kernel;
    let style = Style::of(kernel, nanoseconds);
    let trace = Ftrace::new(Vec::new(), style, kernel.cpus, EventSet::of(events), Instant::ZERO);
    let observer = (trace, (Metrics::new(Nanos::ZERO), Wakeups::default()));
    let mut simulation = simulate::prepare(&loaded, loaded.resolved.seed, None, observer, NoHooks);
    simulation.run().unwrap();
    let (trace, (metrics, wakeups)) = simulation.observer;
    (String::from_utf8(trace.finish().unwrap()).unwrap(), metrics, wakeups)
}

fn read(text: &str) -> Trace {
    let (trace, stats) = read_trace(text.as_bytes(), TraceLimits::default()).unwrap();
    assert_eq!(stats.malformed, 0, "line {:?}", stats.first_malformed);
    trace
}

/// What an onlooker counts for one pid.
#[derive(Default)]
struct Tally {
    charged: u64,
    on: Option<u64>,
    turns: Vec<u64>,
    voluntary: u64,
    involuntary: u64,
    waits_since: Option<u64>,
    latencies: Vec<u64>,
}

fn tally(trace: &Trace) -> (BTreeMap<u32, Tally>, u64) {
    let (mut tasks, mut switches) = (BTreeMap::<u32, Tally>::new(), 0);
    for e in &trace.events {
        match &e.kind {
            TraceKind::Switch { prev, prev_state, next } => {
                switches += 1;
                let p = tasks.entry(trace.pid(*prev)).or_default();
                if let Some(since) = p.on.take() {
                    p.turns.push(e.at_ns - since);
                }
                let runnable = prev_state.starts_with('R');
                *(if runnable { &mut p.involuntary } else { &mut p.voluntary }) += 1;
                let n = tasks.entry(trace.pid(*next)).or_default();
                n.on = Some(e.at_ns);
                n.latencies.extend(n.waits_since.take().map(|since| e.at_ns - since));
            }
            TraceKind::Wakeup { task, .. } => {
                let t = tasks.entry(trace.pid(*task)).or_default();
                if t.on.is_none() {
                    t.waits_since = Some(e.at_ns);
                }
            }
            TraceKind::StatRuntime { task, runtime_ns, .. } => {
                tasks.entry(trace.pid(*task)).or_default().charged += runtime_ns;
            }
            _ => {}
        }
    }
    (tasks, switches)
}

fn compare(text: &str) {
    let (trace, metrics, wakeups) = traced(text, true, &[]);
    let trace = read(&trace);
    let (tasks, switches) = tally(&trace);
    assert_eq!(switches, metrics.context_switches());
    assert!(metrics.tasks().len() > 4);
    for (i, m) in metrics.tasks().iter().enumerate() {
        let t = &tasks[&(FIRST_PID as u32 + i as u32)];
        assert_eq!(t.charged, m.cpu_time.0, "CPU time of task {i}");
        assert_eq!((t.turns.len() as u64, t.turns.iter().sum()), (m.turns, m.turn_time.0));
        assert_eq!((t.voluntary, t.involuntary), (m.voluntary, m.involuntary));
        assert_eq!(t.latencies.len() as u64, m.latency_after_wakeup.count());
        // Histograms are exact to a thousandth.
        let longest = t.latencies.iter().copied().max().unwrap_or(0);
        assert!(longest.abs_diff(m.latency_after_wakeup.max().0) * 1000 <= longest);
    }
    let woken = trace.events.iter().filter(|e| matches!(e.kind, TraceKind::Wakeup { .. }));
    let flags: Vec<_> = woken.map(|e| (e.at_ns, e.flags.need_resched())).collect();
    assert_eq!(flags.len(), wakeups.0.len());
    if text == MIX {
        // On one CPU the flag at the wake-up is the target's.
        assert_eq!(flags, wakeups.0);
    }
}

#[test]
fn a_trace_says_what_the_metrics_say() {
    compare(MIX);
    compare(FORKS);
}

/// The kernel's six digits move a stamp by at most half a microsecond.
#[test]
fn stamps_are_rounded_as_the_kernel_does() {
    let (fine, _, _) = traced(MIX, false, &[]);
    let (exact, _, _) = traced(MIX, true, &[]);
    let (fine, exact) = (read(&fine), read(&exact));
    assert_eq!(fine.events.len(), exact.events.len());
    for (f, e) in fine.events.iter().zip(&exact.events) {
        assert!(f.at_ns.abs_diff(e.at_ns) <= 500);
        assert_eq!((f.cpu, f.flags, &f.kind), (e.cpu, e.flags, &e.kind));
    }
}

/// What scripts over ftrace text expect of lines and fields.
#[test]
fn lines_have_the_shape_that_scripts_expect() {
    let head =
        Regex::new(r"^\s*(.+)-(\d+)\s+\[(\d{3})\]\s+([dDN.hs0-9a-f]{4,5})\s+(\d+\.\d{6}): (\w+): (.*)$")
            .unwrap();
    let task = r"comm=(.{1,15}) pid=(\d+) prio=(\d+)";
    let fields: BTreeMap<&str, String> = [
        ("sched_switch", r"^prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(R\+?|S|Z) ==> next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)$".to_owned()),
        ("sched_waking", format!(r"^{task} target_cpu=\d{{3}}$")),
        ("sched_wakeup", format!(r"^{task} target_cpu=\d{{3}}$")),
        ("sched_wakeup_new", format!(r"^{task} target_cpu=\d{{3}}$")),
        ("sched_migrate_task", format!(r"^{task} orig_cpu=\d+ dest_cpu=\d+$")),
        ("sched_process_exit", format!("^{task}$")),
        ("sched_process_fork", r"^comm=(.*) pid=\d+ child_comm=(.*) child_pid=\d+$".to_owned()),
        ("sched_process_exec", r"^filename=prog pid=(\d+) old_pid=(\d+)$".to_owned()),
        ("sched_stat_runtime", r"^comm=(.*) pid=\d+ runtime=\d+ \[ns\] vruntime=\d+ \[ns\]$".to_owned()),
        ("cpu_idle", r"^state=(1|4294967295) cpu_id=\d+$".to_owned()),
    ]
    .into();
    let fields: BTreeMap<&str, Regex> =
        fields.into_iter().map(|(k, v)| (k, Regex::new(&v).unwrap())).collect();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for text in [MIX, FORKS] {
        let (trace, _, _) = traced(text, false, &[]);
        for line in trace.lines().filter(|l| !l.starts_with('#')) {
            let parts = head.captures(line).unwrap_or_else(|| panic!("{line}"));
            assert!(fields[&parts[6]].is_match(&parts[7]), "{line}");
            *seen.entry(parts[6].to_owned()).or_default() += 1;
        }
    }
    assert_eq!(seen.len(), fields.len(), "every kind of event occurs: {seen:?}");
}

fn events_of<'a>(trace: &'a str, event: &str) -> Vec<&'a str> {
    trace.lines().filter(|l| l.contains(&format!(": {event}: "))).collect()
}

/// Flags as captures of the two kernels show them in the same places.
#[test]
fn flags_are_those_of_the_kernels() {
    let flags = |line: &str| line.split_once("] ").unwrap().1.split(' ').next().unwrap().to_owned();
    let of = |text: &str, event: &str| {
        let (trace, _, _) = traced(text, false, &[]);
        let mut all: Vec<String> = events_of(&trace, event).into_iter().map(flags).collect();
        all.sort();
        all.dedup();
        all
    };
    assert_eq!(of(MIX, "sched_switch"), ["d..2."]);
    assert_eq!(of(MIX, "sched_wakeup"), ["d..4.", "d.h3.", "dN.4.", "dNh3.", "dNh4."]);
    assert_eq!(of(MIX, "sched_stat_runtime"), ["d..2.", "d..4.", "d.h1.", "d.h3.", "dN.2.", "dNh1."]);
    let older = FORKS.replace(r#"preempt = "full""#, "");
    assert_eq!(of(&older, "sched_process_fork"), ["...."]);
    assert_eq!(of(&older, "sched_switch"), ["d..."]);
    // Without N: woken to balance, with nothing to run.
    assert_eq!(of(&older, "cpu_idle"), ["....", ".N..", "d..."]);
}

/// A preemption inside a system call shows as `R+`; only a fully preemptible kernel has it.
#[test]
fn preemption_in_kernel_mode_is_told() {
    let states = |preempt: &str| {
        let text = format!(
            "name = \"k\"\nkernel.preempt = \"{preempt}\"\nrun.duration = \"1s\"\n\
             task.k = {{ count = 2, program = [{{ forever = [{{ kernel = \"50ms\" }}] }}] }}"
        );
        let (trace, _, _) = traced(&text, false, &[]);
        ["prev_state=R+ ", "prev_state=R "].map(|state| trace.matches(state).count())
    };
    let [plus, plain] = states("full");
    // Only the idle task leaves as plainly runnable.
    assert!(plus > 10 && plain == 1, "{plus} and {plain}");
    assert_eq!(states("voluntary")[0], 0);
}

#[test]
fn a_forked_task_bears_its_parents_name_until_it_runs() {
    let (trace, _, _) = traced(FORKS, false, &[]);
    let new = events_of(&trace, "sched_wakeup_new");
    assert!(new.iter().all(|l| l.contains(" comm=a-name-of-more- ")), "{}", new[0]);
    assert!(trace.contains("           child-10"));
    assert!(trace.contains("            prog-1003 "));
}

#[test]
fn only_chosen_events_are_written() {
    let (trace, _, _) = traced(MIX, false, &[TraceEvent::SchedSwitch, TraceEvent::CpuIdle]);
    let kinds = ["sched_switch", "cpu_idle"].map(|e| events_of(&trace, e).len());
    let lines = trace.lines().filter(|l| !l.starts_with('#')).count();
    assert!(kinds.iter().all(|n| *n > 0));
    assert_eq!(kinds.iter().sum::<usize>(), lines);
}

#[test]
fn idle_states_are_written_by_number() {
    let text = r#"
        machine.idle = { table = "skl", disabled = ["C1"] }
        run.duration = "1s"
        task.sleeper.program = [{ forever = [{ sleep = { uniform = ["10us", "5ms"] } }, { run = "50us" }] }]
    "#;
    let (trace, _, _) = traced(text, false, &[]);
    let states: BTreeMap<&str, usize> =
        events_of(&trace, "cpu_idle").iter().fold(BTreeMap::new(), |mut n, line| {
            let state = line.split("state=").nth(1).and_then(|s| s.split(' ').next()).unwrap();
            *n.entry(state).or_default() += 1;
            n
        });
    let left = states["4294967295"];
    let entered: usize = states.values().sum::<usize>() - left;
    assert!(
        states.len() > 2 && !states.contains_key("1") && left <= entered && entered <= left + 1,
        "{states:?}"
    );
}

#[test]
fn the_first_error_of_the_writer_is_kept() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let style = Style { migrate_disable: true, preempt_count: true, nanoseconds: false };
    let trace = Ftrace::new(Full, style, 1, EventSet::of(&[]), Instant::ZERO);
    assert_eq!(trace.finish().map(|_| ()).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}
