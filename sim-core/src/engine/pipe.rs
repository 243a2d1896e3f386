//! Pipes: what a write or read does, and whom it wakes by version.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use crate::id::{CpuId, PipeId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::PipeWake;
use crate::observe::Observer;
use crate::program::Waiters;

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Writes what fits; a writer that must block has woken a reader before.
    ///
    /// Mirrors: `pipe_write()`; core.md §12.3.
    pub(super) fn pipe_write(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        pipe: PipeId,
        left: u64,
        slept: bool,
    ) -> Attempt {
        let p = &mut self.objects.pipes[pipe.index()];
        let was_empty = p.filled == 0;
        let put = left.min(p.capacity - p.filled);
        p.filled += put;
        let full = p.filled == p.capacity;
        let woken = if put > 0 { self.pipe_wake(cpu, task, pipe, was_empty, true) } else { 0 };
        let left = left - put;
        if left > 0 {
            self.pipe_waiters(pipe, false).push_back(task);
            return Attempt::Block(Then::Attempt(Op::PipeWrite { pipe, left, slept: true }));
        }
        let chained = if slept && !full { self.pipe_chain(cpu, task, pipe, false) } else { 0 };
        Attempt::Done(self.wake_cost(woken + chained))
    }

    /// Reads what is there, until all that was asked for has come.
    ///
    /// Mirrors: `pipe_read()`; core.md §12.3.
    pub(super) fn pipe_read(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        pipe: PipeId,
        left: u64,
        slept: bool,
    ) -> Attempt {
        let p = &mut self.objects.pipes[pipe.index()];
        let was_full = p.filled == p.capacity;
        let got = left.min(p.filled);
        p.filled -= got;
        let empty = p.filled == 0;
        let woken = if got > 0 { self.pipe_wake(cpu, task, pipe, was_full, false) } else { 0 };
        let left = left - got;
        if left > 0 {
            self.pipe_waiters(pipe, true).push_back(task);
            return Attempt::Block(Then::Attempt(Op::PipeRead { pipe, left, slept: true }));
        }
        let chained = if slept && !empty { self.pipe_chain(cpu, task, pipe, true) } else { 0 };
        Attempt::Done(self.wake_cost(woken + chained))
    }

    /// Wakes after progress. `edge`: the pipe was empty before a write, or full before a read.
    fn pipe_wake(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, edge: bool, readers: bool) -> u32 {
        match self.kernel.config.rules.pipe_wake {
            PipeWake::Exclusive if edge => self.pipe_wake_one(cpu, by, pipe, readers),
            PipeWake::AllOnEdge if edge => self.pipe_wake_all(cpu, by, pipe),
            PipeWake::All => self.pipe_wake_all(cpu, by, pipe),
            PipeWake::Exclusive | PipeWake::AllOnEdge => 0,
        }
    }

    /// Wakes all that wait, oldest first. Readers and writers share one queue there, but never wait at once: readers wait
    /// while the pipe is empty, writers while it is full, and either ends with a wake-up of all.
    fn pipe_wake_all(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId) -> u32 {
        let mut woken = 0;
        for readers in [true, false] {
            while self.pipe_wake_one(cpu, by, pipe, readers) > 0 {
                woken += 1;
            }
        }
        woken
    }

    /// One who has waited and leaves data (space) behind wakes the next reader (writer), where waits are exclusive.
    fn pipe_chain(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, readers: bool) -> u32 {
        if self.kernel.config.rules.pipe_wake == PipeWake::Exclusive {
            self.pipe_wake_one(cpu, by, pipe, readers)
        } else {
            0
        }
    }

    fn pipe_wake_one(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, readers: bool) -> u32 {
        let waiter = self.pipe_waiters(pipe, readers).pop_front();
        waiter.into_iter().for_each(|w| self.wake_sync(w, cpu, by));
        u32::from(waiter.is_some())
    }

    fn pipe_waiters(&mut self, pipe: PipeId, readers: bool) -> &mut Waiters {
        let p = &mut self.objects.pipes[pipe.index()];
        if readers { &mut p.readers } else { &mut p.writers }
    }
}
