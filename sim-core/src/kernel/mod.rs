//! The kernel model: who runs where, until when.
//!
//! [`Kernel`] is a state machine: each method is one thing that happens to the scheduler (a tick, a wake-up, a call of
//! `__schedule`), takes the current time, and changes state. It can be driven by the engine, by a trace, or by hand.
//! It knows nothing of how fast CPUs are or what tasks do.

pub(crate) mod balance;
pub mod changes;
mod core;
pub mod domains;
pub mod entity;
mod fair;
pub mod features;
mod group;
pub mod hooks;
mod lifecycle;
pub mod patches;
pub mod pelt;
mod policy;
pub mod rules;
pub mod runqueue;
mod select;
pub mod stop;
pub mod switches;
pub mod task;
mod task_list;
pub mod tunables;
pub mod version;
mod wakeup;
pub mod weight;

pub use self::core::{Schedule, Switch};
use balance::Balancing;
pub use balance::{LlcShared, RqBalance};
pub use group::{GroupError, TaskGroup};
pub use lifecycle::TaskParams;
pub use policy::Policy;
pub use select::WakeeFlips;
pub use version::{PROFILES, Profile, UnknownProfile};
pub use wakeup::Wake;

use crate::cpumask::CpuMask;
use crate::id::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::machine::topology::Topology;
use crate::observe::Observer;
use crate::time::{Instant, Nanos};
use domains::{Domains, DomainsError, LlcId};
use entity::SchedEntity;
use features::Features;
use hooks::{Hooks, NoHooks};
use rules::Rules;
use runqueue::{CfsRq, Rq};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use task::SchedTask;
use tunables::Tunables;

/// When a need_resched flag is honoured while a task is in kernel mode (core.md §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreemptModel {
    /// `PREEMPT_NONE`: on return to user mode, or when the task blocks.
    None,
    /// `PREEMPT_VOLUNTARY`: also at `might_sleep` points, which tasks do not meet. Deviates: D-006.
    Voluntary,
    /// `PREEMPT`: as soon as preemption is enabled.
    Full,
}

/// What the kernel's own searches take: they are paid for, and their length decides how far the next ones go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SearchCosts {
    /// Looking at one CPU in a search for an idle one.
    pub scan_cpu: Nanos,
    /// An attempt to balance one domain.
    pub balance: Nanos,
    /// The part of each CPU of the domain in it.
    pub balance_cpu: Nanos,
}

