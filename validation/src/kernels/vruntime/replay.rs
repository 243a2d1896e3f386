//! The trace, event by event, done to the kernel model.

use super::charges::{Charge, Charges};
use super::follow::{Follow, Placed};
use super::{VruntimeCheck, VruntimeMiss};
use crate::capture::Capture;
use crate::capture::trace::{Context, TaskIx, TraceEvent, TraceKind};
use crate::kernels::levels::levels;
use crate::simulate::add_groups;
use sim_core::kernel::entity::{before, max_vruntime, min_vruntime as wrapping_min};
use sim_core::kernel::task::TaskState;
use sim_core::kernel::weight::calc_delta_fair;
use sim_core::kernel::{Kernel, KernelConfig, Policy, Schedule, TaskParams};
use sim_core::{CfsRqId, CpuId, GroupId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};

const CPU: CpuId = CpuId(0);
/// The model's clock when the trace begins. Only differences count.
const BEGIN: u64 = 1_000_000_000;
/// Where a queue's `min_vruntime` is taken to be until a placement shows it: this far below the first vruntime seen on
/// it, so that it does not matter. Far more than any sleeper's credit.
const BELOW: u64 = 1 << 40;

/// The `min_vruntime` with which queues start, as far as learnt; on the kernel's time line.
#[derive(Debug, Default)]
pub(super) struct Starts(BTreeMap<CfsRqId, u64>);

/// A start value was learnt: the replay is to begin anew.
pub(super) struct Learnt(pub(super) Starts);

/// What is known of a task.
struct Known {
    id: TaskId,
    /// Where it was last placed, until its next charge shows whether that was right.
    placed: Option<Placed>,
    /// Whether that placement gave its start value.
    start: bool,
    /// Whether a start value is taken.
    has_start: bool,
}

pub(super) struct Replay<'a> {
    pub(super) result: VruntimeCheck,
    capture: &'a Capture,
    charges: &'a Charges,
    kernel: Kernel<Follow>,
    tasks: BTreeMap<u32, Known>,
    starts: Starts,
    /// The greatest start that every placement so far allows, by queue; on the model's time line.
    ceilings: BTreeMap<CfsRqId, u64>,
    /// The kernel's vruntime at the model's zero, by queue.
    zero: BTreeMap<CfsRqId, u64>,
    now: u64,
    /// A sample of the clock and the stamp that belongs to it.
    anchor: (u64, u64),
    /// Who announced its exit: what that does to its queue comes with its next charge.
    exiting: Option<u32>,
    /// Index of the present event.
    at: usize,
}

