//! What a CPU is doing: how far its burst has come, when it will end, its tick.

use super::Simulation;
use super::deferred::Deferred;
use super::exec::Burst;
use super::host::Absence;
use super::queue::Happening;
use super::sleep::Sleepers;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::{Schedule, Switch};
use crate::observe::{Context, Event, Observer, Overhead, SwitchKind};
use crate::time::{Instant, Nanos};

/// A CPU as the engine sees it.
#[derive(Debug)]
pub(super) struct Cpu {
    /// The running burst has been credited up to here; in the future while something else has the CPU.
    pub(super) progress_from: Instant,
    /// Units of work done per ns, [`FULL_SPEED`](crate::machine::FULL_SPEED) at full speed.
    pub(super) speed: u64,
    /// Which projection of the running burst is valid.
    pub(super) progress_generation: u32,
    /// Which arming of the tick is valid.
    pub(super) tick_generation: u32,
    /// When its handler comes.
    pub(super) tick_at: Instant,
    /// Which reschedule is valid, and when it is due.
    pub(super) resched_generation: u32,
    pub(super) resched_armed: bool,
    /// Which arming of the high-resolution tick is valid.
    pub(super) hrtick_generation: u32,
    /// Timers of tasks that sleep here.
    pub(super) sleepers: Sleepers,
    /// An interrupt handler or the hypervisor has the CPU until here: timers and rescheduling wait for its end.
    pub(super) irq_until: Instant,
    /// What waits for its end.
    pub(super) deferred: Deferred,
    /// Since when a virtual CPU does not execute, and why; never on metal.
    pub(super) absence: Option<Absence>,
    /// Which absence is valid.
    pub(super) absence_generation: u32,
}

impl Cpu {
    /// An idle CPU; a virtual one has halted.
    pub(super) fn idle(speed: u64, virtual_cpu: bool) -> Cpu {
        Cpu {
            progress_from: Instant::ZERO,
            speed,
            progress_generation: 0,
            tick_generation: 0,
            tick_at: Instant::ZERO,
            resched_generation: 0,
            resched_armed: false,
            hrtick_generation: 0,
            sleepers: Sleepers::with_room(),
            irq_until: Instant::ZERO,
            deferred: Deferred::with_room(),
            absence: virtual_cpu.then(Absence::since_boot),
            absence_generation: 0,
        }
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Credits the running burst with the work done until now.
    pub(super) fn sync_burst(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.index()];
        if c.absence.is_some() {
            return;
        }
        let done = self.now.saturating_since(c.progress_from);
        c.progress_from = c.progress_from.max(self.now);
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        if let Burst::Work(left) = &mut self.tasks[curr.index()].burst {
            *left = left.saturating_sub(done.0.saturating_mul(c.speed));
        }
        self.credit(cpu, curr, done);
    }

    /// Foresees the end of the running burst from its present speed, replacing the earlier forecast.
    pub(super) fn project(&mut self, cpu: CpuId) {
        let c = &mut self.cpus[cpu.index()];
        c.progress_generation = c.progress_generation.wrapping_add(1);
        if c.absence.is_some() {
            return;
        }
        let (from, generation) = (c.progress_from, c.progress_generation);
        let Some(curr) = self.kernel.rq(cpu).curr else { return };
        let at = match self.tasks[curr.index()].burst {
            Burst::Work(left) => self.end_of_work(cpu, from, left),
            Burst::CpuClock(target) => {
                let left = target.saturating_sub(self.kernel.task_runtime(curr, self.now).0);
                from.max(self.now.saturating_add(Nanos(left)))
            }
            Burst::Until(time) => from.max(time),
        };
        self.queue.push(at.max(self.now), Happening::Progress { cpu, generation });
        self.project_warmth(cpu, generation);
    }

    /// Whether the running burst is finished now.
    pub(super) fn burst_done(&self, cpu: CpuId) -> bool {
        let Some(curr) = self.kernel.rq(cpu).curr else { return false };
        match self.tasks[curr.index()].burst {
            Burst::Work(left) => left == 0,
            Burst::CpuClock(target) => self.kernel.task_runtime(curr, self.now).0 >= target,
            Burst::Until(time) => self.now >= time,
        }
    }

    /// Calls `__schedule` on a CPU and starts what it chose.
    pub(super) fn schedule(&mut self, cpu: CpuId, why: Schedule) {
        self.sync_burst(cpu);
        let c = &mut self.cpus[cpu.index()];
        c.resched_generation = c.resched_generation.wrapping_add(1);
        c.resched_armed = false;
        self.tell_before_schedule(cpu, why);
        let keeps = self.keeps_tick(cpu);
        self.kernel.keep_idle_tick(cpu, keeps);
        let s = self.kernel.schedule(cpu, self.now, why, &mut self.observer);
        if s.next.is_none() && self.idle.is_none() {
            self.observer.event(self.now, &Event::CpuIdle { cpu, enter: true, state: None });
        }
        if s.prev != s.next {
            self.switched(cpu, s);
        }
        if s.kind == SwitchKind::Exited {
            self.wake_worker(cpu);
        }
        self.cpufreq_update(cpu);
        // What a balancing pass took delays whatever comes next.
        let work = self.kernel.take_work();
        self.tell_overhead(cpu, work, Overhead::Balance);
        let c = &mut self.cpus[cpu.index()];
        c.progress_from = c.progress_from.max(self.now).saturating_add(work);
        if s.next.is_none() {
            self.begin_idle(cpu, work);
        }
        self.project(cpu);
    }

    /// The idle task is awake when it calls `__schedule`; a task may be preempted in kernel mode.
    fn tell_before_schedule(&mut self, cpu: CpuId, why: Schedule) {
        match self.kernel.rq(cpu).curr {
            None if self.idle.is_some() => {}
            None => self.observer.event(self.now, &Event::CpuIdle { cpu, enter: false, state: None }),
            Some(curr) if why == Schedule::Preempt && self.tasks[curr.index()].in_kernel => {
                let context = Context::KernelPreempt;
                self.observer.event(self.now, &Event::Context { cpu, context });
            }
            Some(_) => {}
        }
    }

    pub(super) fn tell_overhead(&mut self, cpu: CpuId, time: Nanos, kind: Overhead) {
        if !time.is_zero() {
            self.observer.event(self.now, &Event::Overhead { cpu, time, kind });
        }
    }

    /// Threads of one process keep their page tables.
    fn switch_cost(&self, s: Switch) -> Nanos {
        let process = |task: Option<TaskId>| task.and_then(|t| self.tasks[t.index()].process);
        let within = process(s.prev).is_some() && process(s.prev) == process(s.next);
        if within { self.cost().thread_switch } else { self.cost().context_switch }
    }

    fn switched(&mut self, cpu: CpuId, s: Switch) {
        self.busy_cpus = self.busy_cpus + usize::from(s.prev.is_none()) - usize::from(s.next.is_none());
        if s.next.is_some() {
            let cost = self.switch_cost(s);
            self.cpus[cpu.index()].progress_from = self.now + cost;
            self.tell_overhead(cpu, cost, Overhead::Switch);
        }
        self.pace_switched(cpu, s);
        match (s.prev, s.next) {
            (None, Some(_)) => self.end_idle(cpu),
            (Some(_), None) if self.config.kernel.nohz && self.idle.is_none() && !self.keeps_tick(cpu) => {
                // An idle CPU has no tick. Deviates: D-123.
                let c = &mut self.cpus[cpu.index()];
                c.tick_generation = c.tick_generation.wrapping_add(1);
            }
            _ => {}
        }
    }
}
