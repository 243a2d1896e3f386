//! A rolling hash of what the scheduler did and when.

use sim_core::Instant;
use sim_core::observe::{Event, Observer, SwitchKind};

/// Hashes every switch, wake-up (with its verdict on preemption), migration and exit with its time.
///
/// Two runs with equal values made the same decisions. The numbers a decision compared are left out on purpose: a
/// tunable changes them even where it changes no decision, and that is exactly what "cannot act here" is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScheduleDigest(u64);

impl Default for ScheduleDigest {
    fn default() -> ScheduleDigest {
        ScheduleDigest(0x9e37_79b9_7f4a_7c15)
    }
}

impl ScheduleDigest {
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Folds words in by multiplication and a shift, as FNV does with bytes.
    fn add(&mut self, words: [u64; 4]) {
        for word in words {
            let mixed = (self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
            self.0 = mixed ^ (mixed >> 32);
        }
    }
}

impl Observer for ScheduleDigest {
    fn event(&mut self, at: Instant, event: &Event) {
        let task = |t: Option<sim_core::TaskId>| t.map_or(0, |t| u64::from(t.0) + 1);
        match *event {
            Event::Switch { cpu, prev, kind, next } => {
                let kind = match kind {
                    SwitchKind::Blocked => 1,
                    SwitchKind::Preempted => 2,
                    SwitchKind::Yielded => 3,
                    SwitchKind::Exited => 4,
                    SwitchKind::FromIdle => 5,
                };
                self.add([at.0, u64::from(cpu.0) << 8 | kind, task(prev), task(next)]);
            }
            Event::Wakeup { task: wakee, cpu, curr, resched_after, .. } => {
                let verdict = 16 + u64::from(resched_after);
                self.add([at.0, u64::from(cpu.0) << 8 | verdict, task(Some(wakee)), task(curr)]);
            }
            Event::Migrate { task: moved, from, to, .. } => {
                self.add([at.0, u64::from(from.0) << 8 | 32, task(Some(moved)), u64::from(to.0)]);
            }
            Event::Exit { task: gone } => self.add([at.0, 64, task(Some(gone)), 0]),
            _ => {}
        }
    }
}
