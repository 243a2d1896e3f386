//! Drives the kernel model and the reference through one history.

use crate::compare::Disagreement;
use crate::history::{History, Op};
use crate::model::{Model, State};
use crate::ops::Left;
use sim_core::kernel::hooks::NoHooks;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{Kernel, KernelConfig, Policy, Profile, Schedule, TaskParams, Wake};
use sim_core::observe::SwitchKind;
use sim_core::{CpuId, CpuMask, GroupId, Instant, TaskId};

/// The one CPU.
pub(crate) const CPU: CpuId = CpuId(0);
/// Few enough that a step of the reference stays cheap.
const MOST_TASKS: usize = 24;
const MOST_GROUPS: usize = 10;

/// The two side by side. Tasks, entities and queues have the same numbers in both; group g has queue g.
pub(crate) struct Pair {
    pub(crate) fast: Kernel<NoHooks>,
    pub(crate) slow: Model,
    pub(crate) now: u64,
    long_sleeps: u32,
    pub(crate) steps: usize,
}

impl Pair {
    pub(crate) fn new(profile: &str, cpus: u32) -> Pair {
        let mut config = KernelConfig::new(Profile::by_name(profile).expect("a profile"), 1);
        config.tunables = Tunables::boot(cpus);
        let slow = Model::new(profile, u128::from(cpus));
        // No queue begins at time zero: exec_start 0 means "never ran".
        Pair { fast: Kernel::new(config, NoHooks), slow, now: 1_000_000, long_sleeps: 0, steps: 0 }
    }

    /// Plays a history to its end or to the first disagreement.
    pub(crate) fn play(history: &History) -> Result<(), Disagreement> {
        let mut pair = Pair::new(history.profile, history.cpus);
        let start = history.start.iter().map(|op| (0, op));
        for (i, (delay, op)) in start.chain(history.ops.iter().map(|(d, op)| (*d, op))).enumerate() {
            pair.now += delay;
            pair.step(op);
            pair.compare().map_err(|e| format!("after step {i}, {op:?} at {}: {e}", pair.now))?;
        }
        Ok(())
    }

    fn at(&self) -> (Instant, u128) {
        (Instant(self.now), u128::from(self.now))
    }

    /// Does one operation on both sides, if it is legal now.
    fn step(&mut self, op: &Op) {
        let state = self.slow.curr.map(|c| self.slow.tasks[c].state);
        let runs = state == Some(State::Running);
        match op {
            Op::Tick => {
                let (at, t) = self.at();
                self.fast.scheduler_tick(CPU, at, &mut ());
                self.slow.scheduler_tick(t);
            }
            Op::Preempt if self.slow.need_resched || state.is_none() => self.schedule(false),
            Op::SetSleeping if runs => self.set_state(State::Sleeping),
            Op::Call if state.is_some() => self.schedule(true),
            Op::Block if runs => {
                self.set_state(State::Sleeping);
                self.schedule(true);
            }
            Op::Exit if runs => {
                self.set_state(State::Dead);
                self.schedule(true);
            }
            Op::BeginExit if runs => {
                let (task, (at, t)) = (self.running(), self.at());
                self.fast.begin_exit(task, at, &mut ());
                self.slow.begin_exit(task.index(), t);
            }
            Op::Yield if runs => {
                let (at, t) = self.at();
                self.fast.sched_yield(CPU, at, &mut ());
                self.slow.sched_yield(t);
                self.schedule(true);
            }
            Op::Wake { which } => self.wake(*which),
            Op::Fork if runs => {
                let child = self.fork();
                self.wake_new(child);
            }
            Op::ForkOnly if runs => drop(self.fork()),
            Op::WakeNew { which } => {
                if let Some(child) = self.choose(*which, |s| s == State::New) {
                    self.wake_new(Some(child));
                }
            }
            Op::Nice { .. } | Op::SetPolicy { .. } => self.change(op),
            Op::AddTask { group, nice, policy } => self.add_task(*group, *nice, *policy),
            Op::AddGroup { above, shares, idle } => self.add_group(*above, *shares, *idle),
            Op::Tunable { which, value } => self.write_tunable(*which, *value),
            Op::RewriteScaling if self.slow.knobs.mingran > 0 => {
                self.fast.config.tunables.rewrite_scaling();
                self.slow.recompute_nrlat();
            }
            Op::Feature { which, on } => self.write_feature(*which, *on),
            Op::LongSleep if self.slow.curr.is_none() && self.long_sleeps < 3 => {
                self.long_sleeps += 1;
                self.now += 105 * 86_400_000_000_000;
            }
            _ => {}
        }
    }

    fn running(&self) -> TaskId {
        TaskId::new(self.slow.curr.expect("a running task"))
    }

    fn choose(&self, which: u8, allowed: impl Fn(State) -> bool) -> Option<usize> {
        let of: Vec<usize> =
            (0..self.slow.tasks.len()).filter(|t| allowed(self.slow.tasks[*t].state)).collect();
        (!of.is_empty()).then(|| of[usize::from(which) % of.len()])
    }

    fn set_state(&mut self, state: State) {
        let task = self.running();
        match state {
            State::Dead => self.fast.set_dead(task),
            _ => self.fast.set_sleeping(task),
        }
        self.slow.tasks[task.index()].state = state;
    }

