//! Patches that were posted, with measurements, and are in no profile. Sources: patches.md, which names mails and commits.

use crate::kernel::rules::{Balancer, LoadLimit, WakeupGran};
use crate::kernel::switches::RuleSwitch;

/// A patch: name, what it does and where it was posted, and how it alters the rules.
const fn patch(
    id: &'static str,
    what: &'static str,
    apply: fn(&mut crate::kernel::rules::Rules),
) -> RuleSwitch {
    RuleSwitch { id, what, apply }
}

/// The patches, oldest first.
pub(in crate::kernel) const PATCHES: &[RuleSwitch] = &[
    patch(
        "no-small-imbalance",
        "nothing is moved where average loads differ by less than a task (fcf0553db6, on top of 5.4)",
        |r| r.balance.fix_small_imbalance = false,
    ),
    patch(
        "group-types-first-form",
        "types of groups as first committed: runnable load, fair tasks only, no exceptions for single CPUs or tasks \
         (0b0695f2b3, on top of 5.4)",
        |r| {
            r.balance.balancer = Balancer::GroupTypes;
            r.balance.load_limit = LoadLimit::HalfUntilFailed;
            r.balance.group_types_first_form = true;
        },
    ),
    patch(
        "idlest-counts-task",
        "a task that forks or execs is placed as if it ran where it is (rework of 2019 as posted in its fourth version, on \
         top of 5.5)",
        |r| r.select.idlest_counts_task = true,
    ),
    patch(
        "scalewakegran-v1",
        "wakees have to be the further behind the longer the queue (M. Gorman, 20 Sep 2021, on top of 5.15)",
        |r| r.wakeup_gran = WakeupGran::ByQueueLength,
    ),
    patch(
        "moveforward",
        "a wakee preempts only what has run for sched_min_granularity (V. Guittot, 22 Sep 2021, on top of 5.15)",
        |r| r.preempt_after_min_run = true,
    ),
    patch(
        "scalewakegran-v2",
        "wakees have to be 1/2 or 1 sched_latency behind on longer queues (M. Gorman, 27 Sep 2021, on top of 5.15)",
        |r| r.wakeup_gran = WakeupGran::ByThresholds,
    ),
    patch(
        "scalewakegran-v3",
        "wakees have to be sched_min_granularity further behind until what runs has run that long (M. Gorman, 11 Oct 2021 \
         and 24 Jan 2022)",
        |r| r.wakeup_gran = WakeupGran::UntilMinRun,
    ),
    patch(
        "wakee-flips-coupled",
        "wakers of many raise their wakees' flips, and wide wake-ups begin earlier (M. Gorman, M. Galbraith, 21 Oct 2021, on \
         top of 5.15)",
        |r| r.select.wakee_flips_coupled = true,
    ),
    patch(
        "no-sync-in-interrupt",
        "wake-ups from interrupts and softirqs are not synchronous (14b3f2d9ee8d, July 2022, on top of 6.0)",
        |r| r.select.no_sync_in_interrupt = true,
    ),
    patch(
        "sched-idle-cpu-for-others",
        "for SCHED_IDLE tasks a CPU that runs such tasks is busy (fd54d81c2c0e, 2026)",
        |r| r.select.sched_idle_cpu_for_others = true,
    ),
];
