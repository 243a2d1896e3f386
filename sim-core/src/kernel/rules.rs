//! What one kernel does: one field per behaviour that ever changed between v4.19 and v6.5.

pub use super::balance::rules::{
    ActiveAfterFailures, BalanceRules, Balancer, LoadLimit, NewidleGate, NohzNext, NumaTolerance,
};
use super::features::Features;
pub use super::select::rules::{
    IdleSearch, IdlestGroup, IdlestNuma, KthreadStacking, RecentUsedCpu, ScanBudget, ScanCostAverage,
    SchedIdleCpu, SelectRules,
};
use crate::machine::idle::IdleRules;
use serde::Serialize;

/// Whether `sched_nr_latency` follows the tunables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NrLatency {
    /// Recomputed at each write of the latency or the minimum granularity; tunables are sysctls.
    Tracks,
    /// Stays at 8 unless `tunable_scaling` is written; tunables are plain debugfs integers.
    Frozen,
}

/// Where the tunables live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TunablesIn {
    /// `/proc/sys/kernel/sched_*`.
    ProcSys,
    /// `/sys/kernel/debug/sched/*`.
    Debugfs,
}

/// Threshold below `min_vruntime` at which a waking idle entity is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSleeperThreshold {
    /// `sched_latency`, as for every entity.
    Latency,
    /// `sched_min_granularity`.
    MinGranularity,
}

/// How far behind a wakee has to be, before weights (posted patches of 2021, none merged).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WakeupGran {
    /// `sched_wakeup_granularity`.
    Plain,
    /// At a wake-up times half the queue's length, at most `sched_nr_latency`.
    ByQueueLength,
    /// At a wake-up half of `sched_latency`, or all of it, by two thresholds of the queue's length.
    ByThresholds,
    /// `sched_min_granularity` more until current has run that long.
    UntilMinRun,
}

/// When buddy pointers to the chosen entity are cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BuddyClear {
    /// In `pick_next_entity`, even when current is picked again.
    OnPick,
    /// In `set_next_entity`, so not when current is picked again.
    OnSetNext,
}

/// What counts as idle when buddies are set and wake-ups preempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleEntities {
    /// The task's policy.
    Policy,
    /// Every entity on the way up (`cpu.idle` groups exist).
    EveryLevel,
}

/// When a wake-up is queued on the target CPU instead of being done by the waker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TtwuQueueRule {
    /// Waker and target share no last-level cache.
    NotSharingLlc,
    /// Also when the wakee is still switching out on an otherwise idle target.
    OrSwitchingOutOfIdle,
    /// Also when the wakee is still switching out and at most one task runs there.
    OrSwitchingOut,
    /// Also when the target has no runnable task.
    OrTargetIdle,
}

/// Who is woken on a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PipeWake {
    /// Every waiter, at each write or read that made progress.
    All,
    /// Every waiter, only when the pipe was empty (full).
    AllOnEdge,
    /// One reader when it was empty, one writer when it was full; they chain.
    Exclusive,
}

/// Load tracking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PeltRules {
    /// The load of a CPU, as placement and balancing see it, contains its sleeping tasks.
    pub cpu_load_with_blocked: bool,
    /// The runnable signal counts time with a task runnable or running; before, load of runnable entities.
    pub runnable_is_time: bool,
    /// Slow CPUs have a slow clock (`clock_pelt`); before, time counted less.
    pub scaled_clock: bool,
    /// The present CPU frequency is known (x86).
    pub frequency_invariance: bool,
    /// Hardware threads share a core's capacity plus 15 %.
    pub smt_gain: bool,
    /// Load averages over several spans are kept for balancing (`cpu_load[]`).
    pub cpu_load_array: bool,
    /// Utilisation above the CPU's capacity is no estimate of a task's need.
    pub util_est_within_capacity: bool,
    /// An attached load sum is at least 1.
    pub attached_load_sum_not_zero: bool,
    /// Sums never fall below what their average stands for.
    pub sums_kept_consistent: bool,
    /// A task that wakes away from an idle CPU also decays for the time its queue was not updated.
    pub idle_lag_estimated: bool,
}

impl PeltRules {
    const fn v4_19() -> PeltRules {
        PeltRules {
            cpu_load_with_blocked: false,
            runnable_is_time: false,
            scaled_clock: false,
            frequency_invariance: false,
            smt_gain: true,
            cpu_load_array: true,
            util_est_within_capacity: false,
            attached_load_sum_not_zero: false,
            sums_kept_consistent: false,
            idle_lag_estimated: false,
        }
    }
}

/// Machines whose clusters (second-level caches) are a level of domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterLevel {
    /// None.
    None,
    /// All but x86 machines with different kinds of cores.
    NotHybrid,
    /// All.
    All,
}

/// Which node distances make levels of domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaDistances {
    /// Those from the first node.
    OfFirstNode,
    /// All in the table.
    All,
}

