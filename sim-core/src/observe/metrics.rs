//! What a run did, per task and in total, after a warm-up.

use super::{Event, Latencies, MigrateReason, NetEvent, Observer, SwitchKind};
use crate::id::TaskId;
use crate::time::{Instant, Nanos};

/// Figures of one task, or of all together.
#[derive(Clone, Debug, Default)]
pub struct TaskMetrics {
    /// CPU time.
    pub cpu_time: Nanos,
    /// Run-queue latency after a wake-up (or the start of a new task).
    pub latency_after_wakeup: Latencies,
    /// Run-queue latency after a preemption or a yield.
    pub latency_after_preemption: Latencies,
    /// Turns on the CPU; a re-pick of the same task is the same turn.
    pub turns: u64,
    /// Summed length of the turns that ended.
    pub turn_time: Nanos,
    /// The longest turn.
    pub turn_max: Nanos,
    /// Voluntary switches.
    pub voluntary: u64,
    /// Involuntary switches.
    pub involuntary: u64,
    /// Wake-ups of the task.
    pub wakeups: u64,
    /// Wake-ups of the task that made the running task be rescheduled.
    pub wakeup_preemptions: u64,
    /// Wake-ups of the task onto a CPU that was busy.
    pub wakeups_on_busy: u64,
    /// Times a tick made the task be rescheduled.
    pub tick_preemptions: u64,
    /// Changes of CPU.
    pub migrations: u64,
    /// Units of work counted.
    pub work: u64,
    /// Times the program recorded, by series; short of those without any.
    pub recorded: Vec<Latencies>,
}

impl TaskMetrics {
    fn merge(&mut self, o: &TaskMetrics) {
        self.cpu_time += o.cpu_time;
        self.latency_after_wakeup.merge(&o.latency_after_wakeup);
        self.latency_after_preemption.merge(&o.latency_after_preemption);
        self.turns += o.turns;
        self.turn_time += o.turn_time;
        self.turn_max = self.turn_max.max(o.turn_max);
        self.voluntary += o.voluntary;
        self.involuntary += o.involuntary;
        self.wakeups += o.wakeups;
        self.wakeup_preemptions += o.wakeup_preemptions;
        self.wakeups_on_busy += o.wakeups_on_busy;
        self.tick_preemptions += o.tick_preemptions;
        self.migrations += o.migrations;
        self.work += o.work;
        for (series, times) in o.recorded.iter().enumerate() {
            self.series(series).merge(times);
        }
    }

    fn series(&mut self, series: usize) -> &mut Latencies {
        let len = self.recorded.len().max(series + 1);
        self.recorded.resize(len, Latencies::default());
        &mut self.recorded[series]
    }

    /// Mean length of a turn; zero when none ended.
    pub fn turn_mean(&self) -> Nanos {
        Nanos(self.turn_time.0.checked_div(self.turns).unwrap_or(0))
    }
}

/// Where a task stands between events.
#[derive(Clone, Copy, Debug)]
enum Phase {
    Off,
    Woken(Instant),
    Preempted(Instant),
    On(Instant),
}

/// Collects [`TaskMetrics`] from the end of a warm-up on. Latencies and turns count when they end after it.
#[derive(Debug)]
pub struct Metrics {
    warmup: Instant,
    tasks: Vec<TaskMetrics>,
    phases: Vec<Phase>,
    /// Switches of any CPU, to and from idle included (`ctxt`).
    context_switches: u64,
    nontask: Nanos,
    network: NetCounts,
}

/// What came over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetCounts {
    /// Interrupts of the card.
    pub interrupts: u64,
    /// Frames that went through the protocols.
    pub frames: u64,
    /// Rounds of the receiving softirq that ended with frames left.
    pub squeezed: u64,
    /// Times work was left to a `ksoftirqd`.
    pub ksoftirqd: u64,
    /// Datagrams lost in the card's receive queues.
    pub ring_drops: u64,
    /// Datagrams lost at their sockets.
    pub socket_drops: u64,
    /// Datagrams that reached their sockets.
    pub datagrams: u64,
}

impl NetCounts {
    fn count(&mut self, what: NetEvent) {
        match what {
            NetEvent::Interrupt => self.interrupts += 1,
            NetEvent::Frames(n) => self.frames += u64::from(n),
            NetEvent::Squeezed => self.squeezed += 1,
            NetEvent::Ksoftirqd => self.ksoftirqd += 1,
            NetEvent::RingDrop => self.ring_drops += 1,
            NetEvent::SocketDrop => self.socket_drops += 1,
            NetEvent::Datagram => self.datagrams += 1,
        }
    }
}

impl Metrics {
    /// Starts counting at `warmup`.
    pub fn new(warmup: Nanos) -> Metrics {
        Metrics {
            warmup: Instant(warmup.0),
            tasks: Vec::new(),
            phases: Vec::new(),
            context_switches: 0,
            nontask: Nanos::ZERO,
            network: NetCounts::default(),
        }
    }

