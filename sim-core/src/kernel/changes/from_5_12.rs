//! What changed from 5.12 to 5.15, oldest first.

use super::{Change, change};
use crate::kernel::features::Feature as F;
use crate::kernel::rules::{
    ActiveAfterFailures, BuddyClear, IdleEntities, IdleSearch, NrLatency, RecentUsedCpu, ScanBudget,
    TtwuQueueRule, TunablesIn,
};
use crate::kernel::version::Release;
use crate::machine::idle::TeoForm;

pub(super) const CHANGES: &[Change] = &[
    change("no-sis-avg-cpu", (5, 12), "SIS_AVG_CPU is gone; HRTICK_DL appears", |r| {
        r.features.remove(F::SisAvgCpu);
        r.features.define(F::HrtickDl, false);
    }),
    change(
        "ttwu-queue-at-most-one",
        (5, 12),
        "remote queueing while the wakee switches out also with one task running there",
        |r| r.ttwu_queue = TtwuQueueRule::OrSwitchingOut,
    ),
    change("preempt-dynamic", (5, 12), "PREEMPT_DYNAMIC: the preemption model can be chosen at boot", |r| {
        r.preempt_dynamic = true
    }),
    change(
        "active-balance-for-tasks",
        (5, 12),
        "failures lead to active balance only for an imbalance in tasks, and stay counted",
        |r| {
            r.balance.active_after_failures = ActiveAfterFailures::TaskImbalance;
            r.balance.active_resets_failures = false;
        },
    ),
    change(
        "bound-kthreads-stay",
        (5, 12),
        "a kernel thread bound to one CPU does not make a group count as imbalanced",
        |r| r.balance.bound_kthreads_stay = true,
    )
    .stable(&[Release::new(5, 10, 223)]),
    change("all-pinned-counts-single", (5, 12), "a single running task counts among the pinned ones", |r| {
        r.balance.all_pinned_counts_single = true
    }),
    change("skip-queues-without-fair", (5, 12), "queues without fair tasks are never the busiest", |r| {
        r.balance.skip_queues_without_fair = true
    }),
    change(
        "combined-search",
        (5, 12),
        "idle core and idle CPU are searched in one walk; a thread of the previous CPU's core comes \
         first (5.12 as 5.12.9)",
        |r| r.select.idle_search = IdleSearch::Combined,
    ),
    change(
        "debugfs-tunables",
        (5, 13),
        "latency, min_granularity, wakeup_granularity, migration_cost, nr_migrate, tunable_scaling move \
         from /proc/sys/kernel to /sys/kernel/debug/sched; sched_nr_latency no longer follows writes",
        |r| {
            r.tunables_in = TunablesIn::Debugfs;
            r.nr_latency = NrLatency::Frozen;
        },
    )
    .commit("8a99b6833c88"),
    change("latency-warn", (5, 13), "LATENCY_WARN appears", |r| r.features.define(F::LatencyWarn, false)),
    change(
        "alt-period",
        (5, 13),
        "ALT_PERIOD: the period counts the tasks of the CPU's whole hierarchy",
        |r| r.features.define(F::AltPeriod, true),
    )
    .stable(&[Release::new(5, 10, 36)]),
    change("base-slice", (5, 13), "BASE_SLICE: a slice is never shorter than sched_min_granularity", |r| {
        r.features.define(F::BaseSlice, true)
    })
    .stable(&[Release::new(5, 10, 36)]),
    change(
        "numa-groups-within-span",
        (5, 13),
        "groups of NUMA domains hold no CPUs beyond the domain (not read in source)",
        |r| r.numa_groups_within_span = true,
    ),
    change("detach-needs-two", (5, 13), "nothing is detached from a queue with one task", |r| {
        r.balance.detach_needs_two = true
    }),
    change(
        "newidle-leaves-for-wakeup",
        (5, 13),
        "no newly-idle pass begins while a wake-up is on its way",
        |r| r.balance.newidle_leaves_for_wakeup = true,
    ),
    change(
        "nohz-ring-order",
        (5, 13),
        "the CPU that balances for idle ones goes round from its own number; newly idle CPUs leave \
         statistics to the idle loop",
        |r| {
            r.balance.nohz_ring_order = true;
            r.balance.nohz_newidle_deferred = true;
        },
    ),
    change(
        "buddy-clear-on-set-next",
        (5, 14),
        "buddies are cleared when an entity is switched in, not when current is picked again",
        |r| r.buddy_clear = BuddyClear::OnSetNext,
    ),
    change(
        "wake-avg-idle",
        (5, 14),
        "SIS_PROP budgets by the idle time before the last wake-up, halved every jiffy",
        |r| r.select.scan_budget = ScanBudget::WakeAvgIdle,
    )
    .commit("94aafc3ee31d"),
    change(
        "teo-bins",
        (5, 14),
        "the timer events oriented governor counts sleeps by bins, those to the timer and shorter ones",
        |r| r.idle.teo = TeoForm::Bins,
    ),
    change(
        "cpu-idle-groups",
        (5, 15),
        "cpu.idle groups: idleness is a property of entities at every level",
        |r| r.idle_entities = IdleEntities::EveryLevel,
    ),
    change(
        "local-above-average",
        (5, 15),
        "a fully busy group above the domain's average load is balanced",
        |r| r.balance.local_above_average_balanced = true,
    )
    .stable(&[Release::new(5, 10, 223)]),
    change(
        "recent-used-prev",
        (5, 15),
        "recent_used_cpu is always the previous CPU; its affinity test looks at the wrong CPU",
        |r| r.select.recent_used_cpu = RecentUsedCpu::PrevTestsPrev,
    )
    .commit("89aafd67f28c"),
    change("scan-after-target", (5, 15), "searches for an idle CPU begin after the target", |r| {
        r.select.scan_after_target = true
    })
    .commit("56498cfb045d"),
];
