//! The stop class: a CPU's stopper thread (`migration/N`) preempts everything to move a running task away.

use super::hooks::Hooks;
use super::runqueue::SchedClass;
use super::select::SelectFor;
use super::task::TaskState;
use super::{Kernel, Policy, TaskParams};
use crate::cpumask::CpuMask;
use crate::id::{CpuId, GroupId, TaskId};
use crate::observe::{Event, MigrateReason, Observer};
use crate::time::{Instant, Nanos};

/// What a stopper thread is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopWork {
    /// Moves one task, if it still may and is still runnable here (`migration_cpu_stop`).
    MigrateTask {
        /// The task.
        task: TaskId,
        /// Where it goes.
        to: CpuId,
        /// Why.
        reason: MigrateReason,
    },
    /// Pushes a running task to the CPU that asked for it (`active_load_balance_cpu_stop`).
    ActiveBalance,
}

impl<H: Hooks> Kernel<H> {
    /// Asks a CPU's stopper thread for work. The driver hears of it by [`Kernel::take_stop_request`].
    ///
    /// Mirrors: `stop_one_cpu()`, `stop_one_cpu_nowait()`, v4.19–v6.5.
    pub(super) fn stop_one_cpu(&mut self, cpu: CpuId, work: StopWork) {
        self.rqs[cpu.index()].stop_work.push(work);
        self.stop_requests.push(cpu);
    }

    /// Whether any stopper thread is wanted and the driver has not heard of it yet.
    pub fn stops_requested(&self) -> bool {
        !self.stop_requests.is_empty()
    }

    /// Whether a CPU's stopper thread is wanted and the driver has not heard of it yet.
    pub fn stop_requested(&self, cpu: CpuId) -> bool {
        self.stop_requests.contains(&cpu)
    }

    /// A running task is about to exec: the scheduler may have it moved by its CPU's stopper thread.
    ///
    /// Mirrors: `sched_exec()`, v4.19–v6.5.
    pub fn sched_exec<O: Observer>(&mut self, task: TaskId, now: Instant, o: &mut O) {
        let cpu = self.tasks[task.index()].cpu;
        let to = self.select_task_rq(task, SelectFor::Exec, now, o);
        if to != cpu {
            self.stop_one_cpu(cpu, StopWork::MigrateTask { task, to, reason: MigrateReason::Exec });
        }
    }

    /// The oldest CPU whose stopper thread is wanted. The driver gives the CPU one ([`Kernel::add_stopper`]) if it has none
    /// yet, then calls [`Kernel::wake_stopper`].
    pub fn take_stop_request(&mut self) -> Option<CpuId> {
        if self.stop_requests.is_empty() { None } else { Some(self.stop_requests.remove(0)) }
    }

    /// A CPU's stopper thread, once it has one.
    pub fn stopper(&self, cpu: CpuId) -> Option<TaskId> {
        self.rqs[cpu.index()].stopper
    }

    /// Creates a CPU's stopper thread, asleep.
    pub fn add_stopper(&mut self, cpu: CpuId) -> TaskId {
        let params = TaskParams {
            nice: 0,
            policy: Policy::Normal,
            cpus_allowed: CpuMask::one(cpu),
            group: GroupId::ROOT,
        };
        let stopper = self.add_task(&params);
        self.tasks[stopper.index()].class = SchedClass::Stop;
        self.set_kthread(stopper);
        self.rqs[cpu.index()].stopper = Some(stopper);
        stopper
    }

    /// Wakes a CPU's stopper thread from CPU `by`, where `waker` runs.
    ///
    /// Mirrors: `cpu_stop_queue_work()`, `enqueue_task_stop()`.
    pub fn wake_stopper<O: Observer>(
        &mut self,
        cpu: CpuId,
        by: CpuId,
        waker: Option<TaskId>,
        now: Instant,
        o: &mut O,
    ) {
        let stopper = self.rqs[cpu.index()].stopper.expect("the driver gave the CPU a stopper");
        if self.tasks[stopper.index()].state != TaskState::Sleeping {
            return;
        }
        o.event(now, &Event::Waking { task: stopper, by, waker });
        self.update_rq_clock(cpu, now);
        self.tasks[stopper.index()].state = TaskState::Runnable;
        self.add_nr_running(cpu);
        self.report_wakeup(stopper, cpu, false, now, o);
    }

    /// A running stopper thread does the oldest thing asked of it; true if there is more.
    ///
    /// Mirrors: `cpu_stopper_thread()`.
    pub fn run_stop_work<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) -> bool {
        if !self.rqs[cpu.index()].stop_work.is_empty() {
            match self.rqs[cpu.index()].stop_work.remove(0) {
                StopWork::MigrateTask { task, to, reason } => {
                    self.migration_cpu_stop(cpu, task, to, reason, now, o);
                }
                StopWork::ActiveBalance => self.active_load_balance_cpu_stop(cpu, now, o),
            }
        }
        !self.rqs[cpu.index()].stop_work.is_empty()
    }

    /// Mirrors: `migration_cpu_stop()`, `__migrate_task()`, v4.19–v6.5.
    fn migration_cpu_stop<O: Observer>(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        to: CpuId,
        reason: MigrateReason,
        now: Instant,
        o: &mut O,
    ) {
        let t = &self.tasks[task.index()];
        if t.cpu != cpu || t.state != TaskState::Runnable || !t.cpus_allowed.contains(to) {
            return;
        }
        self.update_rq_clock(cpu, now);
        self.deactivate(task, now, o);
        self.attach(task, to, reason, now, o);
    }

    /// The stopper thread, if it has been woken.
    ///
    /// Mirrors: `pick_next_task_stop()`, v4.19–v6.5.
    pub(super) fn pick_next_task_stop<O: Observer>(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        now: Instant,
        o: &mut O,
    ) -> Option<TaskId> {
        let stopper = self.rqs[cpu.index()].stopper?;
        if self.tasks[stopper.index()].state != TaskState::Runnable {
            return None;
        }
        if let Some(p) = prev.filter(|p| *p != stopper) {
            self.put_prev_task_fair(p, now, o);
        }
        let clock = self.rqs[cpu.index()].clock_task;
        let se = self.tasks[stopper.index()].se;
        self.entities[se.index()].exec_start = clock;
        Some(stopper)
    }

    /// Charges a running stopper thread.
    ///
    /// Mirrors: `put_prev_task_stop()` (`update_curr_stop()`).
    pub(super) fn update_curr_stop<O: Observer>(&mut self, stopper: TaskId, now: Instant, o: &mut O) {
        let t = &self.tasks[stopper.index()];
        let clock = self.rqs[t.cpu.index()].clock_task;
        let e = &mut self.entities[t.se.index()];
        let delta = clock.saturating_sub(std::mem::replace(&mut e.exec_start, clock));
        e.sum_exec_runtime += delta;
        if delta > 0 {
            o.event(now, &Event::StopRuntime { task: stopper, runtime: Nanos(delta) });
        }
    }

    /// Whether a task is of the fair class.
    pub(super) fn is_fair(&self, task: TaskId) -> bool {
        self.tasks[task.index()].class == SchedClass::Fair
    }
}