    /// Figures of a task.
    pub fn task(&self, task: TaskId) -> &TaskMetrics {
        &self.tasks[task.index()]
    }
    /// Figures of all tasks, by [`TaskId`].
    pub fn tasks(&self) -> &[TaskMetrics] {
        &self.tasks
    }
    /// The sum over some tasks.
    pub fn sum<'a>(tasks: impl Iterator<Item = &'a TaskMetrics>) -> TaskMetrics {
        let mut all = TaskMetrics::default();
        tasks.for_each(|t| all.merge(t));
        all
    }
    /// Switches of all CPUs, to and from idle included (`ctxt` of `/proc/stat`).
    pub fn context_switches(&self) -> u64 {
        self.context_switches
    }
    /// What came over the network.
    pub fn network(&self) -> NetCounts {
        self.network
    }
    /// CPU time taken by interrupts and the hypervisor.
    pub fn nontask(&self) -> Nanos {
        self.nontask
    }

    fn leave(&mut self, at: Instant, task: TaskId, kind: SwitchKind) {
        let counts = at >= self.warmup;
        let t = &mut self.tasks[task.index()];
        let phase = &mut self.phases[task.index()];
        if let (Phase::On(since), true) = (*phase, counts) {
            let turn = at - since;
            t.turns += 1;
            t.turn_time += turn;
            t.turn_max = t.turn_max.max(turn);
        }
        let voluntary = matches!(kind, SwitchKind::Blocked | SwitchKind::Exited);
        *phase = if voluntary { Phase::Off } else { Phase::Preempted(at) };
        t.voluntary += u64::from(voluntary && counts);
        t.involuntary += u64::from(!voluntary && counts);
    }

    fn come(&mut self, at: Instant, task: TaskId) {
        let counts = at >= self.warmup;
        let t = &mut self.tasks[task.index()];
        match std::mem::replace(&mut self.phases[task.index()], Phase::On(at)) {
            Phase::Woken(since) if counts => t.latency_after_wakeup.record(at - since),
            Phase::Preempted(since) if counts => t.latency_after_preemption.record(at - since),
            _ => {}
        }
    }

    fn woken(&mut self, at: Instant, task: TaskId, curr: Option<TaskId>, preempts: bool) {
        if !matches!(self.phases[task.index()], Phase::On(_)) {
            self.phases[task.index()] = Phase::Woken(at);
        }
        if at >= self.warmup {
            let t = &mut self.tasks[task.index()];
            t.wakeups += 1;
            t.wakeups_on_busy += u64::from(curr.is_some());
            t.wakeup_preemptions += u64::from(curr.is_some() && preempts);
        }
    }
}

impl Observer for Metrics {
    fn event(&mut self, at: Instant, event: &Event) {
        let counts = at >= self.warmup;
        match *event {
            Event::Fork { .. } => {
                self.tasks.push(TaskMetrics::default());
                self.phases.push(Phase::Off);
            }
            Event::Switch { prev, kind, next, .. } => {
                self.context_switches += u64::from(counts);
                prev.into_iter().for_each(|p| self.leave(at, p, kind));
                next.into_iter().for_each(|n| self.come(at, n));
            }
            Event::Wakeup { task, curr, resched_before, resched_after, .. } => {
                self.woken(at, task, curr, resched_after && !resched_before);
            }
            _ if !counts => {}
            Event::StatRuntime { task, runtime, .. } | Event::StopRuntime { task, runtime } => {
                // The part before the end of the warm-up does not count.
                let since_warmup = at.saturating_since(self.warmup);
                self.tasks[task.index()].cpu_time += runtime.min(since_warmup);
            }
            Event::TickPreempt { task, .. } => self.tasks[task.index()].tick_preemptions += 1,
            Event::Migrate { task, reason, .. } => {
                self.tasks[task.index()].migrations += u64::from(reason != MigrateReason::Fork);
            }
            Event::Count { task, units } => self.tasks[task.index()].work += units,
            Event::Record { task, series, time } => {
                self.tasks[task.index()].series(series.into()).record(time);
            }
            Event::NonTask { time, .. } => self.nontask += time,
            Event::Net { what, .. } => self.network.count(what),
            Event::Waking { .. }
            | Event::Exec { .. }
            | Event::Exit { .. }
            | Event::Context { .. }
            | Event::Overhead { .. }
            | Event::Vcpu { .. }
            | Event::Repick { .. }
            | Event::NeedResched { .. }
            | Event::LoadBalance { .. }
            | Event::ActiveBalance { .. }
            | Event::CpuIdle { .. }
            | Event::IdleLeft { .. }
            | Event::CoreDepth { .. }
            | Event::Progress { .. }
            | Event::Refill { .. } => {}
        }
    }
}
