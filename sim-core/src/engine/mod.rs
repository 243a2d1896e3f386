//! The engine: one clock, one event queue. It mediates between the kernel model (who runs), the machine (what things
//! cost) and the programs (what tasks ask for), and knows no policy.

mod actions;
mod condition;
mod config;
mod cpu;
mod deferred;
mod dispatch;
mod exec;
mod host;
mod idle;
mod interference;
mod net;
mod objects;
mod pipe;
mod queue;
mod sleep;
mod socket;
mod speed;
mod stopper;
mod tick;
mod timeline;
mod waits;
mod worker;

pub use config::{End, Limits, Outcome, SimConfig, SimError};
pub use exec::TaskInfo;
pub use timeline::Control;
pub use waits::{Deadlock, Doing, MAX_ANALYSED, Unfinished, WaitFor};

use crate::id::{CpuId, GroupId, TaskId};
use crate::kernel::hooks::{Hooks, NoHooks};
use crate::kernel::{Kernel, SearchCosts, TaskParams};
use crate::machine::cache::Footprint;
use crate::machine::{Costs, NonTaskKind};
use crate::observe::{Event, Observer, VcpuState};
use crate::program::{Objects, TaskSpec};
use crate::time::{Instant, Nanos};
use cpu::Cpu;
use exec::{Burst, Exec, Then};
use host::{Host, VcpuThread};
use idle::Idle;
use interference::Arrival;
use net::Net;
use queue::{EventQueue, Happening};
use speed::Pace;
use std::sync::Arc;
use tick::Ticks;

/// One run.
pub struct Simulation<O = (), H = NoHooks> {
    config: SimConfig,
    /// The observer; take it back when the run is over.
    pub observer: O,
    kernel: Kernel<H>,
    objects: Objects,
    queue: EventQueue,
    /// Changes from outside, in the order in which they were planned.
    timeline: Vec<Control>,
    now: Instant,
    cpus: Vec<Cpu>,
    ticks: Vec<Ticks>,
    /// By CPU, the thread that cleans up after tasks that exited there.
    workers: Vec<Option<TaskId>>,
    /// Idle loops, on machines with idle states.
    idle: Option<Idle>,
    pace: Pace,
    /// CPUs that run a task.
    busy_cpus: usize,
    /// Costs by the number of busy CPUs, the first for none or one; without a shared rate there is one row.
    costs: Vec<Costs>,
    tasks: Vec<Exec>,
    infos: Vec<TaskInfo>,
    /// The CPU whose event is being handled; others hear of it by interrupt.
    active: Option<CpuId>,
    alive: usize,
    events: u64,
    at_this_instant: u32,
    /// Length of the queue at which cancelled events are next looked for.
    prune_at: usize,
    /// Sources of interference by CPU.
    arrivals: Vec<Arrival>,
    /// The network card and what is behind it, where a program talks to another machine.
    net: Option<Box<Net>>,
    /// The host whose threads the CPUs are.
    host: Option<Box<Host>>,
    /// On a host: the threads of virtual CPUs.
    vcpus: Vec<VcpuThread>,
}

/// A shorter queue is not worth looking through for cancelled events.
const PRUNE_AT_LEAST: usize = 256;

impl<O: Observer> Simulation<O> {
    /// A run of the kernel as it is.
    pub fn new(config: SimConfig, objects: Objects, observer: O) -> Simulation<O> {
        Simulation::with_hooks(config, objects, observer, NoHooks)
    }
}

