//! Sleeps and their timer slack.

use super::Simulation;
use super::queue::Happening;
use crate::id::{CpuId, TaskId};
use crate::kernel::hooks::Hooks;
use crate::observe::Observer;
use crate::time::{Instant, Nanos};

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
    /// Sets the timer of a sleep that may end from `from` on. The hardware is set for the end of the slack; an earlier timer
    /// interrupt of this CPU within it will do as well.
    ///
    /// Mirrors: `hrtimer_set_expires_range_ns()`; core.md §12.2.
    pub(super) fn sleep_until(&mut self, task: TaskId, from: Instant) {
        let t = &mut self.tasks[task.index()];
        t.timer_generation = t.timer_generation.wrapping_add(1);
        let (generation, slack) = (t.timer_generation, t.timer_slack);
        let cpu = self.kernel.task(task).cpu;
        if !slack.is_zero() {
            self.cpus[cpu.index()].sleepers.insert(Sleeper { from, task, generation });
        }
        let at = from.saturating_add(slack).saturating_add(self.cost().timer_irq).max(self.now);
        self.queue.push(at, Happening::Timer { task, generation });
    }

    /// A timer interrupt of a CPU ends every sleep whose slack has begun.
    ///
    /// Mirrors: `__hrtimer_run_queues()`.
    pub(super) fn end_sleeps(&mut self, cpu: CpuId) {
        while let Some(s) = self.cpus[cpu.index()].sleepers.pop(self.now) {
            let t = &mut self.tasks[s.task.index()];
            if t.timer_generation == s.generation {
                // A timer of its own, so that the wake-ups of one interrupt come one after the other.
                t.timer_generation = t.timer_generation.wrapping_add(1);
                let generation = t.timer_generation;
                self.queue.push(self.now, Happening::Timer { task: s.task, generation });
            }
        }
    }

    /// How late sleeps of a task may end (`timer_slack_ns`) from its next sleep on.
    pub fn set_timer_slack(&mut self, task: TaskId, slack: Nanos) {
        self.tasks[task.index()].timer_slack = slack;
    }
}