impl<'a> Replay<'a> {
    pub(super) fn new(
        capture: &'a Capture,
        config: KernelConfig,
        charges: &'a Charges,
        starts: Starts,
    ) -> Replay<'a> {
        let mut kernel = Kernel::new(config, Follow::default());
        let groups = add_groups(&capture.spec, |above, shares| kernel.add_group(above, shares, false));
        let mut pids: Vec<u32> = capture.result.top_level().map(|t| t.pid).collect();
        // The driver forks in the spec's order.
        pids.sort_unstable();
        let mut tasks = BTreeMap::new();
        for (pid, task) in pids.into_iter().zip(&capture.spec.tasks) {
            let group = task.group.as_ref().and_then(|g| groups.get(g)).copied().unwrap_or(GroupId::ROOT);
            let cpus_allowed = kernel.all_cpus();
            let id =
                kernel.add_task(&TaskParams { nice: task.nice, policy: task.policy, cpus_allowed, group });
            tasks.insert(pid, Known::before(id));
        }
        let first = capture.trace.events.first().map_or(0, |e| e.at_ns);
        Replay {
            result: VruntimeCheck::default(),
            capture,
            charges,
            kernel,
            tasks,
            starts,
            ceilings: BTreeMap::new(),
            zero: BTreeMap::new(),
            now: BEGIN,
            anchor: (BEGIN, first),
            exiting: None,
            at: 0,
        }
    }

    /// Replays the whole trace.
    ///
    /// # Errors
    /// [`Learnt`] when a queue's start was learnt: replay again with it.
    pub(super) fn run(&mut self) -> Result<(), Learnt> {
        let events = &self.capture.trace.events;
        self.begin();
        for (i, event) in events.iter().enumerate() {
            self.at = i;
            let pid = |ix: &TaskIx| self.capture.trace.pid(*ix);
            match &event.kind {
                TraceKind::StatRuntime { task, .. } => self.charge(event, pid(task))?,
                TraceKind::Switch { prev, prev_state, next } => {
                    self.switch(event, pid(prev), prev_state, pid(next));
                }
                TraceKind::Wakeup { task, new: false, .. } => self.wakeup(event, pid(task)),
                TraceKind::Wakeup { task, new: true, .. } => self.first_wakeup(pid(task)),
                TraceKind::Fork { parent, child } => self.fork(pid(parent), pid(child)),
                TraceKind::Exit(task) => self.exiting = Some(pid(task)),
                _ => {}
            }
        }
        self.result.starts += self.starts.0.len() as u64;
        Ok(())
    }

    /// Who ran and who waited when the trace began: the first event's current task, and those that get the CPU without
    /// having been woken.
    fn begin(&mut self) {
        let trace = &self.capture.trace;
        let Some(current) = trace.events.first().map(|e| trace.pid(e.current)) else { return };
        let mut known = BTreeSet::from([0, current]);
        let mut queued = vec![current];
        for event in &trace.events {
            match event.kind {
                TraceKind::Wakeup { task, .. } => drop(known.insert(trace.pid(task))),
                TraceKind::Switch { next, .. } if known.insert(trace.pid(next)) => {
                    queued.push(trace.pid(next))
                }
                _ => {}
            }
        }
        for pid in queued.into_iter().filter(|pid| *pid != 0) {
            self.wake(pid);
        }
        if current != 0 {
            self.schedule(Schedule::Preempt, current);
        }
    }

    /// A charge of the running task: by a tick, by what the next event shows, or because its CPU clock was read.
    fn charge(&mut self, event: &TraceEvent, pid: u32) -> Result<(), Learnt> {
        let Some(charge) = self.charges.next(pid, self.at) else { return Ok(()) };
        let curr = self.kernel.rq(CPU).curr;
        let Some(task) = curr.filter(|t| self.tasks.get(&pid).is_some_and(|k| k.id == *t)) else {
            self.result.misfits += 1;
            return Ok(());
        };
        self.now = self.charged_at(task, charge);
        self.anchor = (self.now, event.at_ns);
        let interrupt = matches!(event.flags.context(), Context::HardIrq | Context::HardInSoftIrq);
        if interrupt && self.is_tick() {
            self.kernel.scheduler_tick(CPU, Instant(self.now), &mut ());
        } else {
            self.kernel.charge_running(CPU, Instant(self.now), &mut ());
        }
        self.compare(event, pid, charge)?;
        if !interrupt && self.exiting == Some(pid) {
            self.exiting = None;
            self.kernel.begin_exit(task, Instant(self.now), &mut ());
        }
        Ok(())
    }

    /// When a charge of the running task ends: where its last one did, and its length.
    fn charged_at(&mut self, task: TaskId, charge: Charge) -> u64 {
        let at = self.kernel.task_entity(task).exec_start + charge.runtime;
        let clock = self.kernel.rq(CPU).clock;
        self.result.misfits += u64::from(at < clock);
        at.max(clock)
    }

    /// A charge in a hard interrupt is the tick's, unless a wake-up on the running task's own queue follows it.
    fn is_tick(&self) -> bool {
        let next = self.capture.trace.events.get(self.at + 1).map(|e| &e.kind);
        let Some(TraceKind::Wakeup { task, .. }) = next else { return true };
        let woken = self.tasks.get(&self.capture.trace.pid(*task)).map(|k| k.id);
        self.curr_queue() != Some(woken.map_or(self.kernel.rq(CPU).cfs, |t| self.queue(t)))
    }

    fn queue(&self, task: TaskId) -> CfsRqId {
        self.kernel.task_entity(task).cfs_rq
    }

    fn curr_queue(&self) -> Option<CfsRqId> {
        self.kernel.rq(CPU).curr.map(|t| self.queue(t))
    }

    fn compare(&mut self, event: &TraceEvent, pid: u32, charge: Charge) -> Result<(), Learnt> {
        let Some(known) = self.tasks.get_mut(&pid) else { return Ok(()) };
        let (id, placed, start) = (known.id, known.placed.take(), std::mem::take(&mut known.start));
        let q = self.queue(id);
        let model = self.kernel.task_entity(id).vruntime.wrapping_add(self.zero(q, charge.vruntime));
        let mut off = model.wrapping_sub(charge.vruntime) as i64;
        if placed.is_some() && self.has_groups(q) {
            self.result.untraced += 1;
            return Ok(());
        }
        if let Some(p) = placed {
            // A start value is one the floor allows; any other placement is the model's own.
            let own = if start { max_vruntime(p.base, p.taken) } else { p.model };
            off += own.wrapping_sub(p.taken) as i64;
            self.learn(q, p, off, start)?;
        }
        let right = off == 0;
        if start && right {
            self.result.starts += 1;
            return Ok(());
        }
        self.result.charges += 1;
        self.result.placements += u64::from(placed.is_some());
        self.result.right += u64::from(right);
        if !right && self.result.first_miss.is_none() {
            let task = self.capture.trace.name(event.current).comm.clone();
            let after_t0_ns = event.at_ns.wrapping_sub(self.capture.clock.t0_ns) as i64;
            self.result.first_miss = Some(VruntimeMiss { task, after_t0_ns, off_ns: off });
        }
        Ok(())
    }

    /// A placement that shows more than the queue's supposed start gives tells the start, if the placements before allow
    /// it.
    fn learn(&mut self, q: CfsRqId, p: Placed, off: i64, start: bool) -> Result<(), Learnt> {
        let shown = p.model.wrapping_sub(off as u64);
        let min_vruntime = p.min_vruntime.wrapping_add(shown.wrapping_sub(p.base));
        let ceiling = *self.ceilings.entry(q).or_insert(min_vruntime);
        if off >= 0 || start || self.starts.0.contains_key(&q) || before(ceiling, min_vruntime) {
            self.ceilings.insert(q, wrapping_min(ceiling, min_vruntime));
            return Ok(());
        }
        let zero = self.zero(q, 0);
        self.starts.0.insert(q, zero.wrapping_add(min_vruntime));
        Err(Learnt(std::mem::take(&mut self.starts)))
    }

    /// The kernel's vruntime at the model's zero, which is where the queue's `min_vruntime` starts. `seen` is a vruntime on
    /// that queue.
    fn zero(&mut self, q: CfsRqId, seen: u64) -> u64 {
        let learnt = self.starts.0.get(&q).copied();
        *self.zero.entry(q).or_insert(learnt.unwrap_or(seen.wrapping_sub(BELOW)))
    }

    /// Whether group entities are queued on a queue.
    fn has_groups(&self, q: CfsRqId) -> bool {
        let mut all =
            (1..self.kernel.nr_groups()).map(|g| self.kernel.group(GroupId::new(g)).se[CPU.index()]);
        all.any(|se| self.kernel.entity(se).cfs_rq == q)
    }

    fn switch(&mut self, event: &TraceEvent, prev: u32, state: &str, next: u32) {
        let prev_task = self.tasks.get(&prev).map(|k| k.id);
        if self.kernel.rq(CPU).curr != prev_task || next != 0 && !self.is_runnable(next) {
            self.result.misfits += 1;
            return;
        }
        let mut why = Schedule::Preempt;
        match prev_task {
            None => self.now = self.stamped(event),
            Some(p) if !state.starts_with('R') => {
                self.kernel.set_sleeping(p);
                why = Schedule::Call;
            }
            Some(_) => {}
        }
        let left = self.kernel.rq(CPU).nr_running - u32::from(why == Schedule::Call);
        self.result.misfits += u64::from((left == 0) != (next == 0));
        self.schedule(why, next);
        self.anchor = (self.now, event.at_ns);
    }

    /// Calls `__schedule` so that `next` gets the CPU.
    fn schedule(&mut self, why: Schedule, next: u32) {
        let mut path = std::mem::take(&mut self.kernel.hooks.path);
        levels(&self.kernel, self.tasks.get(&next).map(|k| k.id), &mut path);
        self.kernel.hooks.path = path;
        self.kernel.schedule(CPU, Instant(self.now), why, &mut ());
    }

    fn wakeup(&mut self, event: &TraceEvent, pid: u32) {
        let task = self.task(pid);
        // On the running task's own queue the wake-up charges it, and the trace has just shown that.
        if self.curr_queue() != Some(self.queue(task)) {
            self.now = self.stamped(event);
        }
        if self.kernel.task(task).state == TaskState::Sleeping {
            self.wake(pid);
        } else {
            self.result.misfits += 1;
        }
    }

    /// Wakes a task where its next charge shows that it was put.
    fn wake(&mut self, pid: u32) {
        let id = self.task(pid);
        let next = self.charges.next(pid, self.at);
        let taken = next.map(|c| {
            let mut load = self.kernel.task_entity(id).load;
            let charged = calc_delta_fair(c.runtime, &mut load, self.kernel.config.rules.scale_load_floor);
            let put = c.vruntime.wrapping_sub(charged);
            put.wrapping_sub(self.zero(self.queue(id), put))
        });
        self.kernel.hooks.waking = taken;
        self.kernel.try_to_wake_up(id, CPU, None, false, Instant(self.now), &mut ());
        self.kernel.hooks.waking = None;
        let placed = self.kernel.hooks.placed.take();
        if let Some(known) = self.tasks.get_mut(&pid).filter(|_| taken.is_some()) {
            known.placed = placed;
            known.start = !std::mem::replace(&mut known.has_start, true);
        }
    }

    fn fork(&mut self, parent: u32, child: u32) {
        let parent = self.tasks.get(&parent).map(|k| k.id);
        match parent.filter(|p| self.kernel.rq(CPU).curr == Some(*p)) {
            Some(p) => {
                let id = self.kernel.sched_fork(p, Instant(self.now), &mut ());
                let placed = self.kernel.hooks.placed.take();
                self.tasks.insert(child, Known { id, placed, start: false, has_start: true });
            }
            None => self.result.misfits += 1,
        }
    }

    fn first_wakeup(&mut self, pid: u32) {
        let task = self.task(pid);
        if self.kernel.task(task).state == TaskState::New {
            self.kernel.wake_up_new_task(task, Instant(self.now), &mut ());
        } else {
            self.result.misfits += 1;
        }
    }

    /// When a wake-up that charges nobody sampled the clock: by its stamp, between the clock's last sample and the end of
    /// the running task's next charge.
    fn stamped(&self, event: &TraceEvent) -> u64 {
        let at = self.anchor.0 + event.at_ns.saturating_sub(self.anchor.1);
        let next = self.kernel.rq(CPU).curr.and_then(|t| {
            let charge = self.charges.next(self.capture.trace.pid(event.current), self.at)?;
            Some(self.kernel.task_entity(t).exec_start + charge.runtime)
        });
        at.min(next.unwrap_or(u64::MAX)).max(self.kernel.rq(CPU).clock)
    }

    fn is_runnable(&mut self, pid: u32) -> bool {
        let task = self.task(pid);
        self.kernel.task(task).state == TaskState::Runnable
    }

    /// The model's task behind a pid. One that is neither of the workload nor forked in sight has slept since before.
    fn task(&mut self, pid: u32) -> TaskId {
        let kernel = &mut self.kernel;
        let known = self.tasks.entry(pid).or_insert_with(|| {
            let (policy, cpus_allowed) = (Policy::Normal, kernel.all_cpus());
            Known::before(kernel.add_task(&TaskParams {
                nice: 0,
                policy,
                cpus_allowed,
                group: GroupId::ROOT,
            }))
        });
        known.id
    }
}

impl Known {
    /// A task that was there before the trace.
    fn before(id: TaskId) -> Known {
        Known { id, placed: None, start: false, has_start: false }
    }
}
