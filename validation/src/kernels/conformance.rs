//! Decision by decision: the kernel model is driven by a real kernel's trace, and each of its decisions is held against
//! what the real kernel did. Where they differ the real kernel's is taken, so that one miss does not breed others.
//!
//! The state at T0 comes from simulating what the driver did before. From then on times, who runs and who is woken come
//! from the trace; vruntimes and verdicts are the model's.

use crate::capture::Capture;
use crate::capture::clock::TICK_NS;
use crate::capture::trace::{TaskIx, TraceKind};
use crate::kernels::levels::levels;
use crate::measure::{EventKind, SchedEvent, timeline};
use crate::simulate::{Experiment, Inexpressible};
use serde::Serialize;
use sim_core::kernel::Policy;
use sim_core::kernel::hooks::Hooks;
use sim_core::kernel::task::TaskState;
use sim_core::kernel::{Kernel, Schedule, TaskParams};
use sim_core::observe::{Pick, WakeupPreempt};
use sim_core::{CpuId, EntityId, GroupId, Instant, TaskId};
use std::collections::BTreeMap;

const CPU: CpuId = CpuId(0);
/// A tick's switch follows within this; else the same task was picked again.
const SWITCH_FOLLOWS_NS: u64 = 12_000;
/// From a tick's clock sample to `__schedule`, when no switch shows it: the captures' constant 2 µs.
const REPICK_NS: u64 = 2_000;

/// How often the model decided as the real kernel did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conformance {
    /// Wake-ups onto a busy CPU.
    pub wakeups: u64,
    /// Those with the right verdict on need_resched.
    pub wakeups_right: u64,
    /// Switches whose next task was compared.
    pub picks: u64,
    /// Those where the model would have picked the same.
    pub picks_right: u64,
    /// Ticks of a busy CPU with someone waiting.
    pub ticks: u64,
    /// Those with the right verdict.
    pub ticks_right: u64,
    /// Events that did not fit the model's state.
    pub misfits: u64,
}

impl Conformance {
    /// Adds another capture's counts.
    pub fn add(&mut self, o: &Conformance) {
        self.wakeups += o.wakeups;
        self.wakeups_right += o.wakeups_right;
        self.picks += o.picks;
        self.picks_right += o.picks_right;
        self.ticks += o.ticks;
        self.ticks_right += o.ticks_right;
        self.misfits += o.misfits;
    }
}

/// Makes the model do what the trace shows, and remembers what it would have done.
#[derive(Debug, Default)]
pub(crate) struct Follow {
    /// The next task and the groups above it, as the trace has it, the root queue's first pick last.
    next: Vec<EntityId>,
    /// Whether the model picked another at some level.
    astray: bool,
    /// need_resched after a wake-up, as the trace has it.
    preempt: Option<bool>,
    /// What the model found.
    verdict: Option<bool>,
}

impl Hooks for Follow {
    fn pick(&mut self, d: &Pick) -> EntityId {
        let next = self.next.pop().unwrap_or(d.chosen);
        self.astray |= next != d.chosen;
        next
    }
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, _curr_ran: u64) -> bool {
        self.verdict = Some(d.preempt);
        self.preempt.unwrap_or(d.preempt)
    }
}

struct Replay<'a> {
    capture: &'a Capture,
    kernel: Kernel<Follow>,
    tasks: BTreeMap<u32, TaskId>,
    result: Conformance,
    now: u64,
    next_tick: u64,
    /// A tick asked for a reschedule at this time and no switch has been seen yet.
    tick_pending: Option<u64>,
}

