//! Where tasks stand in virtual time when the trace begins, as far as it shows.
//!
//! A trace begins with run queues that have a past: of two tasks that wake at once, one may run for milliseconds before the
//! other gets a turn. While a task waits for its first turn, whoever is picked instead has less virtual time; when it gets its
//! turn, whoever then waits has more. Of what lies between the middle is taken. Where nobody waits it is the least it can be
//! and somewhat more, for equal it hardly is. It runs for that long before the trace begins.
//!
//! Deviates: D-212.

use super::Recorder;
use crate::recorded::thread::{Origin, State, Thread, ThreadIx};
use sim_core::kernel::Policy;
use sim_core::kernel::weight::LoadWeight;

/// Only first turns this soon after the beginning tell of it: whoever sleeps longer is placed anew.
const WITHIN_NS: u64 = 50_000_000;

/// Half of the default `sched_latency` of one CPU: whoever is further behind is moved up to that as it wakes.
const MOST_NS: u64 = 3_000_000;

/// Real time for virtual time at a priority, or the other way round.
pub(in crate::recorded) fn real_time(virtual_ns: u64, prio: Option<i16>) -> u64 {
    (u128::from(virtual_ns) * u128::from(weight(prio)) / u128::from(weight(None))) as u64
}

fn virtual_time(real_ns: u64, prio: Option<i16>) -> u64 {
    u64::try_from(u128::from(real_ns) * u128::from(weight(None)) / u128::from(weight(prio)))
        .unwrap_or(u64::MAX)
}

/// The weight of a priority; that of nice 0 where none is shown.
fn weight(prio: Option<i16>) -> u64 {
    let nice = prio.map_or(0, |prio| (prio - 120).clamp(-20, 19) as i8);
    LoadWeight::of_task(nice, Policy::Normal).weight
}

impl Recorder {
    /// A task was put on a queue.
    pub(super) fn queued(&mut self, ix: ThreadIx, cpu: u32, at: u64) {
        let thread = &mut self.threads[ix.0 as usize];
        thread.on = Some(cpu);
        let soon = at.saturating_sub(self.from.unwrap_or(at)) <= WITHIN_NS;
        if soon
            && self.fresh.len() < MOST_FRESH
            && thread.origin == Origin::Before
            && thread.counts.cpu_ns == 0
        {
            self.fresh.push((ix, cpu));
        }
    }

    /// A task got its turn on a CPU.
    pub(super) fn picked(&mut self, ix: ThreadIx, cpu: u32) {
        if self.to.saturating_sub(self.from.unwrap_or(self.to)) > WITHIN_NS {
            self.fresh.clear();
        }
        if self.fresh.is_empty() {
            return;
        }
        if let Some(at) = self.fresh.iter().position(|(waiting, _)| *waiting == ix) {
            self.fresh.swap_remove(at);
            let least = self.threads[ix.0 as usize].head_ns;
            if least > 0 {
                let most = self.least_waiting(cpu).map_or(u64::MAX, |most| most.max(least));
                self.threads[ix.0 as usize].head_ns = least.max(UNKNOWN_NS.min(least.midpoint(most)));
            }
        }
        let thread = &self.threads[ix.0 as usize];
        let stands = stands(thread);
        if stands >= MOST_NS || thread.prio.is_some_and(|(_, prio)| prio < 100) {
            return;
        }
        for (waiting, _) in self.fresh.iter().filter(|(_, on)| *on == cpu) {
            // Of equals the one that came first runs first.
            let head = &mut self.threads[waiting.0 as usize].head_ns;
            *head = (*head).max(stands + 1);
        }
    }

    /// The least virtual time among those that wait for a CPU and have had turns.
    fn least_waiting(&self, cpu: u32) -> Option<u64> {
        let waits = |t: &&Thread| {
            t.on == Some(cpu) && t.counts.cpu_ns > 0 && matches!(t.state, State::Runnable { .. })
        };
        self.threads.iter().take(MANY).filter(waits).map(stands).min()
    }
}

/// Where a thread stands in virtual time.
fn stands(thread: &Thread) -> u64 {
    let prio = thread.prio.map(|(_, now)| now);
    thread.head_ns.saturating_add(virtual_time(thread.counts.cpu_ns, prio))
}

/// Half of the default `sched_wakeup_granularity` of one CPU: it does not make wake-ups preempt by itself.
const UNKNOWN_NS: u64 = 500_000;

/// More tasks that wait for their first turn are not followed.
const MOST_FRESH: usize = 256;

/// More threads than this are not looked at.
const MANY: usize = 2_000;
