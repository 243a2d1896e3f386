//! Pipes: what a write or read does, and whom it wakes by version.

use super::Simulation;
use super::actions::Attempt;
use super::exec::{Op, Then};
use crate::id::{CpuId, PipeId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::rules::PipeWake;
use crate::observe::Observer;
use crate::program::{Pages, Pipe, Waiters};

/// What a task does with a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Read,
    Write,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Read => Side::Write,
            Side::Write => Side::Read,
        }
    }
}

impl Pipe {
    /// How many bytes one side could move now: what is there, or what there is room for.
    fn open_to(&self, side: Side) -> u64 {
        match side {
            Side::Read => self.filled,
            Side::Write => self.pages.as_ref().map_or(self.capacity - self.filled, Pages::room),
        }
    }

    /// Moves bytes in or out.
    fn move_bytes(&mut self, side: Side, bytes: u64) {
        match side {
            Side::Read => self.filled -= bytes,
            Side::Write => self.filled += bytes,
        }
        let left = self.filled;
        match (&mut self.pages, side) {
            (Some(pages), Side::Read) => pages.read(bytes, left),
            (Some(pages), Side::Write) => pages.write(bytes),
            (None, _) => {}
        }
    }

    fn waiters(&mut self, side: Side) -> &mut Waiters {
        match side {
            Side::Read => &mut self.readers,
            Side::Write => &mut self.writers,
        }
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Moves what can be moved, and wakes the other side; waits until the rest can. `slept`: it has waited in this call.
    ///
    /// Mirrors: `pipe_write()`, `pipe_read()`; core.md §12.3.
    pub(super) fn pipe_transfer(
        &mut self,
        cpu: CpuId,
        task: TaskId,
        pipe: PipeId,
        side: Side,
        left: u64,
        slept: bool,
    ) -> Attempt {
        let p = &mut self.objects.pipes[pipe.index()];
        // Nothing there before a write, no room before a read.
        let edge = p.open_to(side.other()) == 0;
        let moved = left.min(p.open_to(side));
        p.move_bytes(side, moved);
        let more = p.open_to(side) > 0;
        let woken = if moved > 0 { self.pipe_wake(cpu, task, pipe, side.other(), edge) } else { 0 };
        let left = left - moved;
        if left > 0 {
            self.objects.pipes[pipe.index()].waiters(side).push_back(task);
            return Attempt::Block(Then::Attempt(Op::Pipe { pipe, side, left, slept: true }));
        }
        let chained = if slept && more { self.pipe_chain(cpu, task, pipe, side) } else { 0 };
        Attempt::Done(self.wake_cost(woken + chained))
    }

    /// Wakes one side after progress of the other. `edge`: the pipe was empty before a write, or full before a read.
    fn pipe_wake(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, side: Side, edge: bool) -> u32 {
        match self.kernel.config.rules.pipe_wake {
            PipeWake::Exclusive if edge => self.pipe_wake_one(cpu, by, pipe, side),
            PipeWake::AllOnEdge if edge => self.pipe_wake_all(cpu, by, pipe),
            PipeWake::All => self.pipe_wake_all(cpu, by, pipe),
            PipeWake::Exclusive | PipeWake::AllOnEdge => 0,
        }
    }

    /// Wakes all that wait, oldest first. Readers and writers share one queue there, but never wait at once: readers wait
    /// while the pipe is empty, writers while it is full, and either ends with a wake-up of all.
    fn pipe_wake_all(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId) -> u32 {
        let mut woken = 0;
        for side in [Side::Read, Side::Write] {
            while self.pipe_wake_one(cpu, by, pipe, side) > 0 {
                woken += 1;
            }
        }
        woken
    }

    /// One who has waited and leaves data (space) behind wakes the next reader (writer), where waits are exclusive.
    fn pipe_chain(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, side: Side) -> u32 {
        if self.kernel.config.rules.pipe_wake == PipeWake::Exclusive {
            self.pipe_wake_one(cpu, by, pipe, side)
        } else {
            0
        }
    }

    fn pipe_wake_one(&mut self, cpu: CpuId, by: TaskId, pipe: PipeId, side: Side) -> u32 {
        let waiter = self.objects.pipes[pipe.index()].waiters(side).pop_front();
        waiter.into_iter().for_each(|w| self.wake_sync(w, cpu, by));
        u32::from(waiter.is_some())
    }
}