impl<O: Observer, H: Hooks> Simulation<O, H> {
    /// A run of a patched kernel.
    pub fn with_hooks(
        mut config: SimConfig,
        mut objects: Objects,
        mut observer: O,
        hooks: H,
    ) -> Simulation<O, H> {
        let Costs { scan_cpu, balance, balance_cpu, .. } = config.machine.costs;
        config.kernel.searches = SearchCosts { scan_cpu, balance, balance_cpu };
        let idle = Idle::new(&config.machine.idle, &config.kernel);
        config.kernel.tick_stops_at_once = idle.is_none();
        config.machine.frequency.configure(&mut config.kernel);
        let mut kernel = Kernel::new(config.kernel.clone(), hooks);
        kernel.idle_for_long();
        let mut queue = EventQueue::with_capacity(PRUNE_AT_LEAST + 1);
        for (i, s) in config.machine.speed_changes.iter().enumerate() {
            queue.push(s.at, Happening::Speed(i as u32));
        }
        let arrivals = interference::arrivals(&config.machine.interference);
        for (i, a) in arrivals.iter().enumerate() {
            queue.push(a.start(&config.machine.interference), Happening::Interfere(i as u32));
        }
        let remotes = std::mem::take(&mut objects.remotes);
        let net = Net::new(remotes, config.machine.nic.as_ref(), config.kernel.cpus);
        let host = config.machine.host.as_ref().map(|h| Box::new(Host::new(h, config.limits)));
        observer.configured(Instant::ZERO, &config.kernel);
        let pace = Pace::new(&config.kernel.topology, &config.machine);
        let cpus = (0..config.kernel.cpus)
            .map(|i| Cpu::idle(pace.speed(CpuId(i), &config.machine), host.is_some()))
            .collect();
        let rows = if config.machine.shared_rate { config.kernel.cpus } else { 1 };
        Simulation {
            busy_cpus: 0,
            costs: (1..=rows).map(|busy| config.machine.costs.slowed(busy)).collect(),
            ticks: Ticks::of(&config.machine, config.kernel.cpus, 0),
            workers: Vec::new(),
            idle,
            cpus,
            pace,
            kernel,
            config,
            observer,
            objects,
            queue,
            timeline: Vec::new(),
            now: Instant::ZERO,
            tasks: Vec::new(),
            infos: Vec::new(),
            active: None,
            alive: 0,
            events: 0,
            at_this_instant: 0,
            prune_at: PRUNE_AT_LEAST,
            arrivals,
            net,
            host,
            vcpus: Vec::new(),
        }
    }

    /// Adds a task that wakes for the first time at its start. Tasks that start together wake in the order in which they
    /// were added.
    pub fn add_task(&mut self, spec: TaskSpec) -> TaskId {
        let cpus_allowed = spec.affinity.unwrap_or_else(|| self.kernel.all_cpus());
        let params = TaskParams { nice: spec.nice, policy: spec.policy, cpus_allowed, group: spec.group };
        let task = self.kernel.add_task(&params);
        self.observer.event(self.now, &Event::Fork { parent: None, child: task });
        self.push_exec(spec.program, spec.name, spec.path, None, spec.start);
        self.queue.push(spec.start, Happening::Timer { task, generation: 0 });
        task
    }

    /// Makes what kernel and machine leave to chance depend on a run's seed; see [`Kernel::seed`].
    pub fn seed(&mut self, seed: u64) {
        self.kernel.seed(seed);
        self.ticks = Ticks::of(&self.config.machine, self.config.kernel.cpus, seed);
        self.seed_arrivals(seed);
        if let Some(host) = &mut self.host {
            host.seed(seed);
        }
    }

    /// Creates a task group below `parent`; see [`Kernel::add_group`].
    pub fn add_group(&mut self, parent: GroupId, shares: u64, idle: bool) -> GroupId {
        self.kernel.add_group(parent, shares, idle)
    }

    /// Puts a task into a session whose autogroup is `group`; see [`Kernel::join_session`].
    pub fn join_session(&mut self, task: TaskId, group: GroupId) {
        self.kernel.join_session(task, group, self.now, &mut self.observer);
    }

    fn push_exec(
        &mut self,
        program: Box<dyn crate::program::Program>,
        name: String,
        path: String,
        parent: Option<TaskId>,
        start: Instant,
    ) {
        self.alive += 1;
        self.infos.push(TaskInfo { name, path, parent, start, end: None, kthread: false });
        let timer_slack = parent.map_or(self.cost().timer_slack, |p| self.tasks[p.index()].timer_slack);
        self.tasks.push(Exec {
            program,
            burst: Burst::NONE,
            then: Then::Next,
            in_kernel: false,
            parent,
            children: 0,
            zombies: 0,
            waits_for_child: false,
            vforked_by: None,
            timer_slack,
            timer_generation: 0,
            process: None,
            kind: parent.map(|p| self.tasks[p.index()].kind).unwrap_or_default(),
            footprint: Footprint::default(),
            blocked_since: None,
            received: 0,
        });
        let task = TaskId::new(self.tasks.len() - 1);
        self.tell_identity(task);
        self.tell_affinity(task);
    }

