//! Writes the steps of a thread as a text program.

use super::clock::TICK_TO_SWITCH_NS;
use super::thread::{Block, Step, ThreadIx};
use super::wakers::Waker;
use super::write::{Sleeps, Writer, number, plain, time};
use crate::units::MAX_NAME;
use std::fmt::Write;

/// A wake-up so long after a tick is one of the tick's own interrupt: timers of the wheel expire with ticks.
const OF_THE_TICK_NS: u64 = 8_000;

/// Softirqs run behind the tick's own work, and before the switch.
const BEHIND_THE_TICK_NS: u64 = TICK_TO_SWITCH_NS / 2;

/// Deepest chain of forks written within each other; children below it start by themselves.
const MAX_FORKS: usize = 40;

impl Writer<'_> {
    pub(super) fn steps(&mut self, ix: ThreadIx, depth: usize, out: &mut String) {
        self.written.tasks += 1;
        self.reached[ix.0 as usize] = true;
        let at = "  ".repeat(depth);
        let thread = self.thread(ix);
        let (mut empty, mut run, mut woke) = (true, 0, false);
        for step in &thread.steps {
            // What lies between two runs may turn out to be nothing.
            if let Step::Run(ns) = step {
                run += ns;
            }
            if !self.says(ix, step) {
                continue;
            }
            self.run(std::mem::take(&mut run), woke, &at, out);
            self.step(ix, *step, depth, &at, out);
            (empty, woke) = (false, matches!(step, Step::Wake { .. } | Step::Answer { .. }));
        }
        self.run(run, woke, &at, out);
        if run == 0 && empty {
            let _ = writeln!(out, "{at}exit");
        }
    }

    /// A run. After a wake-up a task is in the kernel for as long as it takes to give way; what is hardly longer is all of the
    /// same system call.
    fn run(&self, ns: u64, woke: bool, at: &str, out: &mut String) {
        let (in_kernel, rest) = match self.wake_path_ns {
            path if woke && ns > 2 * path => (path, ns - path),
            _ => (0, ns),
        };
        if in_kernel > 0 {
            let _ = writeln!(out, "{at}kernel {}", time(in_kernel));
        }
        if rest > 0 {
            let _ = writeln!(out, "{at}run {}", time(rest));
        }
    }

    /// Whether a step is one in the program beside runs, which are summed up.
    fn says(&self, ix: ThreadIx, step: &Step) -> bool {
        match *step {
            Step::Run(_) | Step::Block { end: Block::Forever, .. } => false,
            Step::Wake { wakee, context } => self.caused(wakee, Waker { thread: ix, context }),
            Step::Answer { to: other } | Step::Await { from: other } => {
                self.recorder.wakers.answer(ix, other)
            }
            _ => true,
        }
    }

    fn step(&mut self, ix: ThreadIx, step: Step, depth: usize, at: &str, out: &mut String) {
        let _ = match step {
            Step::Run(_) => Ok(()),
            Step::Block { since, end } => return self.block(ix, since, end, at, out),
            Step::Wake { wakee, .. } => writeln!(out, "{at}post {} stay", self.pair(ix, wakee)),
            Step::Answer { to } => writeln!(out, "{at}post {} stay", self.pair(ix, to)),
            Step::Await { from } => writeln!(out, "{at}wait {}", self.pair(from, ix)),
            Step::Fork(child) => return self.fork(child, depth, at, out),
            Step::Prio(prio) => self.nice(Some(prio)).map_or(Ok(()), |nice| writeln!(out, "{at}nice {nice}")),
            Step::Exec(comm) => writeln!(out, "{at}exec {:.MAX_NAME$}", plain(self.names.text(comm))),
        };
    }

    fn block(&mut self, ix: ThreadIx, since: u64, end: Block, at: &str, out: &mut String) {
        let until = match end {
            Block::By(_, waker) if self.caused(ix, waker) => {
                self.written.woken += 1;
                let _ = writeln!(out, "{at}wait {}", self.pair(waker.thread, ix));
                return;
            }
            Block::By(until, _) | Block::Until(until) => until,
            Block::Forever => return,
        };
        self.written.timers += 1;
        let until = self.with_tick(until);
        let _ = match self.sleeps {
            Sleeps::Absolute => writeln!(out, "{at}sleep_until {}", time(self.since_start(until))),
            Sleeps::Relative => writeln!(out, "{at}sleep {}", time(until.saturating_sub(since))),
        };
    }

    /// When a wake-up happened; those of a tick's interrupt come behind the tick's own work and before its switch.
    fn with_tick(&self, at: u64) -> u64 {
        let Some(ticks) = self.ticks else { return at };
        let after = (at + ticks.period() - ticks.tick_ns()) % ticks.period();
        if after <= OF_THE_TICK_NS { at - after + BEHIND_THE_TICK_NS } else { at }
    }

    fn fork(&mut self, child: ThreadIx, depth: usize, at: &str, out: &mut String) {
        if self.reached[child.0 as usize] {
            return;
        }
        if depth >= MAX_FORKS {
            self.written.deep += 1;
            self.later.push(child);
            return;
        }
        let _ = writeln!(out, "{at}fork {} {{", self.name(child));
        self.steps(child, depth + 1, out);
        let _ = writeln!(out, "{at}}}");
    }

    /// The semaphore by which one thread wakes another.
    fn pair(&self, waker: ThreadIx, wakee: ThreadIx) -> String {
        format!("{}:{}", number(self.thread(waker)), number(self.thread(wakee)))
    }
}
