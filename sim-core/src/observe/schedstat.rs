//! The counters of `/proc/schedstat`, version 15.

use super::{BalanceOutcome, Decision, Event, IdleType, Observer, Select, SwitchKind};
use crate::id::{CpuId, TaskId};
use crate::kernel::domains::Domains;
use crate::time::{Instant, Nanos};

/// Counters of one CPU (`struct rq`'s `schedstats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounters {
    /// Yields that let another task run.
    pub yields: u64,
    /// Calls of `__schedule`.
    pub schedules: u64,
    /// Of them, those that chose the idle task.
    pub to_idle: u64,
    /// Wake-ups made by this CPU.
    pub wakeups: u64,
    /// Of them, those of tasks that stay on this CPU.
    pub local_wakeups: u64,
    /// Time tasks ran here.
    pub cpu_time: Nanos,
    /// Time tasks waited here.
    pub run_delay: Nanos,
    /// Turns of tasks that began here.
    pub turns: u64,
}

/// Counters of balancing one domain for one kind of CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BalanceCounters {
    /// Attempts.
    pub attempts: u64,
    /// Attempts that left the domain as it was.
    pub balanced: u64,
    /// Attempts that moved nothing.
    pub failed: u64,
    /// Sum of imbalances, each in its own unit.
    pub imbalance: u64,
    /// Tasks moved.
    pub gained: u64,
    /// Attempts without a busiest queue.
    pub no_busiest_queue: u64,
    /// Attempts without a busiest group.
    pub no_busiest_group: u64,
}

/// Counters of one CPU's domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DomainCounters {
    /// By kind of CPU, in the order of [`IdleType`].
    pub balance: [BalanceCounters; 3],
    /// Active balances asked for.
    pub active: u64,
    /// Of them, those that found nothing to push.
    pub active_failed: u64,
    /// Of them, those that pushed a task.
    pub active_pushed: u64,
    /// Wake-ups of tasks that go to another CPU of this domain, and of no smaller one.
    pub remote_wakeups: u64,
    /// Of the wake-ups, those whose task was pulled to the waker's CPU or its surroundings.
    pub affine_moves: u64,
}

/// Collects the counters of `/proc/schedstat`.
#[derive(Debug)]
pub struct Schedstat {
    domains: Domains,
    cpus: Vec<CpuCounters>,
    /// By CPU, smallest domain first.
    counters: Vec<Vec<DomainCounters>>,
    /// By task: since when it waits, and where; since when it runs.
    tasks: Vec<Standing>,
    /// Who makes the wake-up that is going on.
    wakers: Vec<CpuId>,
}

#[derive(Clone, Copy, Debug)]
enum Standing {
    Off,
    Waits(Instant),
    Runs(Instant),
}

impl Schedstat {
    /// All counters at zero.
    pub fn new(domains: Domains, nr_cpu_ids: usize) -> Schedstat {
        let chain = |i| vec![DomainCounters::default(); domains.chain(CpuId::new(i)).count()];
        Schedstat {
            counters: (0..nr_cpu_ids).map(chain).collect(),
            cpus: vec![CpuCounters::default(); nr_cpu_ids],
            domains,
            tasks: Vec::new(),
            wakers: Vec::new(),
        }
    }

    /// The domains the counters belong to.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }
    /// A CPU's counters.
    pub fn cpu(&self, cpu: CpuId) -> &CpuCounters {
        &self.cpus[cpu.index()]
    }
    /// The counters of a CPU's domains, smallest first.
    pub fn domain_counters(&self, cpu: CpuId) -> &[DomainCounters] {
        &self.counters[cpu.index()]
    }

    /// The place in `cpu`'s chain of the smallest domain that holds `other`.
    fn smallest_with(&self, cpu: CpuId, other: CpuId) -> Option<usize> {
        self.domains.chain(cpu).position(|(_, sd)| sd.span.contains(other))
    }

    fn switch(
        &mut self,
        at: Instant,
        cpu: CpuId,
        prev: Option<TaskId>,
        kind: SwitchKind,
        next: Option<TaskId>,
    ) {
        let c = &mut self.cpus[cpu.index()];
        c.schedules += 1;
        c.to_idle += u64::from(next.is_none());
        c.yields += u64::from(kind == SwitchKind::Yielded);
        if let Some(prev) = prev {
            let stays = matches!(kind, SwitchKind::Preempted | SwitchKind::Yielded);
            let now = if stays { Standing::Waits(at) } else { Standing::Off };
            if let Standing::Runs(since) = std::mem::replace(&mut self.tasks[prev.index()], now) {
                c.cpu_time += at - since;
            }
        }
        if let Some(next) = next {
            c.turns += 1;
            if let Standing::Waits(since) =
                std::mem::replace(&mut self.tasks[next.index()], Standing::Runs(at))
            {
                c.run_delay += at - since;
            }
        }
    }

    fn wakeup(&mut self, at: Instant, task: TaskId, cpu: CpuId, new: bool) {
        if !matches!(self.tasks[task.index()], Standing::Runs(_)) {
            self.tasks[task.index()] = Standing::Waits(at);
        }
        if new {
            return;
        }
        let by = self.wakers[task.index()];
        self.cpus[by.index()].wakeups += 1;
        if by == cpu {
            self.cpus[by.index()].local_wakeups += 1;
        } else if let Some(level) = self.smallest_with(by, cpu) {
            self.counters[by.index()][level].remote_wakeups += 1;
        }
    }