/// Replays a capture through the kernel model.
///
/// # Errors
/// [`Inexpressible`] when the capture's experiment cannot be set up.
pub fn conformance(capture: &Capture) -> Result<Conformance, Inexpressible> {
    if capture.meta.smp != 1 {
        return Err(Inexpressible::ManyCpus(capture.meta.smp));
    }
    let experiment = Experiment::new(capture)?;
    let (kernel, by_name) = experiment.prelude(Follow::default())?;
    let shift = experiment.t0_ns() as i64 - capture.clock.t0_ns as i64;
    let real = timeline(capture).map_err(|_| Inexpressible::ManyCpus(capture.meta.smp))?;
    let tasks = capture.trace.tasks.iter().filter_map(|t| Some((t.pid, *by_name.get(&t.comm)?))).collect();
    let phase = capture.clock.tick_phase_ns.unwrap_or(0);
    let start = kernel.rq(CPU).clock;
    let mut replay = Replay {
        capture,
        kernel,
        tasks,
        result: Conformance::default(),
        now: start,
        next_tick: (phase as i64 + shift).rem_euclid(TICK_NS as i64) as u64,
        tick_pending: None,
    };
    replay.next_tick += (start.saturating_sub(replay.next_tick) / TICK_NS + 1) * TICK_NS;
    let end = real.end_ns();
    let mut verdicts = real.events.iter().filter(|e| matches!(e.kind, EventKind::Wakeup { .. }));
    for event in &capture.trace.events {
        let verdict = if matches!(event.kind, TraceKind::Wakeup { .. }) { verdicts.next() } else { None };
        let before_t0 = event.at_ns + SWITCH_FOLLOWS_NS < capture.clock.t0_ns;
        if before_t0 || event.at_ns > end {
            continue;
        }
        let lag = if verdict.is_some() { experiment.machine().wake_clock_lag_ns } else { 0 };
        replay.event(event.at_ns.saturating_add_signed(shift) + lag, &event.kind, verdict);
    }
    Ok(replay.result)
}

