//! Balancing on a live kernel that is driven by hand: ticks, kicks and reschedules without costs.

use super::env::LbEnv;
use super::periodic::ms_to_jiffies;
use super::rules::Balancer;
use super::stats::Imbalance;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::hooks::NoHooks;
use crate::kernel::version::Profile;
use crate::kernel::{Kernel, KernelConfig, PROFILES, Policy, Schedule, TaskParams};
use crate::machine::topology::{MachinePreset, Shape};
use crate::observe::{BalanceOutcome as Outcome, Event, IdleType, MigrateReason, MigrationType, Observer};
use crate::time::Instant;
use std::sync::Arc;

/// What happened that concerns balancing.
#[derive(Default)]
struct Seen {
    moves: Vec<(Instant, TaskId, CpuId, CpuId, MigrateReason)>,
    attempts: Vec<(CpuId, u8, IdleType, Outcome)>,
}

impl Observer for Seen {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Migrate { task, from, to, reason } => self.moves.push((at, task, from, to, reason)),
            Event::LoadBalance { cpu, level, idle, outcome, .. } => {
                self.attempts.push((cpu, level, idle, outcome));
            }
            _ => {}
        }
    }
}

struct Driven {
    kernel: Kernel,
    now: Instant,
    seen: Seen,
}

impl Driven {
    fn new(profile: &str, shape: &str) -> Driven {
        let profile = Profile::by_name(profile).unwrap();
        let topology = match MachinePreset::by_name(shape) {
            Ok(preset) => preset.topology(),
            Err(_) => shape.parse::<Shape>().unwrap().topology().unwrap(),
        };
        let kernel = Kernel::new(KernelConfig::on(profile, Arc::new(topology)), NoHooks);
        Driven { kernel, now: Instant(1000), seen: Seen::default() }
    }

    /// Starts a task on a CPU; afterwards it may go anywhere.
    fn start_on(&mut self, cpu: u32) -> TaskId {
        let cpu = CpuId(cpu);
        let task = self.start_pinned(cpu);
        self.unpin(task);
        task
    }

    fn unpin(&mut self, task: TaskId) {
        let all = self.kernel.all_cpus();
        self.kernel.set_cpus_allowed(task, &all, self.now, &mut self.seen);
    }

    fn start_pinned(&mut self, cpu: CpuId) -> TaskId {
        let cpus_allowed = CpuMask::one(cpu);
        let params = TaskParams { nice: 0, policy: Policy::Normal, cpus_allowed, group: GroupId::ROOT };
        let task = self.kernel.add_task(&params);
        self.kernel.try_to_wake_up(task, cpu, None, false, self.now, &mut self.seen);
        self.kernel.sched_ttwu_pending(cpu, self.now, &mut self.seen);
        self.settle();
        task
    }

    /// The running task of a CPU blocks.
    fn block(&mut self, cpu: u32) {
        let cpu = CpuId(cpu);
        self.kernel.set_sleeping(self.kernel.rq(cpu).curr.unwrap());
        self.kernel.schedule(cpu, self.now, Schedule::Call, &mut self.seen);
        self.settle();
    }

    /// Kicks, stopper threads and reschedules take their course at once.
    fn settle(&mut self) {
        let (k, now, o) = (&mut self.kernel, self.now, &mut self.seen);
        loop {
            if let Some(cpu) = k.take_nohz_kick() {
                k.nohz_balance(cpu, now, o);
            } else if let Some(cpu) = k.take_stop_request() {
                if k.stopper(cpu).is_none() {
                    k.add_stopper(cpu);
                }
                k.wake_stopper(cpu, cpu, None, now, o);
            } else if let Some(cpu) = k.take_resched() {
                let next = k.schedule(cpu, now, Schedule::Preempt, o).next;
                if let Some(stopper) = next.filter(|n| k.stopper(cpu) == Some(*n)) {
                    while k.run_stop_work(cpu, now, o) {}
                    k.set_sleeping(stopper);
                    k.schedule(cpu, now, Schedule::Call, o);
                }
            } else {
                break;
            }
        }
    }

    /// The next tick of all busy CPUs.
    fn tick(&mut self) {
        let period = self.kernel.config.tick_ns();
        self.now = Instant((self.now.0 / period + 1) * period);
        for cpu in self.kernel.all_cpus().iter() {
            if self.kernel.rq(cpu).curr.is_some() {
                self.kernel.scheduler_tick(cpu, self.now, &mut self.seen);
            }
        }
        self.settle();
    }

    fn cpu_of(&self, task: TaskId) -> u32 {
        self.kernel.task(task).cpu.0
    }
}

