//! The CPUs as their idle loops see them.

use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::kernel::KernelConfig;
use crate::machine::idle::{Governor, IdleConfig, IdleState, Table};
use crate::observe::IdleFit;
use crate::time::{Instant, Nanos};

/// What a CPU is doing as far as idling goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It has a task.
    Running,
    /// Its idle task runs: between states, or in an interrupt.
    Awake,
    /// It is in a state since then.
    Asleep { state: usize, from: Instant },
}

/// A stay in a state that has ended; the CPU is awake when `irq_until` has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    pub(super) state: usize,
    /// Nothing if the CPU was called back before it entered.
    pub(super) residency: Option<Nanos>,
    pub(super) kicked: Instant,
}

/// Timers of one CPU by the time they are set for, latest first.
#[derive(Debug, Default)]
pub(super) struct Timers(Vec<(Instant, TaskId, u32)>);

impl Timers {
    /// The next one that still holds; those that do not are dropped.
    pub(super) fn next(&mut self, holds: impl Fn(TaskId, u32) -> bool) -> Option<Instant> {
        while self.0.pop_if(|(_, task, generation)| !holds(*task, *generation)).is_some() {}
        self.0.last().map(|(at, ..)| *at)
    }

    pub(super) fn insert(
        &mut self,
        at: Instant,
        task: TaskId,
        generation: u32,
        holds: impl Fn(TaskId, u32) -> bool,
    ) {
        if self.0.len() == self.0.capacity() {
            self.0.retain(|(_, task, generation)| holds(*task, *generation));
            self.0.reserve(self.0.len() + 1);
        }
        let place = self.0.partition_point(|(other, ..)| *other > at);
        self.0.insert(place, (at, task, generation));
    }
}

/// A CPU as its idle loop sees it.
#[derive(Debug)]
pub(super) struct IdleCpu {
    pub(super) doing: Doing,
    pub(super) governor: Governor,
    pub(super) limit: Nanos,
    pub(super) tick_stopped: bool,
    /// Which arming of [`Happening::Idle`] is valid.
    pub(super) generation: u32,
    pub(super) left: Option<Left>,
    pub(super) timers: Timers,
    /// The other threads of its core.
    pub(super) siblings: Vec<CpuId>,
    /// The other CPUs under its last-level cache, where states are shared.
    pub(super) cluster: Vec<CpuId>,
}

/// The idle loops of all CPUs.
#[derive(Debug)]
pub(in crate::engine) struct Idle {
    pub(super) table: Table,
    pub(super) cpus: Vec<IdleCpu>,
    /// Interval of the kernel's own timers; those of different CPUs come at different times.
    kernel_timer: Nanos,
    pub(super) poll_notice: Nanos,
    pub(super) tick_restart: Nanos,
    /// The shallowest state that does not poll: a core with a busy thread is no deeper.
    pub(super) halted: usize,
}

impl Idle {
    /// The idle loops of a machine with idle states.
    pub(in crate::engine) fn new(config: &IdleConfig, kernel: &KernelConfig) -> Option<Idle> {
        if config.is_off() {
            return None;
        }
        let table =
            Table { states: config.states.clone(), rules: kernel.rules.idle, tick: Nanos(kernel.tick_ns()) };
        let halted = table.usable_states().find(|(_, s)| !s.polling).map_or(0, |(i, _)| i);
        let shared = table.states.iter().any(|s| s.shared);
        let cpu = |c| {
            let online = kernel.topology.online();
            let others = |mask: &CpuMask| -> Vec<CpuId> {
                mask.and(online).iter().filter(|other| *other != c).collect()
            };
            let place = kernel.topology.cpu(c);
            IdleCpu {
                doing: Doing::Awake,
                governor: Governor::new(config.governor, &table),
                limit: config.limit_of(c),
                tick_stopped: kernel.nohz,
                generation: 0,
                left: None,
                timers: Timers::default(),
                siblings: place.map_or_else(Vec::new, |p| others(kernel.topology.siblings(p))),
                cluster: place
                    .filter(|_| shared)
                    .and_then(|p| kernel.topology.llc(p))
                    .map_or_else(Vec::new, others),
            }
        };
        let cpus = (0..kernel.cpus).map(|c| cpu(CpuId(c))).collect();
        let IdleConfig { kernel_timer, poll_notice, tick_restart, .. } = *config;
        Some(Idle { table, cpus, kernel_timer, poll_notice, tick_restart, halted })
    }

