//! What is said to change a decision does so, by the kernel's own doing: the tunable is written at the moment of the decision.

use super::limits::{self, Reach};
use super::watch::{Entry, Wanted, Watch};
use super::{one_decision, story};
use crate::load::{Loaded, ScenarioText};
use crate::output::Report;
use crate::simulate;
use sim_core::kernel::hooks::NoHooks;
use sim_core::kernel::tunables::Tunable;
use sim_core::observe::{Decision, Event, Observer, TickPreempt};
use sim_core::{EntityId, Instant, Nanos};

/// Three hogs, two of them in a light group, on one CPU.
const GROUPS: &str = r#"
[kernel]
profile = "PROFILE"
sched_latency_ns = "24ms"
sched_min_granularity_ns = "3ms"
sched_wakeup_granularity_ns = "4ms"
[costs]
preset = "zero"
[run]
duration = "300ms"
[group."/a"]
cpu.weight = 50
[task.inner]
count = 2
group = "/a"
program = [{ forever = [{ run = "1s" }] }]
[task.outer]
program = [{ forever = [{ run = "1s" }] }]
"#;

fn load(profile: &str, more: &str) -> Loaded {
    ScenarioText::of("test.toml", &format!("{}{more}", GROUPS.replace("PROFILE", profile))).with(&[]).unwrap()
}

/// The decisions of ticks.
#[derive(Default)]
struct Ticks(Vec<(Instant, TickPreempt)>);

impl Observer for Ticks {
    const DECISIONS: bool = true;
    fn event(&mut self, _: Instant, _: &Event) {}
    fn decision(&mut self, at: Instant, decision: &Decision) {
        if let Decision::TickPreempt(d) = decision {
            self.0.push((at, *d));
        }
    }
}

fn ticks(loaded: &Loaded, until: Option<Nanos>) -> Vec<(Instant, TickPreempt)> {
    let mut simulation = simulate::prepare(loaded, 1, until, Ticks::default(), NoHooks);
    simulation.run().unwrap();
    simulation.observer.0
}

/// The verdict of the tick at `at` if a tunable is written just before it.
fn verdict(profile: &str, at: Instant, entity: EntityId, tunable: Tunable, value: u64) -> bool {
    let more = format!("[[at]]\ntime = \"{}ns\"\nset.{} = \"{value}ns\"\n", at.0, tunable.name());
    let all = ticks(&load(profile, &more), Some(Nanos(at.0)));
    all.iter().find(|(t, d)| *t == at && d.entity == entity).unwrap().1.preempt
}

#[test]
fn the_edges_of_ticks_are_those_of_the_kernel() {
    for profile in ["5.10", "6.1"] {
        let loaded = load(profile, "");
        let kernel = &loaded.resolved.config.kernel;
        let mut groups = 0;
        for (at, d) in ticks(&loaded, None).into_iter().take(60) {
            let decided = |t: &_| limits::tick_preempts(&d, t, &kernel.rules);
            assert_eq!(decided(&kernel.tunables), d.preempt, "{profile} {at}: {d:?}");
            for tunable in [Tunable::Latency, Tunable::MinGranularity] {
                let low = limits::lowest(kernel, tunable, d.period_nr);
                let Some(reach) = limits::reach(kernel, tunable, low, decided) else { continue };
                let (with, without) = match reach {
                    Reach::AtLeast(edge) => (edge, edge - 1),
                    Reach::AtMost(edge) | Reach::Between(_, edge) => (edge, edge + 1),
                };
                let verdict = |value| verdict(profile, at, d.entity, tunable, value);
                assert_eq!(verdict(with), !d.preempt, "{profile} {at} {reach:?}: {d:?}");
                assert_eq!(verdict(without), d.preempt, "{profile} {at} {reach:?}: {d:?}");
                if let Reach::Between(low, _) = reach {
                    assert_eq!(verdict(low), !d.preempt, "{profile} {at} {reach:?}: {d:?}");
                }
                groups += usize::from(d.above.levels().is_empty() && d.weight == 50 * 1024 * 1024 / 100);
            }
        }
        assert!(groups > 5, "{profile}: {groups} edges of group entities");
    }
}

#[test]
fn groups_are_called_by_their_paths() {
    let loaded = load("6.1", "");
    let report = story(&loaded, "outer", None, Some(Nanos(100_000_000))).unwrap();
    let text = report.text();
    assert!(text.contains("group /a"), "{text}");
    assert!(!text.contains("group entity"), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["groups"][0]["group"], "/a");
    let inner = story(&loaded, "inner", None, Some(Nanos(100_000_000))).unwrap().text();
    assert!(inner.contains("1024 of 2048 in weight, above it 512 of 1536, 2 runnable"), "{inner}");
}

/// The numbers are those of the time of the decision, not those the run began with.
#[test]
fn a_changed_tunable_is_told_as_it_is_then() {
    let sleeper =
        "[task.s]\nstart = \"150ms\"\nprogram = [{ forever = [{ run = \"1ms\" }, { sleep = \"20ms\" }] }]\n";
    let change = "[[at]]\ntime = \"200ms\"\nset.sched_wakeup_granularity_ns = \"15ms\"\n";
    let loaded = load("6.1", &format!("{sleeper}{change}"));
    let wanted = Wanted::Task { name: "s".to_owned(), from: Instant::ZERO, to: Instant::NEVER };
    let mut simulation = simulate::prepare(&loaded, 1, None, Watch::new(wanted), NoHooks);
    simulation.run().unwrap();
    let mut told = [0, 0];
    for entry in &simulation.observer.kept {
        let Entry::Decision(record) = entry else { continue };
        if !matches!(record.decision, Decision::WakeupPreempt(d) if d.granularity > 0 && d.lead > 0) {
            continue;
        }
        let text = one_decision(&loaded, record.number, None).unwrap().text();
        let late = record.at.0 >= 200_000_000;
        let granularity = if late { "granularity of 15 ms" } else { "granularity of 4 ms" };
        assert!(text.contains(granularity), "{text}");
        told[usize::from(late)] += 1;
    }
    assert!(told[0] > 0 && told[1] > 0, "{told:?}");
}
