//! Wake-ups in their stages: waking, optionally queued on the target CPU, enqueued, preemption checked.

use super::Kernel;
use super::fair::Enqueue;
use super::features::Feature;
use super::hooks::Hooks;
use super::rules::TtwuQueueRule;
use super::select::SelectFor;
use super::task::TaskState;
use crate::id::{CpuId, TaskId};
use crate::observe::{Decision, Event, Observer, PreemptRule, WakeupPreempt};
use crate::time::{Instant, Nanos};

/// How far a wake-up got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// There was nothing to wake: the task is awake or gone.
    NotSleeping,
    /// The task is enqueued on this CPU.
    Enqueued(CpuId),
    /// The wake-up waits on this CPU's list; its driver must call [`Kernel::sched_ttwu_pending`] there. The flag says
    /// whether the list was empty, so that an interrupt is due.
    Queued(CpuId, bool),
}

impl<H: Hooks> Kernel<H> {
    /// Wakes a sleeping task. `by` is the CPU the wake-up happens on, `waker` the task that does it, unless an interrupt
    /// does. `sync`: the waker is about to sleep, and does not exit (`WF_SYNC`).
    ///
    /// Mirrors: `try_to_wake_up()`, v4.19–v6.5.
    pub fn try_to_wake_up<O: Observer>(
        &mut self,
        task: TaskId,
        by: CpuId,
        waker: Option<TaskId>,
        sync: bool,
        now: Instant,
        o: &mut O,
    ) -> Wake {
        if self.tasks[task.index()].state != TaskState::Sleeping {
            return Wake::NotSleeping;
        }
        o.event(now, &Event::Waking { task, by, waker });
        if self.rqs[by.index()].curr == Some(task) {
            // A CPU that wakes its own current task only takes back that it was to sleep.
            let t = &mut self.tasks[task.index()];
            (t.state, t.in_iowait) = (TaskState::Runnable, false);
            return Wake::Enqueued(by);
        }
        if self.task_entity(task).on_rq {
            self.ttwu_runnable(task, now, o);
            return Wake::Enqueued(self.tasks[task.index()].cpu);
        }
        self.tasks[task.index()].state = TaskState::Waking;
        let (slept_on, in_iowait) = (self.tasks[task.index()].cpu, self.tasks[task.index()].in_iowait);
        self.rqs[slept_on.index()].nr_iowait -= u32::from(in_iowait);
        let cpu = self.select_task_rq(task, SelectFor::Wake { by, waker, sync }, now, o);
        let migrated = cpu != self.tasks[task.index()].cpu;
        if migrated {
            self.set_task_cpu(task, cpu, now, o);
        }
        let queue = self.ttwu_queue_cond(by, cpu);
        if self.hooks.queue_wakeup(by, cpu, queue) {
            self.balancing.sums.mark(cpu);
            let list = &mut self.rqs[cpu.index()].wake_list;
            list.push((task, migrated));
            return Wake::Queued(cpu, list.len() == 1);
        }
        self.update_rq_clock(cpu, now);
        self.ttwu_do_activate(task, cpu, migrated, now, o);
        Wake::Enqueued(cpu)
    }

    /// A task that set its state to sleep but has not left its CPU is simply set running again.
    ///
    /// Mirrors: `ttwu_runnable()` (`ttwu_remote()` before 5.12).
    fn ttwu_runnable<O: Observer>(&mut self, task: TaskId, now: Instant, o: &mut O) {
        let t = &self.tasks[task.index()];
        let (cpu, on_cpu) = (t.cpu, t.on_cpu);
        if !on_cpu || self.config.rules.ttwu_runnable_checks_running {
            self.update_rq_clock(cpu, now);
            self.check_preempt_curr(task, cpu, false, now, o);
        }
        let t = &mut self.tasks[task.index()];
        (t.state, t.in_iowait) = (TaskState::Runnable, false);
    }

    /// Whether the wake-up is left to the target CPU. A task leaves its CPU in no time, so the "still switching out" cases
    /// cannot arise (D-004).
    ///
    /// Mirrors: `ttwu_queue_cond()`, core.md §7.6.
    fn ttwu_queue_cond(&self, by: CpuId, cpu: CpuId) -> bool {
        let to_idle = self.config.rules.ttwu_queue == TtwuQueueRule::OrTargetIdle;
        self.config.features.enabled(Feature::TtwuQueue)
            && by != cpu
            && (!self.domains.share_cache(by, cpu) || (to_idle && self.rqs[cpu.index()].nr_running == 0))
    }

