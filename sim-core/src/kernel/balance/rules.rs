//! How the balancer of one kernel differs from others: one field per behaviour that ever changed (smp.md §4.7).

use serde::Serialize;

/// Which algorithm compares groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Balancer {
    /// Average loads (up to 5.4).
    AverageLoad,
    /// Types of groups and kinds of imbalance (from 5.5).
    GroupTypes,
}

/// When a task's load keeps it from being moved for a load imbalance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadLimit {
    /// Half its load exceeds the imbalance.
    Half,
    /// The same, unless balancing has failed more often than `cache_nice_tries`.
    HalfUntilFailed,
    /// Its load, halved once for every failure, exceeds the imbalance.
    HalvedByFailures,
}

/// How much imbalance between NUMA nodes with spare capacity is let be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NumaTolerance {
    /// None.
    None,
    /// A busiest node with at most two tasks.
    Pair,
    /// Two tasks, while the busiest node has fewer tasks than a quarter of its CPUs.
    Quarter,
    /// Two tasks, while this node would have at most `imb_numa_nr`.
    ImbNumaNr,
}

/// When a newly-idle pass is not even begun for want of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NewidleGate {
    /// The average idle time is below `sched_migration_cost`.
    MigrationCost,
    /// The average idle time is below the cost of the lowest domain.
    LowestDomainCost,
}

/// What a CPU with few failures so far does before it has a running task pushed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActiveAfterFailures {
    /// Any kind of imbalance leads to it.
    Any,
    /// Only an imbalance in tasks.
    TaskImbalance,
}

/// When the kick sets the time of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NohzNext {
    /// Every kick moves it on by one jiffy, from wherever it was.
    Advance,
    /// A kick for balancing sets it to the next jiffy.
    NextJiffy,
}

/// How the balancer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one independent change of the kernel")]
pub struct BalanceRules {
    /// How groups are compared.
    pub balancer: Balancer,
    /// Comparing average loads, only a newly idle CPU takes tasks from an overloaded group whatever the loads.
    pub forced_newly_idle_only: bool,
    /// Comparing average loads, one task moves where that evens out although the averages differ by less.
    pub fix_small_imbalance: bool,
    /// Types of groups as first committed: fair tasks count only, and single CPUs and single tasks are no exceptions.
    pub group_types_first_form: bool,
    /// The runnable signal tells whether a group has capacity.
    pub runnable_in_groups: bool,
    /// Groups with equally many idle CPUs are told apart by their tasks.
    pub spare_tie_by_tasks: bool,
    /// Utilisation is taken from queues with two tasks or more only.
    pub util_needs_two_tasks: bool,
    /// A fully busy local group with at least the busiest group's average load leaves it alone.
    pub local_above_busiest_balanced: bool,
    /// The same with at least the average load of the domain.
    pub local_above_average_balanced: bool,
    /// Inside a last-level cache spare capacity is filled by tasks, not by utilisation.
    pub spread_by_tasks_in_llc: bool,
    /// What is let be between nodes.
    pub numa_tolerance: NumaTolerance,
    /// `smt_balance` groups, core counts and prefer-sibling rules of 6.6.
    pub smt_groups: bool,
    /// Queues are compared by the larger of utilisation and runnable.
    pub util_or_runnable: bool,
    /// Queues without fair tasks are not looked at.
    pub skip_queues_without_fair: bool,
    /// A task counts at least one unit of load.
    pub load_at_least_one: bool,
    /// When load keeps a task back.
    pub load_limit: LoadLimit,
    /// Utilisation is halved once for every failure before it is compared.
    pub util_halved_by_failures: bool,
    /// A queue with one task is never detached from, whatever the imbalance.
    pub detach_needs_two: bool,
    /// A kernel thread that belongs to one CPU is left alone without counting as pinned.
    pub bound_kthreads_stay: bool,
    /// A task is never hot between the threads of a core.
    pub never_hot_on_smt: bool,
    /// What active balance after failures is for.
    pub active_after_failures: ActiveAfterFailures,
    /// Starting active balance sets the failures to `cache_nice_tries + 1` and leaves the interval to double.
    pub active_resets_failures: bool,
    /// A single running task counts among the pinned ones.
    pub all_pinned_counts_single: bool,
    /// A newly-idle pass that met only pinned tasks doubles the interval too.
    pub newidle_doubles_interval: bool,
    /// A newly-idle CPU stops looking once it has work or a wake-up on its way.
    pub newidle_rechecks_work: bool,
    /// Above the SMT level a wholly idle core balances first.
    pub idle_core_balances_first: bool,
    /// Intervals of busy CPUs are one jiffy shorter, so that levels do not fall together.
    pub busy_interval_less_one: bool,
    /// A CPU that runs only `SCHED_IDLE` tasks balances as often as an idle one.
    pub sched_idle_not_busy: bool,
    /// `max_newidle_lb_cost` decays a second after its last change, not every second.
    pub cost_decays_after_change: bool,
    /// Newly-idle passes end before they begin if a wake-up is on its way.
    pub newidle_leaves_for_wakeup: bool,
    /// What newly-idle passes need.
    pub newidle_gate: NewidleGate,
    /// The CPU that balances for others never kicks itself, and handles itself last in ring order.
    pub nohz_ring_order: bool,
    /// When the next kick is due.
    pub nohz_next: NohzNext,
    /// A CPU that enters tickless idle makes the next pass reconsider its time.
    pub nohz_needs_update: bool,
    /// The statistics pass of newly idle CPUs is left to the idle loop.
    pub nohz_newidle_deferred: bool,
}

impl BalanceRules {
    /// The balancer of 4.19.
    pub const fn v4_19() -> BalanceRules {
        BalanceRules {
            balancer: Balancer::AverageLoad,
            forced_newly_idle_only: false,
            fix_small_imbalance: true,
            group_types_first_form: false,
            runnable_in_groups: false,
            spare_tie_by_tasks: false,
            util_needs_two_tasks: false,
            local_above_busiest_balanced: false,
            local_above_average_balanced: false,
            spread_by_tasks_in_llc: false,
            numa_tolerance: NumaTolerance::None,
            smt_groups: false,
            util_or_runnable: false,
            skip_queues_without_fair: false,
            load_at_least_one: false,
            load_limit: LoadLimit::Half,
            util_halved_by_failures: false,
            detach_needs_two: false,
            bound_kthreads_stay: false,
            never_hot_on_smt: false,
            active_after_failures: ActiveAfterFailures::Any,
            active_resets_failures: true,
            all_pinned_counts_single: false,
            newidle_doubles_interval: true,
            newidle_rechecks_work: false,
            idle_core_balances_first: false,
            busy_interval_less_one: false,
            sched_idle_not_busy: false,
            cost_decays_after_change: false,
            newidle_leaves_for_wakeup: false,
            newidle_gate: NewidleGate::MigrationCost,
            nohz_ring_order: false,
            nohz_next: NohzNext::Advance,
            nohz_needs_update: false,
            nohz_newidle_deferred: false,
        }
    }
}
