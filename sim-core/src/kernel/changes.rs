//! The chronological list of behaviour changes: version differences are rows here, not branches in the code.
//!
//! A user's patch is one more [`Change`] applied after a profile's own, or an implementation of
//! [`super::hooks::Hooks`].

use super::features::Feature as F;
use super::rules::{
    ActiveAfterFailures, Balancer, BuddyClear, IdleEntities, IdleSearch, IdleSleeperThreshold, IdlestGroup,
    IdlestNuma, KthreadStacking, LoadLimit, NewidleGate, NohzNext, NrLatency, NumaTolerance, PipeWake,
    RecentUsedCpu, Rules, ScanBudget, ScanCostAverage, SchedIdleCpu, TtwuQueueRule, TunablesIn,
};
use super::version::Release;

/// One change of behaviour.
#[derive(Debug)]
pub struct Change {
    /// Short name, unique.
    pub id: &'static str,
    /// The mainline commit, where a source names it.
    pub commit: Option<&'static str>,
    /// First mainline release that has it.
    pub since: Release,
    /// First releases of stable series that have it too.
    pub stable: &'static [Release],
    /// What changed, in one line.
    pub what: &'static str,
    /// How it changes the rules.
    pub apply: fn(&mut Rules),
}

/// All changes from 4.19 to 6.5 that this model knows, oldest first. Sources: core.md §2.6, §14.1, §14.2; smp.md §4.7.
pub const CHANGES: &[Change] = &[
    Change {
        id: "no-lb-bias",
        commit: None,
        since: Release::new(5, 4, 0),
        stable: &[],
        what: "LB_BIAS is gone",
        apply: |r| r.features.remove(F::LbBias),
    },
    Change {
        id: "newidle-no-double",
        commit: None,
        since: Release::new(5, 4, 0),
        stable: &[],
        what: "a newly-idle pass that met only pinned tasks no longer doubles the balance interval",
        apply: |r| r.balance.newidle_doubles_interval = false,
    },
    Change {
        id: "sched-idle-cpus",
        commit: Some("3c29e651e16d"),
        since: Release::new(5, 4, 0),
        stable: &[],
        what: "placement takes a CPU that runs only SCHED_IDLE tasks for an idle one, in searches as the last choice",
        apply: |r| r.select.sched_idle_cpu = SchedIdleCpu::Fallback,
    },
    Change {
        id: "scan-counts-allowed",
        commit: None,
        since: Release::new(5, 4, 0),
        stable: &[],
        what: "CPUs a task may not use no longer take from the budget of a search (release between 4.20 and \
               5.4 not known)",
        apply: |r| r.select.scan_counts_disallowed = false,
    },
    Change {
        id: "scale-load-floor",
        commit: None,
        since: Release::new(5, 5, 0),
        stable: &[Release::new(5, 4, 0)],
        what: "scale_load_down() of a non-zero weight is at least 2",
        apply: |r| r.scale_load_floor = true,
    },
    Change {
        id: "pipe-edge-wake",
        commit: None,
        since: Release::new(5, 5, 0),
        stable: &[],
        what: "a pipe write wakes only if the pipe was empty, a read only if it was full (not read in source)",
        apply: |r| r.pipe_wake = PipeWake::AllOnEdge,
    },
    Change {
        id: "util-est-fastup",
        commit: None,
        since: Release::new(5, 5, 0),
        stable: &[],
        what: "UTIL_EST_FASTUP appears (exact release unsure: 5.5 to 5.7)",
        apply: |r| r.features.define(F::UtilEstFastup, true),
    },
    Change {
        id: "group-types",
        commit: Some("0b0695f2b34a"),
        since: Release::new(5, 5, 0),
        stable: &[],
        what: "load balancing compares types of groups instead of average loads, and counts blocked load",
        apply: |r| {
            r.balance.balancer = Balancer::GroupTypes;
            r.balance.load_limit = LoadLimit::HalfUntilFailed;
        },
    },
    Change {
        id: "cpu-load-with-blocked",
        commit: None,
        since: Release::new(5, 5, 0),
        stable: &[],
        what: "the load of a CPU, for placement and balancing, contains its sleeping tasks",
        apply: |r| r.pelt.cpu_load_with_blocked = true,
    },
    Change {
        id: "idlest-group-type",
        commit: Some("57abff067a"),
        since: Release::new(5, 5, 0),
        stable: &[],
        what: "fork and exec placement compares groups by type and idle CPUs; with two bugs: groups count \
               as having no \
               CPUs, and loads of busy groups are not computed",
        apply: |r| {
            r.select.idlest_group = IdlestGroup::GroupType;
            r.select.idlest_weight_missing = true;
            r.select.idlest_load_missing = true;
        },
    },
    Change {
        id: "pipe-exclusive-wake",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "pipes have separate reader and writer queues and wake one waiter",
        apply: |r| r.pipe_wake = PipeWake::Exclusive,
    },
    Change {
        id: "spare-tie-by-tasks",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "of groups with equally many idle CPUs the one with more tasks is busiest",
        apply: |r| r.balance.spare_tie_by_tasks = true,
    },
    Change {
        id: "numa-pair",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "two tasks on a node are left alone by other nodes with spare capacity",
        apply: |r| r.balance.numa_tolerance = NumaTolerance::Pair,
    },
    Change {
        id: "sched-idle-balances-as-idle",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "a CPU that runs only SCHED_IDLE tasks balances as often as an idle one",
        apply: |r| r.balance.sched_idle_not_busy = true,
    },
    Change {
        id: "idlest-weight",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "fork and exec placement knows the number of CPUs of a group",
        apply: |r| r.select.idlest_weight_missing = false,
    },
    Change {
        id: "sched-idle-at-once",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "searches take a CPU that runs only SCHED_IDLE tasks at once",
        apply: |r| r.select.sched_idle_cpu = SchedIdleCpu::Idle,
    },
    Change {
        id: "kthread-stacking",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "a task woken by a per-CPU kernel thread of its previous CPU stays there",
        apply: |r| r.select.kthread_stacking = KthreadStacking::Always,
    },
    Change {
        id: "runnable-in-groups",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "the runnable signal tells whether a group has capacity",
        apply: |r| r.balance.runnable_in_groups = true,
    },
    Change {
        id: "util-needs-two-tasks",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "utilisation is not taken from a queue with one task",
        apply: |r| r.balance.util_needs_two_tasks = true,
    },
    Change {
        id: "no-negative-imbalance",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "a fully busy group leaves a less loaded busiest group alone (before, the imbalance wrapped)",
        apply: |r| r.balance.local_above_busiest_balanced = true,
    },
    Change {
        id: "load-at-least-one",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "a task counts at least one unit of load when it is moved",
        apply: |r| r.balance.load_at_least_one = true,
    },
    Change {
        id: "idlest-load",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "fork and exec placement compares the loads of busy groups",
        apply: |r| r.select.idlest_load_missing = false,
    },
    Change {
        id: "scan-cost-divide",
        commit: None,
        since: Release::new(5, 7, 0),
        stable: &[],
        what: "avg_scan_cost rounds towards zero",
        apply: |r| r.select.scan_cost_average = ScanCostAverage::Divide,
    },
    Change {
        id: "ttwu-queue-switching-out",
        commit: None,
        since: Release::new(5, 8, 0),
        stable: &[],
        what: "a wake-up is queued remotely if the wakee is still switching out of an otherwise idle CPU",
        apply: |r| r.ttwu_queue = TtwuQueueRule::OrSwitchingOutOfIdle,
    },
    Change {
        id: "nohz-next-jiffy",
        commit: None,
        since: Release::new(5, 8, 0),
        stable: &[Release::new(5, 4, 0)],
        what: "kicks of tickless idle CPUs for balancing are at least a jiffy apart",
        apply: |r| r.balance.nohz_next = NohzNext::NextJiffy,
    },
    Change {
        id: "idlest-util-tie",
        commit: Some("3edecfef0285"),
        since: Release::new(5, 9, 0),
        stable: &[],
        what: "among groups with equally many idle CPUs a new task goes to the least utilised",
        apply: |r| r.select.idlest_util_tie = true,
    },
    Change {
        id: "no-rt-runtime-share",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "RT_RUNTIME_SHARE is off by default",
        apply: |r| r.features.define(F::RtRuntimeShare, false),
    },
    Change {
        id: "spread-by-tasks-in-llc",
        commit: Some("16b0a7a1a0af"),
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "inside a last-level cache an idle CPU takes tasks, not utilisation, from an overloaded group",
        apply: |r| r.balance.spread_by_tasks_in_llc = true,
    },
    Change {
        id: "load-halved-by-failures",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "a task's load counts half for every failed attempt when it is compared with the imbalance",
        apply: |r| r.balance.load_limit = LoadLimit::HalvedByFailures,
    },
    Change {
        id: "never-hot-on-smt",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "a task is never cache-hot between the threads of a core",
        apply: |r| r.balance.never_hot_on_smt = true,
    },
    Change {
        id: "busy-interval-less-one",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "balance intervals of busy CPUs are a jiffy shorter",
        apply: |r| r.balance.busy_interval_less_one = true,
    },
    Change {
        id: "smt-search-in-llc",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "hardware threads outside the last-level cache domain (isolated ones) are not searched",
        apply: |r| r.select.smt_search_in_llc = true,
    },
    Change {
        id: "numa-quarter",
        commit: None,
        since: Release::new(5, 11, 0),
        stable: &[],
        what: "small imbalances between nodes stay while the busiest has fewer tasks than a quarter of its CPUs",
        apply: |r| r.balance.numa_tolerance = NumaTolerance::Quarter,
    },
    Change {
        id: "affine-prev-idle",
        commit: None,
        since: Release::new(5, 11, 0),
        stable: &[],
        what: "wake_affine answers the previous CPU if it is idle",
        apply: |r| r.select.wake_affine_prev_idle = true,
    },
    Change {
        id: "idlest-numa-quarter",
        commit: None,
        since: Release::new(5, 11, 0),
        stable: &[],
        what: "new tasks stay on a node with fewer tasks than a quarter of the domain's CPUs",
        apply: |r| r.select.idlest_numa = IdlestNuma::QuarterBusy,
    },
    Change {
        id: "no-sis-avg-cpu",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "SIS_AVG_CPU is gone; HRTICK_DL appears",
        apply: |r| {
            r.features.remove(F::SisAvgCpu);
            r.features.define(F::HrtickDl, false);
        },
    },
    Change {
        id: "ttwu-queue-at-most-one",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "remote queueing while the wakee switches out also with one task running there",
        apply: |r| r.ttwu_queue = TtwuQueueRule::OrSwitchingOut,
    },
    Change {
        id: "preempt-dynamic",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "PREEMPT_DYNAMIC: the preemption model can be chosen at boot",
        apply: |r| r.preempt_dynamic = true,
    },
    Change {
        id: "active-balance-for-tasks",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "failures lead to active balance only for an imbalance in tasks, and stay counted",
        apply: |r| {
            r.balance.active_after_failures = ActiveAfterFailures::TaskImbalance;
            r.balance.active_resets_failures = false;
        },
    },
    Change {
        id: "bound-kthreads-stay",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[Release::new(5, 10, 223)],
        what: "a kernel thread bound to one CPU does not make a group count as imbalanced",
        apply: |r| r.balance.bound_kthreads_stay = true,
    },
    Change {
        id: "all-pinned-counts-single",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "a single running task counts among the pinned ones",
        apply: |r| r.balance.all_pinned_counts_single = true,
    },
    Change {
        id: "skip-queues-without-fair",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "queues without fair tasks are never the busiest",
        apply: |r| r.balance.skip_queues_without_fair = true,
    },
    Change {
        id: "combined-search",
        commit: None,
        since: Release::new(5, 12, 0),
        stable: &[],
        what: "idle core and idle CPU are searched in one walk; a thread of the previous CPU's core comes \
               first (5.12 as 5.12.9)",
        apply: |r| r.select.idle_search = IdleSearch::Combined,
    },
    Change {
        id: "debugfs-tunables",
        commit: Some("8a99b6833c88"),
        since: Release::new(5, 13, 0),
        stable: &[],
        what: "latency, min_granularity, wakeup_granularity, migration_cost, nr_migrate, tunable_scaling move from \
               /proc/sys/kernel to /sys/kernel/debug/sched; sched_nr_latency no longer follows writes",
        apply: |r| {
            r.tunables_in = TunablesIn::Debugfs;
            r.nr_latency = NrLatency::Frozen;
        },
    },
    Change {
        id: "latency-warn",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[],
        what: "LATENCY_WARN appears",
        apply: |r| r.features.define(F::LatencyWarn, false),
    },
    Change {
        id: "alt-period",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[Release::new(5, 10, 36)],
        what: "ALT_PERIOD: the period counts the tasks of the CPU's whole hierarchy",
        apply: |r| r.features.define(F::AltPeriod, true),
    },
    Change {
        id: "base-slice",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[Release::new(5, 10, 36)],
        what: "BASE_SLICE: a slice is never shorter than sched_min_granularity",
        apply: |r| r.features.define(F::BaseSlice, true),
    },
    Change {
        id: "detach-needs-two",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[],
        what: "nothing is detached from a queue with one task",
        apply: |r| r.balance.detach_needs_two = true,
    },
    Change {
        id: "newidle-leaves-for-wakeup",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[],
        what: "no newly-idle pass begins while a wake-up is on its way",
        apply: |r| r.balance.newidle_leaves_for_wakeup = true,
    },
    Change {
        id: "nohz-ring-order",
        commit: None,
        since: Release::new(5, 13, 0),
        stable: &[],
        what: "the CPU that balances for idle ones goes round from its own number; newly idle CPUs leave statistics to the idle loop",
        apply: |r| {
            r.balance.nohz_ring_order = true;
            r.balance.nohz_newidle_deferred = true;
        },
    },
    Change {
        id: "buddy-clear-on-set-next",
        commit: None,
        since: Release::new(5, 14, 0),
        stable: &[],
        what: "buddies are cleared when an entity is switched in, not when current is picked again",
        apply: |r| r.buddy_clear = BuddyClear::OnSetNext,
    },
    Change {
        id: "wake-avg-idle",
        commit: Some("94aafc3ee31d"),
        since: Release::new(5, 14, 0),
        stable: &[],
        what: "SIS_PROP budgets by the idle time before the last wake-up, halved every jiffy",
        apply: |r| r.select.scan_budget = ScanBudget::WakeAvgIdle,
    },
    Change {
        id: "cpu-idle-groups",
        commit: None,
        since: Release::new(5, 15, 0),
        stable: &[],
        what: "cpu.idle groups: idleness is a property of entities at every level",
        apply: |r| r.idle_entities = IdleEntities::EveryLevel,
    },
    Change {
        id: "local-above-average",
        commit: None,
        since: Release::new(5, 15, 0),
        stable: &[Release::new(5, 10, 223)],
        what: "a fully busy group above the domain's average load is balanced",
        apply: |r| r.balance.local_above_average_balanced = true,
    },
    Change {
        id: "recent-used-prev",
        commit: Some("89aafd67f28c"),
        since: Release::new(5, 15, 0),
        stable: &[],
        what: "recent_used_cpu is always the previous CPU; its affinity test looks at the wrong CPU",
        apply: |r| r.select.recent_used_cpu = RecentUsedCpu::PrevTestsPrev,
    },
    Change {
        id: "scan-after-target",
        commit: Some("56498cfb045d"),
        since: Release::new(5, 15, 0),
        stable: &[],
        what: "searches for an idle CPU begin after the target",
        apply: |r| r.select.scan_after_target = true,
    },
    Change {
        id: "idle-min-granularity",
        commit: None,
        since: Release::new(5, 16, 0),
        stable: &[],
        what: "idle entities beside others have the slice floor sched_idle_min_granularity (0.75 ms, unscaled)",
        apply: |r| r.idle_min_granularity = true,
    },
    Change {
        id: "idle-sleeper-threshold",
        commit: None,
        since: Release::new(5, 16, 0),
        stable: &[],
        what: "waking idle entities get credit by sched_min_granularity instead of sched_latency",
        apply: |r| r.idle_sleeper_threshold = IdleSleeperThreshold::MinGranularity,
    },
    Change {
        id: "newidle-cost-gate",
        commit: None,
        since: Release::new(5, 16, 0),
        stable: &[],
        what: "newly-idle passes need an average idle time above the lowest domain's cost, not above sched_migration_cost; the cost decays a second after its last change",
        apply: |r| {
            r.balance.newidle_gate = NewidleGate::LowestDomainCost;
            r.balance.cost_decays_after_change = true;
        },
    },
    Change {
        id: "nohz-needs-update",
        commit: None,
        since: Release::new(5, 16, 0),
        stable: &[],
        what: "a CPU that enters tickless idle has the time of the next pass reconsidered",
        apply: |r| r.balance.nohz_needs_update = true,
    },
    Change {
        id: "kthread-stacking-in-task",
        commit: None,
        since: Release::new(5, 16, 0),
        stable: &[Release::new(5, 10, 223)],
        what: "per-CPU kernel threads do not keep a task that an interrupt wakes (5.10: as read in 5.10.223)",
        apply: |r| r.select.kthread_stacking = KthreadStacking::InTask,
    },
    Change {
        id: "imb-numa-nr",
        commit: None,
        since: Release::new(5, 18, 0),
        stable: &[],
        what: "small imbalances between nodes stay while this node would have at most imb_numa_nr tasks",
        apply: |r| r.balance.numa_tolerance = NumaTolerance::ImbNumaNr,
    },
    Change {
        id: "idlest-imb-numa-nr",
        commit: None,
        since: Release::new(5, 18, 0),
        stable: &[],
        what: "new tasks stay on a node within imb_numa_nr",
        apply: |r| r.select.idlest_numa = IdlestNuma::ImbNumaNr,
    },
    Change {
        id: "sis-util",
        commit: None,
        since: Release::new(6, 0, 0),
        stable: &[],
        what: "SIS_UTIL replaces SIS_PROP (which stays, off)",
        apply: |r| {
            r.features.define(F::SisProp, false);
            r.features.define(F::SisUtil, true);
        },
    },
    Change {
        id: "ttwu-queue-idle-target",
        commit: Some("f3dd3f674555"),
        since: Release::new(6, 0, 0),
        stable: &[],
        what: "every wake-up to a CPU without runnable tasks is queued remotely",
        apply: |r| r.ttwu_queue = TtwuQueueRule::OrTargetIdle,
    },
    Change {
        id: "newidle-rechecks-work",
        commit: None,
        since: Release::new(6, 1, 0),
        stable: &[],
        what: "a newly-idle CPU that got work or a wake-up balances no further domain",
        apply: |r| r.balance.newidle_rechecks_work = true,
    },
    Change {
        id: "slice-cap",
        commit: None,
        since: Release::new(6, 3, 0),
        stable: &[],
        what: "the tick compares run time with min(slice, sched_latency)",
        apply: |r| r.slice_capped_by_latency = true,
    },
    Change {
        id: "long-sleeper",
        commit: None,
        since: Release::new(6, 3, 0),
        stable: &[Release::new(5, 10, 177), Release::new(6, 1, 22)],
        what: "an entity that slept over 104 days is placed unconditionally; exec_start is zeroed at enqueue",
        apply: |r| {
            r.long_sleeper = true;
            r.exec_start_zeroed_at_enqueue = true;
        },
    },
    Change {
        id: "ttwu-runnable-not-running",
        commit: None,
        since: Release::new(6, 3, 0),
        stable: &[],
        what: "waking a task that is on a CPU no longer checks preemption",
        apply: |r| r.ttwu_runnable_checks_running = false,
    },
    Change {
        id: "smt-groups",
        commit: None,
        since: Release::new(6, 5, 0),
        stable: &[],
        what: "cores with several tasks are a group type, groups compare by cores, busy CPUs no longer pull by count, a wholly idle core balances first (read in 6.6)",
        apply: |r| {
            r.balance.smt_groups = true;
            r.balance.util_or_runnable = true;
            r.balance.idle_core_balances_first = true;
        },
    },
    Change {
        id: "recent-used-allowed",
        commit: None,
        since: Release::new(6, 5, 0),
        stable: &[],
        what: "recent_used_cpu is tested for the CPU it names",
        apply: |r| r.select.recent_used_cpu = RecentUsedCpu::Prev,
    },
    Change {
        id: "ni-random",
        commit: None,
        since: Release::new(6, 19, 0),
        stable: &[Release::new(6, 1, 160)],
        what: "NI_RANDOM: newly-idle balancing in proportion to its success",
        apply: |r| r.features.define(F::NiRandom, true),
    },
    Change {
        id: "no-rt-push-ipi",
        commit: None,
        since: Release::new(6, 19, 0),
        // Read back as off on 5.10.262 and 6.1.192; the first 5.10 release that has it is not known.
        stable: &[Release::new(6, 1, 178), Release::new(5, 10, 262)],
        what: "RT_PUSH_IPI is off by default",
        apply: |r| r.features.define(F::RtPushIpi, false),
    },
    Change {
        id: "util-halved-by-failures",
        commit: None,
        since: Release::new(6, 19, 0),
        stable: &[Release::new(6, 1, 192)],
        what: "a task's utilisation counts half for every failed attempt (read in 6.1.192; first release not known)",
        apply: |r| r.balance.util_halved_by_failures = true,
    },
];