/// smp.md §9.2: i7-8700, two hogs on the threads of core 0, everything else idle. The fourth failed attempt has CPU 0's stopper
/// push its hog to CPU 2, 36 to 60 ms after the start.
#[test]
fn two_hogs_on_one_core_separate() {
    for profile in PROFILES {
        let mut m = Driven::new(profile.name, "i7-8700");
        let (a, b) = (m.start_on(0), m.start_on(6));
        let start = m.now;
        while m.seen.moves.is_empty() && m.now.0 < 200_000_000 {
            m.tick();
        }
        let name = profile.name;
        let (at, task, from, to, reason) = m.seen.moves[0];
        assert_eq!((task, from, to, reason), (a, CpuId(0), CpuId(2), MigrateReason::Active), "{name}");
        let took = at.saturating_since(start).0;
        assert!((36_000_000..=60_000_000).contains(&took), "{name}: {took} ns");
        // Once apart they stay.
        (0..100).for_each(|_| m.tick());
        assert_eq!((m.seen.moves.len(), m.cpu_of(a), m.cpu_of(b)), (1, 2, 6), "{name}");
        let failed = m
            .seen
            .attempts
            .iter()
            .filter(|(c, l, _, o)| (*c, *l) == (CpuId(2), 1) && matches!(o, Outcome::Failed));
        assert_eq!(failed.count(), 3, "{name}");
    }
}

/// smp.md §4.1, §9.6: intervals of an i7-8700 in ticks: (HZ, level, idle, busy up to 5.9, busy from 5.10).
#[test]
fn intervals_of_idle_and_busy_cpus() {
    for (hz, level, idle, v5_4, v5_10) in
        [(250, 0, 1, 16, 7), (250, 1, 3, 96, 47), (1000, 0, 2, 64, 31), (1000, 1, 12, 384, 191)]
    {
        for (profile, busy) in [("5.4", v5_4), ("5.10", v5_10), ("6.1", v5_10)] {
            let topology = MachinePreset::by_name("i7-8700").unwrap().topology();
            let mut config = KernelConfig::on(Profile::by_name(profile).unwrap(), Arc::new(topology));
            config.hz = hz;
            let k = Kernel::new(config, NoHooks);
            let (sd, _) = k.domains.chain(CpuId(0)).nth(level).unwrap();
            assert_eq!(k.sd_balance_interval(sd, false), idle, "{profile} {hz} {level}");
            assert_eq!(k.sd_balance_interval(sd, true), busy, "{profile} {hz} {level}");
            assert_eq!(k.balancing.max_lb_interval, u64::from(hz) * 12 / 10);
        }
    }
    assert_eq!([0, 1, 4, 5, 32].map(|ms| ms_to_jiffies(ms, 250)), [0, 1, 1, 2, 8]);
}

/// Whether CPU 1 pulls a task of CPU 0 when its own one blocks, which has run all the time or not at all.
fn pulls_when_idle(profile: &str, avg_idle: u64, ran_long: bool) -> bool {
    let mut m = Driven::new(profile, "1x1x4x1");
    let first = m.start_on(0);
    if ran_long {
        m.start_on(1);
    }
    // Long enough for load and utilisation to count.
    (0..50).for_each(|_| m.tick());
    let tasks = [first, m.start_on(0)];
    m.now.0 += 2_000_000;
    if !ran_long {
        m.start_on(1);
    }
    m.kernel.rqs[1].balance.avg_idle = avg_idle;
    m.block(1);
    let moves = m.seen.moves.iter().filter(|x| x.4 == MigrateReason::NewIdle).count();
    let pulled = tasks.iter().any(|t| m.kernel.rq(CpuId(1)).curr == Some(*t));
    assert_eq!((moves == 1, m.kernel.rqs[1].balance.idle_stamp == 0), (pulled, pulled), "{profile}");
    pulled
}

/// A CPU that runs out of work takes a waiting task from another, if it expects to idle long enough. From 5.5 until 5.10 it
/// does not while its own utilisation leaves no room for the task's (smp.md §4.4.7, 4a).
#[test]
fn a_cpu_about_to_idle_pulls() {
    for profile in ["4.19", "5.4", "5.5", "5.7", "5.10", "5.15", "6.1", "6.5"] {
        let (by_util, by_cost) = (["5.5", "5.7"].contains(&profile), ["6.1", "6.5"].contains(&profile));
        assert!(pulls_when_idle(profile, 1_000_000, false), "{profile}");
        assert_eq!(pulls_when_idle(profile, 1_000_000, true), !by_util, "{profile}");
        assert_eq!(pulls_when_idle(profile, 499_999, false), by_cost, "{profile}");
    }
}