impl Replay<'_> {
    fn event(&mut self, at: u64, kind: &TraceKind, verdict: Option<&SchedEvent>) {
        let is_switch = matches!(kind, TraceKind::Switch { .. });
        self.ticks_until(at, is_switch);
        self.now = self.now.max(at);
        match kind {
            TraceKind::Switch { prev, prev_state, next } => self.switch(*prev, prev_state, *next),
            TraceKind::Wakeup { task, new: false, .. } => self.wakeup(*task, verdict),
            TraceKind::Wakeup { task, new: true, .. } => self.first_wakeup(*task),
            TraceKind::Fork { parent, child } => self.fork(*parent, *child),
            TraceKind::Exit(task) => {
                if let Some(task) = self.task(*task).filter(|t| self.kernel.rq(CPU).curr == Some(*t)) {
                    self.kernel.begin_exit(task, Instant(self.now), &mut ());
                    self.drain();
                }
            }
            _ => {}
        }
    }

    /// Ticks up to the event at `at`; a tick whose reschedule led to no switch picked current again.
    fn ticks_until(&mut self, at: u64, is_switch: bool) {
        while self.next_tick <= at {
            self.settle_tick(None);
            self.now = self.now.max(self.next_tick);
            self.next_tick += TICK_NS;
            let rq = self.kernel.rq(CPU);
            if rq.curr.is_some() && !rq.need_resched {
                let waiting = rq.nr_running > 1;
                self.kernel.scheduler_tick(CPU, Instant(self.now), &mut ());
                self.drain();
                let asked = self.kernel.rq(CPU).need_resched;
                self.result.ticks += u64::from(waiting);
                self.tick_pending = asked.then_some(self.now);
                self.result.ticks_right += u64::from(waiting && !asked);
            } else if rq.curr.is_some() {
                self.kernel.scheduler_tick(CPU, Instant(self.now), &mut ());
                self.drain();
            }
        }
        let follows = |t: u64| at < t + SWITCH_FOLLOWS_NS;
        if !self.tick_pending.is_some_and(|t| follows(t) || is_switch && follows(t)) {
            self.settle_tick(None);
        }
    }

    /// A tick's reschedule that showed no switch: the picker must have chosen current again.
    fn settle_tick(&mut self, _at: Option<u64>) {
        let Some(at) = self.tick_pending.take() else { return };
        let Some(curr) = self.kernel.rq(CPU).curr else { return };
        self.now = self.now.max(at + REPICK_NS);
        // Right if the model, too, would have picked current again.
        let same = self.schedule(Schedule::Preempt, Some(curr));
        self.result.ticks_right += u64::from(same);
    }

    /// Calls `__schedule` so that `next` runs; tells whether the model would have picked the same.
    fn schedule(&mut self, why: Schedule, next: Option<TaskId>) -> bool {
        let mut path = std::mem::take(&mut self.kernel.hooks.next);
        levels(&self.kernel, next, &mut path);
        self.kernel.hooks.next = path;
        self.kernel.hooks.astray = false;
        self.kernel.schedule(CPU, Instant(self.now), why, &mut ());
        self.drain();
        !self.kernel.hooks.astray
    }

    fn drain(&mut self) {
        while self.kernel.take_resched().is_some() {}
    }

    fn switch(&mut self, prev: TaskIx, state: &str, next: TaskIx) {
        let (prev, next) = (self.task(prev), self.task(next));
        if self.kernel.rq(CPU).curr != prev || next.is_some_and(|n| !self.runnable(n)) {
            self.result.misfits += 1;
            return;
        }
        let mut why = Schedule::Preempt;
        if let Some(p) = prev.filter(|_| !state.starts_with('R')) {
            self.kernel.set_sleeping(p);
            why = Schedule::Call;
        } else if prev.is_some() && !self.kernel.rq(CPU).need_resched && self.tick_pending.is_none() {
            // Neither a tick nor a wake-up of the model asked for it.
            self.result.ticks += 1;
        }
        let from_tick = self.tick_pending.take().is_some();
        let left = self.kernel.rq(CPU).nr_running - u32::from(why == Schedule::Call);
        if (left == 0) != next.is_none() {
            self.result.misfits += 1;
        }
        let same = self.schedule(why, next);
        self.result.picks += u64::from(next.is_some());
        self.result.picks_right += u64::from(next.is_some() && same);
        self.result.ticks_right += u64::from(from_tick);
    }

    fn wakeup(&mut self, task: TaskIx, verdict: Option<&SchedEvent>) {
        let Some(task) = self.task(task) else { return };
        if self.kernel.task(task).state != TaskState::Sleeping {
            self.result.misfits += 1;
            return;
        }
        let Some(EventKind::Wakeup { need_resched_before, need_resched_after, curr_is_idle, .. }) =
            verdict.map(|e| e.kind)
        else {
            return;
        };
        let model_before = self.kernel.rq(CPU).need_resched;
        let busy = self.kernel.rq(CPU).curr.is_some();
        self.kernel.hooks.preempt = busy.then_some(need_resched_after && !model_before);
        self.kernel.hooks.verdict = None;
        self.kernel.try_to_wake_up(task, CPU, None, false, Instant(self.now), &mut ());
        self.drain();
        self.kernel.hooks.preempt = None;
        if !curr_is_idle && busy {
            // A trace shows need_resched only at events: what set it since the last one is first seen here. So where it is
            // not known to have been set, the flag after the wake-up is compared, and else whether the wake-up set it.
            let model = self.kernel.hooks.verdict == Some(true);
            let right =
                if need_resched_before { !model } else { (model || model_before) == need_resched_after };
            self.result.wakeups += 1;
            self.result.wakeups_right += u64::from(right);
        }
    }

    fn fork(&mut self, parent: TaskIx, child: TaskIx) {
        let pid = self.capture.trace.pid(child);
        let forked = match self.task(parent) {
            Some(p) if self.kernel.rq(CPU).curr == Some(p) => {
                self.kernel.sched_fork(p, Instant(self.now), &mut ())
            }
            _ => {
                self.result.misfits += 1;
                self.kernel.add_task(&params(&self.kernel))
            }
        };
        self.tasks.insert(pid, forked);
    }

    fn first_wakeup(&mut self, task: TaskIx) {
        let Some(task) = self.task(task) else { return };
        if self.kernel.task(task).state == TaskState::New {
            self.kernel.wake_up_new_task(task, Instant(self.now), &mut ());
            self.drain();
        } else {
            self.result.misfits += 1;
        }
    }

    fn runnable(&self, task: TaskId) -> bool {
        self.kernel.task(task).state == TaskState::Runnable
    }

    /// The model's task behind a trace's; the idle task is none. A thread first seen here has always slept.
    fn task(&mut self, ix: TaskIx) -> Option<TaskId> {
        let pid = self.capture.trace.pid(ix);
        if pid == 0 {
            return None;
        }
        let kernel = &mut self.kernel;
        Some(*self.tasks.entry(pid).or_insert_with(|| {
            let params = params(kernel);
            kernel.add_task(&params)
        }))
    }
}

fn params(kernel: &Kernel<Follow>) -> TaskParams {
    TaskParams { nice: 0, policy: Policy::Normal, cpus_allowed: kernel.all_cpus(), group: GroupId::ROOT }
}
