//! The chronological list of behaviour changes: version differences are rows here, not branches in the code.
//!
//! A user's patch is one more [`Change`] applied after a profile's own, or an implementation of
//! [`super::hooks::Hooks`].

use super::features::Feature as F;
use super::rules::{
    BuddyClear, IdleEntities, IdleSleeperThreshold, NrLatency, PipeWake, Rules, TtwuQueueRule, TunablesIn,
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

/// All changes from 4.19 to 6.5 that this model knows, oldest first. Sources: core.md §2.6, §14.1, §14.2.
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
        id: "pipe-exclusive-wake",
        commit: None,
        since: Release::new(5, 6, 0),
        stable: &[],
        what: "pipes have separate reader and writer queues and wake one waiter",
        apply: |r| r.pipe_wake = PipeWake::Exclusive,
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
        id: "no-rt-runtime-share",
        commit: None,
        since: Release::new(5, 10, 0),
        stable: &[],
        what: "RT_RUNTIME_SHARE is off by default",
        apply: |r| r.features.define(F::RtRuntimeShare, false),
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
        id: "buddy-clear-on-set-next",
        commit: None,
        since: Release::new(5, 14, 0),
        stable: &[],
        what: "buddies are cleared when an entity is switched in, not when current is picked again",
        apply: |r| r.buddy_clear = BuddyClear::OnSetNext,
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
        id: "exit-stays-queued",
        commit: Some("eff6c8ce8d4d"),
        since: Release::new(6, 4, 0),
        // Not in 5.10.262 and 6.1.192, by their traces.
        stable: &[],
        what: "a task that exits stays where it is queued, unless it leaves an autogroup",
        apply: |r| r.exit_requeues = false,
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
];
