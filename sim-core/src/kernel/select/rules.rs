//! How placement differs between versions: the placement part of [`crate::kernel::rules::Rules`].

use serde::Serialize;

/// What a CPU whose runnable tasks are all `SCHED_IDLE` counts as in placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchedIdleCpu {
    /// A busy CPU.
    Busy,
    /// An idle one, but a search takes it only if it finds no CPU that is really idle.
    Fallback,
    /// An idle one, taken at once.
    Idle,
}

/// When a task woken by a per-CPU kernel thread of its previous CPU stays there (step 3 of smp.md §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KthreadStacking {
    /// Never by this rule.
    No,
    /// Always.
    Always,
    /// Unless an interrupt does it.
    InTask,
}

/// What `recent_used_cpu` remembers, and for which CPU step 4 of smp.md §3.4 tests the affinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecentUsedCpu {
    /// A waker's own CPU; replaced by the previous CPU when it is used.
    Target,
    /// Always the previous CPU of the last wake-up; affinity is tested for the previous CPU instead of the candidate.
    PrevTestsPrev,
    /// Always the previous CPU of the last wake-up.
    Prev,
}

/// How the last-level cache domain is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleSearch {
    /// For an idle core, then for an idle CPU, then among the target's hardware threads.
    Separate,
    /// In one walk, for an idle core if one is believed to exist, else for an idle CPU.
    Combined,
}

/// How an eighth of the difference is added to `avg_scan_cost`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanCostAverage {
    /// Shifted right: towards minus infinity.
    Shift,
    /// Divided: towards zero.
    Divide,
}

/// The idle time that `SIS_PROP` budgets a search by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScanBudget {
    /// `avg_idle / 512`.
    AvgIdle,
    /// `wake_avg_idle`, which halves with every jiffy since the CPU last left idle.
    WakeAvgIdle,
}

/// How groups are compared for a new or exec'ing task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdlestGroup {
    /// By load and spare capacity.
    Load,
    /// By group type.
    GroupType,
}

/// When a task stays on its NUMA node although both nodes have idle CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IdlestNuma {
    /// While its node has an idle CPU.
    IdleCpu,
    /// While fewer tasks run there than a quarter of the domain's CPUs.
    QuarterBusy,
    /// While the difference is within what `imb_numa_nr` allows.
    ImbNumaNr,
}

/// The placement behaviours of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent change of the kernel")]
pub struct SelectRules {
    /// What a CPU that runs only `SCHED_IDLE` tasks counts as.
    pub sched_idle_cpu: SchedIdleCpu,
    /// Only tasks that are not `SCHED_IDLE` themselves see it so.
    pub sched_idle_cpu_for_others: bool,
    /// A wake-up made in an interrupt is not synchronous.
    pub no_sync_in_interrupt: bool,
    /// A waker that changes wakees far more often than its wakee raises the wakee's count; wide wake-ups begin earlier.
    pub wakee_flips_coupled: bool,
    /// CPUs a task may not use take from the budget of a search.
    pub scan_counts_disallowed: bool,
    /// Stacking on per-CPU kernel threads.
    pub kthread_stacking: KthreadStacking,
    /// What `recent_used_cpu` remembers.
    pub recent_used_cpu: RecentUsedCpu,
    /// `wake_affine` answers the previous CPU when it is idle.
    pub wake_affine_prev_idle: bool,
    /// Order of the searches.
    pub idle_search: IdleSearch,
    /// Hardware threads outside the last-level cache domain are not searched.
    pub smt_search_in_llc: bool,
    /// Searches begin after the target, which comes last, instead of at it.
    pub scan_after_target: bool,
    /// Rounding of `avg_scan_cost`.
    pub scan_cost_average: ScanCostAverage,
    /// What `SIS_PROP` budgets by.
    pub scan_budget: ScanBudget,
    /// How groups are compared in the slow path.
    pub idlest_group: IdlestGroup,
    /// The slow path classifies groups as if they had no CPUs (bug of 5.5).
    pub idlest_weight_missing: bool,
    /// The slow path counts the task itself where it is.
    pub idlest_counts_task: bool,
    /// The slow path computes a group's average load only where it is not compared (bug of 5.5 and 5.6).
    pub idlest_load_missing: bool,
    /// Among groups with equally many idle CPUs the slow path takes the least utilised.
    pub idlest_util_tie: bool,
    /// When the slow path stays on a NUMA node.
    pub idlest_numa: IdlestNuma,
}

impl SelectRules {
    /// The rules of 4.19, from which the changes start.
    pub const fn v4_19() -> SelectRules {
        SelectRules {
            sched_idle_cpu: SchedIdleCpu::Busy,
            sched_idle_cpu_for_others: false,
            no_sync_in_interrupt: false,
            wakee_flips_coupled: false,
            scan_counts_disallowed: true,
            kthread_stacking: KthreadStacking::No,
            recent_used_cpu: RecentUsedCpu::Target,
            wake_affine_prev_idle: false,
            idle_search: IdleSearch::Separate,
            smt_search_in_llc: false,
            scan_after_target: false,
            scan_cost_average: ScanCostAverage::Shift,
            scan_budget: ScanBudget::AvgIdle,
            idlest_group: IdlestGroup::Load,
            idlest_weight_missing: false,
            idlest_counts_task: false,
            idlest_load_missing: false,
            idlest_util_tie: false,
            idlest_numa: IdlestNuma::IdleCpu,
        }
    }
}
