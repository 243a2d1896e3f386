//! Wake-ups onto a busy CPU: did they make the current task give way?

use super::{EventKind, Timeline, Who};

/// What an onlooker can know of need_resched before an event: it is set from the first event that shows it until the
/// next switch, which clears it. A tick sets it without an event, so it can be set unseen; the first wake-up after that
/// shows it. Feed both sides, trace and simulator, through this and the same wake-ups are judged alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NeedReschedTracker {
    set: bool,
}

impl NeedReschedTracker {
    /// Whether it is known to be set.
    pub fn is_set(&self) -> bool {
        self.set
    }

    /// An event other than a switch showed the flag.
    pub fn seen(&mut self, need_resched: bool) {
        self.set = need_resched;
    }

    /// The CPU switched.
    pub fn switched(&mut self) {
        self.set = false;
    }
}

/// The verdict on one wake-up onto a busy CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WakeupVerdict {
    /// When, ns.
    pub at_ns: u64,
    /// Who was woken.
    pub task: Who,
    /// Who was current; `None` before the first switch.
    pub current: Option<Who>,
    /// Whether this wake-up set need_resched: set after it and not before.
    pub set: bool,
    /// Whether need_resched was set already, so that the wake-up could not set it.
    pub already_set: bool,
    /// Whether a tick just before may have set it unseen.
    pub after_tick: bool,
}

/// The verdicts on all wake-ups onto a busy CPU in the measured span, T0's own excluded when the CPU was idle.
pub fn verdicts(timeline: &Timeline) -> Vec<WakeupVerdict> {
    let end = timeline.end_ns();
    let mut current = None;
    let mut found = Vec::new();
    for event in &timeline.events {
        match event.kind {
            EventKind::Switch { next, .. } => current = Some(next),
            EventKind::Wakeup {
                task,
                need_resched_before,
                need_resched_after,
                curr_is_idle,
                after_tick,
                ..
            } => {
                if !curr_is_idle && (timeline.t0_ns..=end).contains(&event.at_ns) {
                    found.push(WakeupVerdict {
                        at_ns: event.at_ns,
                        task,
                        current,
                        set: need_resched_after && !need_resched_before,
                        already_set: need_resched_before,
                        after_tick,
                    });
                }
            }
            EventKind::Migrate { .. } | EventKind::Fork { .. } | EventKind::Exit { .. } => {}
        }
    }
    found
}
