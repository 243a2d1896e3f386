//! Timers of tasks: sleeps and timeouts, and their slack.

use super::Simulation;
use super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::kernel::runqueue::ROOM;
use crate::observe::Observer;
use crate::time::{Instant, Nanos};

/// When a timer may fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Timeout {
    /// Not before.
    pub(super) from: Instant,
    /// How much later at most.
    pub(super) slack: Nanos,
}

/// The longest slack of a timeout of `epoll_wait`, `poll` and `select`; core.md §12.2.
const MAX_POLL_SLACK: Nanos = Nanos::from_millis(100);

/// A timer that may fire from `from` on.
#[derive(Debug, Clone, Copy)]
struct Sleeper {
    from: Instant,
    task: TaskId,
    generation: u32,
}

/// The timers of one CPU by the time from which they may fire, latest first.
#[derive(Debug, Default)]
pub(super) struct Sleepers(Vec<Sleeper>);

impl Sleepers {
    pub(super) fn with_room() -> Sleepers {
        Sleepers(Vec::with_capacity(ROOM))
    }

    fn insert(&mut self, s: Sleeper) {
        let at = self.0.partition_point(|other| other.from > s.from);
        self.0.insert(at, s);
    }

    /// Takes out the timer that may fire first, if it may now.
    fn pop(&mut self, now: Instant) -> Option<Sleeper> {
        self.0.pop_if(|s| s.from <= now)
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// Sets a task's timer. The hardware is set for the end of the slack; an earlier timer
    /// interrupt of this CPU within it will do as well.
    ///
    /// Mirrors: `hrtimer_set_expires_range_ns()`; core.md §12.2.
    pub(super) fn set_timer(&mut self, task: TaskId, Timeout { from, slack }: Timeout) {
        let generation = self.cancel_timer(task);
        let cpu = self.kernel.task(task).cpu;
        if !slack.is_zero() {
            self.cpus[cpu.index()].sleepers.insert(Sleeper { from, task, generation });
        }
        let set_for = from.saturating_add(slack);
        self.idle_timer(cpu, set_for, task, generation);
        let at = set_for.saturating_add(self.cost().timer_irq).max(self.now);
        self.queue.push(at, Happening::Timer { task, generation });
    }

    /// A device will interrupt the task's CPU: no timer, so the idle loop does not see it coming.
    pub(super) fn set_device(&mut self, task: TaskId, at: Instant) {
        let generation = self.cancel_timer(task);
        let at = at.saturating_add(self.cost().timer_irq);
        self.queue.push(at, Happening::Timer { task, generation });
    }

    /// A timer that has been set will not fire; which generation the next one has.
    pub(super) fn cancel_timer(&mut self, task: TaskId) -> u32 {
        let t = &mut self.tasks[task.index()];
        t.timer_generation = t.timer_generation.wrapping_add(1);
        t.timer_generation
    }

    /// The timeout of an `epoll_wait` that begins now.
    ///
    /// Mirrors: `select_estimate_accuracy()`; core.md §12.2.
    pub(super) fn poll_timeout(&self, task: TaskId, after: Nanos) -> Timeout {
        let nice = self.kernel.task(task).nice;
        let part = Nanos(after.0 / if nice > 0 { 200 } else { 1000 });
        let slack = self.tasks[task.index()].timer_slack.max(part).min(MAX_POLL_SLACK);
        Timeout { from: self.now.saturating_add(after), slack }
    }

    /// A timer interrupt of a CPU ends every sleep whose slack has begun.
    ///
    /// Mirrors: `__hrtimer_run_queues()`.
    pub(super) fn end_sleeps(&mut self, cpu: CpuId) {
        while let Some(s) = self.cpus[cpu.index()].sleepers.pop(self.now) {
            if self.tasks[s.task.index()].timer_generation == s.generation {
                // A timer of its own, so that the wake-ups of one interrupt come one after the other.
                let generation = self.cancel_timer(s.task);
                self.queue.push(self.now, Happening::Timer { task: s.task, generation });
            }
        }
    }

    /// How late sleeps of a task may end (`timer_slack_ns`) from its next sleep on.
    pub fn set_timer_slack(&mut self, task: TaskId, slack: Nanos) {
        self.tasks[task.index()].timer_slack = slack;
    }
}