    /// Enqueues the wake-ups that others left to this CPU.
    ///
    /// Mirrors: `sched_ttwu_pending()`.
    pub fn sched_ttwu_pending<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        if self.rqs[cpu.index()].wake_list.is_empty() {
            return;
        }
        self.update_rq_clock(cpu, now);
        self.balancing.sums.mark(cpu);
        while !self.rqs[cpu.index()].wake_list.is_empty() {
            let (task, migrated) = self.rqs[cpu.index()].wake_list.remove(0);
            self.ttwu_do_activate(task, cpu, migrated, now, o);
        }
    }

    /// Mirrors: `ttwu_do_activate()`.
    fn ttwu_do_activate<O: Observer>(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        migrated: bool,
        now: Instant,
        o: &mut O,
    ) {
        self.enqueue_task_fair(task, Enqueue { wakeup: true, migrated }, now, o);
        self.rqs[cpu.index()].cpufreq_iowait |= std::mem::take(&mut self.tasks[task.index()].in_iowait);
        self.add_nr_running(cpu);
        self.tasks[task.index()].state = TaskState::Runnable;
        self.report_wakeup(task, cpu, false, now, o);
        let jiffy = self.jiffies(now);
        let rq = &mut self.rqs[cpu.index()];
        rq.balance.end_idle(rq.clock, jiffy);
    }

    /// Checks preemption and reports the wake-up with need_resched before and after.
    pub(super) fn report_wakeup<O: Observer>(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        new: bool,
        now: Instant,
        o: &mut O,
    ) {
        let rq = &self.rqs[cpu.index()];
        let (curr, resched_before) = (rq.curr, rq.need_resched);
        self.check_preempt_curr(task, cpu, new, now, o);
        let resched_after = self.rqs[cpu.index()].need_resched;
        o.event(now, &Event::Wakeup { task, cpu, new, curr, resched_before, resched_after });
    }

    /// Should the running task make way for `wakee`? A fair wakee always preempts the idle task.
    ///
    /// Mirrors: `check_preempt_curr()`, v4.19–v6.5.
    pub(super) fn check_preempt_curr<O: Observer>(
        &mut self,
        wakee: TaskId,
        cpu: CpuId,
        fork: bool,
        now: Instant,
        o: &mut O,
    ) {
        match self.rqs[cpu.index()].curr {
            Some(curr) if self.tasks[wakee.index()].class == self.tasks[curr.index()].class => {
                self.check_preempt_wakeup(cpu, curr, wakee, fork, now, o);
            }
            curr => self.check_preempt_class(cpu, curr, wakee, now, o),
        }
        // The next __schedule keeps this clock if a queued current is to be rescheduled.
        let rq = &mut self.rqs[cpu.index()];
        if rq.need_resched && rq.curr.is_some_and(|c| self.entities[self.tasks[c.index()].se.index()].on_rq) {
            rq.skip_clock_update = true;
        }
    }

    /// A task of a higher class preempts; any task preempts the idle task.
    fn check_preempt_class<O: Observer>(
        &mut self,
        cpu: CpuId,
        curr: Option<TaskId>,
        wakee: TaskId,
        now: Instant,
        o: &mut O,
    ) {
        let class = |t: TaskId| self.tasks[t.index()].class;
        let preempt = curr.is_none_or(|c| class(wakee) < class(c));
        if O::DECISIONS {
            let d = WakeupPreempt {
                cpu,
                curr,
                wakee,
                entity: self.tasks[wakee.index()].se,
                lead: 0,
                granularity: 0,
                weight: self.task_entity(wakee).load.weight,
                curr_ran: Nanos(curr.map_or(0, |c| self.task_entity(c).ran())),
                rule: if curr.is_none() { PreemptRule::CurrIdleTask } else { PreemptRule::Class },
                preempt,
            };
            o.decision(now, &Decision::WakeupPreempt(d));
        }
        if preempt {
            self.resched_curr(cpu, now, o);
        }
    }
}
