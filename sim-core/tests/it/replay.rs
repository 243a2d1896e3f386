//! The kernel model without the engine: the calls of a recorded run, made by hand, lead to the same decisions.

use crate::support::{config, hog, profiles, run_sleep, task};
use sim_core::kernel::hooks::NoHooks;
use sim_core::kernel::{Kernel, Policy, Schedule, TaskParams};
use sim_core::observe::{Decision, Event, Observer, SwitchKind};
use sim_core::program::Objects;
use sim_core::{CpuId, CpuMask, GroupId, Instant, Nanos, SimConfig, Simulation, TaskId};

const CPU: CpuId = CpuId(0);
const TICK: u64 = 4_000_000;
const NICES: [i8; 4] = [0, 3, 0, -2];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "a short tape, all in one place")]
enum Item {
    Event(Event),
    Decision(Decision),
}

/// Events and decisions in their order.
#[derive(Default)]
struct Tape(Vec<(Instant, Item)>);

impl Observer for Tape {
    const DECISIONS: bool = true;
    fn event(&mut self, at: Instant, event: &Event) {
        // What the engine alone knows has no counterpart in a kernel driven by hand.
        let engine = matches!(event, Event::Context { .. } | Event::CpuIdle { .. } | Event::Overhead { .. });
        if !engine {
            self.0.push((at, Item::Event(*event)));
        }
    }
    fn decision(&mut self, at: Instant, decision: &Decision) {
        self.0.push((at, Item::Decision(*decision)));
    }
}

#[derive(Debug)]
enum Call {
    Wake { task: TaskId, by: CpuId },
    Tick,
    Schedule,
    Block,
}

/// Two hogs and two sleepers for 1 s.
fn recorded(config: SimConfig) -> (Vec<(Instant, Item)>, Instant) {
    let mut sim = Simulation::new(config, Objects::default(), Tape::default());
    sim.add_task(task("hog", NICES[0], hog()));
    sim.add_task(task("light hog", NICES[1], hog()));
    sim.add_task(task("short sleeper", NICES[2], run_sleep(300_001, 2_700_011)));
    sim.add_task(task("long sleeper", NICES[3], run_sleep(1_900_003, 31_000_017)));
    let at = sim.run().unwrap().at;
    // The engine reports the creation of tasks; the kernel model, called by hand, only that of forked ones.
    let created = |(_, i): &(Instant, Item)| matches!(i, Item::Event(Event::Fork { .. }));
    (sim.observer.0.into_iter().filter(|i| !created(i)).collect(), at)
}

/// The calls that a tape speaks of: wake-ups, and `__schedule` where a pick was made. Ticks leave no trace of their own
/// when they decide nothing; they come at every multiple of the period.
fn calls(tape: &[(Instant, Item)], end: Instant) -> Vec<(Instant, Call)> {
    let mut calls = Vec::new();
    let mut next_tick = TICK;
    for (i, (at, item)) in tape.iter().enumerate() {
        while next_tick < at.0 {
            calls.push((Instant(next_tick), Call::Tick));
            next_tick += TICK;
        }
        match item {
            Item::Event(Event::Waking { task, by, .. }) => {
                calls.push((*at, Call::Wake { task: *task, by: *by }));
            }
            Item::Decision(Decision::Pick(_)) => {
                let switch = |(t, i): &(Instant, Item)| match i {
                    Item::Event(Event::Switch { kind, .. }) if t == at => Some(*kind),
                    _ => None,
                };
                let blocks = tape[i..].iter().take_while(|(t, _)| t == at).find_map(switch);
                let blocks = blocks == Some(SwitchKind::Blocked);
                calls.push((*at, if blocks { Call::Block } else { Call::Schedule }));
            }
            _ => (),
        }
    }
    while next_tick <= end.0 {
        calls.push((Instant(next_tick), Call::Tick));
        next_tick += TICK;
    }
    calls
}

#[test]
fn the_same_calls_by_hand_give_the_same_decisions() {
    for profile in profiles() {
        let mut c = config(profile, 1, 250, 3_000);
        c.duration = Some(Nanos(1_001_000_000));
        let (tape, end) = recorded(c.clone());
        let mut k = Kernel::new(c.kernel, NoHooks);
        let mut o = Tape::default();
        for nice in NICES {
            let cpus_allowed = CpuMask::one(CPU);
            k.add_task(&TaskParams { nice, policy: Policy::Normal, cpus_allowed, group: GroupId::ROOT });
        }
        for (at, call) in calls(&tape, end) {
            match call {
                Call::Wake { task, by } => {
                    k.try_to_wake_up(task, by, None, false, at, &mut o);
                }
                Call::Tick => k.scheduler_tick(CPU, at, &mut o),
                Call::Schedule => assert!(k.schedule(CPU, at, Schedule::Preempt, &mut o).next.is_some()),
                Call::Block => {
                    k.set_sleeping(k.rq(CPU).curr.unwrap());
                    k.schedule(CPU, at, Schedule::Call, &mut o);
                }
            }
        }
        k.charge_running(CPU, end, &mut o);
        let first = tape.iter().zip(&o.0).position(|(a, b)| a != b);
        assert_eq!(first.map(|i| (&tape[i], &o.0[i])), None, "{profile}: first difference");
        assert_eq!(tape.len(), o.0.len(), "{profile}");
        let picks = |t: &[(Instant, Item)]| t.iter().filter(|(_, i)| matches!(i, Item::Decision(_))).count();
        assert!(picks(&tape) > 1000, "{profile}: a history worth replaying");
    }
}
