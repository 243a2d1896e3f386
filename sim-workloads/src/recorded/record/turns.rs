//! Who has which CPU.

use super::Recorder;
use crate::recorded::error::TraceError;
use crate::recorded::event::{Event, Task};
use crate::recorded::state::Left;
use crate::recorded::thread::{Block, State, Step, ThreadIx};

/// A wake-up that preempts does so within this: the rest of the interrupt's or system call's path.
const AT_ONCE_NS: u64 = 50_000;

/// What was on a CPU before a switch.
pub(super) enum Before {
    Idle,
    Preempted,
    Left,
}

impl Recorder {
    /// Makes what is known of a CPU fit that this thread has it.
    pub(super) fn ensure_running(&mut self, ix: ThreadIx, cpu: u32) -> Result<(), TraceError> {
        let here = self.cpus[&cpu];
        if let Some(other) = here.curr.filter(|other| *other != ix) {
            self.odd.missing_switches += 1;
            self.run_until(other, here.last);
            self.thread(other).state = State::Unknown;
        }
        let since = match self.threads[ix.0 as usize].state {
            State::Running { cpu: on, .. } if on == cpu => {
                return Ok(());
            }
            _ if here.curr.is_some_and(|other| other != ix) => here.last,
            State::Unknown => here.switched,
            State::Born | State::Runnable { .. } | State::Dead => {
                self.odd.missing_switches += 1;
                here.switched
            }
            State::Running { cpu: on, since } => {
                self.odd.missing_switches += 1;
                let last = self.cpus.get(&on).map_or(since, |c| c.last);
                self.run_until(ix, last);
                if let Some(left) = self.cpus.get_mut(&on) {
                    left.curr = None;
                }
                here.last
            }
            State::Blocked { unsure, since } => {
                let from = here.switched.max(since);
                self.unseen_wakeup(ix, from, unsure)?;
                from
            }
        };
        let thread = self.thread(ix);
        thread.state = State::Running { cpu, since };
        thread.first_cpu.get_or_insert(cpu);
        thread.on = Some(cpu);
        self.cpus.entry(cpu).or_default().curr = Some(ix);
        Ok(())
    }

    /// A thread that waited goes on though nothing woke it.
    pub(super) fn unseen_wakeup(&mut self, ix: ThreadIx, at: u64, unsure: bool) -> Result<(), TraceError> {
        if unsure {
            // It had been preempted.
            if matches!(self.thread(ix).steps.last(), Some(Step::Block { .. })) {
                self.thread(ix).steps.pop();
                self.steps -= 1;
            }
            return Ok(());
        }
        self.odd.missing_wakeups += 1;
        self.end_block(ix, Block::Until(at));
        Ok(())
    }

    pub(super) fn end_block(&mut self, ix: ThreadIx, how: Block) {
        if let Some(Step::Block { end, .. }) = self.thread(ix).steps.last_mut() {
            *end = how;
        }
    }

    pub(super) fn switch(
        &mut self,
        event: &Event,
        prev: Task,
        left: Left,
        next: Task,
    ) -> Result<(), TraceError> {
        let (at, cpu) = (event.at_ns, event.cpu);
        self.switches += 1;
        if prev.pid != 0 {
            let ix = self.known(prev);
            self.ensure_running(ix, cpu)?;
            self.run_until(ix, at);
            self.note_prio(ix, prev.prio)?;
            self.leave(ix, at, left)?;
            if left == Left::Runnable && next.pid != 0 {
                self.preemptions.switch(cpu, at);
            }
        } else if let Some(other) = self.cpus[&cpu].curr {
            self.odd.missing_switches += 1;
            self.run_until(other, self.cpus[&cpu].last);
            self.thread(other).state = State::Unknown;
        }
        let gave_way = (left == Left::Runnable && prev.pid != 0).then(|| self.known(prev));
        let before = match left {
            _ if prev.pid == 0 => Before::Idle,
            Left::Runnable => Before::Preempted,
            _ => Before::Left,
        };
        let curr = if next.pid == 0 { None } else { Some(self.arrive(next, before, at, cpu)?) };
        if let (Some(waker), Some(wakee)) = (gave_way, curr) {
            let at_once = |(woken, since): (ThreadIx, u64)| woken == wakee && at - since <= AT_ONCE_NS;
            self.thread(wakee).over = self.thread(waker).woke.is_some_and(at_once).then_some(waker);
        }
        let here = self.cpus.entry(cpu).or_default();
        (here.curr, here.switched) = (curr, at);
        Ok(())
    }

