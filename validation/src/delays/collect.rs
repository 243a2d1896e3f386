//! One pass over a trace that finds the durations of [`Path`]s.

use super::{Delay, Path};
use crate::capture::Capture;
use crate::capture::spec::{Step, Task};
use crate::capture::trace::{Context, TaskIx, Trace, TraceEvent, TraceKind};
use std::collections::BTreeMap;

/// How near to a tick a switch must be to be its doing. Ten times the longest path seen; a tick is 4 ms.
const NEAR_TICK_NS: u64 = 100_000;

/// All delays of a capture of one CPU, in order of time.
pub fn delays(capture: &Capture) -> Vec<Delay> {
    let mut pass = Pass {
        capture,
        shapes: shapes(capture),
        found: Vec::new(),
        wakes: Vec::new(),
        blocked: BTreeMap::new(),
        turn: None,
        last_fork: None,
    };
    for event in &capture.trace.events {
        pass.event(event);
    }
    pass.result();
    pass.found.extend(super::charge::wake_clock_lags(capture));
    pass.found
}

/// What a task's body does per iteration, if it is that simple.
struct Shape {
    run: Option<u64>,
    sleep: Option<u64>,
    pipes: bool,
}

/// The shapes of the spec's tasks by pid: the driver forks them in the spec's order, so pids ascend with it.
fn shapes(capture: &Capture) -> BTreeMap<u32, Shape> {
    let mut pids: Vec<u32> = capture.result.top_level().map(|t| t.pid).collect();
    pids.sort_unstable();
    pids.into_iter().zip(capture.spec.tasks.iter().map(shape)).collect()
}

fn shape(task: &Task) -> Shape {
    let mut steps = Vec::new();
    flatten(&task.body, &mut steps);
    let only = |f: fn(&Step) -> Option<Option<u64>>| {
        let mut all = steps.iter().filter_map(|s| f(s));
        all.next().filter(|_| all.next().is_none()).flatten()
    };
    Shape {
        run: only(|s| if let Step::Run(span) = s { Some(span.constant()) } else { None }),
        sleep: only(|s| if let Step::Sleep(span) = s { Some(span.constant()) } else { None }),
        pipes: steps.iter().any(|s| matches!(s, Step::Read(..)))
            && steps.iter().any(|s| matches!(s, Step::Write(..))),
    }
}

fn flatten<'a>(body: &'a [Step], into: &mut Vec<&'a Step>) {
    for step in body {
        into.push(step);
        match step {
            Step::Loop(_, b) | Step::For(_, b) | Step::Fork(b) | Step::Jobs { body: b, .. } => {
                flatten(b, into)
            }
            _ => {}
        }
    }
}

/// The turn under way.
struct Turn {
    pid: u32,
    since: u64,
    /// Whether the task came from blocking, so that the turn begins where a blocking call returns.
    fresh: bool,
}

struct Pass<'a> {
    capture: &'a Capture,
    shapes: BTreeMap<u32, Shape>,
    found: Vec<Delay>,
    /// Wake-ups since the last switch.
    wakes: Vec<&'a TraceEvent>,
    /// When each task last blocked, until it runs again.
    blocked: BTreeMap<u32, u64>,
    turn: Option<Turn>,
    /// The last event, if it belongs to a fork: who forked, and when.
    last_fork: Option<(TaskIx, u64)>,
}

