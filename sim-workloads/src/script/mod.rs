//! Programs written in a scenario: compiled to a flat list of operations, then interpreted as [`Program`]s.
//!
//! [`Program`]: sim_core::program::Program

mod compile;
mod interpret;

pub(crate) use compile::Linker;
pub(crate) use interpret::Script;

use crate::dist::Dist;
use sim_core::kernel::Policy;
use sim_core::program::{Feed, Missed};
use sim_core::{
    BarrierId, ConditionId, CpuMask, EpollId, GroupId, Instant, MutexId, Nanos, PipeId, SemId, TimerId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One operation: an action, or the head or the end of a loop.
#[derive(Debug)]
enum Op {
    Run(Dist),
    RunCpu(Dist),
    Kernel(Dist),
    Sleep(Dist),
    Io(Dist),
    SleepUntil(Instant),
    /// Waits for the next expiry of the timer in this slot.
    Period {
        every: Nanos,
        timer: usize,
    },
    Write(PipeId, u64),
    Read(PipeId, u64),
    Post(SemId, u32),
    PostAndStay(SemId, u32),
    Wait(SemId),
    Lock(MutexId),
    Unlock(MutexId),
    Barrier(BarrierId),
    CondWait(ConditionId, Option<MutexId>),
    Signal(ConditionId),
    Broadcast(ConditionId),
    Timer {
        timer: TimerId,
        every: Nanos,
        missed: Missed,
    },
    EpollPost(EpollId),
    EpollWait(EpollId, Option<Nanos>),
    Fork {
        name: String,
        vfork: bool,
        /// Slot of the counter that numbers children of this name.
        counter: usize,
        code: Arc<Code>,
    },
    WaitChild,
    WaitChildren,
    Exec(String),
    Exit,
    Yield,
    Nice(i8),
    Policy(Policy),
    Affinity(CpuMask),
    MoveToGroup(GroupId),
    TimerSlack(Nanos),
    Count(u64),
    /// Heads: enter the loop, or go on behind `end`.
    Repeat {
        times: u64,
    },
    Until {
        time: Instant,
        end: usize,
    },
    For {
        duration: Nanos,
    },
    Forever,
    /// The end of the loop whose body starts at `body`: another turn, or on.
    End {
        body: usize,
    },
}

/// A compiled program. Instances that do not differ in names share one.
#[derive(Debug, Default)]
pub(crate) struct Code {
    ops: Vec<Op>,
    /// Number of periodic timers.
    timers: usize,
    /// Names of children, with the slot of their counter.
    children: BTreeMap<String, usize>,
    /// Deepest nesting of loops.
    depth: usize,
    /// The last operation that does this, or forks a child that does.
    last: BTreeMap<Feed, usize>,
}
