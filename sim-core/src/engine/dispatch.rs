//! Events reach the kernel model; need_resched flags become calls of `__schedule`.

use super::Simulation;
use super::config::SimError;
use super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::{PreemptModel, Schedule, Wake};
use crate::observe::{Context, Event, Observer, Overhead};
use crate::time::{Instant, Nanos};

impl<O: Observer, H: Hooks> Simulation<O, H> {
    pub(super) fn dispatch(&mut self, what: Happening) -> Result<(), SimError> {
        match what {
            Happening::Speed(row) => {
                let change = self.config.machine.speed_changes[row as usize];
                self.plan_speed(change.cpu, change.speed);
            }
            Happening::Warm { cpu, generation } => self.on_warm(cpu, generation),
            Happening::CoreTimer { cpu, ramp, generation } => self.on_core_timer(cpu, ramp, generation),
            Happening::Clocks { package } => self.grant_clocks(package),
            Happening::Interfere(row) => self.on_interference(row),
            Happening::Source(row) => self.on_source(row),
            Happening::Wire(generation) => self.on_wire(generation),
            Happening::NetIrq(queue) => self.on_net_irq(queue),
            Happening::Softirq(cpu) => self.on_softirq(cpu),
            Happening::Vcpu { cpu, generation } => self.on_vcpu(cpu, generation),
            Happening::Control(row) => self.on_control(row)?,
            Happening::Hrtick { cpu, generation } => self.on_hrtick(cpu, generation),
            Happening::Timer { task, generation } => self.on_timer(task, generation),
            Happening::Tick { cpu, generation } => self.on_tick(cpu, generation),
            Happening::Ipi(cpu) => self.on_ipi(cpu),
            Happening::NohzKick(cpu) => self.on_nohz_kick(cpu),
            Happening::Resched { cpu, generation } => self.on_resched(cpu, generation),
            Happening::Deferred { cpu, generation, .. } => self.on_deferred(cpu, generation)?,
            Happening::Idle { cpu, generation } => self.on_idle(cpu, generation),
            Happening::Progress { cpu, generation } => {
                if self.cpus[cpu.index()].progress_generation == generation {
                    self.begin_context(cpu, Context::Task);
                    self.sync_burst(cpu);
                    self.advance(cpu)?;
                    self.settle(Nanos::ZERO);
                }
            }
        }
        if let Some(cpu) = self.active.take() {
            self.halt_if_idle(cpu);
            self.idle_again(cpu);
        }
        Ok(())
    }

    /// From here on a CPU acts; others hear of it by interrupt.
    pub(super) fn begin_context(&mut self, cpu: CpuId, context: Context) {
        self.active = Some(cpu);
        self.observer.event(self.now, &Event::Context { cpu, context });
    }

    /// A sleep ends, or a task of the scenario starts, in a timer interrupt of its CPU.
    fn on_timer(&mut self, task: TaskId, generation: u32) {
        if self.tasks[task.index()].timer_generation != generation {
            return;
        }
        let cpu = self.kernel.task(task).cpu;
        if self.defer_in_irq(cpu, Happening::Timer { task, generation }) {
            return;
        }
        self.begin_context(cpu, Context::Timer);
        self.cancel_timer(task);
        self.leave_waiters(task);
        self.wake(task, cpu, None);
        let cost = self.wake_cost(1);
        self.occupy(cpu, cost);
        self.end_sleeps(cpu);
        self.settle(cost + self.cost().irq_exit);
    }

    fn on_tick(&mut self, cpu: CpuId, generation: u32) {
        let tick = Happening::Tick { cpu, generation };
        if self.cpus[cpu.index()].tick_generation != generation || self.defer_in_irq(cpu, tick) {
            return;
        }
        self.begin_context(cpu, Context::Tick);
        self.clock_tick(cpu);
        self.kernel.scheduler_tick(cpu, self.now, &mut self.observer);
        self.cpufreq_update(cpu);
        self.continue_ticks(cpu);
        // The balancing softirq runs at the end of the interrupt.
        let softirq = self.kernel.take_work();
        let (handler, delay) = (self.cost().tick, self.cost().tick_to_switch + softirq);
        self.occupy(cpu, handler);
        self.run_softirq(cpu, softirq);
        self.end_sleeps(cpu);
        self.settle(delay.max(handler + softirq));
        self.resume_idle(cpu);
    }

    fn on_hrtick(&mut self, cpu: CpuId, generation: u32) {
        let hrtick = Happening::Hrtick { cpu, generation };
        if self.cpus[cpu.index()].hrtick_generation != generation || self.defer_in_irq(cpu, hrtick) {
            return;
        }
        self.active = Some(cpu);
        self.kernel.hrtick(cpu, self.now, &mut self.observer);
        let (tick, delay) = (self.cost().tick, self.cost().tick_to_switch);
        self.occupy(cpu, tick);
        self.end_sleeps(cpu);
        self.settle(delay.max(tick));
    }

    fn on_ipi(&mut self, cpu: CpuId) {
        if self.defer_in_irq(cpu, Happening::Ipi(cpu)) {
            return;
        }
        self.begin_context(cpu, Context::Ipi);
        self.kernel.sched_ttwu_pending(cpu, self.now, &mut self.observer);
        let cost = self.wake_cost(1);
        self.occupy(cpu, cost);
        self.settle(cost + self.cost().irq_exit);
    }