    /// From now to the next of the kernel's own timers on a CPU. Deviates: D-172.
    pub(super) fn kernel_timer(&self, cpu: CpuId, now: Instant) -> Nanos {
        let period = self.kernel_timer.0.max(1);
        let phase = (u128::from(period) * (u128::from(cpu.0) + 1) / (self.cpus.len() as u128 + 1)) as u64;
        Nanos(period - (now.0 % period + period - phase) % period)
    }

    /// Whether an arming of [`Happening::Idle`] is still valid.
    pub(in crate::engine) fn is_valid(&self, cpu: CpuId, generation: u32) -> bool {
        self.cpus[cpu.index()].generation == generation
    }

    pub(super) fn state(&self, i: usize) -> &IdleState {
        &self.table.states[i]
    }

    /// What the core has reached of the state a thread of it asked for, and since when: the shallowest of its threads'
    /// requests, with C1 for a busy one. Deviates: D-171.
    pub(super) fn reached(&self, cpu: CpuId, state: usize, from: Instant) -> (usize, Instant) {
        let mut reached = (state, from);
        if self.state(state).polling {
            return reached;
        }
        for sibling in &self.cpus[cpu.index()].siblings {
            match self.cpus[sibling.index()].doing {
                Doing::Asleep { state, from } => {
                    reached = (reached.0.min(state.max(self.halted)), reached.1.max(from));
                }
                Doing::Running | Doing::Awake => reached.0 = reached.0.min(self.halted),
            }
        }
        if self.state(reached.0).shared { self.reached_together(cpu, reached) } else { reached }
    }

    /// A state of all cores of a cluster is reached when the last of them asks for it; without that, a core's own.
    fn reached_together(&self, cpu: CpuId, (state, since): (usize, Instant)) -> (usize, Instant) {
        let asked = |other: &CpuId| match self.cpus[other.index()].doing {
            Doing::Asleep { state: other, from } if other >= state => Some(from),
            _ => None,
        };
        let last = self.cpus[cpu.index()].cluster.iter().try_fold(since, |last, c| Some(last.max(asked(c)?)));
        match last {
            Some(last) => (state, last),
            None => {
                let own = self.table.usable_states().take_while(|(i, _)| *i < state);
                (own.filter(|(_, s)| !s.shared).last().map_or(self.halted, |(i, _)| i), since)
            }
        }
    }

    /// Whether every thread of a CPU's core is in a state in which the core loses its caches (C3 and deeper).
    pub(super) fn core_is_deep(&self, cpu: CpuId) -> bool {
        let threads = self.cpus[cpu.index()].siblings.iter().chain([&cpu]);
        threads.into_iter().all(|t| {
            matches!(self.cpus[t.index()].doing, Doing::Asleep { state, .. } if self.state(state).flushes)
        })
    }

    /// Whether a write of the flag word is enough to call a CPU back, without an interrupt.
    pub(super) fn is_polling(&self, cpu: CpuId) -> bool {
        match self.cpus[cpu.index()].doing {
            Doing::Asleep { state, .. } => self.state(state).monitors,
            Doing::Awake => self.state(self.halted).monitors,
            Doing::Running => false,
        }
    }

    /// How a stay compares with the state's target residency and the next deeper one's.
    pub(super) fn fit(&self, state: usize, residency: Nanos) -> IdleFit {
        let awake = residency.saturating_sub(self.state(state).latency);
        if residency < self.state(state).residency && self.table.shallower(state).is_some() {
            IdleFit::Above
        } else if self.table.deeper(state).is_some_and(|d| awake >= self.state(d).residency) {
            IdleFit::Below
        } else {
            IdleFit::Good
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::idle::StateTable;

    #[test]
    fn timers_of_the_kernel_come_at_different_times_on_different_cpus() {
        let config = IdleConfig::of(StateTable::by_name("skl").unwrap());
        let kernel = KernelConfig::new(crate::kernel::Profile::by_name("6.1").unwrap(), 3);
        let idle = Idle::new(&config, &kernel).unwrap();
        let next = |cpu, ms: u64| idle.kernel_timer(CpuId(cpu), Instant(ms * 1_000_000)).0 / 1_000_000;
        // Every 4 s, a quarter of it later on each CPU.
        assert_eq!([next(0, 0), next(1, 0), next(2, 0)], [1_000, 2_000, 3_000]);
        assert_eq!([next(0, 999), next(0, 1_000), next(0, 1_500)], [1, 4_000, 3_500]);
    }
}
