//! Where tasks go when they wake or are new.

use super::replay::Replay;
use super::tally::{Answer, Kind};
use crate::capture::trace::{Context, TaskIx, TraceEvent, TraceKind};
use sim_core::kernel::Wake;
use sim_core::kernel::task::TaskState;
use sim_core::observe::{AffineRule, IdlestRule, Select, SelectReason, SelectRule};
use sim_core::{CpuId, Instant, TaskId};

/// A CPU that turned idle or busy within so many stamps of a decision may have been seen either way.
const TURN_STAMPS: u64 = 4;
/// Loads that lie closer than one part in this many are too near to tell: averages follow from stamps of 1 µs, and from
/// starts that are forgotten but for 3 %.
const LOAD_PARTS: u64 = 32;

impl Replay<'_> {
    /// A wake-up whose migration the trace has not shown, or the enqueueing of one that it has.
    pub(super) fn wakeup(&mut self, i: usize, event: &TraceEvent, ix: TaskIx, target: CpuId) {
        let Some(task) = self.task(ix, target) else { return };
        if self.woken_early.remove(&task) {
            return;
        }
        if self.is_stopper(task) {
            let waker = self.waker(event);
            let now = Instant(self.now);
            self.kernel.wake_stopper(target, CpuId(event.cpu), waker, now, &mut ());
            self.drain();
            return;
        }
        match self.kernel.task(task).state {
            TaskState::Sleeping => self.wake(i, event, task, target, i),
            TaskState::Waking => self.enqueue(i, event, task),
            _ => self.report.misfits += 1,
        }
    }

    /// A wake-up that its waker left to the wakee's CPU.
    fn enqueue(&mut self, i: usize, event: &TraceEvent, task: TaskId) {
        let cpu = self.kernel.task(task).cpu;
        let (curr, already) = (self.kernel.rq(cpu).curr, self.kernel.rq(cpu).need_resched);
        let shown = self.shown(i, cpu);
        self.ends_alone(cpu);
        self.expect(task, cpu, shown);
        self.kernel.sched_ttwu_pending(cpu, Instant(self.now), &mut ());
        self.drain();
        self.placed(task);
        self.judge(event, cpu, curr, already, shown);
    }

    /// Wakes a task onto the CPU the trace shows and asks where the model would have put it. `by` is the event on the CPU
    /// that places it, `wakeup` the index of the event of the wake-up itself.
    pub(super) fn wake(&mut self, i: usize, by: &TraceEvent, task: TaskId, to: CpuId, wakeup: usize) {
        let enqueued_by = self.trace.events[wakeup].cpu;
        let waker = self.waker(by);
        let shown = self.shown(wakeup, to);
        self.allow(task, to);
        let (curr, already) = (self.kernel.rq(to).curr, self.kernel.rq(to).need_resched);
        let queued = enqueued_by != by.cpu;
        if !queued {
            self.ends_alone(to);
            self.expect(task, to, shown);
        }
        let hooks = &mut self.kernel.hooks;
        (hooks.cpu, hooks.queue, hooks.select) = (Some(to), Some(queued), None);
        let sync = waker.is_some() && self.setup.sync_wakeups.unwrap_or(false);
        let now = Instant(self.now);
        let woken = self.kernel.try_to_wake_up(task, CpuId(by.cpu), waker, sync, now, &mut ());
        (self.kernel.hooks.cpu, self.kernel.hooks.queue) = (None, None);
        self.drain();
        let select = self.kernel.hooks.select.take();
        if woken == Wake::Enqueued(to) {
            self.placed(task);
            if let Some(event) = self.trace.events.get(wakeup) {
                self.judge(event, to, curr, already, shown);
            }
        }
        if let Some(d) = select {
            self.count_select(i, by, &d, to, waker.is_some());
        }
    }

    /// A task has been put on its queue: what does that tell of its vruntime?
    fn placed(&mut self, task: TaskId) {
        let cpu = self.kernel.task(task).cpu;
        if self.kernel.rq(cpu).nr_running == 1 {
            self.turn(cpu);
        }
        self.known.waits_from(task, self.now);
        self.note_alone(cpu);
        let Some(place) = self.kernel.hooks.place.take().filter(|p| p.task == Some(task)) else { return };
        let others = self.runnable_on(cpu).into_iter().filter(|t| *t != task);
        let queue_known = others.into_iter().all(|t| self.known.vruntime(t));
        let clipped = place.after == place.base && place.before != place.base;
        if clipped {
            self.known.set_vruntime(task, queue_known);
        }
    }

    /// The task that wakes; none for an interrupt.
    fn waker(&mut self, event: &TraceEvent) -> Option<TaskId> {
        if event.flags.context() != Context::Task {
            return None;
        }
        let task = self.task(event.current, CpuId(event.cpu))?;
        (self.kernel.rq(CpuId(event.cpu)).curr == Some(task)).then_some(task)
    }

    pub(super) fn first_wakeup(&mut self, event: &TraceEvent, ix: TaskIx, to: CpuId) {
        let Some(task) = self.task(ix, to) else { return };
        if self.kernel.task(task).state != TaskState::New {
            self.report.misfits += 1;
            return;
        }
        self.allow(task, to);
        let i = self.trace.events.partition_point(|e| e.at_ns < event.at_ns);
        self.ends_alone(to);
        (self.kernel.hooks.cpu, self.kernel.hooks.select) = (Some(to), None);
        self.kernel.wake_up_new_task(task, Instant(self.now), &mut ());
        self.kernel.hooks.cpu = None;
        self.drain();
        self.kernel.hooks.place = None;
        self.placed(task);
        if let Some(d) = self.kernel.hooks.select.take() {
            self.count_select(i, event, &d, to, true);
        }
    }

    /// `i` is the index of the event, or of one at the same time before it.
    fn count_select(&mut self, i: usize, event: &TraceEvent, d: &Select, to: CpuId, in_task: bool) {
        let allowed = &self.kernel.task(d.task).cpus_allowed;
        let allowed = allowed.count_and(self.kernel.topology().online());
        let answer = Answer {
            choice: allowed > 1 && d.rule != SelectRule::OnlyAllowed,
            decidable: !self.turns_near(i, event) && self.inputs_known(d, to, in_task),
            right: d.chosen == to,
            previous_cpu: d.prev == to,
            first_come: false,
            left: d.prev != to,
        };
        let kind = if d.reason == SelectReason::Wake { Kind::WakePlacement } else { Kind::ForkPlacement };
        let what = || {
            let name = self.tasks.iter().find(|(_, t)| **t == d.task).map_or(0, |(pid, _)| *pid);
            let affine = d.affine.map(|a| a.rule);
            format!(
                "pid {name} goes to CPU {}, from {} by {}; model: {} (target {}, rule {:?}, affine {affine:?}, budget {:?})",
                to.0,
                d.prev.0,
                d.by.0,
                d.chosen.0,
                d.target.0,
                d.rule,
                d.search.map(|s| s.budget),
            )
        };
        self.report.count(kind, answer, event.at_ns, event.cpu, what);
    }

    /// Whether some CPU turned idle or busy so near to an event that the stamps do not tell what the decision saw.
    fn turns_near(&self, i: usize, event: &TraceEvent) -> bool {
        if self.cpus.len() == 1 {
            return false;
        }
        let near = TURN_STAMPS * self.resolution;
        let before = (0..self.cpus.len()).any(|c| {
            let turned = self.cpus[c].turned;
            turned > 0 && self.now < turned + near && c != event.cpu as usize
        });
        let idle = |ix: &TaskIx| self.trace.pid(*ix) == 0;
        before
            || self.trace.events[i..].iter().take_while(|e| e.at_ns <= event.at_ns + near).any(|e| {
                e.cpu != event.cpu
                    && matches!(&e.kind, TraceKind::Switch { prev, next, .. } if idle(prev) != idle(next) && !idle(prev))
            })
    }

    /// Whether the numbers a placement compared are known and far enough apart.
    fn inputs_known(&self, d: &Select, to: CpuId, in_task: bool) -> bool {
        let now = self.now;
        let by_load = d.affine.is_some_and(|a| a.weight.is_some());
        let by_sync = in_task
            && d.affine.is_some_and(|a| a.rule != AffineRule::PrevIdle && a.rule != AffineRule::ThisIdle);
        if by_sync && d.by != d.prev && self.setup.sync_wakeups.is_none() {
            return false;
        }
        if let Some(w) = d.affine.and_then(|a| a.weight) {
            let apart = w.this.abs_diff(w.prev);
            let known = self.known.load(d.task, now) && self.loads_known(d.by) && self.loads_known(d.prev);
            if by_load && (!known || apart < w.this.unsigned_abs().max(w.prev.unsigned_abs()) / LOAD_PARTS) {
                return false;
            }
        }
        let levels = d.idlest.iter().flatten();
        for level in levels {
            let compared = matches!(
                level.rule,
                IdlestRule::Load | IdlestRule::LocalSpare | IdlestRule::MostSpare | IdlestRule::NumaTolerance
            );
            let near = level.local.zip(level.best).is_some_and(|(a, b)| {
                a.load.abs_diff(b.load) < a.load.max(b.load) / LOAD_PARTS
                    || a.spare.abs_diff(b.spare) < a.spare.max(b.spare) / LOAD_PARTS
            });
            if compared && (near || !self.all_loads_known()) {
                return false;
            }
        }
        // Among idle CPUs the one that idles most recently: unknown for those that idle since before the trace.
        let slept = |c: CpuId| self.cpus[c.index()].slept;
        if d.rule == SelectRule::Idlest && !(slept(d.chosen) && slept(to)) {
            return false;
        }
        // How far a search may go depends on how long searches took.
        let llc = self.kernel.domains().cpu(d.target).llc_size;
        d.search.and_then(|s| s.budget).is_none_or(|b| b > u64::from(llc))
    }

    fn loads_known(&self, cpu: CpuId) -> bool {
        self.tasks
            .values()
            .filter(|t| self.kernel.task(**t).cpu == cpu)
            .all(|t| self.known.load(*t, self.now))
    }

    fn all_loads_known(&self) -> bool {
        self.tasks.values().filter(|t| self.runnable(**t)).all(|t| self.known.load(*t, self.now))
    }
}
