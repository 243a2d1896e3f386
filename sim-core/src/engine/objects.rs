//! System calls on pipes, futexes and children: what they do to the object, and whom they wake.

use super::Simulation;
use super::actions::Attempt;
use super::config::SimError;
use super::exec::{Op, Then};
use super::sleep::Timeout;
use crate::id::{CpuId, EpollId, MutexId, SemId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::observe::Observer;
use crate::program::{Action, Objects};
use crate::time::Nanos;

impl Objects {
    /// Takes one from a semaphore if it can be had without waiting.
    pub(super) fn take_semaphore(&mut self, sem: SemId) -> bool {
        let s = &mut self.semaphores[sem.index()];
        let free = s.value > 0;
        s.value -= u64::from(free);
        free
    }
    /// Takes a mutex if it is free.
    pub(super) fn take_mutex(&mut self, mutex: MutexId, task: TaskId) -> bool {
        let m = &mut self.mutexes[mutex.index()];
        let free = m.owner.is_none();
        if free {
            m.owner = Some(task);
        }
        free
    }
    /// Releases a mutex nobody waits for.
    pub(super) fn release_uncontended(&mut self, mutex: MutexId) -> bool {
        let m = &mut self.mutexes[mutex.index()];
        if m.waiters.is_empty() {
            m.owner = None;
        }
        m.waiters.is_empty()
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Tries the effect of a system call.
    pub(super) fn attempt(&mut self, cpu: CpuId, task: TaskId, op: Op) -> Result<Attempt, SimError> {
        Ok(match op {
            Op::Pipe { pipe, side, left, slept } => self.pipe_transfer(cpu, task, pipe, side, left, slept),
            Op::Send { socket, left, slept } => self.socket_send(task, socket, left, slept),
            Op::Deliver { socket, bytes, left } => self.socket_deliver(cpu, task, socket, bytes, left),
            Op::Receive { socket, max, slept } => self.socket_receive(cpu, task, socket, max, slept),
            Op::Acknowledge { socket } => self.socket_acknowledge(cpu, task, socket),
            Op::Shutdown(socket) => self.socket_shutdown(cpu, task, socket),
            Op::EpollPost(epoll) => self.epoll_post(cpu, task, epoll),
            Op::EpollWait { epoll, timeout } => self.epoll_wait(task, epoll, timeout),
            Op::VforkWait(child) if self.tasks[child.index()].vforked_by.is_none() => {
                Attempt::Done(Nanos::ZERO)
            }
            Op::VforkWait(child) => Attempt::Block(Then::Attempt(Op::VforkWait(child))),
            Op::SemPost { sem, n, stay } => {
                let s = &mut self.objects.semaphores[sem.index()];
                s.value += u64::from(n);
                let mut woken = 0;
                for _ in 0..n {
                    let Some(w) = self.objects.semaphores[sem.index()].waiters.pop_front() else { break };
                    self.wake(w, cpu, Some(task));
                    woken += 1;
                }
                let more = self.wake_cost(woken);
                if stay { Attempt::Stay(more) } else { Attempt::Done(more) }
            }
            Op::SemWait(sem) => {
                if self.objects.take_semaphore(sem) {
                    return Ok(Attempt::Done(Nanos::ZERO));
                }
                self.objects.semaphores[sem.index()].waiters.push_back(task);
                Attempt::Block(Then::Attempt(Op::SemWait(sem)))
            }
            Op::Lock(mutex) => {
                if self.objects.take_mutex(mutex, task) {
                    return Ok(Attempt::Done(Nanos::ZERO));
                }
                self.objects.mutexes[mutex.index()].waiters.push_back(task);
                Attempt::Block(Then::Attempt(Op::Lock(mutex)))
            }
            Op::Unlock(mutex) => {
                let woken = self.unlock(cpu, task, mutex);
                Attempt::Done(self.wake_cost(u32::from(woken)))
            }
            Op::Kthread(row) => self.kthread_done(row),
            Op::Softirqd(cpu) => self.ksoftirqd(cpu),
            Op::Vcpu(vcpu) => self.vcpu_out_of_guest(cpu, vcpu),
            Op::CondWait { condition, mutex } => self.cond_wait(cpu, task, condition, mutex),
            Op::Notify(condition, most) => self.notify(cpu, task, condition, most),
            Op::Barrier(barrier) => {
                let b = &mut self.objects.barriers[barrier.index()];
                b.arrived += 1;
                if b.arrived < b.parties {
                    b.waiters.push_back(task);
                    return Ok(Attempt::Block(Then::Return));
                }
                b.arrived = 0;
                let woken = b.waiters.len() as u32;
                for _ in 0..woken {
                    if let Some(w) = self.objects.barriers[barrier.index()].waiters.pop_front() {
                        self.wake(w, cpu, Some(task));
                    }
                }
                Attempt::Done(self.wake_cost(woken))
            }
            Op::SleepUntil(at) => {
                if at.saturating_add(self.tasks[task.index()].timer_slack) <= self.now {
                    return Ok(Attempt::Done(Nanos::ZERO));
                }
                let slack = self.tasks[task.index()].timer_slack;
                self.set_timer(task, Timeout { from: at, slack });
                Attempt::Block(Then::Return)
            }
            Op::Io(at) => {
                if at <= self.now {
                    return Ok(Attempt::Done(Nanos::ZERO));
                }
                self.kernel.set_in_iowait(task);
                self.set_device(task, at);
                Attempt::Block(Then::Return)
            }
            Op::WaitChild => self.wait_child(task, false),
            Op::WaitChildren => self.wait_child(task, true),
            Op::Stopper => self.stopper_done(cpu),
            Op::SchedExec(action) => self.sched_exec(task, action),
            Op::Kernel(action) => return self.kernel_call(cpu, task, action),
            Op::Exit => self.exit(cpu, task),
        })
    }

    /// Releases a mutex; true if a task that waits for it was woken.
    pub(super) fn unlock(&mut self, cpu: CpuId, task: TaskId, mutex: MutexId) -> bool {
        let m = &mut self.objects.mutexes[mutex.index()];
        m.owner = None;
        let waiter = m.waiters.pop_front();
        if let Some(w) = waiter {
            self.wake(w, cpu, Some(task));
        }
        waiter.is_some()
    }

    /// An event becomes ready: one waiter wakes, the one that came last (not certain: core.md §12.3).
    fn epoll_post(&mut self, cpu: CpuId, task: TaskId, epoll: EpollId) -> Attempt {
        let e = &mut self.objects.epolls[epoll.index()];
        e.ready = e.ready.saturating_add(1);
        let waiter = e.waiters.pop_back();
        if let Some(w) = waiter {
            self.cancel_timer(w);
            self.wake(w, cpu, Some(task));
        }
        Attempt::Done(self.wake_cost(u32::from(waiter.is_some())))
    }

    /// Takes an event, or waits for one until the timeout, whose timer takes the task out of the waiters.
    fn epoll_wait(&mut self, task: TaskId, epoll: EpollId, timeout: Option<Timeout>) -> Attempt {
        let e = &mut self.objects.epolls[epoll.index()];
        if e.ready > 0 {
            e.ready -= 1;
            return Attempt::Done(Nanos::ZERO);
        }
        if timeout.is_some_and(|t| t.from <= self.now) {
            return Attempt::Done(Nanos::ZERO);
        }
        e.waiters.push_back(task);
        timeout.into_iter().for_each(|t| self.set_timer(task, t));
        Attempt::Block(Then::Attempt(Op::EpollWait { epoll, timeout }))
    }

    /// A timer ends what a task waits for: nobody else wakes it any more.
    pub(super) fn leave_waiters(&mut self, task: TaskId) {
        if let Then::Attempt(Op::EpollWait { epoll, .. }) = self.tasks[task.index()].then {
            self.objects.epolls[epoll.index()].waiters.retain(|w| *w != task);
        }
    }

    /// What waking so many took the waker, the search for their CPUs included.
    pub(super) fn wake_cost(&mut self, woken: u32) -> Nanos {
        Nanos(self.cost().wakeup.0 * u64::from(woken)) + self.kernel.take_work()
    }

    fn wait_child(&mut self, task: TaskId, all: bool) -> Attempt {
        let t = &mut self.tasks[task.index()];
        if all {
            t.zombies = 0;
        }
        if t.zombies > 0 {
            t.zombies -= 1;
            return Attempt::Done(Nanos::ZERO);
        }
        if t.children == 0 {
            return Attempt::Done(Nanos::ZERO);
        }
        t.waits_for_child = true;
        Attempt::Block(Then::Attempt(if all { Op::WaitChildren } else { Op::WaitChild }))
    }

    /// Refuses actions on what does not exist, and releases of what is not held.
    pub(super) fn check_action(&self, task: TaskId, action: &Action) -> Result<(), SimError> {
        let o = &self.objects;
        let what = match action {
            Action::PipeWrite { pipe, .. } | Action::PipeRead { pipe, .. }
                if pipe.index() >= o.pipes.len() =>
            {
                "uses a pipe that does not exist".to_owned()
            }
            Action::Send { socket: s, .. } | Action::Receive { socket: s, .. } | Action::Shutdown(s)
                if s.index() >= o.sockets.len() =>
            {
                "uses a socket that does not exist".to_owned()
            }
            Action::Send { bytes: 0, .. } | Action::Receive { max: 0, .. } => {
                "sends or receives nothing: at least 1 byte is allowed".to_owned()
            }
            Action::SemPost { sem, .. } | Action::SemPostAndStay { sem, .. } | Action::SemWait(sem)
                if sem.index() >= o.semaphores.len() =>
            {
                "uses a semaphore that does not exist".to_owned()
            }
            Action::Lock(m) | Action::Unlock(m) if m.index() >= o.mutexes.len() => {
                "uses a mutex that does not exist".to_owned()
            }
            Action::Lock(m) if o.mutexes[m.index()].owner == Some(task) => {
                format!("locks mutex '{}', which it holds already", o.mutexes[m.index()].name)
            }
            Action::Unlock(m) if o.mutexes[m.index()].owner != Some(task) => {
                format!("unlocks mutex '{}', which it does not hold", o.mutexes[m.index()].name)
            }
            Action::Barrier(b) if b.index() >= o.barriers.len() => {
                "uses a barrier that does not exist".to_owned()
            }
            Action::CondWait { condition: c, .. } | Action::Signal(c) | Action::Broadcast(c)
                if c.index() >= o.conditions.len() =>
            {
                "uses a condition variable that does not exist".to_owned()
            }
            Action::CondWait { mutex: Some(m), .. }
                if o.mutexes.get(m.index()).is_none_or(|m| m.owner != Some(task)) =>
            {
                let name = o.mutexes.get(m.index()).map_or("?", |m| m.name.as_str());
                format!("waits for a condition with mutex '{name}', which it does not hold")
            }
            Action::TimerWait { timer, .. } if timer.index() >= o.timers.len() => {
                "uses a timer that does not exist".to_owned()
            }
            Action::EpollPost(e) | Action::EpollWait { epoll: e, .. } if e.index() >= o.epolls.len() => {
                "uses an epoll instance that does not exist".to_owned()
            }
            Action::MoveToGroup(g) if g.index() >= self.kernel.nr_groups() => {
                "moves to a group that does not exist".to_owned()
            }
            Action::Record { series, .. } if *series >= Action::MAX_SERIES => {
                format!("records series {series}: allowed are those below {}", Action::MAX_SERIES)
            }
            Action::SetNice(n) if !(-20..=19).contains(n) => format!("sets nice {n}: allowed is -20..=19"),
            Action::SetAffinity(m) | Action::SetSiblingsAffinity(m) if !self.may_be_affinity(m) => {
                format!("sets affinity {m}: online are CPUs {}", self.kernel.topology().online())
            }
            _ => return Ok(()),
        };
        Err(SimError::Program { task: self.infos[task.index()].path.clone(), what })
    }
}
