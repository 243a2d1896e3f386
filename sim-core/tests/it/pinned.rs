//! One-CPU machines go on deciding as they did when rules for many CPUs came: digests of schedules, pinned then.

use crate::support::{config, profiles, run, run_sleep, script, task};
use sim_core::machine::{Costs, Preset};
use sim_core::observe::{Event, Observer};
use sim_core::program::{Action, ChildSpec, Objects};
use sim_core::{Nanos, Simulation};

/// Folds in every switch, wake-up, migration and exit with its time, but none of the numbers behind them.
struct Schedule(u64);

impl Schedule {
    fn add(&mut self, words: [u64; 4]) {
        for word in words {
            let mixed = (self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
            self.0 = mixed ^ (mixed >> 32);
        }
    }
}

impl Observer for Schedule {
    fn event(&mut self, at: sim_core::Instant, event: &Event) {
        let id = |t: Option<sim_core::TaskId>| t.map_or(0, |t| u64::from(t.0) + 1);
        match *event {
            Event::Switch { prev, kind, next, .. } => self.add([at.0, kind as u64, id(prev), id(next)]),
            Event::Wakeup { task, curr, resched_after, .. } => {
                self.add([at.0, 16 + u64::from(resched_after), id(Some(task)), id(curr)]);
            }
            Event::Migrate { task, .. } => self.add([at.0, 32, id(Some(task)), 0]),
            Event::Exit { task } => self.add([at.0, 64, id(Some(task)), 0]),
            _ => {}
        }
    }
}

/// Hogs of several nice levels, sleepers of several rhythms, a pair on a pipe and a forking task, for 3 s.
fn schedule_of(profile: &str, hz: u32, preset: Preset) -> u64 {
    let mut c = config(profile, 1, hz, 3_000);
    c.machine.costs = Costs::preset(preset);
    c.duration = Some(Nanos::from_secs(3));
    let mut objects = Objects::default();
    let [there, back] = [(); 2].map(|()| objects.add_pipe("p", Objects::PIPE_CAPACITY, 0));
    let mut sim = Simulation::new(c, objects, Schedule(0x9e37_79b9_7f4a_7c15));
    for (i, nice) in [0, 0, 5, -3, 19].into_iter().enumerate() {
        sim.add_task(task(&format!("hog{i}"), nice, run_sleep(7_000_001, 1)));
    }
    for (i, (runs, sleeps)) in
        [(300_000, 1_700_003), (2_000_000, 9_000_001), (90_000, 400_007)].iter().enumerate()
    {
        sim.add_task(task(&format!("sleeper{i}"), 0, run_sleep(*runs, *sleeps)));
    }
    let (write, read) =
        (|pipe| Action::PipeWrite { pipe, bytes: 9 }, |pipe| Action::PipeRead { pipe, bytes: 9 });
    let a = (0..400).flat_map(|_| [run(150_000), write(there), read(back)]).collect();
    let b = (0..400).flat_map(|_| [read(there), run(60_000), write(back)]).collect();
    sim.add_task(task("a", 0, script(a)));
    sim.add_task(task("b", 0, script(b)));
    let child = |i: u64| {
        let program = script(vec![run(1_000_000 * i), Action::Yield, run(500_000)]);
        Action::Fork(Box::new(ChildSpec { name: format!("c{i}"), path: format!("c{i}"), program }))
    };
    let forks = (1..20).flat_map(|i| [run(200_000), child(i), Action::WaitChild]).collect();
    sim.add_task(task("parent", 1, script(forks)));
    sim.run().unwrap();
    sim.observer.0
}

/// By profile: HZ 250 without costs, HZ 1000 with those of a bare-metal machine.
const PINNED: &[(&str, [u64; 2])] = &[
    ("4.19", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.4", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.5", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.6", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.7", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.10", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.10-debian", [0x76bc_daaf_0870_76a9, 0xfa07_6b72_4c52_6401]),
    ("5.12", [0x2f67_119d_5b30_6d0f, 0x1a4c_bde2_90f8_2114]),
    ("5.13", [0x76bc_daaf_0870_76a9, 0xfa07_6b72_4c52_6401]),
    ("5.15", [0x76bc_daaf_0870_76a9, 0xfa07_6b72_4c52_6401]),
    ("6.1", [0x76bc_daaf_0870_76a9, 0xfa07_6b72_4c52_6401]),
    ("6.1-debian", [0x76bc_daaf_0870_76a9, 0xfa07_6b72_4c52_6401]),
    ("6.5", [0x19fd_6c04_476a_460f, 0xac8_94ee_8518_26ff]),
];

#[test]
fn one_cpu_schedules_are_as_they_were() {
    let now: Vec<(&str, [u64; 2])> = profiles()
        .map(|p| (p, [schedule_of(p, 250, Preset::Zero), schedule_of(p, 1000, Preset::BareMetal)]))
        .collect();
    assert_eq!(now, PINNED, "{now:#x?}");
}
