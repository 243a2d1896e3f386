//! Tasks that balancing, or a stopper thread, moves.

use super::replay::Replay;
use super::tally::{Answer, Kind};
use crate::capture::trace::{TaskIx, TraceEvent, TraceKind};
use sim_core::kernel::Schedule;
use sim_core::kernel::task::TaskState;
use sim_core::observe::{IdleType, MigrateReason};
use sim_core::{CpuId, Instant, TaskId};

impl Replay<'_> {
    /// A task goes to another CPU: it is being woken, or it waits and is moved.
    pub(super) fn migrate(&mut self, i: usize, event: &TraceEvent, ix: TaskIx, from: CpuId, to: CpuId) {
        let Some(task) = self.task(ix, from) else { return };
        match self.kernel.task(task).state {
            TaskState::Sleeping => {
                let Some(wakeup) = self.wakeup_of(i, ix, to) else {
                    self.report.misfits += 1;
                    return;
                };
                if self.trace.events[wakeup].cpu == event.cpu {
                    self.woken_early.insert(task);
                }
                self.wake(i, event, task, to, wakeup);
            }
            TaskState::Runnable if !self.kernel.task(task).on_cpu => self.moved(event, i, task, to),
            // A new task's CPU comes with its wake-up.
            TaskState::New => {}
            _ => self.report.misfits += 1,
        }
    }

    /// The wake-up that a migration belongs to.
    fn wakeup_of(&self, i: usize, ix: TaskIx, to: CpuId) -> Option<usize> {
        let pid = self.trace.pid(ix);
        let after = self.trace.events[i..].iter().enumerate();
        let own = |k: &TraceKind| match k {
            TraceKind::Wakeup { task, .. } => self.trace.pid(*task) == pid,
            TraceKind::Migrate { .. } | TraceKind::Exec | TraceKind::Idle(_) => false,
            TraceKind::Switch { next, .. } => self.trace.pid(*next) == pid,
            _ => false,
        };
        let (n, found) = after.skip(1).find(|(_, e)| own(&e.kind))?;
        matches!(found.kind, TraceKind::Wakeup { target_cpu, .. } if target_cpu == to.0).then_some(i + n)
    }

    fn moved(&mut self, event: &TraceEvent, i: usize, task: TaskId, to: CpuId) {
        self.allow(task, to);
        let by_stopper = self.kernel.rq(CpuId(event.cpu)).curr.is_some_and(|t| self.is_stopper(t));
        let mut reason = MigrateReason::Active;
        if !by_stopper {
            let idle = self.idle_type(event, i, to);
            reason = match idle {
                IdleType::NewlyIdle => MigrateReason::NewIdle,
                _ if event.cpu != to.0 => MigrateReason::Nohz,
                _ => MigrateReason::Periodic,
            };
            self.ask(event, task, to, idle);
        }
        let before = self.kernel.rq(to).curr.is_none();
        self.ends_alone(to);
        // The model may have moved it already, as its own choice.
        if self.kernel.task(task).cpu != to {
            self.kernel.move_queued_task(task, to, reason, Instant(self.now), &mut ());
        }
        self.drain();
        self.note_alone(to);
        if before {
            self.turn(to);
        }
    }

    /// For what kind of CPU the pass was made. A CPU that balances before it idles is brought to where it then stands: its
    /// task is off.
    fn idle_type(&mut self, event: &TraceEvent, i: usize, to: CpuId) -> IdleType {
        let Some(curr) = self.kernel.rq(to).curr else {
            let early = self.cpus[to.index()].left_early.is_some();
            return if early { IdleType::NewlyIdle } else { IdleType::Idle };
        };
        let next = self.trace.events[i..].iter().find_map(|e| match &e.kind {
            TraceKind::Switch { prev_state, .. } if e.cpu == to.0 => Some(!prev_state.starts_with('R')),
            _ => None,
        });
        if event.cpu != to.0 || next != Some(true) || self.kernel.rq(to).nr_running != 1 {
            return IdleType::NotIdle;
        }
        self.kernel.set_sleeping(curr);
        self.schedule(to, Schedule::Call, None);
        self.cpus[to.index()].left_early = Some(curr);
        IdleType::NewlyIdle
    }

    /// Which task would the model have moved?
    fn ask(&mut self, event: &TraceEvent, task: TaskId, to: CpuId, idle: IdleType) {
        let waits = |t: &TaskId| self.runnable(*t) && !self.kernel.task(*t).on_cpu;
        let could = |t: &TaskId| {
            let t = self.kernel.task(*t);
            t.cpu != to && t.cpus_allowed.contains(to)
        };
        let candidates: Vec<TaskId> =
            self.tasks.values().copied().filter(|t| waits(t) && could(t) && !self.is_stopper(*t)).collect();
        let first_come = candidates.iter().min_by_key(|t| self.known.waits_since(**t)).copied();
        let loads = self.tasks.values().filter(|t| self.runnable(**t)).all(|t| self.known.load(*t, self.now));
        let hooks = &mut self.kernel.hooks;
        (hooks.moved, hooks.wanted) = (Some(task), None);
        self.kernel.balance_now(to, idle, Instant(self.now), &mut ());
        let wanted = self.kernel.hooks.wanted.take().map(|d| d.task);
        self.kernel.hooks.moved = None;
        self.drain();
        let answer = Answer {
            choice: candidates.len() > 1,
            decidable: loads,
            right: wanted == Some(task),
            previous_cpu: false,
            first_come: first_come == Some(task),
            left: true,
        };
        let pid = |task: TaskId| self.tasks.iter().find(|(_, t)| **t == task).map_or(0, |(pid, _)| *pid);
        let what = || {
            let model = wanted.map_or("none".to_owned(), |t| format!("pid {}", pid(t)));
            format!("pid {} moves to CPU {} ({idle:?}); model: {model}", pid(task), to.0)
        };
        self.report.count(Kind::BalanceMove, answer, event.at_ns, event.cpu, what);
    }
}
