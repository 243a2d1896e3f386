//! The steps of a task's program.

use super::group::GroupPath;
use crate::dist::Dist;
use crate::units::{Bytes, CpuList};
use serde::Serialize;
use sim_core::Nanos;
use sim_core::kernel::Policy;
use sim_core::program::Missed;

/// One step: an action or a loop. Names of objects may contain `%` for the number of the task's instance.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// `{ run = "1ms" }`: compute in user mode, so much work on a CPU of capacity 1024.
    Run(Dist),
    /// `{ run_cpu = "1ms" }`: compute until the task's own CPU clock has advanced so much.
    RunCpu(Dist),
    /// `{ kernel = "50us" }`: work in kernel mode.
    Kernel(Dist),
    /// `{ sleep = "5ms" }`: sleep from now.
    Sleep(Dist),
    /// `{ io = "100us" }`: wait for a device, in the state `D`; its interrupt ends it.
    Io(Dist),
    /// `{ sleep_until = "5ms" }`: sleep until so long after the start of the run; once that has passed it does not wait.
    #[serde(rename = "sleep_until_ns")]
    SleepUntil(Nanos),
    /// `{ period = "10ms" }`: sleep until the next expiry of a periodic timer, which starts when the task first gets
    /// here. Expiries are multiples of the period after that; one that has passed does not wait.
    #[serde(rename = "period_ns")]
    Period(Nanos),
    /// `{ write = "pipe", bytes = 1 }`
    Write(PipeTransfer),
    /// `{ read = "pipe", bytes = 1 }`: blocks until all bytes are read.
    Read(PipeTransfer),
    /// `{ post = "semaphore", n = 1 }`
    Post {
        /// The semaphore.
        semaphore: String,
        /// How much to add.
        n: u32,
        /// The task stays in the kernel: what follows, up to the end of the next system call, belongs to the same.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        stay: bool,
    },
    /// `{ wait = "semaphore" }`
    Wait(String),
    /// `{ lock = "mutex" }`
    Lock(String),
    /// `{ unlock = "mutex" }`
    Unlock(String),
    /// `{ barrier = "barrier" }`
    Barrier(String),
    /// `{ take_token = "job server" }`: blocks while there is none.
    TakeToken(String),
    /// `{ put_token = "job server" }`
    PutToken(String),
    /// `{ epoll_post = "e" }`: an event becomes ready on the epoll instance.
    EpollPost(String),
    /// `{ epoll_wait = "e", timeout = "5ms" }`: wait for an event, with a timeout no longer than that.
    EpollWait {
        /// The epoll instance.
        epoll: String,
        /// How long at most; without it, for ever.
        #[serde(rename = "timeout_ns", skip_serializing_if = "Option::is_none")]
        timeout: Option<Nanos>,
    },
    /// `{ cond_wait = "condition", mutex = "m" }`: release the mutex, if one is given, wait for a signal, take the mutex again.
    CondWait {
        /// The condition variable.
        condition: String,
        /// The mutex.
        #[serde(skip_serializing_if = "Option::is_none")]
        mutex: Option<String>,
    },
    /// `{ signal = "condition" }`: wake one that waits; lost when none does.
    Signal(String),
    /// `{ broadcast = "condition" }`: wake all that wait.
    Broadcast(String),
    /// `{ timer = "t", every = "10ms", missed = "restart" }`: wait for the next expiry of a periodic timer that all who name it
    /// share, and that starts when it is named first.
    Timer {
        /// The timer.
        timer: String,
        /// From one expiry to the next.
        #[serde(rename = "every_ns")]
        every: Nanos,
        /// What becomes of it when the expiry has passed.
        missed: Missed,
    },
    /// `{ fork = "name", program = [...] }`: start a child and go on. `{ vfork = "name", program = [...] }`: start a child
    /// and sleep until it execs or exits.
    Fork {
        /// Name of the child.
        name: String,
        /// Whether the parent sleeps until the child execs or exits.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        vfork: bool,
        /// What it does.
        program: Vec<Step>,
    },
    /// `"wait_child"`: wait for one child to exit.
    WaitChild,
    /// `"wait_children"`: wait for all children.
    WaitChildren,
    /// `{ exec = "name" }`
    Exec(String),
    /// `"exit"`
    Exit,
    /// `"yield"`
    Yield,
    /// `{ nice = 5 }`
    Nice(i8),
    /// `{ policy = "batch" }`
    Policy(Policy),
    /// `{ affinity = "0-3" }`
    Affinity(CpuList),
    /// `{ move_to_group = "/a" }`
    MoveToGroup(GroupPath),
    /// `{ timer_slack = "1us" }`: how late its sleeps may end from now on.
    #[serde(rename = "timer_slack_ns")]
    TimerSlack(Nanos),
    /// `{ count = 1 }`: units of finished work.
    Count(u64),
    /// `{ repeat = 10, do = [...] }`
    Repeat {
        /// How many turns.
        times: u64,
        /// The steps of a turn.
        #[serde(rename = "do")]
        body: Vec<Step>,
    },
    /// `{ until = "2s", do = [...] }`: looks at the simulated clock before each turn.
    Until {
        /// Simulated time since the start of the run.
        #[serde(rename = "time_ns")]
        time: Nanos,
        /// The steps of a turn.
        #[serde(rename = "do")]
        body: Vec<Step>,
    },
    /// `{ for = "2s", do = [...] }`: looks at the clock before each turn; at least one turn.
    For {
        /// Simulated time since the loop was entered.
        #[serde(rename = "duration_ns")]
        duration: Nanos,
        /// The steps of a turn.
        #[serde(rename = "do")]
        body: Vec<Step>,
    },
    /// `{ forever = [...] }`
    Forever(Vec<Step>),
}

/// Bytes through a pipe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PipeTransfer {
    /// The pipe.
    pub pipe: String,
    /// How many bytes.
    pub bytes: Bytes,
}

impl Step {
    /// The steps inside this one.
    pub(crate) fn body(&self) -> &[Step] {
        match self {
            Step::Fork { program: body, .. }
            | Step::Repeat { body, .. }
            | Step::Until { body, .. }
            | Step::For { body, .. }
            | Step::Forever(body) => body,
            _ => &[],
        }
    }

    /// The key the steps inside this one are written under.
    pub(crate) fn body_key(&self) -> &'static str {
        match self {
            Step::Fork { .. } => "program",
            Step::Forever(_) => "forever",
            _ => "do",
        }
    }
}
