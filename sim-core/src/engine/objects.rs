//! System calls on pipes, futexes and children: what they do to the object, and whom they wake.

use super::Simulation;
use super::actions::Attempt;
use super::config::SimError;
use super::exec::{Op, Then};
use crate::id::{CpuId, MutexId, PipeId, SemId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::PipeWake;
use crate::observe::Observer;
use crate::program::{Action, Objects, Waiters};
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
            Op::PipeWrite { pipe, left } => self.pipe_write(cpu, task, pipe, left),
            Op::PipeRead { pipe, left } => self.pipe_read(cpu, task, pipe, left),
            Op::SemPost { sem, n } => {
                let s = &mut self.objects.semaphores[sem.index()];
                s.value += u64::from(n);
                let mut woken = 0;
                for _ in 0..n {
                    let Some(w) = self.objects.semaphores[sem.index()].waiters.pop_front() else { break };
                    self.wake(w, cpu, Some(task));
                    woken += 1;
                }
                Attempt::Done(self.wake_cost(woken))
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
                let m = &mut self.objects.mutexes[mutex.index()];
                m.owner = None;
                let waiter = m.waiters.pop_front();
                if let Some(w) = waiter {
                    self.wake(w, cpu, Some(task));
                }
                Attempt::Done(self.wake_cost(u32::from(waiter.is_some())))
            }
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
                if at <= self.now {
                    return Ok(Attempt::Done(Nanos::ZERO));
                }
                self.sleep_until(task, at);
                Attempt::Block(Then::Return)
            }
            Op::WaitChild => self.wait_child(task, false),
            Op::WaitChildren => self.wait_child(task, true),
            Op::Kernel(action) => return self.kernel_call(cpu, task, action),
            Op::Exit => self.exit(cpu, task),
        })
    }

    fn wake_cost(&self, woken: u32) -> Nanos {
        Nanos(self.cost().wakeup.0 * u64::from(woken))
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

    /// Mirrors: `pipe_write()`; whom it wakes by version, core.md §12.3.
    fn pipe_write(&mut self, cpu: CpuId, task: TaskId, pipe: PipeId, left: u64) -> Attempt {
        let p = &mut self.objects.pipes[pipe.index()];
        let was_empty = p.filled == 0;
        let put = left.min(p.capacity - p.filled);
        p.filled += put;
        let full = p.filled == p.capacity;
        let woken = if put > 0 { self.pipe_wake(cpu, task, pipe, was_empty, true) } else { 0 };
        let left = left - put;
        if left > 0 {
            self.objects.pipes[pipe.index()].writers.push_back(task);
            return Attempt::Block(Then::Attempt(Op::PipeWrite { pipe, left }));
        }
        let chained = if full { 0 } else { self.pipe_chain(cpu, task, pipe, false) };
        Attempt::Done(self.wake_cost(woken + chained))
    }

    /// Mirrors: `pipe_read()`; whom it wakes by version, core.md §12.3.
    fn pipe_read(&mut self, cpu: CpuId, task: TaskId, pipe: PipeId, left: u64) -> Attempt {
        let p = &mut self.objects.pipes[pipe.index()];
        let was_full = p.filled == p.capacity;
        let got = left.min(p.filled);
        p.filled -= got;
        let empty = p.filled == 0;
        let woken = if got > 0 { self.pipe_wake(cpu, task, pipe, was_full, false) } else { 0 };
        let left = left - got;
        if left > 0 {
            self.objects.pipes[pipe.index()].readers.push_back(task);
            return Attempt::Block(Then::Attempt(Op::PipeRead { pipe, left }));
        }
        let chained = if empty { 0 } else { self.pipe_chain(cpu, task, pipe, true) };
        Attempt::Done(self.wake_cost(woken + chained))
    }

    /// Wakes after progress. `edge`: the pipe was empty before a write, or full before a read.
    fn pipe_wake(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, edge: bool, readers: bool) -> u32 {
        match self.kernel.config.rules.pipe_wake {
            PipeWake::Exclusive if edge => self.pipe_wake_one(cpu, by, pipe, readers),
            PipeWake::AllOnEdge if !edge => 0,
            PipeWake::All | PipeWake::AllOnEdge => {
                let mut woken = 0;
                for readers in [true, false] {
                    let waiting = self.pipe_waiters(pipe, readers).len();
                    woken += (0..waiting).map(|_| self.pipe_wake_one(cpu, by, pipe, readers)).sum::<u32>();
                }
                woken
            }
            PipeWake::Exclusive => 0,
        }
    }

    /// One who leaves data (space) behind wakes the next reader (writer), where waits are exclusive.
    fn pipe_chain(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, readers: bool) -> u32 {
        if self.kernel.config.rules.pipe_wake == PipeWake::Exclusive {
            self.pipe_wake_one(cpu, by, pipe, readers)
        } else {
            0
        }
    }

    fn pipe_wake_one(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, readers: bool) -> u32 {
        let waiter = self.pipe_waiters(pipe, readers).pop_front();
        waiter.into_iter().for_each(|w| self.wake(w, cpu, Some(by)));
        u32::from(waiter.is_some())
    }

    fn pipe_waiters(&mut self, pipe: PipeId, readers: bool) -> &mut Waiters {
        let p = &mut self.objects.pipes[pipe.index()];
        if readers { &mut p.readers } else { &mut p.writers }
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
            Action::SemPost { sem, .. } | Action::SemWait(sem) if sem.index() >= o.semaphores.len() => {
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
            Action::SetNice(n) if !(-20..=19).contains(n) => format!("sets nice {n}: allowed is -20..=19"),
            Action::SetAffinity(m) if m.is_empty() || !m.within(self.config.kernel.cpus) => {
                format!("sets affinity {m}: the machine has CPUs 0-{}", self.config.kernel.cpus - 1)
            }
            _ => return Ok(()),
        };
        Err(SimError::Program { task: self.infos[task.index()].path.clone(), what })
    }
}
