//! Case 14 of the reported behaviours (`scenarios/cases/kernel-build.toml`). Bounds were set before looking.

use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::{Event, Metrics, Observer, SwitchKind, TaskMetrics};
use sim_core::{Instant, Nanos, TaskId};
use sim_workloads::scenario::Document;
use std::collections::BTreeMap;

/// A tick of 250 Hz.
const TICK: u64 = 4_000_000;

/// Stints on a CPU that a tick began, by making another task leave, and another tick ended.
#[derive(Default)]
struct Stints {
    /// By CPU: whether a tick has just asked for a reschedule.
    ticked: BTreeMap<usize, bool>,
    /// Since when, for tasks that a tick let come.
    since: BTreeMap<TaskId, Instant>,
    lengths: Vec<Nanos>,
}

impl Observer for Stints {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::TickPreempt { cpu, .. } => {
                self.ticked.insert(cpu.index(), true);
            }
            Event::Switch { cpu, prev, kind, next } => {
                let by_tick =
                    self.ticked.insert(cpu.index(), false) == Some(true) && kind == SwitchKind::Preempted;
                let began = prev.and_then(|prev| self.since.remove(&prev));
                self.lengths.extend(began.filter(|_| by_tick).map(|since| at - since));
                if let (true, Some(next)) = (by_tick, next) {
                    self.since.insert(next, at);
                }
            }
            _ => {}
        }
    }
}

struct Build {
    metrics: Metrics,
    stints: Vec<Nanos>,
    names: Vec<String>,
}

impl Build {
    fn run(settings: &[(&str, &str)]) -> Build {
        let text = include_str!("../../../scenarios/cases/kernel-build.toml");
        let settings: Vec<_> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let document = Document::parse(text, "kernel-build.toml", &settings).unwrap();
        let resolved = document.resolve().unwrap();
        let observer = (Metrics::new(resolved.warmup), Stints::default());
        let mut simulation = document.scenario.build(1).simulation(resolved.config, observer, NoHooks);
        simulation.run().unwrap();
        let names = simulation.tasks().iter().map(|t| t.name.clone()).collect();
        let (metrics, stints) = simulation.observer;
        Build { metrics, stints: stints.lengths, names }
    }
    fn of(&self, names: &[&str]) -> TaskMetrics {
        let tasks = self.metrics.tasks().iter().zip(&self.names);
        Metrics::sum(tasks.filter(|(_, name)| names.contains(&name.as_str())).map(|(m, _)| m))
    }
}

/// Mean wait for a CPU, after wake-ups and preemptions alike, and the longest.
fn delay(m: &TaskMetrics) -> (Nanos, Nanos) {
    let (woken, preempted) = (&m.latency_after_wakeup, &m.latency_after_preemption);
    let sum = woken.mean().0 * woken.count() + preempted.mean().0 * preempted.count();
    (Nanos(sum / (woken.count() + preempted.count())), woken.max().max(preempted.max()))
}

fn between(value: Nanos, low: u64, high: u64) {
    assert!((low..=high).contains(&(value.0 / 1000)), "{value}: not from {low} to {high} us");
}

#[test]
fn a_build_runs_in_stints_of_a_tick_or_two() {
    let build = Build::run(&[]);
    let cc1 = build.of(&["cc1"]);
    between(cc1.turn_mean(), 4_000, 8_000);
    let (mean, longest) = delay(&cc1);
    between(mean, 3_000, 10_000);
    between(longest, 20_000, 60_000);
    // What differs from whole ticks is the way from the tick to the switch, not the same each time.
    let whole = |n: &&Nanos| (n.0 + TICK / 40) % TICK < TICK / 20;
    let (all, whole) = (build.stints.len(), build.stints.iter().filter(whole).count());
    assert!(all > 100 && whole * 100 >= all * 95, "{whole} of {all} are whole ticks");
}

#[test]
fn commands_just_forked_wait_longer_than_woken_ones() {
    let build = Build::run(&[]);
    let forked = build.of(&["fixdep", "mv", "objdump", "grep", "recordmcount", "cat", "rm"]);
    let woken = build.of(&["make", "sh", "gcc", "as"]);
    let (forked, woken) = (forked.latency_after_wakeup, woken.latency_after_wakeup);
    assert!(forked.count() > 100 && woken.count() > 500);
    assert!(forked.mean().0 > 2 * woken.mean().0, "{} {}", forked.mean(), woken.mean());
}

#[test]
fn a_warm_page_cache_makes_stints_longer() {
    let warm = Build::run(&[("workload.kernel_compile.page_cache", "warm")]).of(&["cc1"]);
    let cold = Build::run(&[]).of(&["cc1"]);
    assert!(warm.turn_mean().0 * 5 > cold.turn_mean().0 * 6, "{} {}", warm.turn_mean(), cold.turn_mean());
}