    /// A new task that may not use every CPU.
    fn tell_affinity(&mut self, task: TaskId) {
        let allowed = &self.kernel.task(task).cpus_allowed;
        if allowed != self.kernel.topology().online() {
            self.observer.affinity(task, allowed);
        }
    }

    fn tell_identity(&mut self, task: TaskId) {
        let (info, nice) = (&self.infos[task.index()], self.kernel.task(task).nice);
        self.observer.identity(task, &info.name, &info.path, nice);
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// When a limit is reached or a program asks for the impossible; what was observed until then stays valid.
    pub fn run(&mut self) -> Result<Outcome, SimError> {
        let stop = self.config.duration.map_or(Instant::NEVER, |d| Instant(d.0));
        self.start();
        let end = loop {
            if self.alive == 0 && !self.infos.is_empty() {
                break End::AllExited;
            }
            let next = self.next_event().filter(|_| self.alive == 0 || !self.is_idle());
            let Some(at) = next else { break self.stalled() };
            if at > stop {
                self.now = stop;
                break End::Duration;
            }
            self.step(at)?;
        };
        for i in 0..self.cpus.len() {
            self.sync_burst(CpuId::new(i));
            self.kernel.charge_running(CpuId::new(i), self.now, &mut self.observer);
        }
        Ok(Outcome { at: self.now, end, events: self.events })
    }

    /// All CPUs begin to idle; threads of the kernel wait for their work.
    fn start(&mut self) {
        let topology = Arc::clone(&self.config.kernel.topology);
        self.tell_clocks();
        for cpu in topology.online().iter() {
            match self.idle {
                Some(_) => self.begin_idle(cpu, Nanos::ZERO),
                None => self.observer.event(self.now, &Event::CpuIdle { cpu, enter: true, state: None }),
            }
            if self.is_absent(cpu) {
                self.observer.event(self.now, &Event::Vcpu { cpu, state: VcpuState::Halts });
            }
            if !self.config.kernel.nohz || self.keeps_tick(cpu) {
                self.kernel.restart_idle_tick(cpu);
                self.arm_tick(cpu);
            }
        }
        self.add_kthreads();
        self.start_net();
        if let Some(host) = &mut self.host {
            host.start();
        }
    }

    /// When the next event comes.
    fn next_event(&self) -> Option<Instant> {
        let hosts = self.host.as_ref().and_then(|h| h.next_event());
        self.queue.peek().into_iter().chain(hosts).min()
    }

    /// Whether nothing is left that could make a task do anything.
    fn is_idle(&self) -> bool {
        self.queue.is_idle() && !self.waits_for_host()
    }

    /// Handles the next event, which comes at `at`: at one instant the host's come first.
    fn step(&mut self, at: Instant) -> Result<(), SimError> {
        self.advance_to(at);
        self.events += 1;
        self.at_this_instant += 1;
        let limits = self.config.limits;
        if self.events > limits.events {
            return Err(SimError::Events { limit: limits.events, at: self.now });
        }
        if self.now.0 > limits.time.0 {
            return Err(SimError::Time { limit: limits.time });
        }
        if self.at_this_instant > limits.at_one_instant {
            return Err(SimError::Livelock { limit: limits.at_one_instant, at: self.now, task: None });
        }
        if self.queue.peek() != Some(at) || self.host.as_ref().is_some_and(|h| h.next_event() == Some(at)) {
            return self.step_host(at);
        }
        let Some((_, what)) = self.queue.pop() else { return Ok(()) };
        if self.queue.len() >= self.prune_at {
            self.prune();
        }
        self.dispatch(what)
    }

    fn advance_to(&mut self, at: Instant) {
        if at > self.now {
            self.now = at;
            self.at_this_instant = 0;
        }
    }

    /// Drops cancelled events: the end of a long burst is forecast anew at every switch, and each forecast would stay
    /// until its time. Looked for when the queue has doubled, so that it costs a constant per event.
    fn prune(&mut self) {
        let (cpus, tasks, idle, net) = (&self.cpus, &self.tasks, &self.idle, &self.net);
        self.queue.retain(|what| match what {
            Happening::Timer { task, generation } => tasks[task.index()].timer_generation == generation,
            Happening::Tick { cpu, generation } => cpus[cpu.index()].tick_generation == generation,
            Happening::Resched { cpu, generation } => cpus[cpu.index()].resched_generation == generation,
            Happening::Progress { cpu, generation } | Happening::Warm { cpu, generation } => {
                cpus[cpu.index()].progress_generation == generation
            }
            Happening::Hrtick { cpu, generation } => cpus[cpu.index()].hrtick_generation == generation,
            Happening::Deferred { cpu, generation, .. } => {
                cpus[cpu.index()].deferred.generation == generation
            }
            Happening::Vcpu { cpu, generation } => cpus[cpu.index()].absence_generation == generation,
            Happening::Idle { cpu, generation } => idle.as_ref().is_some_and(|i| i.is_valid(cpu, generation)),
            Happening::Speed(_) | Happening::Interfere(_) | Happening::Control(_) => true,
            Happening::Source(_) | Happening::NetIrq(_) | Happening::Softirq(_) => true,
            Happening::Wire(generation) => net.as_ref().is_some_and(|net| net.armed_as(generation)),
            Happening::CoreTimer { .. } | Happening::Clocks { .. } => true,
            Happening::Ipi(_) | Happening::NohzKick(_) => true,
        });
        self.prune_at = (2 * self.queue.len()).max(PRUNE_AT_LEAST);
    }

    fn stalled(&self) -> End {
        let waiting = (0..self.infos.len()).filter(|i| self.infos[*i].is_unfinished());
        End::Stalled(waiting.map(TaskId::new).collect())
    }

    /// The kernel model.
    pub fn kernel(&self) -> &Kernel<H> {
        &self.kernel
    }
    /// The kernel model as it stands, to be driven on by hand.
    pub fn into_kernel(self) -> Kernel<H> {
        self.kernel
    }
    /// All tasks so far, by [`TaskId`].
    pub fn tasks(&self) -> &[TaskInfo] {
        &self.infos
    }
    /// The configuration.
    pub fn config(&self) -> &SimConfig {
        &self.config
    }
    /// The current time.
    pub fn now(&self) -> Instant {
        self.now
    }
    /// The synchronisation objects as they stand.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    fn cost(&self) -> &Costs {
        &self.costs[self.busy_cpus.clamp(1, self.costs.len()) - 1]
    }

