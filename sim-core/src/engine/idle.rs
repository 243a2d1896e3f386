//! The idle loop: what a CPU without tasks does, and how long it takes to bring it back.
//!
//! Without idle states ([`IdleConfig::is_off`]) an idle CPU just waits, and waking it takes one cost.

use super::Simulation;
use super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::KernelConfig;
use crate::kernel::hooks::Hooks;
use crate::machine::idle::{Ask, Governor, IdleConfig, IdleState, Slept, Table};
use crate::observe::{Event, IdleFit, Observer, Overhead};
use crate::time::{Instant, Nanos};

/// What a CPU is doing as far as idling goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It has a task.
    Running,
    /// Its idle task runs: between states, or in an interrupt.
    Awake,
    /// It is in a state since then.
    Asleep { state: usize, from: Instant },
}

/// A stay in a state that has ended; the CPU is awake when `irq_until` has come.
#[derive(Clone, Copy, Debug)]
struct Left {
    state: usize,
    /// Nothing if the CPU was called back before it entered.
    residency: Option<Nanos>,
    kicked: Instant,
}

/// Timers of one CPU by the time they are set for, latest first.
#[derive(Debug, Default)]
struct Timers(Vec<(Instant, TaskId, u32)>);

impl Timers {
    /// The next one that still holds; those that do not are dropped.
    fn next(&mut self, holds: impl Fn(TaskId, u32) -> bool) -> Option<Instant> {
        while self.0.pop_if(|(_, task, generation)| !holds(*task, *generation)).is_some() {}
        self.0.last().map(|(at, ..)| *at)
    }

    fn insert(&mut self, at: Instant, task: TaskId, generation: u32, holds: impl Fn(TaskId, u32) -> bool) {
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
struct IdleCpu {
    doing: Doing,
    governor: Governor,
    limit: Nanos,
    tick_stopped: bool,
    /// Which arming of [`Happening::Idle`] is valid.
    generation: u32,
    left: Option<Left>,
    timers: Timers,
    /// The other threads of its core.
    siblings: Vec<CpuId>,
}

/// The idle loops of all CPUs.
#[derive(Debug)]
pub(super) struct Idle {
    table: Table,
    cpus: Vec<IdleCpu>,
    poll_notice: Nanos,
    tick_restart: Nanos,
    /// The shallowest state that does not poll: a core with a busy thread is no deeper.
    halted: usize,
}

impl Idle {
    /// The idle loops of a machine with idle states.
    pub(super) fn new(config: &IdleConfig, kernel: &KernelConfig) -> Option<Idle> {
        if config.is_off() {
            return None;
        }
        let table =
            Table { states: config.states.clone(), rules: kernel.rules.idle, tick: Nanos(kernel.tick_ns()) };
        let halted = table.usable_states().find(|(_, s)| !s.polling).map_or(0, |(i, _)| i);
        let cpu = |c| {
            let online = kernel.topology.online();
            let core = kernel.topology.cpu(c).map(|cpu| kernel.topology.siblings(cpu).and(online));
            IdleCpu {
                doing: Doing::Awake,
                governor: Governor::new(config.governor, &table),
                limit: config.limit_of(c),
                tick_stopped: kernel.nohz,
                generation: 0,
                left: None,
                timers: Timers::default(),
                siblings: core.iter().flat_map(|core| core.iter()).filter(|s| *s != c).collect(),
            }
        };
        let cpus = (0..kernel.cpus).map(|c| cpu(CpuId(c))).collect();
        let (poll_notice, tick_restart) = (config.poll_notice, config.tick_restart);
        Some(Idle { table, cpus, poll_notice, tick_restart, halted })
    }

    /// Whether an arming of [`Happening::Idle`] is still valid.
    pub(super) fn is_valid(&self, cpu: CpuId, generation: u32) -> bool {
        self.cpus[cpu.index()].generation == generation
    }

    fn state(&self, i: usize) -> &IdleState {
        &self.table.states[i]
    }

    /// What the core has reached of the state a thread of it asked for, and since when: the shallowest of its threads'
    /// requests, with C1 for a busy one.
    fn reached(&self, cpu: CpuId, state: usize, from: Instant) -> (usize, Instant) {
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
        reached
    }

    /// Whether every thread of a CPU's core is in a state in which the core loses its caches (C3 and deeper).
    fn core_is_deep(&self, cpu: CpuId) -> bool {
        let threads = self.cpus[cpu.index()].siblings.iter().chain([&cpu]);
        threads.into_iter().all(|t| {
            matches!(self.cpus[t.index()].doing, Doing::Asleep { state, .. } if self.state(state).flushes)
        })
    }

    /// Whether a write of the flag word is enough to call a CPU back, without an interrupt.
    fn is_polling(&self, cpu: CpuId) -> bool {
        match self.cpus[cpu.index()].doing {
            Doing::Asleep { state, .. } => self.state(state).monitors,
            Doing::Awake => self.state(self.halted).monitors,
            Doing::Running => false,
        }
    }

    /// How a stay compares with the state's target residency and the next deeper one's.
    fn fit(&self, state: usize, residency: Nanos) -> IdleFit {
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

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Whether every thread of a CPU's core is in a state in which the core loses its caches (C3 and deeper).
    pub fn core_is_deep(&self, cpu: CpuId) -> bool {
        self.idle.as_ref().is_some_and(|idle| idle.core_is_deep(cpu))
    }

    /// A core has gone to C3 or deeper, and lost what its caches held, or has come back from there.
    fn core_depth_changed(&mut self, cpu: CpuId, deep: bool) {
        self.observer.event(self.now, &Event::CoreDepth { cpu, deep });
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

    /// Asks the governor, stops the tick if that pays, and enters the state.
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

    fn situation(&mut self, cpu: CpuId) -> Ask {
        let (tasks, now) = (&self.tasks, self.now);
        let holds = |t: TaskId, generation| tasks[t.index()].timer_generation == generation;
        let tick_at = self.cpus[cpu.index()].tick_at;
        let mut ask = Ask {
            sleep_length: Nanos::MAX,
            delta_tick: Nanos::MAX,
            tick_stopped: true,
            latency_limit: Nanos::MAX,
            iowaiters: 0,
            utilisation: self.kernel.cpu_util(cpu),
            capacity: self.kernel.rq(cpu).pelt.capacity_orig,
        };
        let Some(idle) = &mut self.idle else { return ask };
        let c = &mut idle.cpus[cpu.index()];
        ask.tick_stopped = c.tick_stopped;
        ask.latency_limit = c.limit;
        if let Some(at) = c.timers.next(holds) {
            ask.sleep_length = at.saturating_since(now);
        }
        ask.delta_tick = ask.sleep_length;
        if !c.tick_stopped {
            ask.delta_tick = ask.delta_tick.min(tick_at.saturating_since(now));
        }
        ask
    }
}
