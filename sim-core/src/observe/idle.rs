//! How idle states were used, as in `/sys/devices/system/cpu/cpu*/cpuidle/state*`, and how long waking took.

use super::{Event, IdleFit, Latencies, Observer};
use crate::id::{CpuId, TaskId};
use crate::time::{Instant, Nanos};

/// Use of one state by one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateUse {
    /// Times it was entered (`usage`).
    pub usage: u64,
    /// Time in it, entering and leaving included (`time`).
    pub time: Nanos,
    /// Stays too short for it (`above`).
    pub above: u64,
    /// Stays long enough for a deeper state (`below`).
    pub below: u64,
}

impl StateUse {
    /// Adds what another CPU did.
    pub fn add(&mut self, other: &StateUse) {
        self.usage += other.usage;
        self.time += other.time;
        self.above += other.above;
        self.below += other.below;
    }
}

/// Collects the use of idle states from the end of a warm-up on. A stay counts when it ends.
#[derive(Debug)]
pub struct IdleStats {
    warmup: Instant,
    /// Use by CPU and state.
    uses: Vec<Vec<StateUse>>,
    /// The stay each CPU came from last, and when it was called back.
    left: Vec<Option<(u8, Instant)>>,
    /// When tasks that wait for their first switch were woken.
    waking: Vec<Option<Instant>>,
    /// Latencies of wake-ups by the state the CPU came from.
    latencies: Vec<Latencies>,
}

impl IdleStats {
    /// Starts counting at `warmup` on so many CPUs with so many states.
    pub fn new(warmup: Nanos, cpus: usize, states: usize) -> IdleStats {
        IdleStats {
            warmup: Instant(warmup.0),
            uses: vec![vec![StateUse::default(); states]; cpus],
            left: vec![None; cpus],
            waking: Vec::new(),
            latencies: vec![Latencies::default(); states],
        }
    }

    /// What a CPU did with each state.
    pub fn cpu(&self, cpu: CpuId) -> &[StateUse] {
        &self.uses[cpu.index()]
    }

    /// How long it took from the decision to run a task on an idle CPU, or from the timer's interrupt, to the switch to it, by
    /// the state the CPU was in.
    pub fn latency(&self, state: usize) -> &Latencies {
        &self.latencies[state]
    }

    fn switched(&mut self, at: Instant, cpu: CpuId, prev: Option<TaskId>, next: TaskId) {
        let woken = self.waking[next.index()].take();
        let left = self.left[cpu.index()].take();
        let (None, Some(woken), Some((state, kicked))) = (prev, woken, left) else { return };
        if at >= self.warmup
            && let Some(latencies) = self.latencies.get_mut(usize::from(state))
        {
            latencies.record(at.saturating_since(woken.min(kicked)));
        }
    }
}

impl Observer for IdleStats {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Fork { .. } => self.waking.push(None),
            Event::Waking { task, .. } => self.waking[task.index()] = Some(at),
            Event::Switch { cpu, prev, next: Some(next), .. } => self.switched(at, cpu, prev, next),
            Event::CpuIdle { cpu, enter: true, .. } => self.left[cpu.index()] = None,
            Event::IdleLeft { cpu, state, residency, kicked, fit } => {
                self.left[cpu.index()] = Some((state, kicked));
                if at < self.warmup {
                    return;
                }
                let Some(used) = self.uses[cpu.index()].get_mut(usize::from(state)) else { return };
                used.usage += 1;
                used.time += residency;
                used.above += u64::from(fit == IdleFit::Above);
                used.below += u64::from(fit == IdleFit::Below);
            }
            _ => {}
        }
    }
}