impl<'a> Pass<'a> {
    fn trace(&self) -> &'a Trace {
        &self.capture.trace
    }

    fn add(&mut self, path: Path, at_ns: u64, ns: i64) {
        self.found.push(Delay { path, at_ns, ns });
    }

    fn event(&mut self, event: &'a TraceEvent) {
        match &event.kind {
            TraceKind::Switch { prev, prev_state, next } => {
                self.switch(event.at_ns, *prev, !prev_state.starts_with('R'), *next);
            }
            TraceKind::Wakeup { task, new: false, .. } => {
                self.wakeup(event, *task);
                self.wakes.push(event);
            }
            TraceKind::Fork { parent, .. } => {
                if let Some((_, at)) = self.last_fork.filter(|(p, _)| p == parent) {
                    self.add(Path::ForkCycle, event.at_ns, (event.at_ns - at) as i64);
                }
                self.last_fork = Some((*parent, event.at_ns));
            }
            _ => {}
        }
        if !matches!(event.kind, TraceKind::Fork { .. } | TraceKind::Wakeup { new: true, .. }) {
            self.last_fork = None;
        }
    }

    fn wakeup(&mut self, event: &TraceEvent, task: TaskIx) {
        let (at, pid) = (event.at_ns, self.trace().pid(task));
        let last = self.wakes.last().filter(|w| w.flags.context() == Context::HardIrq);
        match event.flags.context() {
            Context::HardIrq => {
                // Wake-ups of one interrupt follow each other within a few µs.
                if let Some(gap) = last.map(|w| at - w.at_ns).filter(|gap| *gap < 10_000) {
                    self.add(Path::NextWakeInIrq, at, gap as i64);
                } else if let (Some(slept), Some(sleep)) =
                    (self.blocked.get(&pid), self.shapes.get(&pid).and_then(|s| s.sleep))
                {
                    self.add(Path::SleepWake, at, (at - slept) as i64 - sleep as i64);
                }
            }
            Context::SoftIrq => {
                if let Some(ns) = self.capture.clock.since_tick(at).filter(|ns| *ns < NEAR_TICK_NS) {
                    self.add(Path::TickToSoftIrqWake, at, ns as i64);
                }
            }
            // A task that exits wakes the driver: only its own kind counts here.
            Context::Task if self.shapes.contains_key(&pid) => {
                if let Some(turn) = self.turn.as_ref().filter(|t| t.fresh && self.wakes.is_empty())
                    && let Some(Shape { run: Some(run), pipes: true, .. }) = self.shapes.get(&turn.pid)
                {
                    self.add(Path::PipeTurn, at, (at - turn.since) as i64 - *run as i64);
                }
            }
            _ => {}
        }
    }

    fn switch(&mut self, at: u64, prev: TaskIx, blocked: bool, next: TaskIx) {
        let (prev, next) = (self.trace().pid(prev), self.trace().pid(next));
        let wakes = std::mem::take(&mut self.wakes);
        let last = wakes.last().map(|w| (w.flags.context(), (at - w.at_ns) as i64));
        let woke_ours = wakes.last().is_some_and(|w| match w.kind {
            TraceKind::Wakeup { task, .. } => self.shapes.contains_key(&self.trace().pid(task)),
            _ => false,
        });
        if prev == 0 {
            if let Some((_, ns)) = last {
                self.add(Path::IdleWakeToSwitch, at, ns);
            }
        } else if blocked {
            self.blocks(at, prev, last, woke_ours);
        } else {
            self.preempted(at, &wakes, last);
        }
        self.turn = Some(Turn { pid: next, since: at, fresh: self.blocked.remove(&next).is_some() });
    }

    fn blocks(&mut self, at: u64, prev: u32, last: Option<(Context, i64)>, woke_ours: bool) {
        if let Some((Context::Task, ns)) = last.filter(|_| woke_ours) {
            self.add(Path::WakeToBlock, at, ns);
        }
        if let Some(turn) = self.turn.as_ref().filter(|t| t.fresh)
            && let Some(Shape { run: Some(run), sleep: Some(_), .. }) = self.shapes.get(&prev)
            && last.is_none()
        {
            self.add(Path::RunAndSleep, at, (at - turn.since) as i64 - *run as i64);
        }
        self.blocked.insert(prev, at);
    }

    fn preempted(&mut self, at: u64, wakes: &[&TraceEvent], last: Option<(Context, i64)>) {
        let setting = wakes.iter().find(|w| w.flags.need_resched());
        match (setting, last) {
            // Only when nothing else was woken after it: that would lengthen the path.
            (Some(w), Some((context, ns))) if (at - w.at_ns) as i64 == ns => match context {
                Context::HardIrq => self.add(Path::HardIrqWakeToSwitch, at, ns),
                Context::SoftIrq => self.add(Path::SoftIrqWakeToSwitch, at, ns),
                Context::Task => self.add(Path::TaskWakeToSwitch, at, ns),
                _ => {}
            },
            (Some(_), _) => {}
            (None, _) => {
                if let Some(ns) = self.capture.clock.since_tick(at).filter(|ns| *ns < NEAR_TICK_NS) {
                    let near = last.is_some_and(|(_, since)| since < NEAR_TICK_NS as i64);
                    self.add(
                        if near { Path::TickAndWakeToSwitch } else { Path::TickToSwitch },
                        at,
                        ns as i64,
                    );
                }
            }
        }
    }

    /// What `result.json` adds: the driver's own looks at the clock.
    fn result(&mut self) {
        let (result, trace) = (&self.capture.result, self.trace());
        let trace_ns = |since_t0: i64| result.t0_ns + since_t0 + self.capture.clock.offset_ns;
        let mut found = Vec::new();
        for task in result.top_level() {
            let switches = |to| switches_of(trace, task.pid, to);
            let (start, end) = (trace_ns(task.start_ns), trace_ns(task.end_ns));
            if let Some(at) = switches(true).filter(|at| *at as i64 <= start).last() {
                found.push(Delay { path: Path::Start, at_ns: at, ns: start - at as i64 });
            }
            if let Some(at) = switches(false).last()
                && switches(true).last().is_some_and(|on| (on as i64) < end)
            {
                found.push(Delay { path: Path::Finish, at_ns: at, ns: at as i64 - end });
            }
            if let Some(Shape { run: Some(run), .. }) = self.shapes.get(&task.pid).filter(|_| task.iters > 0)
            {
                let over = (task.cpu_ns - (*run as i64).saturating_mul(task.iters)) / task.iters;
                found.push(Delay { path: Path::RunOvershoot, at_ns: end as u64, ns: over });
            }
        }
        for task in result.tasks.iter().filter(|t| result.tasks.iter().any(|p| p.pid == t.ppid)) {
            if let Some(at) = switches_of(trace, task.pid, true).next() {
                let ns = trace_ns(task.start_ns) - at as i64;
                found.push(Delay { path: Path::ForkChild, at_ns: at, ns });
            }
        }
        self.found.extend(found);
    }
}

/// When a task was switched to, or away from.
fn switches_of(trace: &Trace, pid: u32, to: bool) -> impl Iterator<Item = u64> + '_ {
    trace.events.iter().filter_map(move |e| match e.kind {
        TraceKind::Switch { prev, next, .. } => {
            (trace.pid(if to { next } else { prev }) == pid).then_some(e.at_ns)
        }
        _ => None,
    })
}