/// smp.md §9.1, remark to S2: with three hogs on a core, 5.5 and 5.6 choose the queue by utilisation alone, hence the lower
/// CPU although one task runs there; from 5.7 one with two tasks.
#[test]
fn queue_choice_by_utilisation() {
    for (profile, chosen) in [("5.5", 0), ("5.6", 0), ("5.7", 6)] {
        let mut m = Driven::new(profile, "i7-8700");
        for cpu in [0, 6, 6] {
            m.start_pinned(CpuId(cpu));
        }
        (0..150).for_each(|_| m.tick());
        let domains = Arc::clone(&m.kernel.domains);
        let (sd, domain) = domains.chain(CpuId(1)).nth(1).unwrap();
        let mut env = LbEnv::new(&domains, sd, CpuId(1), IdleType::Idle, 0, Vec::new());
        let (group, imbalance) = m.kernel.find_busiest_group(&mut env, m.now).unwrap();
        assert_eq!(imbalance, Imbalance { kind: MigrationType::Util, amount: 2048 }, "{profile}");
        env.imbalance = imbalance;
        assert!(domains.groups(domain).any(|g| g == group));
        let queue = m.kernel.find_busiest_queue(&env, domains.group(group));
        assert_eq!(queue, Some(CpuId(chosen)), "{profile}");
    }
}

/// Tasks bound to a CPU never move, and a group they overload counts as imbalanced for the level above.
#[test]
fn pinned_tasks_mark_the_group_imbalanced() {
    let mut m = Driven::new("5.7", "i7-8700");
    for _ in 0..3 {
        m.start_pinned(CpuId(0));
    }
    m.start_pinned(CpuId(6));
    (0..100).for_each(|_| m.tick());
    assert!(m.seen.moves.is_empty(), "{:?}", m.seen.moves);
    assert!(m.seen.attempts.iter().any(|a| a.3 == Outcome::AllPinned));
}

/// A busy CPU's tick keeps one idle CPU balancing for all, which hands waiting tasks to idle CPUs.
#[test]
fn waiting_tasks_reach_idle_cpus_within_an_interval() {
    for profile in PROFILES {
        let mut m = Driven::new(profile.name, "1x1x4x1");
        let tasks: Vec<TaskId> = (0..4).map(|_| m.start_on(0)).collect();
        let busy = |m: &Driven| (0..4).filter(|c| m.kernel.rq(CpuId(*c)).curr.is_some()).count();
        let mut ticks = 0;
        while busy(&m) < 4 && ticks < 100 {
            m.tick();
            ticks += 1;
        }
        // Up to 5.4 a CPU is overloaded only once its utilisation has grown, which takes most of 100 ms and falls with every
        // task that leaves; later it is enough that tasks wait.
        let classic = m.kernel.config.rules.balance.balancer == Balancer::AverageLoad;
        assert_eq!(ticks > 8, classic, "{}: {ticks} ticks", profile.name);
        assert!(m.seen.moves.iter().all(|x| x.4 == MigrateReason::Nohz), "{}", profile.name);
        assert!(busy(&m) == tasks.len(), "{}", profile.name);
    }
}

/// What the newly-idle cost of a domain halves in: smp.md §9.6.
#[test]
fn newly_idle_cost_halves_in_59_decays() {
    let mut m = Driven::new("5.10", "1x1x4x1");
    let (sd, _) = m.kernel.domains.chain(CpuId(0)).next().unwrap();
    m.kernel.balancing.domain_mut(sd).max_newidle_lb_cost = 500_000;
    let start = m.start_on(0);
    let cost = |m: &Driven| m.kernel.balancing.domain(sd).max_newidle_lb_cost;
    let mut decays = 0;
    while cost(&m) > 250_000 {
        let before = cost(&m);
        m.tick();
        decays += u32::from(cost(&m) < before);
    }
    assert_eq!((decays, m.cpu_of(start)), (59, 0));
}

mod task_list {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a vector, head first.
        #[test]
        fn behaves_as_a_vector(ops in proptest::collection::vec((0u8..3, 0usize..6), 0..60)) {
            let mut m = Driven::new("5.4", "1x1x2x1");
            let params = TaskParams {
                nice: 0, policy: Policy::Normal, cpus_allowed: CpuMask::first(2), group: GroupId::ROOT,
            };
            let tasks: Vec<TaskId> = (0..6).map(|_| m.kernel.add_task(&params)).collect();
            let cpu = CpuId(1);
            let mut slow: Vec<TaskId> = Vec::new();
            for (op, i) in ops {
                let task = tasks[i];
                let at = slow.iter().position(|t| *t == task);
                match (op, at) {
                    (0, None) => {
                        m.kernel.cfs_tasks_add(cpu, task);
                        slow.insert(0, task);
                    }
                    (1, Some(at)) => {
                        m.kernel.cfs_tasks_remove(cpu, task);
                        slow.remove(at);
                    }
                    (2, Some(at)) => {
                        m.kernel.cfs_tasks_to_head(cpu, task);
                        slow.remove(at);
                        slow.insert(0, task);
                    }
                    _ => {}
                }
                let first = m.kernel.rqs[1].cfs_tasks.tail();
                let fast = std::iter::successors(first, |t| m.kernel.cfs_tasks_before(*t));
                prop_assert!(fast.eq(slow.iter().rev().copied()));
            }
        }
    }
}
