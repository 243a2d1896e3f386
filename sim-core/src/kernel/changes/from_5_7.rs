//! What changed from 5.7 to 5.11, oldest first.

use super::{Change, change};
use crate::kernel::features::Feature as F;
use crate::kernel::rules::{
    IdlestNuma, LoadLimit, NohzNext, NumaDistances, NumaTolerance, ScanCostAverage, TtwuQueueRule,
};
use crate::kernel::version::Release;
use crate::machine::idle::PollLimit;

pub(super) const CHANGES: &[Change] = &[
    change("runnable-in-groups", (5, 7), "the runnable signal tells whether a group has capacity", |r| {
        r.balance.runnable_in_groups = true
    }),
    change(
        "affinity-distributes",
        (5, 7),
        "tasks whose CPU is taken from their masks are dealt out over the CPUs allowed instead of going \
         to the lowest (not read in source)",
        |r| r.affinity_distributes = true,
    )
    .commit("46a87b3851f0"),
    change("util-needs-two-tasks", (5, 7), "utilisation is not taken from a queue with one task", |r| {
        r.balance.util_needs_two_tasks = true
    }),
    change(
        "no-negative-imbalance",
        (5, 7),
        "a fully busy group leaves a less loaded busiest group alone (before, the imbalance wrapped)",
        |r| r.balance.local_above_busiest_balanced = true,
    ),
    change("load-at-least-one", (5, 7), "a task counts at least one unit of load when it is moved", |r| {
        r.balance.load_at_least_one = true
    }),
    change("idlest-load", (5, 7), "fork and exec placement compares the loads of busy groups", |r| {
        r.select.idlest_load_missing = false
    }),
    change("scan-cost-divide", (5, 7), "avg_scan_cost rounds towards zero", |r| {
        r.select.scan_cost_average = ScanCostAverage::Divide
    }),
    change(
        "no-asym-balance-wake",
        (5, 7),
        "domains of CPUs of different capacity no longer have SD_BALANCE_WAKE",
        |r| r.asym_balance_wake = false,
    ),
    change(
        "runnable-avg",
        (5, 7),
        "runnable_avg (time runnable or running) replaces runnable_load_avg",
        |r| r.pelt.runnable_is_time = true,
    ),
    change("x86-frequency-invariance", (5, 7), "load tracking knows the CPU frequency on x86", |r| {
        r.pelt.frequency_invariance = true
    }),
    change("no-sd-load-balance", (5, 8), "SD_LOAD_BALANCE is gone: every domain is balanced", |r| {
        r.sd_load_balance = false
    }),
    change(
        "ttwu-queue-switching-out",
        (5, 8),
        "a wake-up is queued remotely if the wakee is still switching out of an otherwise idle CPU",
        |r| r.ttwu_queue = TtwuQueueRule::OrSwitchingOutOfIdle,
    ),
    change(
        "nohz-next-jiffy",
        (5, 8),
        "kicks of tickless idle CPUs for balancing are at least a jiffy apart",
        |r| r.balance.nohz_next = NohzNext::NextJiffy,
    )
    .stable(&[Release::new(5, 4, 0)]),
    change(
        "idlest-util-tie",
        (5, 9),
        "among groups with equally many idle CPUs a new task goes to the least utilised",
        |r| r.select.idlest_util_tie = true,
    )
    .commit("3edecfef0285"),
    change("no-rt-runtime-share", (5, 10), "RT_RUNTIME_SHARE is off by default", |r| {
        r.features.define(F::RtRuntimeShare, false)
    }),
    change(
        "spread-by-tasks-in-llc",
        (5, 10),
        "inside a last-level cache an idle CPU takes tasks, not utilisation, from an overloaded group",
        |r| r.balance.spread_by_tasks_in_llc = true,
    )
    .commit("16b0a7a1a0af"),
    change(
        "load-halved-by-failures",
        (5, 10),
        "a task's load counts half for every failed attempt when it is compared with the imbalance",
        |r| r.balance.load_limit = LoadLimit::HalvedByFailures,
    ),
    change(
        "schedutil-margin-on-util",
        (5, 10),
        "schedutil adds its quarter to the utilisation instead of the frequency: it rounds otherwise",
        |r| r.schedutil_margin_on_util = true,
    ),
    change("never-hot-on-smt", (5, 10), "a task is never cache-hot between the threads of a core", |r| {
        r.balance.never_hot_on_smt = true
    }),
    change("busy-interval-less-one", (5, 10), "balance intervals of busy CPUs are a jiffy shorter", |r| {
        r.balance.busy_interval_less_one = true
    }),
    change(
        "smt-search-in-llc",
        (5, 10),
        "hardware threads outside the last-level cache domain (isolated ones) are not searched",
        |r| r.select.smt_search_in_llc = true,
    ),
    change("sd-busy-factor-16", (5, 10), "busy_factor of domains is 16 instead of 32", |r| {
        r.busy_factor = 16
    }),
    change(
        "sd-imbalance-pct-117",
        (5, 10),
        "imbalance_pct of domains that share no cache is 117 instead of 125",
        |r| r.imbalance_pct = 117,
    ),
    change(
        "numa-distances-all",
        (5, 10),
        "all node distances make NUMA domains, not only those from the first node",
        |r| r.numa_distances = NumaDistances::All,
    ),
    change(
        "numa-quarter",
        (5, 11),
        "small imbalances between nodes stay while the busiest has fewer tasks than a quarter of its \
         CPUs",
        |r| r.balance.numa_tolerance = NumaTolerance::Quarter,
    ),
    change(
        "idle-poll-limit-10us",
        (5, 11),
        "an idle CPU polls for the target residency of its first state with 10 us or more, at most a sixteenth of a tick",
        |r| r.idle.idle_poll_limit = PollLimit::FirstLongState,
    ),
    change("affine-prev-idle", (5, 11), "wake_affine answers the previous CPU if it is idle", |r| {
        r.select.wake_affine_prev_idle = true
    }),
    change(
        "idlest-numa-quarter",
        (5, 11),
        "new tasks stay on a node with fewer tasks than a quarter of the domain's CPUs",
        |r| r.select.idlest_numa = IdlestNuma::QuarterBusy,
    ),
];
