//! The simulator's events as a timeline, so that both sides are measured by the same code.

use crate::capture::schedstat::LevelCounts;
use crate::measure::{EventKind, Label, SchedEvent, Timeline, Who};
use sim_core::engine::TaskInfo;
use sim_core::observe::{BalanceOutcome, Event, IdleType, MigrateReason, Observer, SwitchKind};
use sim_core::{Instant, TaskId};

/// Records what a trace would show from a point in time on, and counts balancing as the kernel does.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    from: Instant,
    /// Balancing is counted from here on.
    count_from: Instant,
    events: Vec<SchedEvent>,
    /// The CPU that acts: a wake-up is recorded on the waker's.
    acts: u32,
    balance: Vec<LevelCounts>,
}

/// The idle task comes first in a recorded timeline.
fn who(task: Option<TaskId>) -> Who {
    Who(task.map_or(0, |t| t.0 + 1))
}

impl Observer for Recorder {
    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Context { cpu, .. } => self.acts = cpu.0,
            Event::LoadBalance { .. } | Event::ActiveBalance { .. } if at >= self.count_from => {
                self.balanced(event)
            }
            _ => {}
        }
        if at < self.from {
            return;
        }
        let mut cpu = self.acts;
        let kind = match *event {
            Event::Switch { cpu: c, prev, kind, next } => {
                cpu = c.0;
                EventKind::Switch {
                    prev: who(prev),
                    prev_blocked: matches!(kind, SwitchKind::Blocked | SwitchKind::Exited),
                    next: who(next),
                }
            }
            Event::Wakeup { task, cpu, new, curr, resched_before, resched_after } => EventKind::Wakeup {
                task: who(Some(task)),
                target: cpu.0,
                new,
                need_resched_before: resched_before,
                need_resched_after: resched_after,
                curr_is_idle: curr.is_none(),
                after_tick: false,
            },
            // A trace shows no change of CPU of a new task.
            Event::Migrate { reason: MigrateReason::Fork, .. } => return,
            Event::Migrate { task, to, .. } => EventKind::Migrate { task: who(Some(task)), to: to.0 },
            Event::Fork { child, .. } => EventKind::Fork { child: who(Some(child)) },
            Event::Exit { task } => EventKind::Exit { task: who(Some(task)) },
            _ => return,
        };
        self.events.push(SchedEvent { at_ns: at.0, cpu, kind });
    }
}

impl Recorder {
    /// Records what happens from `from` on, and counts balancing from `count_from` on.
    pub(super) fn starting(from: Instant, count_from: Instant) -> Recorder {
        Recorder { from, count_from, ..Recorder::default() }
    }

    /// Counts an attempt as `/proc/schedstat` does.
    fn balanced(&mut self, event: &Event) {
        match *event {
            Event::LoadBalance { level, idle, outcome, moved, .. } => {
                let counts = self.level(level.into());
                let pass = match idle {
                    IdleType::Idle => &mut counts.idle,
                    IdleType::NotIdle => &mut counts.busy,
                    IdleType::NewlyIdle => &mut counts.newly_idle,
                };
                let failed = matches!(
                    outcome,
                    BalanceOutcome::Failed | BalanceOutcome::ActiveBalance | BalanceOutcome::Pinned
                );
                pass.tries += 1;
                pass.failed += u64::from(failed);
                pass.moved += u64::from(moved);
                pass.no_busiest_group += u64::from(matches!(outcome, BalanceOutcome::NoBusiestGroup(_)));
            }
            // The kernel counts at the domain that spans both CPUs: the smallest is close enough for sums over levels.
            Event::ActiveBalance { task: Some(_), .. } => self.level(0).pushed += 1,
            _ => {}
        }
    }

    fn level(&mut self, level: usize) -> &mut LevelCounts {
        if self.balance.len() <= level {
            self.balance.resize(level + 1, LevelCounts::default());
        }
        &mut self.balance[level]
    }

    /// What was counted of balancing, by level.
    pub(super) fn balance(&self) -> &[LevelCounts] {
        &self.balance
    }

    /// The timeline; tasks below the driver are the workload.
    pub(super) fn timeline(self, cpus: u32, tasks: &[TaskInfo], t0: Instant) -> Timeline {
        let idle = Label { name: "swapper/0".to_owned(), pid: 0, measured: false };
        let label = |(i, t): (usize, &TaskInfo)| Label {
            name: t.name.clone(),
            pid: i as u32 + 1,
            measured: t.path.starts_with("wl/"),
        };
        let tasks = std::iter::once(idle).chain(tasks.iter().enumerate().map(label)).collect();
        Timeline { cpus, tasks, events: self.events, t0_ns: t0.0 }
    }
}
