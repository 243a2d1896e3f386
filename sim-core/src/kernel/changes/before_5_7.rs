//! What changed from 4.19 to 5.6, oldest first.

use super::{Change, change};
use crate::kernel::features::Feature as F;
use crate::kernel::rules::{
    Balancer, IdlestGroup, KthreadStacking, LoadLimit, NumaTolerance, PipeWake, SchedIdleCpu,
};
use crate::kernel::version::Release;
use crate::machine::idle::{PollLimit, TeoForm};

pub(super) const CHANGES: &[Change] = &[
    change(
        "idle-poll-limit",
        (4, 20),
        "an idle CPU polls for the target residency of its first state instead of a sixteenth of a tick (release not \
         certain)",
        |r| r.idle.idle_poll_limit = PollLimit::FirstState,
    ),
    change(
        "menu-polling-on-merit",
        (5, 0),
        "the menu governor polls if the next timer or the limit on latency leaves nothing else",
        |r| r.idle.menu_starts_beyond_polling = false,
    ),
    change(
        "menu-pattern-must-shorten",
        (5, 0),
        "intervals that all are as long as the prediction are no pattern for the menu governor",
        |r| r.idle.menu_pattern_must_shorten = true,
    ),
    change(
        "asym-clears-prefer-sibling",
        (5, 0),
        "a domain of CPUs of different capacity takes SD_PREFER_SIBLING from its child",
        |r| r.asym_clears_prefer_sibling = true,
    ),
    change(
        "clock-pelt",
        (5, 1),
        "load is tracked by a clock that slow CPUs slow down, instead of counting their time less",
        |r| r.pelt.scaled_clock = true,
    ),
    change("teo", (5, 1), "the timer events oriented governor appears", |r| {
        r.idle.teo = TeoForm::HitsAndMisses
    }),
    change("no-smt-gain", (5, 1), "a hardware thread has the full capacity of 1024, not 589", |r| {
        r.pelt.smt_gain = false
    }),
    change("no-lb-bias", (5, 4), "LB_BIAS and cpu_load[] are gone (exact release unsure: 5.0 to 5.3)", |r| {
        r.features.remove(F::LbBias);
        r.pelt.cpu_load_array = false;
    }),
    change(
        "newidle-no-double",
        (5, 4),
        "a newly-idle pass that met only pinned tasks no longer doubles the balance interval",
        |r| r.balance.newidle_doubles_interval = false,
    ),
    change(
        "sched-idle-cpus",
        (5, 4),
        "placement takes a CPU that runs only SCHED_IDLE tasks for an idle one, in searches as the last \
         choice",
        |r| r.select.sched_idle_cpu = SchedIdleCpu::Fallback,
    )
    .commit("3c29e651e16d"),
    change(
        "scan-counts-allowed",
        (5, 4),
        "CPUs a task may not use no longer take from the budget of a search (release between 4.20 and \
         5.4 not known)",
        |r| r.select.scan_counts_disallowed = false,
    ),
    change(
        "util-est-within-capacity",
        (5, 4),
        "a utilisation above the CPU's capacity does not enter the estimate",
        |r| r.pelt.util_est_within_capacity = true,
    ),
    change("haltpoll", (5, 4), "guests can poll before they halt (cpuidle-haltpoll)", |r| {
        r.idle.haltpoll_driver = true
    }),
    change("scale-load-floor", (5, 5), "scale_load_down() of a non-zero weight is at least 2", |r| {
        r.scale_load_floor = true
    })
    .stable(&[Release::new(5, 4, 0)]),
    change(
        "pipe-edge-wake",
        (5, 5),
        "a pipe write wakes only if the pipe was empty, a read only if it was full (not read in source)",
        |r| r.pipe_wake = PipeWake::AllOnEdge,
    ),
    change("util-est-fastup", (5, 5), "UTIL_EST_FASTUP appears (exact release unsure: 5.5 to 5.7)", |r| {
        r.features.define(F::UtilEstFastup, true)
    }),
    change(
        "group-types",
        (5, 5),
        "load balancing compares types of groups instead of average loads, and counts blocked load",
        |r| {
            r.balance.balancer = Balancer::GroupTypes;
            r.balance.load_limit = LoadLimit::HalfUntilFailed;
        },
    )
    .commit("0b0695f2b34a"),
    change(
        "cpu-load-with-blocked",
        (5, 5),
        "the load of a CPU, for placement and balancing, contains its sleeping tasks",
        |r| r.pelt.cpu_load_with_blocked = true,
    ),
    change(
        "idlest-group-type",
        (5, 5),
        "fork and exec placement compares groups by type and idle CPUs; with two bugs: groups count as \
         having no CPUs, and loads of busy groups are not computed",
        |r| {
            r.select.idlest_group = IdlestGroup::GroupType;
            r.select.idlest_weight_missing = true;
            r.select.idlest_load_missing = true;
        },
    )
    .commit("57abff067a"),
    change(
        "pipe-exclusive-wake",
        (5, 6),
        "pipes have separate reader and writer queues and wake one waiter",
        |r| r.pipe_wake = PipeWake::Exclusive,
    ),
    change(
        "spare-tie-by-tasks",
        (5, 6),
        "of groups with equally many idle CPUs the one with more tasks is busiest",
        |r| r.balance.spare_tie_by_tasks = true,
    ),
    change(
        "numa-pair",
        (5, 6),
        "two tasks on a node are left alone by other nodes with spare capacity",
        |r| r.balance.numa_tolerance = NumaTolerance::Pair,
    ),
    change(
        "sched-idle-balances-as-idle",
        (5, 6),
        "a CPU that runs only SCHED_IDLE tasks balances as often as an idle one",
        |r| r.balance.sched_idle_not_busy = true,
    ),
    change("menu-in-ns", (5, 6), "the menu governor reckons in ns instead of us", |r| {
        r.idle.menu_in_ns = true
    }),
    change("idlest-weight", (5, 6), "fork and exec placement knows the number of CPUs of a group", |r| {
        r.select.idlest_weight_missing = false
    }),
    change(
        "sched-idle-at-once",
        (5, 6),
        "searches take a CPU that runs only SCHED_IDLE tasks at once",
        |r| r.select.sched_idle_cpu = SchedIdleCpu::Idle,
    ),
    change(
        "kthread-stacking",
        (5, 6),
        "a task woken by a per-CPU kernel thread of its previous CPU stays there",
        |r| r.select.kthread_stacking = KthreadStacking::Always,
    ),
];
