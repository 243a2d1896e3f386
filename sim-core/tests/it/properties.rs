//! Properties of whole runs of random mixes.

use crate::mix::{Mix, mix, random_costs};
use crate::support::Log;
use proptest::prelude::*;
use sim_core::engine::TaskInfo;
use sim_core::machine::{Costs, MachineConfig};
use sim_core::observe::{Event, Observer, SwitchKind};
use sim_core::{CpuId, End, Instant, Nanos, Outcome, TaskId};

/// Watches for CPUs that idle while a task is queued on them.
#[derive(Default, Debug)]
struct IdleBesideWork {
    /// The CPU a task waits on.
    waits_on: Vec<Option<CpuId>>,
    running: Vec<Option<TaskId>>,
    since: Vec<Option<Instant>>,
    now: Instant,
    longest: Nanos,
}

impl IdleBesideWork {
    fn new(cpus: u32) -> IdleBesideWork {
        let n = cpus as usize;
        IdleBesideWork { running: vec![None; n], since: vec![None; n], ..IdleBesideWork::default() }
    }
    fn set(&mut self, task: TaskId, on: Option<CpuId>) {
        if self.waits_on.len() <= task.index() {
            self.waits_on.resize(task.index() + 1, None);
        }
        self.waits_on[task.index()] = on;
    }
    /// The state that lasted until `at`.
    fn boundary(&mut self, at: Instant) {
        for (i, since) in self.since.iter_mut().enumerate() {
            let idle = self.running[i].is_none() && self.waits_on.contains(&Some(CpuId::new(i)));
            match *since {
                _ if !idle => *since = None,
                None => *since = Some(self.now),
                Some(_) => (),
            }
            let from = since.unwrap_or(at);
            self.longest = self.longest.max(at.saturating_since(from));
        }
        self.now = at;
    }
}

impl Observer for IdleBesideWork {
    fn event(&mut self, at: Instant, event: &Event) {
        if at > self.now {
            self.boundary(at);
        }
        match *event {
            Event::Wakeup { task, cpu, .. } => self.set(task, Some(cpu)),
            Event::Migrate { task, to, .. }
                if self.waits_on.get(task.index()).is_some_and(Option::is_some) =>
            {
                self.set(task, Some(to));
            }
            Event::Switch { cpu, prev, kind, next } => {
                if let Some(p) = prev {
                    let stays = matches!(kind, SwitchKind::Preempted | SwitchKind::Yielded);
                    self.set(p, stays.then_some(cpu));
                }
                if let Some(n) = next {
                    self.set(n, None);
                }
                self.running[cpu.index()] = next;
            }
            _ => (),
        }
    }
}

/// The longest such time, and how many tasks there were.
fn longest_idle_beside_work(m: &Mix) -> (Nanos, u64) {
    let (mut sim, _) = m.build(1, IdleBesideWork::new(m.cpus));
    let out = sim.run().unwrap();
    sim.observer.boundary(out.at);
    (sim.observer.longest, sim.tasks().len() as u64)
}

fn logged(m: &Mix, pieces: u64) -> (Outcome, Log, Vec<Option<Instant>>) {
    let (mut sim, _) = m.build(pieces, Log::default());
    let out = sim.run().unwrap();
    let ends = sim.tasks().iter().map(|t| t.end).collect();
    (out, sim.observer, ends)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// No wake-up is lost: every program ends.
    #[test]
    fn every_run_ends(m in prop_oneof![mix(Just(None)).boxed(), mix(random_costs()).boxed()]) {
        let (mut sim, _) = m.build(1, ());
        let out = sim.run().unwrap();
        prop_assert_eq!(out.end, End::AllExited);
        prop_assert!(!sim.tasks().iter().any(TaskInfo::is_unfinished));
    }

    /// Work asked is CPU time got, to the nanosecond, when nothing else takes time.
    #[test]
    fn work_done_is_work_asked(m in mix(Just(None))) {
        let (mut sim, asked) = m.build(1, Log::default());
        sim.run().unwrap();
        for (i, t) in sim.tasks().iter().enumerate().filter(|(_, t)| !t.kthread) {
            prop_assert_eq!(sim.observer.cpu_time(TaskId::new(i)), asked[&t.path], "{}", t.path);
            let charged = sim.kernel().task_entity(TaskId::new(i)).sum_exec_runtime;
            prop_assert_eq!(charged, asked[&t.path], "{}", t.path);
        }
    }

    /// With free interrupts and idle exits no CPU idles for a moment while a task is queued on it.
    #[test]
    fn no_cpu_idles_beside_work(m in mix(Just(None))) {
        prop_assert_eq!(longest_idle_beside_work(&m).0, Nanos::ZERO);
    }

    /// With costs, it idles no longer than the interrupts on the way to its `__schedule` take: its own tick or wake-up
    /// handler, an interrupt from the waker's CPU, a wake-up of every other task in the meantime, balancing, and leaving idle.
    #[test]
    fn an_idle_cpu_starts_within_its_costs(m in mix(random_costs())) {
        let c: Costs = MachineConfig::clone(&m.config().machine).costs;
        let (longest, tasks) = longest_idle_beside_work(&m);
        let cpus = u64::from(m.cpus);
        let wakeup = c.wakeup.0 + cpus * c.scan_cpu.0;
        // Passes: its own tick's, one before it idled, and those it makes for every idle CPU when kicked.
        let passes = (cpus + 2) * (c.balance.0 + cpus * c.balance_cpu.0);
        let bound = Nanos(c.ipi.0 + c.idle_exit.0 + c.irq_exit.0 + c.tick.0 + tasks * wakeup + passes);
        prop_assert!(longest <= bound, "{longest} of {bound}");
    }

    /// Cutting bursts in pieces changes nothing at all.
    #[test]
    fn splitting_bursts_changes_nothing(m in prop_oneof![mix(Just(None)).boxed(), mix(random_costs()).boxed()], pieces in 2u64..4) {
        let (_, whole, ends) = logged(&m, 1);
        let (_, cut, cut_ends) = logged(&m, pieces);
        prop_assert_eq!(ends, cut_ends);
        // The engine looks at a task once more between two pieces; nothing may come of it.
        let of_kernel = |log: Log| -> Vec<_> {
            log.events.into_iter().filter(|(_, e)| !matches!(e, Event::Context { .. })).collect()
        };
        prop_assert_eq!(of_kernel(whole), of_kernel(cut));
    }

    /// The same input gives the same events and decisions, and nothing depends on who observes.
    #[test]
    fn runs_are_repeatable_and_unobserved(m in mix(random_costs())) {
        let (out, log, ends) = logged(&m, 1);
        let (again, log_again, _) = logged(&m, 1);
        prop_assert_eq!(&out, &again);
        prop_assert_eq!(&log.events, &log_again.events);
        prop_assert_eq!(&log.decisions, &log_again.decisions);
        let (mut unseen, _) = m.build(1, ());
        prop_assert_eq!(&unseen.run().unwrap(), &out);
        let unseen_ends: Vec<_> = unseen.tasks().iter().map(|t| t.end).collect();
        prop_assert_eq!(unseen_ends, ends);
        let (mut twice, _) = m.build(1, (IdleBesideWork::new(m.cpus), Log::default()));
        twice.run().unwrap();
        prop_assert_eq!(&twice.observer.1.decisions, &log.decisions);
    }
}
