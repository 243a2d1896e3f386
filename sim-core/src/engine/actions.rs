//! A running task goes from action to action.

use super::Simulation;
use super::config::SimError;
use super::exec::{Burst, Op, Then};
use super::pipe::Side;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::{PreemptModel, Schedule};
use crate::observe::{Event, Observer};
use crate::program::{Action, ChildSpec, ProgramContext, Work};
use crate::time::Nanos;

/// Result of trying a system call's effect.
pub(super) enum Attempt {
    /// Done, after this much more work in kernel mode.
    Done(Nanos),
    /// Done, after this much more work in kernel mode, but the task does not return to user mode yet.
    Stay(Nanos),
    /// The call goes on with this after so much more work in kernel mode.
    Then(Nanos, Op),
    /// The task sleeps; when woken it goes on with this.
    Block(Then),
    /// The task calls `__schedule` without sleeping, then goes on with this.
    Yield(Then),
    /// The task is gone.
    Gone,
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// The running task's burst has ended: does what follows until the task needs the CPU again, or leaves it.
    pub(super) fn advance(&mut self, cpu: CpuId) -> Result<(), SimError> {
        let Some(task) = self.kernel.rq(cpu).curr else { return Ok(()) };
        let mut steps = 0;
        loop {
            steps += 1;
            if steps > self.config.limits.at_one_instant {
                let task = Some(self.infos[task.index()].path.clone());
                return Err(SimError::Livelock {
                    limit: self.config.limits.at_one_instant,
                    at: self.now,
                    task,
                });
            }
            if !self.burst_done(cpu) {
                self.project(cpu);
                return Ok(());
            }
            match std::mem::replace(&mut self.tasks[task.index()].then, Then::Next) {
                Then::Return => {
                    self.tasks[task.index()].in_kernel = false;
                    if self.kernel.rq(cpu).need_resched {
                        self.schedule(cpu, Schedule::Preempt);
                        return Ok(());
                    }
                }
                Then::Next => self.next_action(task)?,
                Then::Attempt(op) => {
                    if self.attempt_op(cpu, task, op)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Tries a system call's effect; true when the task has left the CPU.
    fn attempt_op(&mut self, cpu: CpuId, task: TaskId, op: Op) -> Result<bool, SimError> {
        match self.attempt(cpu, task, op)? {
            Attempt::Done(more) => {
                self.enter(task, more + self.cost().syscall_exit, Then::Return);
                if self.config.kernel.preempt == PreemptModel::Full && self.kernel.rq(cpu).need_resched {
                    self.schedule(cpu, Schedule::Preempt);
                    return Ok(true);
                }
                return Ok(self.make_way_for_stopper(cpu));
            }
            Attempt::Stay(more) => {
                self.enter(task, more, Then::Next);
                if self.config.kernel.preempt == PreemptModel::Full && self.kernel.rq(cpu).need_resched {
                    self.schedule(cpu, Schedule::Preempt);
                    return Ok(true);
                }
                return Ok(self.make_way_for_stopper(cpu));
            }
            Attempt::Then(more, op) => {
                self.enter(task, more, Then::Attempt(op));
                return Ok(self.make_way_for_stopper(cpu));
            }
            Attempt::Block(then) => {
                let t = &mut self.tasks[task.index()];
                t.then = then;
                t.blocked_since.get_or_insert(self.now);
                self.kernel.set_sleeping(task);
            }
            Attempt::Yield(then) => self.tasks[task.index()].then = then,
            Attempt::Gone => {}
        }
        self.schedule(cpu, Schedule::Call);
        Ok(true)
    }

    /// The task works in kernel mode for `time`, then `then` follows.
    pub(super) fn enter(&mut self, task: TaskId, time: Nanos, then: Then) {
        let t = &mut self.tasks[task.index()];
        (t.burst, t.then, t.in_kernel) = (Burst::work_ns(time.0), then, true);
    }

    fn next_action(&mut self, task: TaskId) -> Result<(), SimError> {
        let cpu_time = self.kernel.task_runtime(task, self.now);
        let t = &mut self.tasks[task.index()];
        let cx = ProgramContext { now: self.now, task, cpu_time, received: t.received };
        t.blocked_since = None;
        let action = t.program.next(&cx);
        self.check_action(task, &action)?;
        self.begin(task, action, cx.cpu_time);
        Ok(())
    }

    fn begin(&mut self, task: TaskId, action: Action, cpu_time: Nanos) {
        let c = *self.cost();
        let op = match action {
            Action::Run(Work::Capacity(d)) => return self.tasks[task.index()].burst = Burst::work_ns(d.0),
            Action::Run(Work::CpuTime(d)) => {
                return self.tasks[task.index()].burst = Burst::CpuClock(cpu_time.0.saturating_add(d.0));
            }
            Action::Run(Work::Clock(d)) => {
                return self.tasks[task.index()].burst = Burst::Until(self.now.saturating_add(d));
            }
            Action::KernelRun(d) => {
                let around = c.syscall_entry + c.syscall_exit;
                return self.enter(task, Nanos(d.0.saturating_add(around.0)), Then::Return);
            }
            Action::Count(units) => return self.observer.event(self.now, &Event::Count { task, units }),
            Action::Record { series, time } => {
                return self.observer.event(self.now, &Event::Record { task, series, time });
            }
            Action::SemWait(sem) if self.objects.take_semaphore(sem) => return self.done_at_once(task),
            Action::Lock(mutex) if self.objects.take_mutex(mutex, task) => return self.done_at_once(task),
            Action::Unlock(mutex) if self.objects.release_uncontended(mutex) => {
                return self.done_at_once(task);
            }
            Action::Sleep(d) => (c.sleep, Op::SleepUntil(self.now.saturating_add(d))),
            Action::SleepUntil(at) if at <= self.now => return self.done_at_once(task),
            Action::SleepUntil(at) => (c.sleep, Op::SleepUntil(at)),
            Action::Io(d) => (c.sleep, Op::Io(self.now.saturating_add(d))),
            Action::PipeWrite { pipe, bytes } => {
                (c.pipe_transfer(bytes), Op::Pipe { pipe, side: Side::Write, left: bytes, slept: false })
            }
            Action::PipeRead { pipe, bytes } => {
                (c.pipe_transfer(bytes), Op::Pipe { pipe, side: Side::Read, left: bytes, slept: false })
            }
            Action::Send { socket, bytes } => {
                let to = self.objects.sockets[socket.index()].peer;
                (
                    c.send_call(&self.objects.sockets[to.index()], bytes),
                    Op::Send { socket, left: bytes, slept: false },
                )
            }
            Action::Receive { socket, max } => (Nanos::ZERO, Op::Receive { socket, max, slept: false }),
            Action::Shutdown(socket) => (Nanos::ZERO, Op::Shutdown(socket)),
            Action::EpollPost(epoll) => (c.futex, Op::EpollPost(epoll)),
            Action::EpollWait { epoll, timeout } => {
                let timeout = timeout.map(|after| self.poll_timeout(task, after));
                (c.futex, Op::EpollWait { epoll, timeout })
            }
            Action::SemPost { sem, n } => (c.futex, Op::SemPost { sem, n, stay: false }),
            Action::SemPostAndStay { sem, n } => (c.futex, Op::SemPost { sem, n, stay: true }),
            Action::SemWait(sem) => (c.futex, Op::SemWait(sem)),
            Action::Lock(mutex) => (c.futex, Op::Lock(mutex)),
            Action::Unlock(mutex) => (c.futex, Op::Unlock(mutex)),
            Action::CondWait { condition, mutex } => (c.futex, Op::CondWait { condition, mutex }),
            Action::Signal(condition) => (c.futex, Op::Notify(condition, 1)),
            Action::Broadcast(condition) => (c.futex, Op::Notify(condition, u32::MAX)),
            Action::TimerWait { timer, period, missed } => {
                match self.objects.timers[timer.index()].next(period, missed, self.now) {
                    Some(at) => (c.sleep, Op::SleepUntil(at)),
                    None => return self.done_at_once(task),
                }
            }
            Action::Barrier(barrier) => (c.futex, Op::Barrier(barrier)),
            Action::WaitChild => (Nanos::ZERO, Op::WaitChild),
            Action::WaitChildren => (Nanos::ZERO, Op::WaitChildren),
            Action::Fork(_) | Action::Thread(_) | Action::Vfork(_) => (c.fork, Op::Kernel(action)),
            Action::Exec { .. } if self.cpus.len() > 1 => (Nanos::ZERO, Op::SchedExec(action)),
            Action::Exec { .. } => (c.exec, Op::Kernel(action)),
            Action::SetNice(_) | Action::SetPolicy(_) | Action::SetAffinity(_) | Action::MoveToGroup(_) => {
                (c.sched_setattr, Op::Kernel(action))
            }
            Action::SetSiblingsAffinity(_) => {
                let calls = self.living_siblings(task).count() as u64;
                (Nanos(c.sched_setattr.0.saturating_mul(calls)), Op::Kernel(action))
            }
            Action::SetTimerSlack(_) | Action::Yield => (Nanos::ZERO, Op::Kernel(action)),
            Action::Exit => (c.exit, Op::Exit),
        };
        self.enter(task, c.syscall_entry + op.0, Then::Attempt(op.1));
    }

    /// Nothing is left to do; a task that had stayed in the kernel returns to user mode.
    fn done_at_once(&mut self, task: TaskId) {
        if self.tasks[task.index()].in_kernel {
            self.enter(task, Nanos::ZERO, Then::Return);
        }
    }

    /// Effects on the scheduler itself.
    pub(super) fn kernel_call(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        action: Action,
    ) -> Result<Attempt, SimError> {
        match action {
            Action::Fork(child) => {
                self.fork(task, *child)?;
                return Ok(Attempt::Done(self.wake_cost(1)));
            }
            Action::Thread(child) => {
                let child = self.fork(task, *child)?;
                self.share_process(task, child);
                return Ok(Attempt::Done(self.wake_cost(1)));
            }
            Action::Vfork(child) => {
                let child = self.fork(task, *child)?;
                self.tasks[child.index()].vforked_by = Some(task);
                return Ok(Attempt::Then(self.wake_cost(1), Op::VforkWait(child)));
            }
            Action::Exec { name } => {
                self.infos[task.index()].name = name;
                self.tell_identity(task);
                self.observer.event(self.now, &Event::Exec { task });
                let woken = self.release_vfork(cpu, task);
                return Ok(Attempt::Done(self.wake_cost(u32::from(woken))));
            }
            Action::MoveToGroup(group) => {
                self.kernel.attach_to_group(task, group, self.now, &mut self.observer);
            }
            Action::SetTimerSlack(slack) => self.set_timer_slack(task, slack),
            Action::Yield => {
                self.kernel.sched_yield(cpu, self.now, &mut self.observer);
                let back = self.cost().syscall_exit;
                self.enter(task, back, Then::Return);
                return Ok(Attempt::Yield(Then::Return));
            }
            Action::SetNice(nice) => {
                self.kernel.set_user_nice(task, nice, self.now, &mut self.observer);
                self.tell_identity(task);
            }
            Action::SetPolicy(policy) => self.kernel.set_policy(task, policy, self.now, &mut self.observer),
            Action::SetAffinity(mask) => {
                self.observer.affinity(task, &mask);
                self.kernel.set_cpus_allowed(task, &mask, self.now, &mut self.observer);
            }
            Action::SetSiblingsAffinity(mask) => {
                let siblings: Vec<TaskId> = self.living_siblings(task).collect();
                for sibling in siblings {
                    self.observer.affinity(sibling, &mask);
                    self.kernel.set_cpus_allowed(sibling, &mask, self.now, &mut self.observer);
                }
            }
            _ => unreachable!("only calls that change the scheduler come here"),
        }
        Ok(Attempt::Done(Nanos::ZERO))
    }

    /// The children of a task's parent that have not ended, the task among them, oldest first.
    fn living_siblings(&self, task: TaskId) -> impl Iterator<Item = TaskId> + '_ {
        let parent = self.infos[task.index()].parent;
        let living =
            self.infos.iter().enumerate().filter(move |(_, t)| t.parent == parent && t.is_unfinished());
        living.map(|(i, _)| TaskId::new(i))
    }

    fn fork(&mut self, parent: TaskId, spec: ChildSpec) -> Result<TaskId, SimError> {
        if self.infos.len() >= self.config.limits.tasks as usize {
            let by = self.infos[parent.index()].path.clone();
            return Err(SimError::Tasks { limit: self.config.limits.tasks, by });
        }
        let child = self.kernel.sched_fork(parent, self.now, &mut self.observer);
        self.push_exec(spec.program, spec.name, spec.path, Some(parent), self.now);
        self.tasks[parent.index()].children += 1;
        let first = self.cost().fork_child + self.cost().syscall_exit;
        self.enter(child, first, Then::Return);
        self.kernel.wake_up_new_task(child, self.now, &mut self.observer);
        Ok(child)
    }

    /// A child that was vforked lets its parent go on; true if that was so.
    ///
    /// Mirrors: `complete_vfork_done()`.
    fn release_vfork(&mut self, cpu: CpuId, child: TaskId) -> bool {
        let parent = self.tasks[child.index()].vforked_by.take();
        if let Some(parent) = parent {
            self.wake(parent, cpu, Some(child));
        }
        parent.is_some()
    }

    /// The task ends: its parent hears of it, then the task leaves its CPU for good.
    pub(super) fn exit(&mut self, cpu: CpuId, task: TaskId) -> Attempt {
        self.alive -= 1;
        self.release_vfork(cpu, task);
        self.kernel.begin_exit(task, self.now, &mut self.observer);
        self.infos[task.index()].end = Some(self.now);
        if let Some(parent) = self.tasks[task.index()].parent {
            let p = &mut self.tasks[parent.index()];
            p.children -= 1;
            p.zombies += 1;
            if std::mem::take(&mut p.waits_for_child) {
                // Synchronous, but placement does not heed that from a waker that exits.
                self.wake(parent, cpu, Some(task));
            }
        }
        self.kernel.set_dead(task);
        Attempt::Gone
    }
}
