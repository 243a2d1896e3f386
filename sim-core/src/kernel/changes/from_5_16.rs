//! What changed from 5.16 to 6.5, oldest first.

use super::{Change, change};
use crate::kernel::features::Feature as F;
use crate::kernel::rules::{
    ClusterLevel, IdleSleeperThreshold, IdlestNuma, KthreadStacking, NewidleGate, NumaTolerance,
    RecentUsedCpu, TtwuQueueRule,
};
use crate::kernel::version::Release;

pub(super) const CHANGES: &[Change] = &[
    change(
        "idle-min-granularity",
        (5, 16),
        "idle entities beside others have the slice floor sched_idle_min_granularity (0.75 ms, \
         unscaled)",
        |r| r.idle_min_granularity = true,
    ),
    change(
        "idle-sleeper-threshold",
        (5, 16),
        "waking idle entities get credit by sched_min_granularity instead of sched_latency",
        |r| r.idle_sleeper_threshold = IdleSleeperThreshold::MinGranularity,
    ),
    change(
        "newidle-cost-gate",
        (5, 16),
        "newly-idle passes need an average idle time above the lowest domain's cost, not above \
         sched_migration_cost; the cost decays a second after its last change",
        |r| {
            r.balance.newidle_gate = NewidleGate::LowestDomainCost;
            r.balance.cost_decays_after_change = true;
        },
    ),
    change(
        "nohz-needs-update",
        (5, 16),
        "a CPU that enters tickless idle has the time of the next pass reconsidered",
        |r| r.balance.nohz_needs_update = true,
    ),
    change(
        "kthread-stacking-in-task",
        (5, 16),
        "per-CPU kernel threads do not keep a task that an interrupt wakes (5.10: as read in 5.10.223)",
        |r| r.select.kthread_stacking = KthreadStacking::InTask,
    )
    .stable(&[Release::new(5, 10, 223)]),
    change(
        "cluster-level",
        (5, 16),
        "clusters (shared second-level caches) are a level of domains, but not on x86 with different \
         kinds of cores",
        |r| r.cluster_level = ClusterLevel::NotHybrid,
    ),
    change(
        "pelt-sums-consistent",
        (5, 17),
        "load sums never fall below what their averages stand for (release from memory)",
        |r| r.pelt.sums_kept_consistent = true,
    ),
    change(
        "imb-numa-nr",
        (5, 18),
        "imb_numa_nr: how many tasks nodes may differ by depends on their caches",
        |r| {
            r.imb_numa_nr = true;
            r.balance.numa_tolerance = NumaTolerance::ImbNumaNr;
        },
    ),
    change("idlest-imb-numa-nr", (5, 18), "new tasks stay on a node within imb_numa_nr", |r| {
        r.select.idlest_numa = IdlestNuma::ImbNumaNr
    }),
    // Read in 5.10.223; the first 5.10 release that has it is not known.
    change("attached-load-sum", (5, 18), "an attached load sum is at least 1 (release from memory)", |r| {
        r.pelt.attached_load_sum_not_zero = true
    })
    .stable(&[Release::new(5, 10, 223)]),
    change("sis-util", (6, 0), "SIS_UTIL replaces SIS_PROP (which stays, off)", |r| {
        r.features.define(F::SisProp, false);
        r.features.define(F::SisUtil, true);
    }),
    change(
        "ttwu-queue-idle-target",
        (6, 0),
        "every wake-up to a CPU without runnable tasks is queued remotely",
        |r| r.ttwu_queue = TtwuQueueRule::OrTargetIdle,
    )
    .commit("f3dd3f674555"),
    change(
        "idle-lag-estimated",
        (6, 0),
        "a task that wakes away from an idle CPU decays for the time that its queue has not seen",
        |r| r.pelt.idle_lag_estimated = true,
    ),
    change(
        "newidle-rechecks-work",
        (6, 1),
        "a newly-idle CPU that got work or a wake-up balances no further domain",
        |r| r.balance.newidle_rechecks_work = true,
    ),
    change("slice-cap", (6, 3), "the tick compares run time with min(slice, sched_latency)", |r| {
        r.slice_capped_by_latency = true
    }),
    change(
        "long-sleeper",
        (6, 3),
        "an entity that slept over 104 days is placed unconditionally; exec_start is zeroed at enqueue",
        |r| {
            r.long_sleeper = true;
            r.exec_start_zeroed_at_enqueue = true;
        },
    )
    .stable(&[Release::new(5, 10, 177), Release::new(6, 1, 22)]),
    change(
        "teo-utilisation",
        (6, 3),
        "the timer events oriented governor chooses a shallower state on a CPU that is used for more than a 64th",
        |r| r.idle.teo_heeds_utilisation = true,
    ),
    change(
        "ttwu-runnable-not-running",
        (6, 3),
        "waking a task that is on a CPU no longer checks preemption",
        |r| r.ttwu_runnable_checks_running = false,
    ),
    // Not in 5.10.262 and 6.1.192, by their traces.
    change(
        "exit-stays-queued",
        (6, 4),
        "a task that exits stays where it is queued, unless it leaves an autogroup",
        |r| r.exit_requeues = false,
    )
    .commit("eff6c8ce8d4d"),
    change(
        "smt-groups",
        (6, 5),
        "cores with several tasks are a group type, groups compare by cores, busy CPUs no longer pull \
         by count, a wholly idle core balances first (read in 6.6)",
        |r| {
            r.balance.smt_groups = true;
            r.balance.util_or_runnable = true;
            r.balance.idle_core_balances_first = true;
        },
    ),
    change("recent-used-allowed", (6, 5), "recent_used_cpu is tested for the CPU it names", |r| {
        r.select.recent_used_cpu = RecentUsedCpu::Prev
    }),
    change(
        "cluster-level-hybrid",
        (6, 5),
        "clusters are a level on x86 with different kinds of cores too (read in 6.6; not in 6.1)",
        |r| r.cluster_level = ClusterLevel::All,
    ),
    change(
        "menu-pattern-as-is",
        (6, 5),
        "intervals that all are as long as the prediction are a pattern again",
        |r| r.idle.menu_pattern_must_shorten = false,
    ),
    change(
        "menu-timer-on-demand",
        (6, 6),
        "the menu governor looks for the next timer only if the last intervals do not foresee a short sleep",
        |r| r.idle.menu_timer_on_demand = true,
    ),
    change("ni-random", (6, 19), "NI_RANDOM: newly-idle balancing in proportion to its success", |r| {
        r.features.define(F::NiRandom, true)
    })
    .stable(&[Release::new(6, 1, 160)]),
    // Read back as off on 5.10.262 and 6.1.192; the first 5.10 release that has it is not known.
    change("no-rt-push-ipi", (6, 19), "RT_PUSH_IPI is off by default", |r| {
        r.features.define(F::RtPushIpi, false)
    })
    .stable(&[Release::new(6, 1, 178), Release::new(5, 10, 262)]),
    change(
        "util-halved-by-failures",
        (6, 19),
        "a task's utilisation counts half for every failed attempt (read in 6.1.192; first release not \
         known)",
        |r| r.balance.util_halved_by_failures = true,
    )
    .stable(&[Release::new(6, 1, 192)]),
];