/// Configuration of the kernel model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KernelConfig {
    /// Name of the profile the rules come from.
    pub profile: &'static str,
    /// Behaviours.
    pub rules: Rules,
    /// Effective tunables.
    pub tunables: Tunables,
    /// Feature switches as set.
    pub features: Features,
    /// CPUs are numbered below this (`nr_cpu_ids`).
    pub cpus: u32,
    /// How the CPUs hang together.
    #[serde(skip)]
    pub topology: Arc<Topology>,
    /// Sets of CPUs that balance load only among themselves; none for the whole machine.
    #[serde(skip)]
    pub partitions: Vec<CpuMask>,
    /// What searches and balancing passes take; set by the engine from the machine's costs.
    #[serde(skip)]
    pub searches: SearchCosts,
    /// Clocks follow load: it is tracked on a machine with one CPU too; set by the engine.
    #[serde(skip)]
    pub schedutil: bool,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Preemption model.
    pub preempt: PreemptModel,
    /// `sched_autogroup_enabled`: each session is a group of its own. On by default, off on Debian.
    pub autogroup: bool,
    /// An idle CPU has no tick (`nohz=off` clears it).
    pub nohz: bool,
    /// An idle CPU's tick stops when it becomes idle; otherwise its idle loop says when ([`Kernel::tick_nohz_stop`]). Set by
    /// the engine.
    #[serde(skip)]
    pub tick_stops_at_once: bool,
    /// `skew_tick=1`: CPU i ticks i · (T/2)/CPUs later.
    pub skew_tick: bool,
    /// `CONFIG_IRQ_TIME_ACCOUNTING`: interrupt time is not charged to tasks. Off on Debian.
    pub irq_time_accounting: bool,
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING` with a steal clock: stolen time is not charged to tasks. Off on Debian.
    pub steal_time_accounting: bool,
}

impl KernelConfig {
    /// A kernel with its boot defaults on a machine with `cpus` equal CPUs under one cache: HZ 250, voluntary preemption.
    ///
    /// # Panics
    /// When there is no CPU, or more than [`MAX_CPUS`](crate::cpumask::MAX_CPUS).
    pub fn new(profile: &'static Profile, cpus: u32) -> KernelConfig {
        let topology = Topology::uniform(cpus).expect("a machine has between 1 and MAX_CPUS CPUs");
        KernelConfig::on(profile, Arc::new(topology))
    }

    /// A kernel with its boot defaults on a machine.
    pub fn on(profile: &'static Profile, topology: Arc<Topology>) -> KernelConfig {
        let rules = profile.rules();
        KernelConfig {
            profile: profile.name,
            tunables: Tunables::boot(topology.online().count() as u32),
            features: rules.features,
            rules,
            cpus: topology.nr_cpu_ids() as u32,
            topology,
            partitions: Vec::new(),
            searches: SearchCosts::default(),
            schedutil: false,
            hz: 250,
            preempt: PreemptModel::Voluntary,
            autogroup: profile.autogroup,
            nohz: true,
            tick_stops_at_once: true,
            skew_tick: false,
            irq_time_accounting: false,
            steal_time_accounting: false,
        }
    }

    /// The scheduling domains of the machine.
    ///
    /// # Errors
    /// When the partitions overlap or name CPUs the machine has not.
    pub fn domains(&self) -> Result<Domains, DomainsError> {
        domains::build(&self.topology, &self.rules, &self.partitions)
    }

    /// The tick period, ns.
    pub const fn tick_ns(&self) -> u64 {
        1_000_000_000 / self.hz as u64
    }
}

/// The scheduler of one machine.
#[derive(Debug)]
pub struct Kernel<H = NoHooks> {
    /// Configuration; tunables and features may be changed while running.
    pub config: KernelConfig,
    /// Patches and overrides.
    pub hooks: H,
    rqs: Vec<Rq>,
    cfs_rqs: Vec<CfsRq>,
    entities: Vec<SchedEntity>,
    tasks: Vec<SchedTask>,
    groups: Vec<TaskGroup>,
    topology: Arc<Topology>,
    domains: Arc<Domains>,
    /// What balancing remembers.
    balancing: Balancing,
    /// What CPUs of a last-level cache share, by the number of the cache.
    pub(in crate::kernel) llc_shared: Vec<LlcShared>,
    /// CPUs whose need_resched was set since the last [`Kernel::take_resched`].
    newly_resched: Vec<CpuId>,
    /// CPUs whose hrtick was armed since the last [`Kernel::take_hrtick`].
    newly_hrtick: Vec<CpuId>,
    /// CPUs whose stopper thread is wanted since the last [`Kernel::take_stop_request`].
    stop_requests: Vec<CpuId>,
    /// Idle CPUs asked to balance for all tickless ones since the last [`Kernel::take_nohz_kick`].
    nohz_kicks: Vec<CpuId>,
    /// The CPU the last task went to that had to leave its own.
    last_distributed: Option<CpuId>,
    /// Time that scans and balancing passes took since the last [`Kernel::take_work`], ns.
    work_ns: u64,
}

impl<H: Hooks> Kernel<H> {
    /// A booted machine: every CPU idle, the root group only.
    pub fn new(config: KernelConfig, hooks: H) -> Kernel<H> {
        let cpus = config.cpus as usize;
        assert!(cpus > 0, "a machine has at least one CPU");
        let root = |i| CfsRq::new(CpuId::new(i), GroupId::ROOT, None);
        let queues: Vec<CfsRqId> = (0..cpus).map(CfsRqId::new).collect();
        let topology = Arc::clone(&config.topology);
        let domains = config.domains().expect("the partitions have been checked");
        let mut kernel = Kernel {
            rqs: queues.iter().map(|q| Rq::new(*q)).collect(),
            cfs_rqs: (0..cpus).map(root).collect(),
            entities: Vec::new(),
            tasks: Vec::new(),
            groups: vec![TaskGroup::root(queues)],
            llc_shared: (0..domains.nr_llcs())
                .map(|i| LlcShared::new(domains.llc_span(LlcId::new(i))))
                .collect(),
            balancing: Balancing::new(&config, &domains),
            topology,
            domains: Arc::new(domains),
            newly_resched: Vec::with_capacity(cpus),
            newly_hrtick: Vec::with_capacity(cpus),
            stop_requests: Vec::with_capacity(cpus),
            nohz_kicks: Vec::with_capacity(cpus),
            last_distributed: None,
            work_ns: 0,
            hooks,
            config,
        };
        kernel.set_capacities();
        kernel.stop_ticks();
        kernel
    }

    /// Makes what the kernel leaves to chance depend on a run's seed.
    pub fn seed(&mut self, seed: u64) {
        self.balancing.seed(seed);
    }

    /// Makes a booted machine one that has idled for long: passes have found every CPU of every cache idle. Right after
    /// boot a kernel with `SIS_UTIL` searches no CPU, until its first pass.
    pub fn idle_for_long(&mut self) {
        let smt = self.topology.cores().iter().any(|core| core.count() > 1);
        for (i, llc) in self.llc_shared.iter_mut().enumerate() {
            llc.has_idle_cores = smt;
            llc.nr_idle_scan = self.domains.llc_span(LlcId::new(i)).count() as u32;
        }
    }

    /// The CPUs of a booted machine idle without ticks.
    fn stop_ticks(&mut self) {
        if self.config.nohz && self.rqs.len() > 1 {
            (0..self.rqs.len()).for_each(|c| self.nohz_balance_enter_idle(CpuId::new(c)));
        }
    }

    fn set_capacities(&mut self) {
        let topology = Arc::clone(&self.topology);
        for c in topology.cpus() {
            let threads = topology.siblings(c).count_and(topology.online());
            self.set_cpu_scale(c.cpu, c.capacity.into(), threads as u32);
        }
        let rqs = &self.rqs;
        self.balancing.set_capacities(&self.domains, |c| rqs[c.index()].pelt.capacity);
    }

    /// All online CPUs.
    pub fn all_cpus(&self) -> CpuMask {
        self.topology.online().clone()
    }
    /// The machine.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
    /// Its scheduling domains.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }
    /// A CPU's run queue.
    pub fn rq(&self, cpu: CpuId) -> &Rq {
        &self.rqs[cpu.index()]
    }
    /// A fair queue.
    pub fn cfs_rq(&self, q: CfsRqId) -> &CfsRq {
        &self.cfs_rqs[q.index()]
    }
    /// A task group.
    pub fn group(&self, group: GroupId) -> &TaskGroup {
        &self.groups[group.index()]
    }
    /// Number of task groups, the root group included.
    pub fn nr_groups(&self) -> usize {
        self.groups.len()
    }
    /// An entity.
    pub fn entity(&self, se: EntityId) -> &SchedEntity {
        &self.entities[se.index()]
    }
    /// A task.
    pub fn task(&self, task: TaskId) -> &SchedTask {
        &self.tasks[task.index()]
    }
    /// A task's entity.
    pub fn task_entity(&self, task: TaskId) -> &SchedEntity {
        self.entity(self.task(task).se)
    }
    /// Number of tasks ever created.
    pub fn nr_tasks(&self) -> usize {
        self.tasks.len()
    }

    /// CPUs whose need_resched flag was set since the last call, in order. The driver must bring each of them to
    /// [`Kernel::schedule`] in its own time.
    pub fn take_resched(&mut self) -> Option<CpuId> {
        if self.newly_resched.is_empty() { None } else { Some(self.newly_resched.remove(0)) }
    }

    /// The next CPU asked to balance for the idle ones. The driver interrupts it, then calls [`Kernel::nohz_balance`].
    pub fn take_nohz_kick(&mut self) -> Option<CpuId> {
        if self.nohz_kicks.is_empty() { None } else { Some(self.nohz_kicks.remove(0)) }
    }

    /// Time that scans for idle CPUs and balancing passes took since the last call, on the CPU that made them.
    pub fn take_work(&mut self) -> Nanos {
        Nanos(std::mem::take(&mut self.work_ns))
    }

    /// CPU time a task has used until `now`, time not charged yet included.
    pub fn task_runtime(&self, task: TaskId, now: Instant) -> Nanos {
        let (t, e) = (self.task(task), self.task_entity(task));
        let uncharged = if t.on_cpu {
            let rq = self.rq(t.cpu);
            // The task clock now, if it were sampled: wall time since the last sample passes at its rate.
            let clock_task = rq.clock_task + (now.0 - rq.clock).saturating_sub(rq.nontask_pending);
            clock_task.saturating_sub(e.exec_start)
        } else {
            0
        };
        Nanos(e.sum_exec_runtime + uncharged)
    }

    /// Charges the running task of a CPU up to `now`, as a reader of its CPU clock would.
    pub fn charge_running<O: Observer>(&mut self, cpu: CpuId, now: Instant, o: &mut O) {
        if let Some(curr) = self.rqs[cpu.index()].curr {
            self.update_rq_clock(cpu, now);
            if self.is_fair(curr) {
                let q = self.entities[self.tasks[curr.index()].se.index()].cfs_rq;
                self.update_curr(q, now, o);
            } else {
                self.update_curr_stop(curr, now, o);
            }
        }
    }

    fn load_floor(&self) -> bool {
        self.config.rules.scale_load_floor
    }
}
