//! How a run used several CPUs: who moved and why, what balancing tried, who waited while a CPU idled.

mod cells;

use super::{BalanceOutcome, Event, IdleType, MigrateReason, Observer, SwitchKind};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, TaskId};
use crate::machine::topology::Topology;
use crate::time::{Instant, Nanos};
use cells::Cells;
use serde::Serialize;
use std::ops::{Index, IndexMut};

/// How near an idle CPU lay to a waiting task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// Another thread of the same core.
    Core,
    /// The same last-level cache.
    Llc,
    /// The same NUMA node.
    Node,
    /// Anywhere.
    Machine,
}

impl Near {
    /// All, nearest first.
    pub const ALL: [Near; 4] = [Near::Core, Near::Llc, Near::Node, Near::Machine];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Near::Core => "core",
            Near::Llc => "llc",
            Near::Node => "node",
            Near::Machine => "machine",
        }
    }
}

/// Counts by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByReason([u64; MigrateReason::ALL.len()]);

impl Index<MigrateReason> for ByReason {
    type Output = u64;
    fn index(&self, reason: MigrateReason) -> &u64 {
        &self.0[reason as usize]
    }
}
impl IndexMut<MigrateReason> for ByReason {
    fn index_mut(&mut self, reason: MigrateReason) -> &mut u64 {
        &mut self.0[reason as usize]
    }
}

/// What balancing attempts of one level and kind came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// Attempts by the CPU whose turn it was.
    pub tried: u64,
    /// Attempts that found nothing to even out.
    pub balanced: u64,
    /// Attempts that found an imbalance and moved nothing.
    pub failed: u64,
    /// Attempts that asked a stopper thread to push a running task.
    pub active: u64,
    /// Tasks moved.
    pub moved: u64,
}

/// Domain levels told apart; larger ones count as the last.
pub const LEVELS: usize = 8;

/// A task as far as waiting goes.
#[derive(Debug, Default)]
struct Waiter {
    /// CPUs it may use, if not all.
    allowed: Option<CpuMask>,
    /// The CPU it waits on, and in which neighbourhoods it counts as waiting.
    waits: Option<(CpuId, [bool; Near::ALL.len()])>,
    exited: bool,
}

/// Collects what several CPUs did, from the end of a warm-up on.
///
/// A task counts as waiting beside an idle CPU in a neighbourhood only if it may use every CPU of it: for tasks with a mask
/// that cuts through one, the times are lower bounds.
#[derive(Debug)]
pub struct Spread {
    warmup: Instant,
    last: Instant,
    cells: [Cells; Near::ALL.len()],
    cpu_idle: Vec<bool>,
    idle_since: Vec<Instant>,
    tasks: Vec<Waiter>,
    /// Changes of CPU by reason; new tasks that start elsewhere than their parents run count as `Fork`.
    pub migrations: ByReason,
    /// Wake-ups, new tasks aside.
    pub wakeups: u64,
    /// Times a CPU halted, after a balancing interrupt too.
    pub idle_entries: u64,
    /// Times a CPU halted while a task waited somewhere.
    pub idle_entries_while_waiting: u64,
    /// Balancing attempts by level of the domain (0 the smallest) and kind of CPU.
    pub attempts: [[Attempts; 3]; LEVELS],
    /// Idle time by CPU; complete after [`Spread::finish`].
    pub idle_time: Vec<Nanos>,
    wasted: [u128; Near::ALL.len()],
    shared_core_time: u128,
}

impl Spread {
    /// Starts counting at `warmup` on this machine.
    pub fn new(warmup: Nanos, topology: &Topology) -> Spread {
        let cpus = topology.nr_cpu_ids();
        let all = topology.online().clone();
        let online = |masks: &[CpuMask]| -> Vec<CpuMask> {
            masks.iter().map(|m| m.and(&all)).filter(|m| !m.is_empty()).collect()
        };
        let nodes: Vec<CpuMask> = topology.nodes().iter().map(|n| n.cpus.clone()).collect();
        let cells = [online(topology.cores()), online(topology.llcs()), online(&nodes), vec![all]];
        Spread {
            warmup: Instant(warmup.0),
            last: Instant(warmup.0),
            cells: cells.map(|masks| Cells::new(cpus, masks)),
            cpu_idle: vec![true; cpus],
            idle_since: vec![Instant::ZERO; cpus],
            tasks: Vec::new(),
            migrations: ByReason::default(),
            wakeups: 0,
            idle_entries: 0,
            idle_entries_while_waiting: 0,
            attempts: [[Attempts::default(); 3]; LEVELS],
            idle_time: vec![Nanos::ZERO; cpus],
            wasted: [0; Near::ALL.len()],
            shared_core_time: 0,
        }
    }

    /// CPU time for which a CPU this near, and none nearer, idled while a task waited: the integral of
    /// min(idle CPUs, waiting tasks).
    pub fn wasted(&self, near: Near) -> Nanos {
        let i = near as usize;
        let nearer = if i == 0 { 0 } else { self.wasted[i - 1] };
        Nanos(u64::try_from(self.wasted[i].saturating_sub(nearer)).unwrap_or(u64::MAX))
    }

    /// The same, however near.
    pub fn wasted_in_all(&self) -> Nanos {
        Nanos(u64::try_from(self.wasted[Near::Machine as usize]).unwrap_or(u64::MAX))
    }

    /// Core time for which at least two threads of a core were busy.
    pub fn shared_core_time(&self) -> Nanos {
        Nanos(u64::try_from(self.shared_core_time).unwrap_or(u64::MAX))
    }

