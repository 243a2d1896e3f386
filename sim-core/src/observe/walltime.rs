//! Where the time of every CPU went: each nanosecond in exactly one place.

use super::{Event, Observer, Overhead, VcpuState};
use crate::id::CpuId;
use crate::machine::NonTaskKind;
use crate::time::{Instant, Nanos};
use serde::Serialize;

/// What a CPU's time goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Spent {
    /// The hypervisor runs something else, or is busy itself.
    Steal,
    /// Interrupt handlers.
    Interrupt,
    /// Softirqs at the end of interrupts.
    Softirq,
    /// From the wake-up of an idle CPU to its `__schedule`.
    IdleExit,
    /// The way from an interrupt to the `__schedule` it causes.
    Delay,
    /// Balancing passes in `__schedule`.
    Balance,
    /// Context switches.
    Switch,
    /// Work of tasks, in user and kernel mode.
    Task,
    /// Nothing to run.
    Idle,
}

impl Spent {
    /// All, in the order in which they have the CPU when several want it.
    pub const ALL: [Spent; 9] = [
        Spent::Steal,
        Spent::Interrupt,
        Spent::Softirq,
        Spent::IdleExit,
        Spent::Delay,
        Spent::Balance,
        Spent::Switch,
        Spent::Task,
        Spent::Idle,
    ];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Spent::Steal => "steal",
            Spent::Interrupt => "interrupt",
            Spent::Softirq => "softirq",
            Spent::Delay => "delay",
            Spent::Balance => "balance",
            Spent::Switch => "switch",
            Spent::Task => "task",
            Spent::IdleExit => "idle_exit",
            Spent::Idle => "idle",
        }
    }
}

/// Kinds that come in known amounts: all before [`Spent::Task`].
const PLANNED: usize = Spent::Task as usize;
/// The first of them that a switch cuts short: rescheduling waits for the end of the others.
const CUT_FROM: usize = Spent::IdleExit as usize;

/// One CPU's account.
#[derive(Debug, Clone)]
struct Account {
    since: Instant,
    /// What still has to pass before the CPU goes on with `base`.
    planned: [Nanos; PLANNED],
    base: Spent,
    vcpu: VcpuState,
    halted: bool,
    spent: [Nanos; Spent::ALL.len()],
}

impl Account {
    fn idle() -> Account {
        Account {
            since: Instant::ZERO,
            planned: [Nanos::ZERO; PLANNED],
            base: Spent::Idle,
            vcpu: VcpuState::Runs,
            halted: false,
            spent: [Nanos::ZERO; Spent::ALL.len()],
        }
    }

    /// Time passes until `now`; what lies after `from` counts.
    fn pass(&mut self, now: Instant, from: Instant) {
        let absent = match self.vcpu {
            VcpuState::Waits | VcpuState::Held => Some(Spent::Steal),
            VcpuState::Halts => Some(Spent::Idle),
            VcpuState::Wakes => Some(Spent::IdleExit),
            VcpuState::Runs => None,
        };
        // A CPU that has halted still finishes what it was at; for any other it waits.
        if absent.is_none() || self.halted {
            for kind in 0..PLANNED {
                let part = self.planned[kind].min(now - self.since);
                self.planned[kind] -= part;
                self.count(kind, part, from);
            }
        }
        self.count(absent.unwrap_or(self.base) as usize, now - self.since, from);
    }

    fn count(&mut self, kind: usize, time: Nanos, from: Instant) {
        let end = self.since + time;
        self.spent[kind] += end.saturating_since(self.since.max(from));
        self.since = end;
    }
}

/// Keeps the accounts of all CPUs from the end of a warm-up on.
#[derive(Debug)]
pub struct Walltime {
    warmup: Instant,
    cpus: Vec<Account>,
    /// Time by source of interference and CPU.
    sources: Vec<Vec<Nanos>>,
}

impl Walltime {
    /// Accounts of `cpus` CPUs from `warmup` on.
    pub fn new(warmup: Nanos, cpus: u32) -> Walltime {
        let cpus = vec![Account::idle(); cpus as usize];
        Walltime { warmup: Instant(warmup.0), cpus, sources: Vec::new() }
    }

    /// Closes the accounts at the end of the run.
    pub fn finish(&mut self, at: Instant) {
        let warmup = self.warmup;
        self.cpus.iter_mut().for_each(|c| c.pass(at, warmup));
    }

    /// What a CPU spent on something. Complete after [`Walltime::finish`].
    pub fn spent(&self, cpu: CpuId, on: Spent) -> Nanos {
        self.cpus[cpu.index()].spent[on as usize]
    }

    /// All that a CPU spent: the time counted.
    pub fn total(&self, cpu: CpuId) -> Nanos {
        self.cpus[cpu.index()].spent.iter().copied().sum()
    }

    /// What a source of interference took from a CPU, its threads aside: they are tasks.
    pub fn taken_by(&self, source: usize, cpu: CpuId) -> Nanos {
        self.sources.get(source).and_then(|s| s.get(cpu.index())).copied().unwrap_or_default()
    }

    fn account(&mut self, cpu: CpuId, at: Instant) -> &mut Account {
        let account = &mut self.cpus[cpu.index()];
        account.pass(at, self.warmup);
        account
    }

    fn count_source(&mut self, source: u32, cpu: CpuId, time: Nanos) {
        let source = source as usize;
        if self.sources.len() <= source {
            self.sources.resize_with(source + 1, || vec![Nanos::ZERO; self.cpus.len()]);
        }
        self.sources[source][cpu.index()] += time;
    }
}

impl Observer for Walltime {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Switch { cpu, next, .. } => {
                let account = self.account(cpu, at);
                account.base = if next.is_some() { Spent::Task } else { Spent::Idle };
                if next.is_some() {
                    account.planned[CUT_FROM..].fill(Nanos::ZERO);
                }
            }
            Event::CpuIdle { cpu, enter: true, .. } => self.account(cpu, at).base = Spent::Idle,
            Event::NeedResched { cpu } => {
                let account = self.account(cpu, at);
                if account.base == Spent::Idle {
                    account.base = Spent::IdleExit;
                }
            }
            Event::NonTask { cpu, time, kind, source } => {
                let kind = match kind {
                    NonTaskKind::Interrupt => Spent::Interrupt,
                    NonTaskKind::Softirq => Spent::Softirq,
                    NonTaskKind::Steal => Spent::Steal,
                };
                self.account(cpu, at).planned[kind as usize] += time;
                if let Some(source) = source.filter(|_| at >= self.warmup) {
                    self.count_source(source, cpu, time);
                }
            }
            Event::Overhead { cpu, time, kind } => {
                let kind = match kind {
                    Overhead::Switch => Spent::Switch,
                    Overhead::Delay => Spent::Delay,
                    Overhead::Balance => Spent::Balance,
                    Overhead::IdleExit => Spent::IdleExit,
                };
                self.account(cpu, at).planned[kind as usize] += time;
            }
            Event::Vcpu { cpu, state } => {
                let account = self.account(cpu, at);
                account.halted = match state {
                    VcpuState::Halts => true,
                    VcpuState::Runs => false,
                    _ => account.halted,
                };
                account.vcpu = state;
            }
            _ => {}
        }
    }
}
