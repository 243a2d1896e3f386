//! The kernel model: who runs where, until when.
//!
//! [`Kernel`] is a state machine: each method is one thing that happens to the scheduler (a tick, a wake-up, a call of
//! `__schedule`), takes the current time, and changes state. It can be driven by the engine, by a trace, or by hand.
//! It knows nothing of how fast CPUs are or what tasks do.

mod balance;
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
mod policy;
pub mod rules;
pub mod runqueue;
mod select;
pub mod task;
pub mod tunables;
pub mod version;
mod wakeup;
pub mod weight;

pub use self::core::{Schedule, Switch};
pub use group::{GroupError, TaskGroup};
pub use lifecycle::TaskParams;
pub use policy::Policy;
pub use version::{PROFILES, Profile, UnknownProfile};
pub use wakeup::Wake;

use crate::cpumask::CpuMask;
use crate::id::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::machine::topology::Topology;
use crate::observe::Observer;
use crate::time::{Instant, Nanos};
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

/// Configuration of the kernel model.
#[derive(Clone, Debug, Serialize)]
pub struct KernelConfig {
    /// Name of the profile the rules come from.
    pub profile: &'static str,
    /// Behaviours.
    pub rules: Rules,
    /// Effective tunables.
    pub tunables: Tunables,
    /// Feature switches as set.
    pub features: Features,
    /// Online CPUs.
    pub cpus: u32,
    /// Which CPUs share what. Not used by placement and balancing yet (D-001).
    #[serde(skip)]
    pub topology: Arc<Topology>,
    /// Sets of CPUs that balance load only among themselves; none for the whole machine.
    #[serde(skip)]
    pub partitions: Vec<CpuMask>,
    /// Ticks per second (`CONFIG_HZ`).
    pub hz: u32,
    /// Preemption model.
    pub preempt: PreemptModel,
    /// `sched_autogroup_enabled`: each session is a group of its own. On by default, off on Debian.
    pub autogroup: bool,
    /// `skew_tick=1`: CPU i ticks i · (T/2)/CPUs later.
    pub skew_tick: bool,
    /// `CONFIG_IRQ_TIME_ACCOUNTING`: interrupt time is not charged to tasks. Off on Debian.
    pub irq_time_accounting: bool,
    /// `CONFIG_PARAVIRT_TIME_ACCOUNTING` with a steal clock: stolen time is not charged to tasks. Off on Debian.
    pub steal_time_accounting: bool,
}

impl KernelConfig {
    /// A kernel with its boot defaults on a machine of `cpus` equal CPUs: HZ 250, voluntary preemption.
    ///
    /// # Panics
    /// When there is no CPU or there are more than [`crate::cpumask::MAX_CPUS`].
    pub fn new(profile: &'static Profile, cpus: u32) -> KernelConfig {
        let topology = Topology::uniform(cpus).unwrap_or_else(|e| panic!("{e}"));
        KernelConfig::on(profile, Arc::new(topology))
    }

    /// A kernel with its boot defaults on a machine: HZ 250, voluntary preemption.
    pub fn on(profile: &'static Profile, topology: Arc<Topology>) -> KernelConfig {
        let rules = profile.rules();
        let cpus = topology.online().count() as u32;
        KernelConfig {
            profile: profile.name,
            tunables: Tunables::boot(cpus),
            features: rules.features,
            rules,
            cpus,
            topology,
            partitions: Vec::new(),
            hz: 250,
            preempt: PreemptModel::Voluntary,
            autogroup: profile.autogroup,
            skew_tick: false,
            irq_time_accounting: false,
            steal_time_accounting: false,
        }
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
    /// CPUs whose need_resched was set since the last [`Kernel::take_resched`].
    newly_resched: Vec<CpuId>,
    /// CPUs whose hrtick was armed since the last [`Kernel::take_hrtick`].
    newly_hrtick: Vec<CpuId>,
}

impl<H: Hooks> Kernel<H> {
    /// A booted machine: every CPU idle, the root group only.
    pub fn new(config: KernelConfig, hooks: H) -> Kernel<H> {
        let cpus = config.cpus as usize;
        assert!(cpus > 0, "a machine has at least one CPU");
        let root = |i| CfsRq::new(CpuId::new(i), GroupId::ROOT, None);
        let queues: Vec<CfsRqId> = (0..cpus).map(CfsRqId::new).collect();
        Kernel {
            rqs: queues.iter().map(|q| Rq::new(*q)).collect(),
            cfs_rqs: (0..cpus).map(root).collect(),
            entities: Vec::new(),
            tasks: Vec::new(),
            groups: vec![TaskGroup::root(queues)],
            newly_resched: Vec::with_capacity(cpus),
            newly_hrtick: Vec::with_capacity(cpus),
            hooks,
            config,
        }
    }

    /// All CPUs of the machine.
    pub fn all_cpus(&self) -> CpuMask {
        CpuMask::first(self.config.cpus)
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
            let q = self.entities[self.tasks[curr.index()].se.index()].cfs_rq;
            self.update_curr(q, now, o);
        }
    }

    fn load_floor(&self) -> bool {
        self.config.rules.scale_load_floor
    }
}