    /// Share of wake-ups that left the task on its previous CPU.
    pub fn on_previous_cpu(&self) -> Option<f64> {
        let moved = self.migrations[MigrateReason::Wake].min(self.wakeups);
        (self.wakeups > 0).then(|| 1.0 - moved as f64 / self.wakeups as f64)
    }

    /// Ends the counting at `at`, the end of the run.
    pub fn finish(&mut self, at: Instant) {
        self.advance(at);
        for cpu in 0..self.cpu_idle.len() {
            if self.cpu_idle[cpu] {
                self.end_idle(cpu, at);
            }
        }
    }

    /// Brings the integrals up to `at`.
    fn advance(&mut self, at: Instant) {
        let span = at.saturating_since(self.last);
        if span.is_zero() {
            return;
        }
        for (sum, cells) in self.wasted.iter_mut().zip(&self.cells) {
            *sum += u128::from(span.0) * u128::from(cells.wasted);
        }
        self.shared_core_time += u128::from(span.0) * u128::from(self.cells[Near::Core as usize].shared);
        self.last = at;
    }

    fn end_idle(&mut self, cpu: usize, at: Instant) {
        self.idle_time[cpu] += at.saturating_since(self.idle_since[cpu].max(self.warmup));
        self.idle_since[cpu] = at;
    }

    fn set_idle(&mut self, cpu: CpuId, idle: bool, at: Instant) {
        let i = cpu.index();
        if std::mem::replace(&mut self.cpu_idle[i], idle) != idle {
            if idle {
                self.idle_since[i] = at;
            } else {
                self.end_idle(i, at);
            }
            let by = if idle { 1 } else { -1 };
            self.cells.iter_mut().for_each(|c| c.change(cpu, by, 0));
        }
    }

    fn stop_waiting(&mut self, task: TaskId) {
        if let Some((cpu, counts)) = self.tasks[task.index()].waits.take() {
            for (cells, counts) in self.cells.iter_mut().zip(counts) {
                cells.change(cpu, 0, -i32::from(counts));
            }
        }
    }

    fn wait_on(&mut self, task: TaskId, cpu: CpuId) {
        self.stop_waiting(task);
        let t = &mut self.tasks[task.index()];
        let mut counts = [true; Near::ALL.len()];
        for (cells, counts) in self.cells.iter_mut().zip(&mut counts) {
            let cell = &cells.masks[cells.of_cpu[cpu.index()] as usize];
            *counts = t.allowed.as_ref().is_none_or(|a| cell.is_subset(a));
            cells.change(cpu, 0, i32::from(*counts));
        }
        t.waits = Some((cpu, counts));
    }

    fn switch(
        &mut self,
        at: Instant,
        cpu: CpuId,
        prev: Option<TaskId>,
        kind: SwitchKind,
        next: Option<TaskId>,
    ) {
        if let Some(next) = next {
            self.stop_waiting(next);
        }
        if let Some(prev) = prev
            && matches!(kind, SwitchKind::Preempted | SwitchKind::Yielded)
            && !self.tasks[prev.index()].exited
        {
            self.wait_on(prev, cpu);
        }
        self.set_idle(cpu, next.is_none(), at);
    }

    fn attempt(&mut self, level: u8, idle: IdleType, outcome: BalanceOutcome, moved: u32) {
        use BalanceOutcome as O;
        let a = &mut self.attempts[usize::from(level).min(LEVELS - 1)][idle as usize];
        a.tried += u64::from(outcome != O::NotChosen);
        a.balanced += u64::from(matches!(outcome, O::NoBusiestGroup(_) | O::NoBusiestQueue));
        a.failed += u64::from(matches!(outcome, O::Failed | O::Pinned | O::AllPinned | O::ActiveBalance));
        a.active += u64::from(outcome == O::ActiveBalance);
        a.moved += u64::from(moved);
    }
}

impl Observer for Spread {
    fn affinity(&mut self, task: TaskId, allowed: &CpuMask) {
        let all = &self.cells[Near::Machine as usize].masks[0];
        self.tasks[task.index()].allowed = (!all.is_subset(allowed)).then(|| allowed.clone());
    }

    fn event(&mut self, at: Instant, event: &Event) {
        let counts = at >= self.warmup;
        match *event {
            Event::Fork { .. } => self.tasks.push(Waiter::default()),
            Event::Exit { task } => self.tasks[task.index()].exited = true,
            Event::Switch { cpu, prev, kind, next } => {
                self.advance(at);
                self.switch(at, cpu, prev, kind, next);
            }
            Event::Wakeup { task, cpu, new, curr, .. } => {
                self.wakeups += u64::from(counts && !new);
                if curr != Some(task) {
                    self.advance(at);
                    self.wait_on(task, cpu);
                }
            }
            Event::Migrate { task, to, reason, .. } => {
                self.migrations[reason] += u64::from(counts);
                if self.tasks[task.index()].waits.is_some() {
                    self.advance(at);
                    self.wait_on(task, to);
                }
            }
            Event::LoadBalance { level, idle, outcome, moved, .. } if counts => {
                self.attempt(level, idle, outcome, moved);
            }
            Event::CpuIdle { enter: true, .. } if counts && at > Instant::ZERO => {
                self.idle_entries += 1;
                let waits = self.cells[Near::Machine as usize].waiting.iter().any(|w| *w > 0);
                self.idle_entries_while_waiting += u64::from(waits);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
