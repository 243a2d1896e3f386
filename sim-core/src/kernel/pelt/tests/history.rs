//! Random histories: a queue's averages are the sums over those attached to it, but for rounding.

use super::super::avg::{SchedAvg, Signals};
use super::{CPU0, Hand};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::task::TaskState;
use crate::kernel::{PROFILES, Schedule};
use proptest::prelude::*;

const CPUS: usize = 3;

/// What a task counts in a sum of averages at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    load: f64,
    runnable: f64,
    util: f64,
}

struct Model {
    hand: Hand,
    /// How far each CPU's sums may be off by earlier arrivals and departures; decays as averages do.
    slack: [Sums; CPUS],
    seen: [u64; CPUS],
}

impl Model {
    fn new(profile: &str, nices: &[i8]) -> Model {
        let mut hand = Hand::new(profile, CPUS as u32);
        for nice in nices {
            hand.task(*nice, GroupId::ROOT, CpuMask::first(CPUS as u32));
        }
        Model { hand, slack: [Sums::default(); CPUS], seen: [0; CPUS] }
    }

    fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.hand.k.nr_tasks()).map(TaskId::new)
    }

    /// One event. What would be illegal now is left out.
    fn step(&mut self, delay: u64, op: u8, which: u8) {
        let h = &mut self.hand;
        h.now += delay;
        let cpu = CpuId::new(usize::from(which) % CPUS);
        let task = TaskId::new(usize::from(which) % h.k.nr_tasks());
        let (at, busy) = (h.at(), h.k.rq(cpu).curr);
        match (op % 12, busy) {
            (0..=2, _) => h.tick(cpu),
            (3..=5, _) => h.wake(task),
            (6 | 7, Some(_)) => h.block(cpu),
            (8, Some(parent)) if h.k.nr_tasks() < 20 => {
                let child = h.k.sched_fork(parent, at, &mut ());
                h.k.wake_up_new_task(child, at, &mut ());
                h.resched();
            }
            (9, _) if h.k.task(task).state != TaskState::Dead => {
                let mask = CpuMask::one(CpuId::new(usize::from(which / 16) % CPUS));
                let mask = if which.is_multiple_of(5) { mask } else { CpuMask::first(CPUS as u32) };
                h.k.set_cpus_allowed(task, &mask, at, &mut ());
                h.resched();
            }
            (10, _) => h.k.update_blocked_averages(cpu, at),
            (11, Some(curr)) if which.is_multiple_of(4) => {
                h.k.set_dead(curr);
                h.k.schedule(cpu, at, Schedule::Call, &mut ());
            }
            (11, _) if h.k.task(task).state != TaskState::Dead => {
                h.k.set_user_nice(task, (which % 40) as i8 - 20, at, &mut ());
                h.resched();
            }
            _ => {}
        }
    }

    /// A task's averages as they would be at its queue's last update, and its weight.
    fn aged(&self, task: TaskId) -> Sums {
        let k = &self.hand.k;
        let t = k.task(task);
        let e = k.task_entity(task);
        let queue = k.root_avg(t.cpu);
        let mut a = e.avg;
        let on = u64::from(e.on_rq);
        let signals =
            Signals { load: on, runnable: on, running: k.cfs_rqs[t.cpu.index()].curr == Some(t.se) };
        let by_time = k.config.rules.pelt.runnable_is_time;
        a.accumulate(queue.last_update, signals, k.pelt_scale(t.cpu));
        let weight = e.load.weight >> 10;
        a.average(weight, if by_time { 1 } else { weight });
        let runnable = if by_time || e.on_rq { a.runnable_avg } else { 0 };
        Sums { load: a.load_avg as f64, runnable: runnable as f64, util: a.util_avg as f64 }
    }

    /// The slow sum: everyone attached to a CPU's root queue, and those whose departure it has not seen.
    fn sum(&self, cpu: CpuId) -> (Sums, Sums) {
        let removed = &self.hand.k.cfs_rqs[cpu.index()].pelt.removed;
        let mut sum = Sums {
            load: removed.load_avg as f64,
            runnable: if self.by_time() { removed.runnable_avg as f64 } else { 0.0 },
            util: removed.util_avg as f64,
        };
        let mut rounding = Sums { load: 2.0, runnable: 2.0, util: 2.0 };
        for t in self.tasks().filter(|t| self.attached(*t) == Some(cpu)) {
            let a = self.aged(t);
            let w = (self.hand.k.task_entity(t).load.weight >> 10) as f64;
            for (sum, rounding, a, w) in [
                (&mut sum.load, &mut rounding.load, a.load, w),
                (&mut sum.runnable, &mut rounding.runnable, a.runnable, if self.by_time() { 1.0 } else { w }),
                (&mut sum.util, &mut rounding.util, a.util, 1.0),
            ] {
                *sum += a;
                // An average is rounded down once; at the end of a period the sum by less than a unit, and what is added
                // by as much (`LOAD_AVG_MAX` itself is 46 below the limit of the series): 47 periods count, of 46718.
                *rounding += 1.0 + w * 2.0 * 47.0 / 46718.0;
            }
        }
        (sum, rounding)
    }

    fn by_time(&self) -> bool {
        self.hand.k.config.rules.pelt.runnable_is_time
    }

    fn attached(&self, t: TaskId) -> Option<CpuId> {
        let k = &self.hand.k;
        (k.task_entity(t).avg.last_update != 0).then(|| k.task(t).cpu)
    }

    /// What matters to a task's place in the sums: the queue it is attached to, its weight, whether it is runnable.
    fn places(&self) -> Vec<(Option<CpuId>, u64, bool)> {
        let place = |t| {
            let e = self.hand.k.task_entity(t);
            (self.attached(t), e.load.weight >> 10, e.on_rq)
        };
        self.tasks().map(place).collect()
    }

    /// Old slack decays with its queue; what an event adds comes after that.
    fn age_slack(&mut self) {
        for c in 0..CPUS {
            let now = self.hand.root(CpuId::new(c)).last_update;
            let left = 0.5f64.powf(now.saturating_sub(self.seen[c]) as f64 / (32.0 * 1_048_576.0));
            self.seen[c] = now;
            let slack = &mut self.slack[c];
            *slack =
                Sums { load: slack.load * left, runnable: slack.runnable * left, util: slack.util * left };
        }
    }

    /// Who came, went, changed weight or whether it is runnable leaves an error behind.
    fn note_events(&mut self, before: &[(Option<CpuId>, u64, bool)]) {
        let by_time = self.by_time();
        for (i, after) in self.places().into_iter().enumerate() {
            let before = before.get(i).copied().unwrap_or((None, 0, false));
            if before == after {
                continue;
            }
            // Sums and averages differ by up to a part of a period, when one is put in for the other.
            let w = before.1.max(after.1) as f64;
            for cpu in [before.0, after.0].into_iter().flatten() {
                let slack = &mut self.slack[cpu.index()];
                let part = 1024.0 / 46718.0;
                slack.load += w * part + 2.0;
                slack.runnable += if by_time { 1024.0 } else { w } * part + 2.0;
                slack.util += 1024.0 * part + 2.0;
            }
        }
    }

    fn compare(&mut self, before: &[(Option<CpuId>, u64, bool)]) -> Result<(), TestCaseError> {
        self.age_slack();
        self.note_events(before);
        for c in 0..CPUS {
            let cpu = CpuId::new(c);
            // Within a period averages are those of its start: look at what the sums say now, on both sides.
            let mut q: SchedAvg = *self.hand.root(cpu);
            q.average(1, 1);
            let (slack, (sum, rounding)) = (self.slack[c], self.sum(cpu));
            for (what, queue, sum, bound) in [
                ("load", q.load_avg, sum.load, slack.load + rounding.load),
                ("runnable", q.runnable_avg, sum.runnable, slack.runnable + rounding.runnable),
                ("util", q.util_avg, sum.util, slack.util + rounding.util),
            ] {
                prop_assert!(
                    (queue as f64 - sum).abs() <= bound,
                    "{what} of {cpu:?} at {}: queue {queue}, its tasks {sum} ± {bound}",
                    self.hand.now
                );
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn queues_are_the_sums_of_their_tasks(
        profile in prop::sample::select(PROFILES.iter().map(|p| p.name).collect::<Vec<_>>()),
        nices in prop::collection::vec(prop_oneof![Just(0i8), -20i8..=19], 1..10),
        ops in prop::collection::vec((prop_oneof![0u64..50_000, 0u64..6_000_000, 0u64..80_000_000], any::<u8>(), any::<u8>()), 150),
    ) {
        let mut model = Model::new(profile, &nices);
        for (delay, op, which) in ops {
            let before = model.places();
            model.step(delay, op, which);
            model.compare(&before)?;
        }
    }
}

/// The bound is no blank cheque: on a queue whose tasks have settled it is below 1 % of their load.
#[test]
fn the_bound_is_tight_on_a_settled_queue() {
    let mut model = Model::new("6.1", &[0, 0, 0]);
    for t in model.tasks().collect::<Vec<_>>() {
        model.hand.wake(t);
        model.hand.k.set_cpus_allowed(t, &CpuMask::one(CPU0), model.hand.at(), &mut ());
        model.hand.resched();
    }
    model.hand.pass(500);
    let (sum, rounding) = model.sum(CPU0);
    assert!(sum.load > 3000.0 && rounding.load < 0.01 * sum.load, "{sum:?} {rounding:?}");
}