    fn schedule(&mut self, called: bool) {
        let (at, t) = self.at();
        let prev = self.slow.curr;
        let why = if called { Schedule::Call } else { Schedule::Preempt };
        let fast = self.fast.schedule(CPU, at, why, &mut ());
        let (next, left) = self.slow.schedule(called, t);
        let kind = match fast.kind {
            SwitchKind::FromIdle => Left::WasIdle,
            SwitchKind::Preempted | SwitchKind::Yielded => Left::Involuntary,
            SwitchKind::Blocked | SwitchKind::Exited => Left::Voluntary,
        };
        assert_eq!((fast.prev.map(TaskId::index), kind), (prev, left), "who left, and how");
        assert_eq!(fast.next.map(TaskId::index), next, "who comes at {t}");
    }

    fn wake(&mut self, which: u8) {
        let Some(task) = self.choose(which, |s| s != State::New) else { return };
        let (at, t) = self.at();
        let waker = self.slow.curr.filter(|c| *c != task && which < 128).map(TaskId::new);
        let fast = self.fast.try_to_wake_up(TaskId::new(task), CPU, waker, false, at, &mut ());
        let woken = self.slow.try_to_wake_up(task, t);
        assert_eq!(fast, if woken { Wake::Enqueued(CPU) } else { Wake::NotSleeping });
    }

    fn fork(&mut self) -> Option<usize> {
        if self.slow.tasks.len() >= MOST_TASKS {
            return None;
        }
        let (at, t) = self.at();
        let parent = self.running();
        let child = self.fast.sched_fork(parent, at, &mut ());
        assert_eq!(self.slow.sched_fork(parent.index(), t), child.index());
        Some(child.index())
    }

    fn wake_new(&mut self, child: Option<usize>) {
        let (Some(child), (at, t)) = (child, self.at()) else { return };
        self.fast.wake_up_new_task(TaskId::new(child), at, &mut ());
        self.slow.wake_up_new_task(child, t);
    }

    fn change(&mut self, op: &Op) {
        let (Op::Nice { which, .. } | Op::SetPolicy { which, .. }) = op else { return };
        let known = |s| matches!(s, State::Running | State::Sleeping);
        let Some(task) = self.choose(*which, known) else { return };
        let (id, (at, t)) = (TaskId::new(task), self.at());
        let (nice, policy) = (self.slow.tasks[task].nice, self.slow.tasks[task].policy);
        match op {
            Op::Nice { nice, .. } => {
                self.fast.set_user_nice(id, *nice, at, &mut ());
                self.slow.change(task, *nice, policy, t);
            }
            Op::SetPolicy { policy, .. } => {
                self.fast.set_policy(id, *policy, at, &mut ());
                self.slow.change(task, nice, *policy, t);
            }
            _ => {}
        }
    }

    fn add_task(&mut self, group: u8, nice: i8, policy: Policy) {
        if self.slow.tasks.len() < MOST_TASKS {
            let group = usize::from(group) % self.slow.queues.len();
            let cpus_allowed = CpuMask::first(1);
            self.fast.add_task(&TaskParams { nice, policy, cpus_allowed, group: GroupId::new(group) });
            self.slow.add_task(nice, policy, group);
        }
    }

    fn add_group(&mut self, above: u8, shares: u64, idle: bool) {
        if self.slow.queues.len() < MOST_GROUPS {
            let above = usize::from(above) % self.slow.queues.len();
            let idle = idle && self.slow.version.idle_groups;
            let shares = if idle { 3 << 10 } else { shares };
            self.fast.add_group(GroupId::new(above), shares, idle);
            self.slow.add_group(above, u128::from(shares), idle);
        }
    }

    fn write_tunable(&mut self, which: u8, value: u64) {
        let rules = self.fast.config.rules.clone();
        let v = u128::from(value);
        let range = (100_000..=1_000_000_000).contains(&v) || !self.slow.version.sysctls;
        let small = v <= 1_000_000_000 || !self.slow.version.sysctls;
        let knobs = &mut self.slow.knobs;
        let (tunable, knob, value, allowed) = match which % 5 {
            0 => (Tunable::Latency, &mut knobs.lat, v, range),
            1 => (Tunable::MinGranularity, &mut knobs.mingran, v, range),
            2 => (Tunable::WakeupGranularity, &mut knobs.wugran, v, small),
            3 if self.slow.version.idle_granularity => {
                (Tunable::IdleMinGranularity, &mut knobs.idle_mingran, v, true)
            }
            _ => {
                let value = value % 2;
                self.fast.config.tunables.write(&rules, Tunable::ChildRunsFirst, value).expect("0 or 1");
                knobs.child_runs_first = value == 1;
                return;
            }
        };
        let written = self.fast.config.tunables.write(&rules, tunable, value as u64);
        assert_eq!(written.is_ok(), allowed, "{tunable:?} = {value}");
        if allowed {
            *knob = value;
            self.slow.after_write();
        }
    }

    fn write_feature(&mut self, which: u8, on: bool) {
        let s = &mut self.slow.switches;
        let features = [
            ("GENTLE_FAIR_SLEEPERS", &mut s.gentle_fair_sleepers),
            ("START_DEBIT", &mut s.start_debit),
            ("NEXT_BUDDY", &mut s.next_buddy),
            ("LAST_BUDDY", &mut s.last_buddy),
            ("WAKEUP_PREEMPTION", &mut s.wakeup_preemption),
            ("ALT_PERIOD", &mut s.alt_period),
            ("BASE_SLICE", &mut s.base_slice),
        ];
        let exist = if self.slow.version.alt_period_and_base_slice { 7 } else { 5 };
        let (name, switch) = features.into_iter().nth(usize::from(which) % exist).expect("one of seven");
        *switch = on;
        let word = format!("{}{name}", if on { "" } else { "NO_" });
        self.fast.config.features.write(&word).expect("a feature of this kernel");
    }
}