/// The behaviours of one kernel. Built from the chronological list in [`super::changes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rules {
    /// Defaults of the feature switches.
    pub features: Features,
    /// Where tunables live.
    pub tunables_in: TunablesIn,
    /// What a write to a tunable does to `sched_nr_latency`.
    pub nr_latency: NrLatency,
    /// Slices have the floor `sched_idle_min_granularity` for idle entities beside others.
    pub idle_min_granularity: bool,
    /// The tick compares with min(slice, `sched_latency`).
    pub slice_capped_by_latency: bool,
    /// Sleeper threshold of idle entities.
    pub idle_sleeper_threshold: IdleSleeperThreshold,
    /// An entity that slept over 104 days is placed unconditionally.
    pub long_sleeper: bool,
    /// How far behind a wakee has to be.
    pub wakeup_gran: WakeupGran,
    /// A wakee compared by vruntime preempts only what has run for `sched_min_granularity`.
    pub preempt_after_min_run: bool,
    /// When buddies are cleared.
    pub buddy_clear: BuddyClear,
    /// What counts as idle.
    pub idle_entities: IdleEntities,
    /// When wake-ups are queued remotely.
    pub ttwu_queue: TtwuQueueRule,
    /// A wake-up of a task that is on a CPU right now still checks preemption.
    pub ttwu_runnable_checks_running: bool,
    /// `exec_start` is zeroed when a migrated task is enqueued, not when its CPU is set.
    pub exec_start_zeroed_at_enqueue: bool,
    /// Pipe wake-ups.
    pub pipe_wake: PipeWake,
    /// `scale_load_down` never yields less than 2 for a non-zero weight.
    pub scale_load_floor: bool,
    /// The preemption model can be chosen at boot.
    pub preempt_dynamic: bool,
    /// Load balancing.
    #[serde(flatten)]
    pub balance: BalanceRules,
    /// Placement.
    #[serde(flatten)]
    pub select: SelectRules,
    /// Choice of idle states, on machines that have them.
    #[serde(flatten)]
    pub idle: IdleRules,
    /// Load tracking.
    pub pelt: PeltRules,
    /// Whether domains have a level of clusters.
    pub cluster_level: ClusterLevel,
    /// Which node distances make levels of domains.
    pub numa_distances: NumaDistances,
    /// Groups of a NUMA domain hold none of the CPUs beyond it.
    pub numa_groups_within_span: bool,
    /// Groups of a NUMA domain are laid from its lowest CPU on, whosever domain it is.
    pub numa_groups_from_lowest_cpu: bool,
    /// `busy_factor` of domains.
    pub busy_factor: u32,
    /// `imbalance_pct` of domains that share no cache.
    pub imbalance_pct: u32,
    /// Domains have the flag `SD_LOAD_BALANCE`, which is always set.
    pub sd_load_balance: bool,
    /// A domain of CPUs of different capacity takes `SD_PREFER_SIBLING` from its child.
    pub asym_clears_prefer_sibling: bool,
    /// A domain of CPUs of different capacity and those below it have `SD_BALANCE_WAKE`.
    pub asym_balance_wake: bool,
    /// Domains have `imb_numa_nr`.
    pub imb_numa_nr: bool,
    /// Tasks whose CPU is taken from their masks are dealt out over the CPUs of these; before, the lowest took them all.
    pub affinity_distributes: bool,
    /// `schedutil` adds its quarter to the utilisation, not to the frequency.
    pub schedutil_margin_on_util: bool,
    /// A task that exits is dequeued and enqueued even if its group stays the same.
    pub exit_requeues: bool,
    /// Name and one-line description of each applied change after the base, for `kernel show`.
    #[serde(skip)]
    pub applied: Vec<&'static str>,
}

impl Rules {
    /// The rules of 4.19, from which the changes start.
    pub fn v4_19() -> Rules {
        Rules {
            features: Features::v4_19(),
            tunables_in: TunablesIn::ProcSys,
            nr_latency: NrLatency::Tracks,
            idle_min_granularity: false,
            slice_capped_by_latency: false,
            idle_sleeper_threshold: IdleSleeperThreshold::Latency,
            long_sleeper: false,
            wakeup_gran: WakeupGran::Plain,
            preempt_after_min_run: false,
            buddy_clear: BuddyClear::OnPick,
            idle_entities: IdleEntities::Policy,
            ttwu_queue: TtwuQueueRule::NotSharingLlc,
            ttwu_runnable_checks_running: true,
            exec_start_zeroed_at_enqueue: false,
            pipe_wake: PipeWake::All,
            scale_load_floor: false,
            preempt_dynamic: false,
            balance: BalanceRules::v4_19(),
            select: SelectRules::v4_19(),
            idle: IdleRules::v4_19(),
            pelt: PeltRules::v4_19(),
            cluster_level: ClusterLevel::None,
            numa_distances: NumaDistances::OfFirstNode,
            numa_groups_within_span: false,
            numa_groups_from_lowest_cpu: false,
            busy_factor: 32,
            imbalance_pct: 125,
            sd_load_balance: true,
            asym_clears_prefer_sibling: false,
            asym_balance_wake: true,
            imb_numa_nr: false,
            affinity_distributes: false,
            schedutil_margin_on_util: false,
            exit_requeues: true,
            applied: Vec::new(),
        }
    }
}
