//! Clocks, the tick, and `__schedule`.

use super::Kernel;
use super::hooks::Hooks;
use super::runqueue::SchedClass;
use super::task::TaskState;
use crate::id::{CpuId, TaskId};
use crate::observe::{Event, Observer, SwitchKind};
use crate::time::{Instant, Nanos};

/// Why `__schedule` was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// need_resched was honoured: a preemption.
    Preempt,
    /// The task called it: it blocks, exits or yields, as its state says.
    Call,
}

/// The outcome of `__schedule`. `prev == next` means that the picker chose the same task: not a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Who ran; none is the idle task.
    pub prev: Option<TaskId>,
    /// Who runs now.
    pub next: Option<TaskId>,
    /// How the previous task left.
    pub kind: SwitchKind,
}

impl<H: Hooks> Kernel<H> {
    /// Samples the CPU clock. The task clock leaves out interrupt and steal time where the kernel accounts for it.
    ///
    /// Mirrors: `update_rq_clock()`, `update_rq_clock_task()`, v4.19–v6.5.
    pub(super) fn update_rq_clock(&mut self, cpu: CpuId, now: Instant) {
        let rq = &mut self.rqs[cpu.index()];
        let delta = now.0.checked_sub(rq.clock).expect("a run queue's clock never goes back");
        let nontask = rq.nontask_pending.min(delta);
        rq.nontask_pending -= nontask;
        rq.clock = now.0;
        rq.clock_task += delta - nontask;
        if nontask > 0 {
            self.update_irq_load_avg(cpu, nontask);
        }
        self.update_rq_clock_pelt(cpu, delta - nontask);
    }

    /// Tells the scheduler that an interrupt or the hypervisor took this much of the CPU's time.
    pub fn account_nontask(&mut self, cpu: CpuId, time: Nanos, steal: bool) {
        let accounted =
            if steal { self.config.steal_time_accounting } else { self.config.irq_time_accounting };
        if accounted {
            self.rqs[cpu.index()].nontask_pending += time.0;
        }
    }