    /// An idle CPU is interrupted to balance for itself and the other tickless ones.
    fn on_nohz_kick(&mut self, cpu: CpuId) {
        if self.defer_in_irq(cpu, Happening::NohzKick(cpu)) {
            return;
        }
        self.begin_context(cpu, Context::Ipi);
        self.kernel.nohz_balance(cpu, self.now, &mut self.observer);
        let cost = self.kernel.take_work();
        self.run_softirq(cpu, cost);
        self.settle(cost + self.cost().irq_exit);
        self.resume_idle(cpu);
    }

    /// An interrupt has ended the halt of an idle CPU; with nothing to run it halts again.
    fn resume_idle(&mut self, cpu: CpuId) {
        let rq = self.kernel.rq(cpu);
        if self.idle.is_none() && rq.curr.is_none() && !rq.need_resched {
            self.observer.event(self.now, &Event::CpuIdle { cpu, enter: false, state: None });
            self.observer.event(self.now, &Event::CpuIdle { cpu, enter: true, state: None });
        }
    }

    fn on_resched(&mut self, cpu: CpuId, generation: u32) {
        let resched = Happening::Resched { cpu, generation };
        if self.cpus[cpu.index()].resched_generation != generation || self.defer_in_irq(cpu, resched) {
            return;
        }
        self.begin_context(cpu, Context::Task);
        self.cpus[cpu.index()].resched_armed = false;
        let rq = self.kernel.rq(cpu);
        // A task that entered the kernel in the meantime reschedules when it leaves it.
        let waits = rq.curr.is_some_and(|c| self.resched_waits(c));
        if rq.need_resched && !waits {
            self.schedule(cpu, Schedule::Preempt);
            self.settle(Nanos::ZERO);
        }
    }

    /// Wakes a task from CPU `by`.
    pub(super) fn wake(&mut self, task: TaskId, by: CpuId, waker: Option<TaskId>) {
        self.wake_up(task, by, waker, false);
    }

    /// Wakes a task that takes over from its waker, which says that it is about to sleep (`WF_SYNC`).
    pub(super) fn wake_sync(&mut self, task: TaskId, by: CpuId, waker: TaskId) {
        self.wake_up(task, by, Some(waker), true);
    }

    pub(super) fn wake_up(&mut self, task: TaskId, by: CpuId, waker: Option<TaskId>, sync: bool) {
        let wake = self.kernel.try_to_wake_up(task, by, waker, sync, self.now, &mut self.observer);
        if let Wake::Queued(cpu, true) = wake {
            let at = self.now + self.kick(cpu);
            self.queue.push(at, Happening::Ipi(cpu));
        }
    }

    /// Brings every newly set need_resched to a call of `__schedule` in due time. `delay` is the rest of the interrupt
    /// handled on the active CPU.
    pub(super) fn settle(&mut self, delay: Nanos) {
        if self.kernel.stops_requested() {
            self.wake_stoppers();
        }
        while let Some(cpu) = self.kernel.take_nohz_kick() {
            self.queue.push(self.now + self.ipi_to(cpu), Happening::NohzKick(cpu));
        }
        while let Some(cpu) = self.kernel.take_hrtick() {
            self.arm_hrtick(cpu);
        }
        while let Some(cpu) = self.kernel.take_resched() {
            let active = self.active == Some(cpu);
            match self.kernel.rq(cpu).curr {
                None => {
                    let wait = if active { delay } else { self.kick(cpu) };
                    self.arm_resched(cpu, self.now + self.idle_exit(wait));
                }
                Some(curr) => {
                    if !self.resched_waits(curr) {
                        let wait = if active { delay } else { self.cost().ipi + self.cost().irq_exit };
                        self.hold_burst(cpu, self.now + wait);
                        self.arm_resched(cpu, self.now + wait);
                    }
                }
            }
        }
    }

    fn arm_hrtick(&mut self, cpu: CpuId) {
        let Some(at) = self.kernel.rq(cpu).hrtick else { return };
        let c = &mut self.cpus[cpu.index()];
        c.hrtick_generation = c.hrtick_generation.wrapping_add(1);
        let generation = c.hrtick_generation;
        let at = at.saturating_add(self.cost().timer_irq).max(self.now);
        self.queue.push(at, Happening::Hrtick { cpu, generation });
    }

    /// Whether a task is in kernel mode and the kernel does not preempt it there (core.md §6.3).
    fn resched_waits(&self, task: TaskId) -> bool {
        let t = &self.tasks[task.index()];
        t.in_kernel && (self.config.kernel.preempt != PreemptModel::Full || t.then.disables_preemption())
    }

    /// An interrupted task that will be rescheduled makes no progress until then, unless its work contains the delay.
    fn hold_burst(&mut self, cpu: CpuId, until: Instant) {
        if self.config.machine.recorded_work {
            return;
        }
        if self.active == Some(cpu) && self.cpus[cpu.index()].progress_from < until {
            self.sync_burst(cpu);
            let from = std::mem::replace(&mut self.cpus[cpu.index()].progress_from, until);
            let overhead = Event::Overhead { cpu, time: until - from, kind: Overhead::Delay };
            self.observer.event(self.now, &overhead);
            self.project(cpu);
        }
    }

    fn arm_resched(&mut self, cpu: CpuId, at: Instant) {
        let c = &mut self.cpus[cpu.index()];
        if !std::mem::replace(&mut c.resched_armed, true) {
            c.resched_generation = c.resched_generation.wrapping_add(1);
            let generation = c.resched_generation;
            let at = at.max(c.irq_until);
            self.queue.push(at, Happening::Resched { cpu, generation });
        }
    }
}
