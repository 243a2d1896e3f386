//! Random histories: data first, so that a failing one shrinks to few operations.

use proptest::prelude::*;
use sim_core::kernel::{PROFILES, Policy};

/// Something to do. Numbers named `which` choose among what there is at that time; an operation that would be illegal then
/// is left out.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Tick,
    /// need_resched is honoured, or an idle CPU looks for work.
    Preempt,
    /// The task sets its state; it goes on running until it blocks.
    SetSleeping,
    /// The task calls schedule(): it blocks if it has set its state.
    Call,
    /// Both at once.
    Block,
    Exit,
    BeginExit,
    Yield,
    Wake {
        which: u8,
    },
    /// Fork and first wake-up.
    Fork,
    /// Fork; the child stays new.
    ForkOnly,
    WakeNew {
        which: u8,
    },
    Nice {
        which: u8,
        nice: i8,
    },
    SetPolicy {
        which: u8,
        policy: Policy,
    },
    AddTask {
        group: u8,
        nice: i8,
        policy: Policy,
    },
    AddGroup {
        above: u8,
        shares: u64,
        idle: bool,
    },
    Tunable {
        which: u8,
        value: u64,
    },
    RewriteScaling,
    Feature {
        which: u8,
        on: bool,
    },
    /// An idle CPU sees nothing for 105 days.
    LongSleep,
}

/// A history: which kernel, on a machine of how many CPUs (of which one is looked at), and what happens after how many ns.
#[derive(Clone, Debug)]
pub(crate) struct History {
    pub(crate) profile: &'static str,
    pub(crate) cpus: u32,
    pub(crate) start: Vec<Op>,
    pub(crate) ops: Vec<(u64, Op)>,
}

fn policy() -> impl Strategy<Value = Policy> {
    prop_oneof![6 => Just(Policy::Normal), 1 => Just(Policy::Batch), 2 => Just(Policy::Idle)]
}

fn nice() -> impl Strategy<Value = i8> {
    prop_oneof![3 => Just(0i8), 3 => -20i8..=19]
}

/// Stored shares: from cpu.weight and cpu.shares, and some too small, which both sides must clamp.
fn shares() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(1024u64 << 10),
        4 => (1u64..=10_000).prop_map(|w| ((w * 1024 + 50) / 100) << 10),
        1 => (2u64..=262_144).prop_map(|s| s << 10),
        1 => 2u64..4096,
    ]
}

fn add_task() -> impl Strategy<Value = Op> {
    (any::<u8>(), nice(), policy()).prop_map(|(group, nice, policy)| Op::AddTask { group, nice, policy })
}

fn add_group() -> impl Strategy<Value = Op> {
    (any::<u8>(), shares(), prop::bool::weighted(0.25)).prop_map(|(above, shares, idle)| Op::AddGroup {
        above,
        shares,
        idle,
    })
}

fn tunable() -> impl Strategy<Value = Op> {
    let value = prop_oneof![
        1 => 0u64..2_000_000,
        6 => 100_000u64..40_000_000,
        1 => 0u64..=1_000_000_001,
    ];
    (any::<u8>(), value).prop_map(|(which, value)| Op::Tunable { which, value })
}

fn op() -> impl Strategy<Value = Op> {
    let which = any::<u8>();
    prop_oneof![
        240 => Just(Op::Tick),
        240 => Just(Op::Preempt),
        20 => Just(Op::SetSleeping),
        40 => Just(Op::Call),
        90 => Just(Op::Block),
        12 => Just(Op::Exit),
        5 => Just(Op::BeginExit),
        40 => Just(Op::Yield),
        200 => which.prop_map(|which| Op::Wake { which }),
        25 => Just(Op::Fork),
        6 => Just(Op::ForkOnly),
        8 => which.prop_map(|which| Op::WakeNew { which }),
        20 => (which, nice()).prop_map(|(which, nice)| Op::Nice { which, nice }),
        15 => (which, policy()).prop_map(|(which, policy)| Op::SetPolicy { which, policy }),
        15 => add_task(),
        5 => add_group(),
        8 => tunable(),
        2 => Just(Op::RewriteScaling),
        6 => (which, any::<bool>()).prop_map(|(which, on)| Op::Feature { which, on }),
        1 => Just(Op::LongSleep),
    ]
}

/// Nanoseconds between two operations: at once, within a syscall, within a slice, over several.
fn delay() -> impl Strategy<Value = u64> {
    prop_oneof![2 => Just(0u64), 3 => 1u64..20_000, 5 => 0u64..6_000_000, 1 => 0u64..40_000_000]
}

prop_compose! {
    /// A history of this many operations. It starts with groups and tasks, and odd tunables and features half of the time.
    pub(crate) fn histories(length: usize)(
        profile in prop::sample::select(PROFILES.iter().map(|p| p.name).collect::<Vec<_>>()),
        cpus in 1u32..=9,
        groups in prop::collection::vec(add_group(), 0..6),
        tasks in prop::collection::vec(add_task(), 1..14),
        knobs in prop_oneof![
            Just(vec![]),
            prop::collection::vec(prop_oneof![
                tunable(),
                (any::<u8>(), any::<bool>()).prop_map(|(which, on)| Op::Feature { which, on }),
            ], 1..8),
        ],
        ops in prop::collection::vec((delay(), op()), length),
    ) -> History {
        let wakes = (0..tasks.len() as u8).map(|which| Op::Wake { which });
        let mut start: Vec<Op> = groups;
        start.extend(wakes.zip(tasks).flat_map(|(w, t)| [t, w]));
        start.extend(knobs);
        History { profile, cpus, start, ops }
    }
}
