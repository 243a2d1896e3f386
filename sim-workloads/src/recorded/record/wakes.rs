//! Wake-ups and forks.

use super::Recorder;
use crate::recorded::error::TraceError;
use crate::recorded::event::{Context, Event, Task};
use crate::recorded::payload::Wake;
use crate::recorded::thread::{Block, Origin, State, Step, Woken};
use crate::recorded::wakers::Waker;

/// The next wake-up of an interrupt follows within this.
const NEXT_WAKE_NS: u64 = 5_000;

impl Recorder {
    /// The task that was current, where it may have done it.
    pub(super) fn waker(&mut self, event: &Event) -> Result<Option<Waker>, TraceError> {
        if event.current.pid == 0 || event.context == Context::Interrupt {
            return Ok(None);
        }
        let thread = self.known(event.current);
        self.ensure_running(thread, event.cpu)?;
        self.run_until(thread, event.at_ns);
        Ok(Some(Waker { thread, context: event.context }))
    }

    pub(super) fn wake(
        &mut self,
        event: &Event,
        wake: Wake,
        task: Task,
        target: Option<u32>,
    ) -> Result<(), TraceError> {
        self.preemptions.wake(event.cpu, event.at_ns, event.context);
        self.waking |= wake == Wake::Waking;
        let new = wake == Wake::New;
        if task.pid == 0 || (event.current.pid == task.pid && !new) {
            self.odd.spurious_wakeups += u64::from(wake != Wake::Waking);
            return Ok(());
        }
        if new && self.by_pid.get(&task.pid).is_none_or(|ix| self.threads[ix.0 as usize].state != State::Born)
        {
            self.fork(event, event.current, task)?;
        }
        let ix = self.known(task);
        let woken = Woken { at: event.at_ns, cpu: event.cpu, idle: event.current.pid == 0 };
        let slept = match self.threads[ix.0 as usize].state {
            State::Born => {
                self.thread(ix).state = State::Runnable { woken: Some(woken) };
                return Ok(());
            }
            State::Blocked { since, .. } => Some(event.at_ns.saturating_sub(since)),
            State::Unknown => {
                let since = self.from.unwrap_or(event.at_ns);
                self.push(ix, Step::Block { since, end: Block::Forever })?;
                None
            }
            State::Runnable { woken: Some(_) } if self.waking && wake == Wake::Wakeup => {
                // `sched_waking` has told; the task is on the queue from now on.
                self.thread(ix).state = State::Runnable { woken: Some(woken) };
                return Ok(());
            }
            State::Runnable { .. } | State::Running { .. } | State::Dead => {
                self.odd.spurious_wakeups += 1;
                return Ok(());
            }
        };
        let at = self.since_interrupt(event);
        let waker = self.waker(event)?;
        self.wakers.note(ix, event.context, waker.map(|w| w.thread), slept);
        match waker {
            Some(waker) => {
                self.end_block(ix, Block::By(at, waker));
                self.push(waker.thread, Step::Wake { wakee: ix, context: event.context })?;
                self.thread(waker.thread).woke = Some((ix, event.at_ns));
            }
            None => self.end_block(ix, Block::Until(at)),
        }
        self.note_prio(ix, task.prio)?;
        self.queued(ix, target.unwrap_or(event.cpu), event.at_ns);
        self.thread(ix).state = State::Runnable { woken: Some(woken) };
        Ok(())
    }

    /// When the interrupt began that wakes: its wake-ups come one after the other, and nobody gets a turn before the last.
    fn since_interrupt(&mut self, event: &Event) -> u64 {
        let at = event.at_ns;
        let Some(here) = self.cpus.get_mut(&event.cpu) else { return at };
        if event.current.pid != 0 && !matches!(event.context, Context::Interrupt | Context::Softirq) {
            return at;
        }
        let goes_on =
            |(first, last): &(u64, u64)| at.saturating_sub(*last) <= NEXT_WAKE_NS && here.switched <= *first;
        let first = here.interrupt.filter(goes_on).map_or(at, |(first, _)| first);
        here.interrupt = Some((first, at));
        first
    }

    /// `parent` makes `child`, if it is the current task.
    pub(super) fn fork(&mut self, event: &Event, parent: Task, child: Task) -> Result<(), TraceError> {
        if child.pid == 0 {
            return Ok(());
        }
        // A child that is current at its own making has been made by somebody the trace does not show.
        let made_here = parent.pid != 0 && parent.pid == event.current.pid && child.pid != parent.pid;
        let origin = if made_here { Origin::Forked } else { Origin::At(event.at_ns) };
        let ix = self.create(child.pid, child.comm, origin, State::Born);
        if made_here {
            let parent = self.known(event.current);
            self.ensure_running(parent, event.cpu)?;
            self.run_until(parent, event.at_ns);
            self.push(parent, Step::Fork(ix))?;
            self.thread(ix).prio = self.thread(parent).prio.map(|(_, now)| (now, now));
        }
        Ok(())
    }
}