    /// Marks the running task of a CPU for rescheduling.
    ///
    /// Mirrors: `resched_curr()`.
    pub(super) fn resched_curr<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        let rq = &mut self.rqs[cpu.index()];
        if !rq.need_resched {
            rq.need_resched = true;
            self.newly_resched.push(cpu);
            o.event(now, &Event::NeedResched { cpu });
        }
    }

    /// One more task is runnable on a CPU.
    ///
    /// Mirrors: `add_nr_running()`, v4.19–v6.5.
    pub(super) fn add_nr_running(&mut self, cpu: CpuId) {
        self.balancing.sums.mark(cpu);
        let rq = &mut self.rqs[cpu.index()];
        rq.nr_running += 1;
        // The step from one to two only: a pass that found nothing but pinned tasks has cleared it, and a third task does
        // not bring it back.
        self.balancing.overload |= rq.nr_running == 2;
    }

    /// One task less is runnable on a CPU.
    ///
    /// Mirrors: `sub_nr_running()`, v4.19–v6.5.
    pub(super) fn sub_nr_running(&mut self, cpu: CpuId) {
        self.balancing.sums.mark(cpu);
        self.rqs[cpu.index()].nr_running -= 1;
    }

    /// A tick of a busy CPU.
    ///
    /// Mirrors: `scheduler_tick()`, v4.19–v6.5.
    pub fn scheduler_tick<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        self.update_rq_clock(cpu, now);
        self.tick_of_current(cpu, false, now, o);
        self.cpu_load_update(cpu, now);
        if self.rqs.len() > 1 {
            self.trigger_load_balance(cpu, now, o);
        }
    }

    /// The tick of the running task; `hrtick` says that it is the high-resolution one.
    pub(super) fn tick_of_current<O: Observer>(&mut self, cpu: CpuId, hrtick: bool, now: Instant, o: &mut O) {
        let Some(curr) = self.rqs[cpu.index()].curr.filter(|c| self.is_fair(*c)) else { return };
        let before = self.rqs[cpu.index()].need_resched;
        self.task_tick_fair(cpu, curr, hrtick, now, o);
        if !before && self.rqs[cpu.index()].need_resched {
            o.event(now, &Event::TickPreempt { cpu, task: curr });
        }
    }

    /// Chooses what a CPU runs next.
    ///
    /// Mirrors: `__schedule()`, v4.19–v6.5.
    pub fn schedule<O: Observer>(&mut self, cpu: CpuId, now: Instant, why: Schedule, o: &mut O) -> Switch {
        let rq = &mut self.rqs[cpu.index()];
        let prev = rq.curr;
        rq.hrtick = None;
        if !std::mem::take(&mut rq.skip_clock_update) {
            self.update_rq_clock(cpu, now);
        }
        let kind = self.switch_kind(prev, why);
        if let (Some(p), SwitchKind::Blocked | SwitchKind::Exited) = (prev, kind) {
            if self.is_fair(p) {
                self.dequeue_task_fair(p, super::fair::Dequeue::Sleep, now, o);
            } else {
                self.update_curr_stop(p, now, o);
            }
            self.sub_nr_running(cpu);
            self.rqs[cpu.index()].nr_iowait += u32::from(self.tasks[p.index()].in_iowait);
        }
        let next = self.pick_next_task(cpu, prev, now, o);
        if next.is_none() {
            self.update_idle_core(cpu);
        }
        self.rqs[cpu.index()].need_resched = false;
        self.newly_resched.retain(|c| *c != cpu);
        let switch = Switch { prev, next, kind };
        if prev != next {
            self.context_switch(cpu, switch, now, o);
        } else if let Some(task) = next {
            o.event(now, &Event::Repick { cpu, task });
        }
        if let (Some(p), SwitchKind::Exited) = (prev, kind) {
            self.task_dead_fair(p);
        }
        if next.is_none() && self.rqs.len() > 1 {
            self.enter_idle(cpu, now, o);
        }
        switch
    }

    fn switch_kind(&self, prev: Option<TaskId>, why: Schedule) -> SwitchKind {
        let Some(p) = prev else { return SwitchKind::FromIdle };
        match (why, self.tasks[p.index()].state) {
            (Schedule::Preempt, _) => SwitchKind::Preempted,
            (Schedule::Call, TaskState::Runnable) => SwitchKind::Yielded,
            (Schedule::Call, TaskState::Dead) => SwitchKind::Exited,
            (Schedule::Call, _) => SwitchKind::Blocked,
        }
    }

    fn pick_next_task<O: Observer>(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        now: Instant,
        o: &mut O,
    ) -> Option<TaskId> {
        for class in SchedClass::ORDER {
            let next = match class {
                SchedClass::Stop => self.pick_next_task_stop(cpu, prev, now, o),
                // No task can be in this class yet (D-003).
                SchedClass::Rt => None,
                SchedClass::Fair => {
                    let fair = prev.filter(|p| self.is_fair(*p));
                    self.pick_next_task_fair(cpu, fair, now, o)
                }
                SchedClass::Idle => break,
            };
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Counts and reports a switch. Mirrors: the end of `__schedule()`; counters of core.md §6.5.
    fn context_switch<O: Observer>(&mut self, cpu: CpuId, s: Switch, now: Instant, o: &mut O) {
        if let Some(p) = s.prev {
            let task = &mut self.tasks[p.index()];
            task.on_cpu = false;
            match s.kind {
                SwitchKind::Blocked | SwitchKind::Exited => task.nvcsw += 1,
                _ => task.nivcsw += 1,
            }
        }
        if let Some(n) = s.next {
            self.tasks[n.index()].on_cpu = true;
        }
        self.rqs[cpu.index()].curr = s.next;
        self.balancing.sums.mark(cpu);
        o.event(now, &Event::Switch { cpu, prev: s.prev, kind: s.kind, next: s.next });
    }
}