    /// Something that cannot be interrupted takes `time` of a CPU: its task makes no progress, its timers and its
    /// rescheduling wait.
    fn take_time(&mut self, cpu: CpuId, time: Nanos, kind: NonTaskKind, source: Option<u32>) {
        if time.is_zero() {
            return;
        }
        self.sync_burst(cpu);
        self.kernel.account_nontask(cpu, time, kind == NonTaskKind::Steal);
        self.observer.event(self.now, &Event::NonTask { cpu, time, kind, source });
        let c = &mut self.cpus[cpu.index()];
        // What a virtual CPU is to do once it executes again is shifted then.
        let from = c.absence.filter(|a| !a.halted).map_or(self.now, |a| a.since);
        c.progress_from = c.progress_from.max(from).saturating_add(time);
        c.irq_until = c.irq_until.max(from).saturating_add(time);
        self.project(cpu);
    }

    /// An interrupt handler runs on a CPU.
    fn occupy(&mut self, cpu: CpuId, time: Nanos) {
        self.take_time(cpu, time, NonTaskKind::Interrupt, None);
    }

    /// A softirq runs on a CPU at the end of an interrupt.
    fn run_softirq(&mut self, cpu: CpuId, time: Nanos) {
        self.take_time(cpu, time, NonTaskKind::Softirq, None);
    }
}
