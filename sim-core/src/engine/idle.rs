//! The idle loop: what a CPU without tasks does, and how long it takes to bring it back.
//!
//! Without idle states ([`crate::machine::idle::IdleConfig::is_off`]) an idle CPU just waits, and waking it takes one cost.

mod cpus;

pub(super) use cpus::Idle;

use super::Simulation;
use super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::machine::idle::{Ask, Slept};
use crate::observe::{Event, Observer, Overhead};
use crate::time::{Instant, Nanos};
use cpus::{Doing, Left};

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Whether every thread of a CPU's core is in a state in which the core loses its caches (C3 and deeper).
    pub fn core_is_deep(&self, cpu: CpuId) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.core_is_deep(cpu))
    }

    /// A core has gone to C3 or deeper, and lost what its caches held, or has come back from there.
    fn core_depth_changed(&mut self, cpu: CpuId, deep: bool) {
        self.observer.event(self.now, &Event::CoreDepth { cpu, deep });
        if deep {
            self.core_flushed(cpu);
        }
        self.set_core_deep(cpu, deep);
    }

    /// From the decision to wake an idle CPU until it hears of it: at once if it watches the flag word, else by interrupt.
    pub(super) fn kick(&self, cpu: CpuId) -> Nanos {
        let polling = self.idle.as_ref().is_some_and(|idle| idle.is_polling(cpu));
        if polling { Nanos::ZERO } else { self.ipi_to(cpu) }
    }

    /// When an idle CPU calls `__schedule`, `wait` after it was told to.
    pub(super) fn idle_exit(&self, wait: Nanos) -> Nanos {
        if self.idle.is_some() { wait } else { wait.max(self.halt_exit()) }
    }

    /// A timer was set on a CPU.
    pub(super) fn idle_timer(&mut self, cpu: CpuId, at: Instant, task: TaskId, generation: u32) {
        if let Some(idle) = &mut self.idle {
            let tasks = &self.tasks;
            let holds = |t: TaskId, generation| tasks[t.index()].timer_generation == generation;
            idle.cpus[cpu.index()].timers.insert(at, task, generation, holds);
        }
    }

    /// The idle loop goes on when what the CPU does now is over.
    pub(super) fn arm_idle(&mut self, cpu: CpuId, at: Instant) {
        let Some(idle) = &mut self.idle else { return };
        let c = &mut idle.cpus[cpu.index()];
        c.generation = c.generation.wrapping_add(1);
        let generation = c.generation;
        self.queue.push(at.max(self.now), Happening::Idle { cpu, generation });
    }

    /// The idle task has become current.
    pub(super) fn begin_idle(&mut self, cpu: CpuId, after: Nanos) {
        if let Some(idle) = &mut self.idle {
            idle.cpus[cpu.index()].doing = Doing::Awake;
            self.arm_idle(cpu, self.now.saturating_add(after));
        }
    }

    /// The idle task makes way. A stopped tick starts again, which takes its time.
    pub(super) fn end_idle(&mut self, cpu: CpuId) {
        let Some(idle) = &mut self.idle else {
            if self.config.kernel.nohz {
                self.arm_tick(cpu);
            }
            return;
        };
        let restart = idle.tick_restart;
        let c = &mut idle.cpus[cpu.index()];
        c.doing = Doing::Running;
        c.generation = c.generation.wrapping_add(1);
        if std::mem::take(&mut c.tick_stopped) {
            self.arm_tick(cpu);
            self.tell_overhead(cpu, restart, Overhead::IdleExit);
            let c = &mut self.cpus[cpu.index()];
            c.progress_from = c.progress_from.saturating_add(restart);
        }
    }

    /// An interrupt handler, or whatever else a CPU did, is over: with nothing to run its idle loop goes on.
    pub(super) fn idle_again(&mut self, cpu: CpuId) {
        let rq = self.kernel.rq(cpu);
        if self.idle.is_some() && rq.curr.is_none() && !rq.need_resched {
            self.arm_idle(cpu, self.cpus[cpu.index()].irq_until);
        }
    }

    /// Something calls a CPU back from its state: it is awake when entering is over and the state has been left.
    ///
    /// Mirrors: the end of `cpuidle_enter_state()`; smp.md §5.8.
    pub(super) fn interrupt_idle(&mut self, cpu: CpuId, by: Happening) {
        let by_other = matches!(by, Happening::Resched { .. } | Happening::Ipi(_) | Happening::NohzKick(_));
        // That cost is from the wake-up on: the interrupt is a part of it.
        let sent = if by_other { self.kick(cpu) } else { Nanos::ZERO };
        let cost = self.halt_exit().saturating_sub(sent);
        let Some(idle) = &mut self.idle else { return };
        let Doing::Asleep { state, from } = idle.cpus[cpu.index()].doing else { return };
        let entered = self.now > from;
        let mut awake = self.now;
        if entered {
            let (reached, since) = idle.reached(cpu, state, from);
            let (entry, exit) = idle.state(reached).entry_and_exit(cost);
            awake = awake.max(since.saturating_add(entry)).saturating_add(exit);
            if by_other && idle.state(state).polling {
                awake = awake.saturating_add(idle.poll_notice);
            }
        }
        let by_tick = matches!(by, Happening::Tick { .. });
        self.leave_state(cpu, awake, by_tick, false);
        self.tell_overhead(cpu, awake - self.now, Overhead::IdleExit);
        let c = &mut self.cpus[cpu.index()];
        c.irq_until = c.irq_until.max(awake);
        // What called it may be void by then, like a timer that was cancelled meanwhile.
        self.arm_idle(cpu, awake);
    }

    /// A CPU's stay in its state ends at `awake`.
    fn leave_state(&mut self, cpu: CpuId, awake: Instant, by_tick: bool, poll_limit: bool) {
        let Some(idle) = &mut self.idle else { return };
        let Doing::Asleep { state, from } = idle.cpus[cpu.index()].doing else { return };
        let deep = idle.core_is_deep(cpu);
        let c = &mut idle.cpus[cpu.index()];
        c.doing = Doing::Awake;
        c.generation = c.generation.wrapping_add(1);
        let entered = self.now > from;
        let residency = awake.saturating_since(from);
        if entered {
            c.governor.reflect(&idle.table, &Slept { state, residency, by_tick, poll_limit });
        }
        c.left = Some(Left { state, residency: entered.then_some(residency), kicked: self.now });
        self.kernel.set_idle_state(cpu, None);
        if deep {
            self.core_depth_changed(cpu, false);
        }
    }

    /// Tells that a CPU has left its state, when it is awake.
    pub(super) fn tell_idle_left(&mut self, cpu: CpuId) {
        let Some(idle) = &mut self.idle else { return };
        let Some(left) = idle.cpus[cpu.index()].left.take() else { return };
        let state = left.state as u8;
        self.observer.event(self.now, &Event::CpuIdle { cpu, enter: false, state: Some(state) });
        if let Some(residency) = left.residency {
            let fit = idle.fit(left.state, residency);
            let event = Event::IdleLeft { cpu, state, residency, kicked: left.kicked, fit };
            self.observer.event(self.now, &event);
        }
    }

    /// The idle loop goes round: after an interrupt, when polling has lasted long enough, and at first.
    ///
    /// Mirrors: `do_idle()`, `cpuidle_idle_call()`, v4.19–v6.5; smp.md §5.1.
    pub(super) fn on_idle(&mut self, cpu: CpuId, generation: u32) {
        let Some(idle) = &self.idle else { return };
        if !idle.is_valid(cpu, generation) {
            return;
        }
        if self.is_absent(cpu) {
            self.defer(cpu, Happening::Idle { cpu, generation });
            return;
        }
        let until = self.cpus[cpu.index()].irq_until;
        if until > self.now {
            return self.arm_idle(cpu, until);
        }
        self.leave_state(cpu, self.now, false, true);
        self.tell_idle_left(cpu);
        let rq = self.kernel.rq(cpu);
        if rq.curr.is_none() && !rq.need_resched {
            self.enter_state(cpu);
        }
    }

    /// Asks the governor, stops the tick if that pays, and enters the state, all in no time. Deviates: D-173.
    fn enter_state(&mut self, cpu: CpuId) {
        let ask = self.situation(cpu);
        let Some(idle) = &mut self.idle else { return };
        let c = &mut idle.cpus[cpu.index()];
        let pick = c.governor.select(&idle.table, &ask);
        let limit = c.governor.poll_limit(&idle.table).filter(|_| idle.table.polls(pick.state));
        // A timer within a tick needs no less of an interrupt than the tick.
        let stop = pick.stop_tick && ask.sleep_length > idle.table.tick && self.config.kernel.nohz;
        let stopped = stop && !std::mem::replace(&mut c.tick_stopped, true);
        c.doing = Doing::Asleep { state: pick.state, from: self.now };
        let latency = idle.state(pick.state).latency;
        // A virtual CPU that polls, or may use MWAIT, idles without leaving the guest.
        let leaves_guest = !idle.state(pick.state).polling && !idle.state(pick.state).monitors;
        let deep = idle.core_is_deep(cpu);
        if stopped {
            self.cpus[cpu.index()].tick_generation = self.cpus[cpu.index()].tick_generation.wrapping_add(1);
            self.kernel.tick_nohz_stop(cpu);
        }
        self.kernel.set_idle_state(cpu, Some(latency));
        let state = Some(pick.state as u8);
        self.observer.event(self.now, &Event::CpuIdle { cpu, enter: true, state });
        if deep {
            self.core_depth_changed(cpu, true);
        }
        if let Some(limit) = limit {
            self.arm_idle(cpu, self.now.saturating_add(limit));
        }
        if leaves_guest {
            self.halt_vcpu(cpu);
        }
    }

    /// What the governor is asked: of timers those of sleeping tasks are known, and when the kernel's own come at the latest.
    /// Deviates: D-172.
    fn situation(&mut self, cpu: CpuId) -> Ask {
        let (tasks, now) = (&self.tasks, self.now);
        let holds = |t: TaskId, generation| tasks[t.index()].timer_generation == generation;
        let tick_at = self.cpus[cpu.index()].tick_at;
        let mut ask = Ask {
            sleep_length: Nanos::MAX,
            delta_tick: Nanos::MAX,
            tick_stopped: true,
            latency_limit: Nanos::MAX,
            iowaiters: u64::from(self.kernel.rq(cpu).nr_iowait),
            utilisation: self.kernel.cpu_util(cpu),
            capacity: self.kernel.rq(cpu).pelt.capacity_orig,
        };
        let Some(idle) = &mut self.idle else { return ask };
        ask.sleep_length = idle.kernel_timer(cpu, now);
        let c = &mut idle.cpus[cpu.index()];
        ask.tick_stopped = c.tick_stopped;
        ask.latency_limit = c.limit;
        if let Some(at) = c.timers.next(holds) {
            ask.sleep_length = ask.sleep_length.min(at.saturating_since(now));
        }
        ask.delta_tick = ask.sleep_length;
        if !c.tick_stopped {
            ask.delta_tick = ask.delta_tick.min(tick_at.saturating_since(now));
        }
        ask
    }
}
