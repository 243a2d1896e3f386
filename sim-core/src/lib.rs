//! A deterministic discrete-event model of Linux's Completely Fair Scheduler.
//!
//! This crate does no I/O, reads no clock, spawns no thread and uses no unsafe code.

pub mod cpumask;
pub mod engine;
pub mod id;
pub mod kernel;
pub mod machine;
pub mod observe;
pub mod program;
pub mod rng;
pub mod time;

pub use cpumask::CpuMask;
pub use engine::{Control, End, Limits, Outcome, SimConfig, SimError, Simulation};
pub use id::{
    BarrierId, CfsRqId, ConditionId, CpuId, EntityId, EpollId, GroupId, MutexId, PipeId, SemId, SocketId,
    TaskId, TimerId,
};
pub use time::{Instant, Nanos};