    /// A task is about to wait. If one that woke it gave way to it and has waited since, that one does not wait for an answer
    /// only because the answer is there when it goes on: in another order it would. Deviates: D-213.
    fn answer(&mut self, ix: ThreadIx) -> Result<(), TraceError> {
        let Some(waker) = self.thread(ix).over.take() else { return Ok(()) };
        let gave_way = matches!(self.threads[waker.0 as usize].state, State::Runnable { woken: None });
        if gave_way && self.thread(waker).woke.is_some_and(|(woken, _)| woken == ix) {
            self.push(ix, Step::Answer { to: waker })?;
            self.push(waker, Step::Await { from: ix })?;
        }
        Ok(())
    }

    pub(super) fn leave(&mut self, ix: ThreadIx, at: u64, left: Left) -> Result<(), TraceError> {
        let counts = &mut self.thread(ix).counts;
        match left {
            Left::Runnable => counts.involuntary += 1,
            _ => counts.voluntary += 1,
        }
        if left == Left::Blocked {
            self.answer(ix)?;
        }
        self.thread(ix).state = match left {
            Left::Runnable => State::Runnable { woken: None },
            Left::Dead => State::Dead,
            Left::Blocked | Left::Unsure => {
                self.push(ix, Step::Block { since: at, end: Block::Forever })?;
                State::Blocked { since: at, unsure: left == Left::Unsure }
            }
        };
        Ok(())
    }

    pub(super) fn arrive(
        &mut self,
        next: Task,
        before: Before,
        at: u64,
        cpu: u32,
    ) -> Result<ThreadIx, TraceError> {
        let ix = self.known(next);
        match self.threads[ix.0 as usize].state {
            State::Runnable { woken: Some(woken) } => {
                let ns = at.saturating_sub(woken.at);
                self.waits.add(ns);
                match before {
                    Before::Idle if woken.idle => self.idle_exits.add(ns),
                    Before::Idle if woken.cpu != cpu => self.kicks.add(ns),
                    Before::Preempted if !woken.idle && ns <= AT_ONCE_NS => self.preempting.add(ns),
                    _ => {}
                }
                let counts = &mut self.thread(ix).counts;
                counts.waits += 1;
                counts.wait_ns += ns;
                counts.longest_ns = counts.longest_ns.max(ns);
            }
            State::Blocked { unsure, .. } => self.unseen_wakeup(ix, at, unsure)?,
            State::Running { cpu: on, .. } => {
                self.odd.missing_switches += 1;
                let last = self.cpus.get(&on).map_or(at, |c| c.last);
                self.run_until(ix, last);
                if let Some(left) = self.cpus.get_mut(&on).filter(|c| c.curr == Some(ix)) {
                    left.curr = None;
                }
            }
            _ => {}
        }
        self.note_prio(ix, next.prio)?;
        self.picked(ix, cpu);
        self.thread(ix).woke = None;
        let thread = self.thread(ix);
        thread.state = State::Running { cpu, since: at };
        thread.first_cpu.get_or_insert(cpu);
        thread.on = Some(cpu);
        Ok(ix)
    }

    /// Events of a CPU were lost: nothing is known of it until the next.
    pub(super) fn lost(&mut self, cpu: u32) {
        let here = self.cpus.entry(cpu).or_default();
        let (curr, last) = (here.curr.take(), here.last);
        here.seen = false;
        if let Some(curr) = curr {
            self.run_until(curr, last);
            self.thread(curr).state = State::Unknown;
        }
    }
}
