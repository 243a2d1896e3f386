//! Sources of interference: their arrivals, and the kernel threads of those that have any.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use super::queue::Happening;
use super::stopper::NoProgram;
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::{Policy, TaskParams};
use crate::machine::{Draw, Interference, SourceKind};
use crate::observe::{Context, Event, Observer};
use crate::rng::{Stream, stream};
use crate::time::{Instant, Nanos};

/// A source on one of its CPUs.
#[derive(Debug)]
pub(super) struct Arrival {
    /// Row of [`crate::machine::MachineConfig::interference`].
    source: u32,
    cpu: CpuId,
    gaps: Stream,
    times: Stream,
    /// The first of random arrivals comes a gap after the start.
    begun: bool,
    /// Its thread, and the work that waits for it.
    thread: Option<TaskId>,
    work: Nanos,
}

/// One row for each CPU of each source.
pub(super) fn arrivals(sources: &[Interference]) -> Vec<Arrival> {
    let mut rows = Vec::new();
    for (i, source) in sources.iter().enumerate() {
        rows.extend(source.cpus.iter().map(|cpu| Arrival::new(i as u32, source, cpu, 0)));
    }
    rows
}

impl Arrival {
    fn new(number: u32, source: &Interference, cpu: CpuId, seed: u64) -> Arrival {
        let path = format!("interference/{}#{}", source.name, cpu.0);
        Arrival {
            source: number,
            cpu,
            gaps: stream(seed, &path, "gaps"),
            times: stream(seed, &path, "times"),
            begun: matches!(source.every, Draw::Constant(_)),
            thread: None,
            work: Nanos::ZERO,
        }
    }

    pub(super) fn start(&self, sources: &[Interference]) -> Instant {
        sources[self.source as usize].start
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// The thread of a source of interference on a CPU.
    pub fn interference_thread(&self, source: usize, cpu: CpuId) -> Option<TaskId> {
        self.arrivals.iter().find(|a| a.source as usize == source && a.cpu == cpu)?.thread
    }

    pub(super) fn seed_arrivals(&mut self, seed: u64) {
        for a in &mut self.arrivals {
            *a = Arrival::new(a.source, &self.config.machine.interference[a.source as usize], a.cpu, seed);
        }
    }

    /// The next time of a source has come.
    pub(super) fn on_interference(&mut self, row: u32) {
        let a = &mut self.arrivals[row as usize];
        let gap = self.config.machine.interference[a.source as usize].every.sample(&mut a.gaps);
        let begun = std::mem::replace(&mut a.begun, true);
        self.queue.push(self.now.saturating_add(gap.max(Nanos(1))), Happening::Interfere(row));
        if begun {
            self.on_source(row);
        }
    }

    /// What a source does reaches its CPU. Interrupts and stolen time that overlap come one after the other.
    pub(super) fn on_source(&mut self, row: u32) {
        let a = &self.arrivals[row as usize];
        let (source, cpu) = (a.source, a.cpu);
        let kind = self.config.machine.interference[source as usize].kind;
        let waits = match kind {
            SourceKind::Steal => false,
            SourceKind::Interrupt | SourceKind::Softirq => self.cpus[cpu.index()].absence.is_some(),
            SourceKind::Kthread => true,
        };
        if waits && self.defer_in_irq(cpu, Happening::Source(row)) {
            return;
        }
        let a = &mut self.arrivals[row as usize];
        let time = self.config.machine.interference[source as usize].time.sample(&mut a.times);
        match kind.nontask() {
            Some(kind) => self.take_time(cpu, time, kind, Some(source)),
            None => {
                a.work = Nanos(a.work.0.saturating_add(time.0));
                self.wake_kthread(row, cpu);
            }
        }
        self.active.get_or_insert(cpu);
    }

    fn wake_kthread(&mut self, row: u32, cpu: CpuId) {
        let Some(thread) = self.arrivals[row as usize].thread else { return };
        self.begin_context(cpu, Context::Timer);
        self.wake(thread, cpu, None);
        let cost = self.wake_cost(1);
        self.occupy(cpu, cost);
        self.settle(cost + self.cost().irq_exit);
    }

    /// Creates the threads of sources that have any, asleep.
    pub(super) fn add_kthreads(&mut self) {
        for row in 0..self.arrivals.len() {
            let (source, cpu) = (self.arrivals[row].source, self.arrivals[row].cpu);
            let source = &self.config.machine.interference[source as usize];
            if source.kind == SourceKind::Kthread {
                let name = format!("{}/{}", source.name, cpu.0);
                self.arrivals[row].thread = Some(self.add_kthread(name, cpu, Op::Kthread(row as u32)));
            }
        }
    }

    pub(super) fn add_kthread(&mut self, name: String, cpu: CpuId, op: Op) -> TaskId {
        let cpus_allowed = CpuMask::one(cpu);
        let params = TaskParams { nice: 0, policy: Policy::Normal, cpus_allowed, group: GroupId::ROOT };
        let thread = self.kernel.add_task(&params);
        self.kernel.set_kthread(thread);
        self.observer.event(self.now, &Event::Fork { parent: None, child: thread });
        self.push_exec(Box::new(NoProgram), name.clone(), name, None, self.now);
        self.alive -= 1;
        self.infos[thread.index()].kthread = true;
        self.enter(thread, Nanos::ZERO, Then::Attempt(op));
        thread
    }

    /// A source's thread has done its work; it goes on with what came meanwhile, or sleeps.
    pub(super) fn kthread_done(&mut self, row: u32) -> Attempt {
        let work = std::mem::take(&mut self.arrivals[row as usize].work);
        if work.is_zero() {
            return Attempt::Block(Then::Attempt(Op::Kthread(row)));
        }
        Attempt::Then(work, Op::Kthread(row))
    }
}
