//! The trace, event by event, done to the kernel model.

use super::follow::{Asking, Follow};
use super::known::Knowledge;
use super::setup::{SWITCH_FOLLOWS_NS, Setup, Traits};
use super::tally::{Answer, Kind, Report};
use super::tick::CpuTicks;
use crate::capture::trace::{TaskIx, Trace, TraceEvent, TraceKind};
use crate::kernels::levels::levels;
use crate::measure::NeedReschedTracker;
use sim_core::kernel::task::TaskState;
use sim_core::kernel::{Kernel, Policy, Schedule, TaskParams};
use sim_core::observe::MigrateReason;
use sim_core::{CpuId, CpuMask, GroupId, Instant, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of one CPU.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    /// need_resched as the trace shows it.
    pub(super) resched: NeedReschedTracker,
    pub(super) ticks: CpuTicks,
    /// Its last changes between idle and busy, the present one last, and whether it has gone idle in sight.
    pub(super) turned: u64,
    pub(super) slept: bool,
    /// Since when its task has been alone on it.
    alone_since: Option<u64>,
    /// Its task has been taken off before its switch came: it was about to idle when it balanced.
    pub(super) left_early: Option<TaskId>,
}

pub(super) struct Replay<'a> {
    pub(super) trace: &'a Trace,
    pub(super) setup: Setup,
    pub(super) kernel: Kernel<Follow>,
    pub(super) report: Report,
    pub(super) known: Knowledge,
    pub(super) cpus: Vec<Cpu>,
    pub(super) now: u64,
    pub(super) next_tick: Option<u64>,
    /// What one stamp can tell, ns.
    pub(super) resolution: u64,
    pub(super) tasks: BTreeMap<u32, TaskId>,
    /// Tasks woken with their migration; the event of the wake-up is still to come.
    pub(super) woken_early: BTreeSet<TaskId>,
    pub(super) window: u64,
    /// Tasks that exit; their wake-ups are not synchronous.
    pub(super) exiting: BTreeSet<TaskId>,
    /// CPUs of tasks that bind themselves, from their next sleep there on.
    binding: BTreeMap<TaskId, CpuMask>,
    /// Tasks bound by themselves until one of them is seen elsewhere.
    bound: BTreeSet<TaskId>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(trace: &'a Trace, setup: Setup, kernel: Kernel<Follow>) -> Replay<'a> {
        let cpus = setup.config.cpus;
        let coarse = trace.events.iter().all(|e| e.at_ns.is_multiple_of(1000));
        let first = trace.events.first().map_or(0, |e| e.at_ns);
        // A kernel that already runs keeps its clock.
        let clock = (0..cpus).map(|c| kernel.rq(CpuId(c)).clock).max().unwrap_or(0);
        let start = clock.max(if setup.from_the_start { first } else { 0 });
        let tick = setup.config.tick_ns();
        let next_tick = setup.tick_phase_ns.map(|phase| {
            let first = (phase as i64 + setup.shift).rem_euclid(tick as i64) as u64;
            first + (start.saturating_sub(first) / tick + 1) * tick
        });
        Replay {
            trace,
            kernel,
            report: Report::default(),
            known: Knowledge::default(),
            cpus: (0..cpus).map(|_| Cpu::default()).collect(),
            now: start,
            next_tick,
            resolution: if coarse { 1000 } else { 1 },
            tasks: BTreeMap::new(),
            woken_early: BTreeSet::new(),
            exiting: BTreeSet::new(),
            binding: BTreeMap::new(),
            bound: BTreeSet::new(),
            // Paths on a machine of several emulated CPUs take that many times as long.
            window: SWITCH_FOLLOWS_NS * u64::from(cpus),
            setup,
        }
    }

    /// Tasks of which everything is known.
    pub(super) fn know(&mut self, tasks: Vec<(u32, TaskId)>) {
        for (pid, task) in tasks {
            self.known.born(task);
            self.tasks.insert(pid, task);
        }
    }

    pub(super) fn run(mut self) -> Report {
        if self.setup.from_the_start {
            self.begin();
        }
        let (from, to) = self.setup.span;
        let trace = self.trace;
        for (i, event) in trace.events.iter().enumerate() {
            if (from..=to).contains(&event.at_ns) {
                let lag =
                    if matches!(event.kind, TraceKind::Wakeup { .. }) { self.setup.wake_lag_ns } else { 0 };
                self.event(i, event, event.at_ns.saturating_add_signed(self.setup.shift) + lag);
            }
            let resched = &mut self.cpus[event.cpu as usize].resched;
            match event.kind {
                TraceKind::Switch { .. } => resched.switched(),
                _ => resched.seen(event.flags.need_resched()),
            }
        }
        self.report
    }

    /// Who ran and who waited when the trace began: each CPU's first current task, and those that get a CPU without having
    /// been woken.
    fn begin(&mut self) {
        let trace = self.trace;
        let mut seen = BTreeSet::from([0]);
        let mut on = vec![false; self.cpus.len()];
        let mut current = Vec::new();
        for event in &trace.events {
            let pid = trace.pid(event.current);
            let first = !std::mem::replace(&mut on[event.cpu as usize], true);
            if first && seen.insert(pid) {
                self.put(event.current, CpuId(event.cpu));
                current.push((event.current, CpuId(event.cpu)));
            }
            match event.kind {
                TraceKind::Wakeup { task, .. } => drop(seen.insert(trace.pid(task))),
                TraceKind::Migrate { task, from, .. } if seen.insert(trace.pid(task)) => {
                    // Seen to move before it was seen to wake: it slept there.
                    self.task(task, CpuId(from));
                }
                TraceKind::Switch { next, .. } if seen.insert(trace.pid(next)) => {
                    self.put(next, CpuId(event.cpu));
                }
                _ => {}
            }
        }
        for (ix, cpu) in current {
            let task = self.task(ix, cpu);
            self.schedule(cpu, Schedule::Preempt, task);
        }
    }

    /// Makes a task runnable on a CPU, unasked.
    fn put(&mut self, ix: TaskIx, cpu: CpuId) {
        let Some(task) = self.task(ix, cpu) else { return };
        self.force_wake(task, cpu);
        self.known.set_vruntime(task, false);
    }

    /// Wakes a task on a CPU without asking anything.
    fn force_wake(&mut self, task: TaskId, cpu: CpuId) {
        self.allow(task, cpu);
        (self.kernel.hooks.cpu, self.kernel.hooks.queue) = (Some(cpu), Some(false));
        self.kernel.try_to_wake_up(task, cpu, None, false, Instant(self.now), &mut ());
        self.kernel.hooks.cpu = None;
        self.known.waits_from(task, self.now);
        self.drain();
    }

    fn event(&mut self, i: usize, event: &TraceEvent, at: u64) {
        self.ticks_until(at);
        self.now = self.now.max(at);
        self.name_of(event);
        let cpu = CpuId(event.cpu);
        match &event.kind {
            TraceKind::Switch { prev, prev_state, next } => self.switch(event, *prev, prev_state, *next),
            TraceKind::Wakeup { task, new: false, target_cpu } => {
                self.wakeup(i, event, *task, CpuId(*target_cpu));
            }
            TraceKind::Wakeup { task, new: true, target_cpu } => {
                self.first_wakeup(event, *task, CpuId(*target_cpu));
            }
            TraceKind::Migrate { task, from, to } => {
                self.migrate(i, event, *task, CpuId(*from), CpuId(*to));
            }
            TraceKind::Fork { parent, child } => self.fork(cpu, *parent, *child),
            TraceKind::Exit(task) => {
                if let Some(task) = self.task(*task, cpu).filter(|t| self.kernel.rq(cpu).curr == Some(*t)) {
                    self.exiting.insert(task);
                    self.kernel.begin_exit(task, Instant(self.now), &mut ());
                    self.drain();
                }
            }
            _ => {}
        }
    }

    /// A task of a spec changes its nice value and policy when it takes its name.
    fn name_of(&mut self, event: &TraceEvent) {
        let name = self.trace.name(event.current);
        let Some(traits) = self.setup.traits.get(&name.pid).cloned() else { return };
        let Some(task) = self.tasks.get(&name.pid).copied() else { return };
        if traits.name.as_ref().is_some_and(|n| *n == name.comm) {
            self.setup.traits.remove(&name.pid);
            self.take(task, &traits);
        }
    }

    fn take(&mut self, task: TaskId, traits: &Traits) {
        let now = Instant(self.now);
        self.kernel.set_user_nice(task, traits.nice, now, &mut ());
        self.kernel.set_policy(task, traits.policy, now, &mut ());
        if let Some(cpus) = &traits.cpus {
            let cpus = cpus.and(self.kernel.topology().online());
            if !cpus.is_empty() {
                self.binding.insert(task, cpus);
            }
        }
        self.drain();
    }

    /// Calls `__schedule` so that `next` runs; tells whether the model would have picked the same.
    pub(super) fn schedule(&mut self, cpu: CpuId, why: Schedule, next: Option<TaskId>) -> bool {
        let idle = self.kernel.rq(cpu).curr.is_none();
        let mut path = std::mem::take(&mut self.kernel.hooks.next);
        levels(&self.kernel, next, &mut path);
        let hooks = &mut self.kernel.hooks;
        (hooks.next, hooks.astray, hooks.margin, hooks.rule) = (path, false, None, None);
        let switch = self.kernel.schedule(cpu, Instant(self.now), why, &mut Asking);
        self.kernel.hooks.next.clear();
        self.drain();
        if idle != switch.next.is_none() {
            self.turn(cpu);
            self.cpus[cpu.index()].slept |= !idle;
        }
        !self.kernel.hooks.astray
    }

    /// A CPU turned idle or busy.
    pub(super) fn turn(&mut self, cpu: CpuId) {
        self.cpus[cpu.index()].turned = self.now;
    }

    /// What the model asks of its driver. Passes for idle CPUs run, so that averages are kept; they move nothing.
    pub(super) fn drain(&mut self) {
        while self.kernel.take_resched().is_some() {}
        while let Some(cpu) = self.kernel.take_nohz_kick() {
            self.kernel.nohz_balance(cpu, Instant(self.now), &mut ());
        }
        while let Some(cpu) = self.kernel.take_stop_request() {
            while self.kernel.run_stop_work(cpu, Instant(self.now), &mut ()) {}
        }
        while self.kernel.take_resched().is_some() {}
    }

    fn switch(&mut self, event: &TraceEvent, prev: TaskIx, state: &str, next: TaskIx) {
        let cpu = CpuId(event.cpu);
        let (mut prev, next) = (self.task(prev, cpu), self.task(next, cpu));
        let early = self.cpus[cpu.index()].left_early.take();
        if early.is_some() && early == prev {
            prev = None;
        }
        self.recover(cpu, prev, next);
        if self.kernel.rq(cpu).curr != prev || next.is_some_and(|n| !self.runs_on(n, cpu)) {
            self.report.misfits += 1;
            return;
        }
        let mut why = Schedule::Preempt;
        if let Some(p) = prev.filter(|_| !state.starts_with('R')) {
            if state.starts_with(['X', 'Z']) {
                // Its load goes with it, and its pid may come again.
                self.kernel.set_dead(p);
                self.tasks.retain(|_, t| *t != p);
            } else {
                self.bind(p, cpu);
                self.kernel.set_sleeping(p);
            }
            why = Schedule::Call;
        }
        let before = self.alone(cpu);
        let from_tick = self.settle_switch(event, cpu, prev.filter(|_| why == Schedule::Preempt));
        let left = self.kernel.rq(cpu).nr_running - u32::from(why == Schedule::Call);
        if (left == 0) != next.is_none() {
            self.report.misfits += 1;
        }
        let mut waiting = self.runnable_on(cpu);
        if why == Schedule::Call {
            waiting.retain(|t| Some(*t) != prev);
        }
        let known = waiting.iter().all(|t| self.known.vruntime(*t));
        let tolerance = self.tolerance(&waiting);
        let first_come = waiting.iter().min_by_key(|t| self.queued_since(**t, prev)).copied();
        let same = self.schedule(cpu, why, next);
        if let Some(p) = prev.filter(|_| why == Schedule::Preempt) {
            self.known.waits_from(p, self.now);
        }
        if let Some(p) = prev {
            self.known.set_turns(p, self.known.turns(p).saturating_add(1));
        }
        self.learn_alone(cpu, prev, before);
        if next.is_some() {
            let answer = Answer {
                choice: waiting.len() > 1 && !waiting.iter().any(|t| self.is_stopper(*t)),
                decidable: known && self.kernel.hooks.margin.is_none_or(|m| m >= tolerance),
                right: same,
                first_come: first_come == next,
                ..Answer::default()
            };
            let rule = self.kernel.hooks.rule;
            let name = self.trace.name(match event.kind {
                TraceKind::Switch { next, .. } => next,
                _ => event.current,
            });
            let what = || format!("{} runs; not the model's choice (rule {rule:?})", name.comm);
            self.report.count(Kind::NextTask, answer, event.at_ns, event.cpu, what);
        }
        self.count_tick_switch(cpu, from_tick);
    }

    /// A task that has bound itself and been moved where it may be goes to sleep there.
    fn bind(&mut self, task: TaskId, cpu: CpuId) {
        if self.binding.get(&task).is_some_and(|cpus| cpus.contains(cpu))
            && let Some(cpus) = self.binding.remove(&task)
        {
            self.kernel.set_cpus_allowed(task, &cpus, Instant(self.now), &mut ());
            self.bound.insert(task);
        }
    }

    fn queued_since(&self, task: TaskId, prev: Option<TaskId>) -> u64 {
        if Some(task) == prev { self.now } else { self.known.waits_since(task) }
    }

    /// Brings the model to where the trace says a switch starts: whoever is named is on this CPU.
    fn recover(&mut self, cpu: CpuId, prev: Option<TaskId>, next: Option<TaskId>) {
        if let Some(p) = prev.filter(|p| self.kernel.rq(cpu).curr != Some(*p)) {
            self.report.misfits += 1;
            if self.bring(p, cpu) {
                self.schedule(cpu, Schedule::Preempt, Some(p));
            }
        }
        if let Some(n) = next.filter(|n| !self.runs_on(*n, cpu)) {
            self.report.misfits += 1;
            self.bring(n, cpu);
        }
    }

    /// Makes a task runnable on a CPU if it does not run on another.
    fn bring(&mut self, task: TaskId, cpu: CpuId) -> bool {
        match self.kernel.task(task).state {
            TaskState::Sleeping => self.force_wake(task, cpu),
            TaskState::New => {
                self.allow(task, cpu);
                self.kernel.hooks.cpu = Some(cpu);
                self.kernel.wake_up_new_task(task, Instant(self.now), &mut ());
                self.kernel.hooks.cpu = None;
            }
            TaskState::Waking => {
                let at = self.kernel.task(task).cpu;
                self.kernel.sched_ttwu_pending(at, Instant(self.now), &mut ());
            }
            _ => {}
        }
        self.woken_early.remove(&task);
        if self.kernel.task(task).cpu != cpu {
            self.allow(task, cpu);
            self.kernel.move_queued_task(task, cpu, MigrateReason::Affinity, Instant(self.now), &mut ());
        }
        self.known.set_vruntime(task, false);
        self.drain();
        self.runs_on(task, cpu)
    }

    fn fork(&mut self, cpu: CpuId, parent: TaskIx, child: TaskIx) {
        let pid = self.trace.pid(child);
        let parent = self.task(parent, cpu);
        let forked = match parent {
            Some(p) if self.kernel.rq(cpu).curr == Some(p) => {
                let forked = self.kernel.sched_fork(p, Instant(self.now), &mut ());
                self.known.born(forked);
                self.known.set_vruntime(forked, self.known.vruntime(p));
                self.known.set_turns(forked, self.known.turns(p));
                forked
            }
            _ => {
                self.report.misfits += 1;
                let params = params(&self.kernel);
                let forked = self.kernel.add_task(&params);
                self.known.met(forked, self.now);
                forked
            }
        };
        self.tasks.insert(pid, forked);
    }

    pub(super) fn runnable(&self, task: TaskId) -> bool {
        self.kernel.task(task).state == TaskState::Runnable
    }

    fn runs_on(&self, task: TaskId, cpu: CpuId) -> bool {
        self.runnable(task) && self.kernel.task(task).cpu == cpu
    }

    pub(super) fn is_stopper(&self, task: TaskId) -> bool {
        self.kernel.stopper(self.kernel.task(task).cpu) == Some(task)
    }

    /// Runnable tasks of a CPU, the running one included.
    pub(super) fn runnable_on(&self, cpu: CpuId) -> Vec<TaskId> {
        self.tasks.values().copied().filter(|t| self.runs_on(*t, cpu)).collect()
    }

    /// What the vruntimes of these tasks can be off by against each other, in virtual time of the lightest: the present
    /// turn's stamps, and those of all turns since they were placed, which add up like a random walk; twice its spread.
    pub(super) fn tolerance(&self, tasks: &[TaskId]) -> u64 {
        let turns = tasks.iter().map(|t| self.known.turns(*t)).max().unwrap_or(0);
        let nominal = 1024 << 10;
        let lightest = tasks.iter().map(|t| self.kernel.task_entity(*t).load.weight).min();
        let lightest = lightest.unwrap_or(nominal).clamp(1, nominal);
        let stamps = 4 + 2 * u64::from(2 * turns).isqrt();
        stamps * self.setup.lag_stamps * self.resolution * nominal / lightest
    }

    fn alone(&mut self, cpu: CpuId) -> bool {
        self.kernel.rq(cpu).nr_running == 1
    }

    /// A task that was alone on its CPU for a latency carries the queue's `min_vruntime` with it: from then on its vruntime
    /// is known.
    fn learn_alone(&mut self, cpu: CpuId, prev: Option<TaskId>, was_alone: bool) {
        let since = self.cpus[cpu.index()].alone_since;
        let latency = self.kernel.config.tunables.latency_ns;
        if let (Some(p), Some(since), true) = (prev, since, was_alone)
            && self.now - since > latency
        {
            self.known.set_vruntime(p, true);
        }
        self.note_alone(cpu);
    }

    /// Notes since when a CPU has had one task only.
    pub(super) fn note_alone(&mut self, cpu: CpuId) {
        let alone = self.kernel.rq(cpu).nr_running == 1 && self.kernel.rq(cpu).curr.is_some();
        self.cpus[cpu.index()].alone_since = alone.then_some(self.now);
    }

    /// When a second task comes to a CPU, the first has been alone until now.
    pub(super) fn ends_alone(&mut self, cpu: CpuId) {
        let curr = self.kernel.rq(cpu).curr;
        let alone = self.alone(cpu);
        if curr.is_some() && alone {
            self.learn_alone(cpu, curr, true);
        }
    }

    /// Lets a task use a CPU that it is seen to use.
    pub(super) fn allow(&mut self, task: TaskId, cpu: CpuId) {
        if !self.kernel.task(task).cpus_allowed.contains(cpu) {
            self.allow_all(task);
            // The workload frees all its tasks at once.
            if self.bound.contains(&task) {
                std::mem::take(&mut self.bound).into_iter().for_each(|t| self.allow_all(t));
            }
        }
    }

    fn allow_all(&mut self, task: TaskId) {
        if self.kernel.task(task).state == TaskState::Dead {
            return;
        }
        let all = self.kernel.all_cpus();
        self.kernel.set_cpus_allowed(task, &all, Instant(self.now), &mut ());
    }

    /// The model's task behind a trace's; the idle task is none. A thread first seen here has always slept, on `cpu`.
    pub(super) fn task(&mut self, ix: TaskIx, cpu: CpuId) -> Option<TaskId> {
        let name = self.trace.name(ix);
        if name.pid == 0 {
            return None;
        }
        if let Some(task) = self.tasks.get(&name.pid) {
            return Some(*task);
        }
        let bound = bound_to(&name.comm).filter(|c| c.0 < self.setup.config.cpus);
        let stopper = bound.filter(|_| name.comm.starts_with("migration/"));
        let task = match stopper {
            Some(cpu) => self.kernel.add_stopper(cpu),
            None => {
                let mut params = params(&self.kernel);
                if let Some(traits) = self.setup.traits.get(&name.pid).filter(|t| t.name.is_none()) {
                    params.nice = traits.nice;
                }
                params.cpus_allowed = CpuMask::one(bound.unwrap_or(cpu));
                let task = self.kernel.add_task(&params);
                if bound.is_none() {
                    self.allow_all(task);
                }
                task
            }
        };
        if bound.is_some() || name.comm.starts_with("kworker/") || name.comm.starts_with("rcu_") {
            self.kernel.set_kthread(task);
        }
        self.known.met(task, self.now);
        self.tasks.insert(name.pid, task);
        Some(task)
    }
}

/// The CPU of a kernel thread bound to one: `ksoftirqd/3`, `kworker/3:1`, not `kworker/u8:1`.
fn bound_to(comm: &str) -> Option<CpuId> {
    let (name, cpu) = comm.split_once('/')?;
    let cpu = if name == "kworker" { cpu.split(':').next()? } else { cpu };
    cpu.parse().ok().map(CpuId)
}

fn params(kernel: &Kernel<Follow>) -> TaskParams {
    TaskParams { nice: 0, policy: Policy::Normal, cpus_allowed: kernel.all_cpus(), group: GroupId::ROOT }
}