    fn attempt(
        &mut self,
        cpu: CpuId,
        level: u8,
        idle: IdleType,
        outcome: BalanceOutcome,
        moved: u32,
        left: i64,
    ) {
        use BalanceOutcome as O;
        let Some(d) = self.counters[cpu.index()].get_mut(usize::from(level)) else { return };
        let b = &mut d.balance[idle as usize];
        b.attempts += 1;
        b.gained += u64::from(moved);
        match outcome {
            O::NotChosen => b.balanced += 1,
            O::NoBusiestGroup(_) => {
                b.no_busiest_group += 1;
                b.balanced += 1;
            }
            O::NoBusiestQueue => {
                b.no_busiest_queue += 1;
                b.balanced += 1;
            }
            O::AllPinned => b.balanced += 1,
            O::Failed | O::Pinned | O::ActiveBalance => b.failed += 1,
            O::Moved => {}
        }
        b.imbalance += left.max(0).unsigned_abs();
    }

    fn select(&mut self, d: &Select) {
        if d.affine.is_some()
            && d.target == d.by
            && d.by != d.prev
            && let Some(level) = self.smallest_with(d.by, d.prev)
        {
            self.counters[d.by.index()][level].affine_moves += 1;
        }
    }
}

impl Observer for Schedstat {
    const DECISIONS: bool = true;

    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Fork { .. } => {
                self.tasks.push(Standing::Off);
                self.wakers.push(CpuId(0));
            }
            Event::Switch { cpu, prev, kind, next } => self.switch(at, cpu, prev, kind, next),
            Event::Repick { cpu, .. } => self.cpus[cpu.index()].schedules += 1,
            Event::Waking { task, by, .. } => self.wakers[task.index()] = by,
            Event::Wakeup { task, cpu, new, .. } => self.wakeup(at, task, cpu, new),
            Event::LoadBalance { cpu, level, idle, outcome, moved, imbalance, .. } => {
                self.attempt(cpu, level, idle, outcome, moved, imbalance);
            }
            Event::ActiveBalance { cpu, to, task } => {
                if let Some(level) = self.smallest_with(to, cpu) {
                    let d = &mut self.counters[to.index()][level];
                    d.active += 1;
                    d.active_pushed += u64::from(task.is_some());
                    d.active_failed += u64::from(task.is_none());
                }
            }
            _ => {}
        }
    }

    fn decision(&mut self, _at: Instant, decision: &Decision) {
        if let Decision::Select(d) = decision {
            self.select(d);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{KernelConfig, Profile, domains};
    use crate::machine::topology::Shape;
    use crate::observe::{BalancedBecause, MigrationType};

    fn schedstat() -> Schedstat {
        let topology = std::sync::Arc::new(Shape::new(1, 1, 4, 2).topology().unwrap());
        let config = KernelConfig::on(Profile::by_name("5.4").unwrap(), topology.clone());
        Schedstat::new(domains::build(&topology, &config.rules, &[]).unwrap(), 8)
    }

    #[test]
    fn wake_ups_count_where_they_are_made() {
        let mut s = schedstat();
        let (task, now) = (TaskId(0), Instant(5));
        s.event(now, &Event::Fork { parent: None, child: task });
        for (by, cpu) in [(0, 0), (0, 4), (0, 1), (0, 7)] {
            s.event(now, &Event::Waking { task, by: CpuId(by), waker: None });
            let cpu = CpuId(cpu);
            let (resched_before, resched_after) = (false, true);
            s.event(now, &Event::Wakeup { task, cpu, new: false, curr: None, resched_before, resched_after });
        }
        assert_eq!((s.cpu(CpuId(0)).wakeups, s.cpu(CpuId(0)).local_wakeups), (4, 1));
        let remote: Vec<u64> = s.domain_counters(CpuId(0)).iter().map(|d| d.remote_wakeups).collect();
        assert_eq!(remote, [1, 2], "the sibling, then the rest of the cache");
    }

    #[test]
    fn attempts_count_by_outcome() {
        let mut s = schedstat();
        let outcomes = [
            (BalanceOutcome::NotChosen, 0),
            (BalanceOutcome::NoBusiestGroup(BalancedBecause::NoBusiest), 0),
            (BalanceOutcome::Failed, 0),
            (BalanceOutcome::Moved, 3),
        ];
        for (outcome, moved) in outcomes {
            let (cpu, level, idle, kind) = (CpuId(2), 1, IdleType::NewlyIdle, MigrationType::Task);
            let imbalance = 2;
            let e = Event::LoadBalance { cpu, level, idle, outcome, moved, kind, imbalance };
            s.event(Instant(1), &e);
        }
        let b = s.domain_counters(CpuId(2))[1].balance[IdleType::NewlyIdle as usize];
        assert_eq!((b.attempts, b.balanced, b.failed, b.gained), (4, 2, 1, 3));
        assert_eq!((b.no_busiest_group, b.no_busiest_queue), (1, 0));
    }

    #[test]
    fn run_time_and_delay_belong_to_the_cpu_of_the_switch() {
        let mut s = schedstat();
        let cpu = CpuId(3);
        for child in [TaskId(0), TaskId(1)] {
            s.event(Instant(0), &Event::Fork { parent: None, child });
        }
        let switch = |prev, kind, next| Event::Switch { cpu, prev, kind, next };
        let (a, b) = (Some(TaskId(0)), Some(TaskId(1)));
        s.event(Instant(10), &switch(None, SwitchKind::FromIdle, a));
        s.event(Instant(30), &switch(a, SwitchKind::Preempted, b));
        s.event(Instant(70), &switch(b, SwitchKind::Blocked, a));
        s.event(Instant(90), &switch(a, SwitchKind::Blocked, None));
        let c = s.cpu(cpu);
        assert_eq!((c.cpu_time, c.run_delay, c.turns), (Nanos(80), Nanos(40), 3));
        assert_eq!((c.schedules, c.to_idle), (4, 1));
    }
}
