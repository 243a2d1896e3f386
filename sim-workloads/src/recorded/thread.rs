//! One recorded thread: what it was doing, and the steps it took.

use super::event::{Context, NameIx};
use super::wakers::Waker;

/// Index of a thread. A number that is used again after an exit is another thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ThreadIx(pub(super) u32);

/// A step of a thread, with what is needed to decide later what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It had the CPU for so long, ns.
    Run(u64),
    /// It waited, from then on.
    Block { since: u64, end: Block },
    /// It woke another, or seemed to.
    Wake { wakee: ThreadIx, context: Context },
    /// It was to be waited for by one that had woken it and given way to it, if the two answer each other.
    Answer { to: ThreadIx },
    /// It would have waited for the one it woke, had it not given way to it.
    Await { from: ThreadIx },
    /// It made another.
    Fork(ThreadIx),
    /// Its priority was another one from here on.
    Prio(i16),
    /// It became another program.
    Exec(NameIx),
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// Not at all.
    Forever,
    /// At this time, by a timer, an interrupt, or somebody the trace does not show.
    Until(u64),
    /// At this time, when somebody was current.
    By(u64, Waker),
}

/// A wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Woken {
    pub(super) at: u64,
    /// On which CPU the event was.
    pub(super) cpu: u32,
    /// The idle task was current.
    pub(super) idle: bool,
}

/// What a thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing has been seen of it, or events were lost.
    Unknown,
    /// Made, and not yet seen.
    Born,
    /// It waits for a CPU; since when, and whether that CPU was idle, if it was woken.
    Runnable { woken: Option<Woken> },
    /// It has this CPU; since when.
    Running { cpu: u32, since: u64 },
    /// It waits since then; whether it may have been preempted instead.
    Blocked { since: u64, unsure: bool },
    /// It has exited.
    Dead,
}

/// How a thread comes into the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was there before.
    Before,
    /// Another made it.
    Forked,
    /// It was made at this time by somebody the trace does not show.
    At(u64),
}

/// A thread and what it did.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    pub(super) pid: u32,
    /// Its last name.
    pub(super) comm: NameIx,
    /// How many threads had its number before.
    pub(super) turn: u32,
    pub(super) origin: Origin,
    pub(super) state: State,
    /// The priority it had first, and now.
    pub(super) prio: Option<(i16, i16)>,
    /// The CPU it was first seen on.
    pub(super) first_cpu: Option<u32>,
    /// Virtual time it has when the trace begins.
    pub(super) head_ns: u64,
    /// The CPU it was on, or was queued on, last.
    pub(super) on: Option<u32>,
    pub(super) steps: Vec<Step>,
    /// Whom it woke last, and when.
    pub(super) woke: Option<(ThreadIx, u64)>,
    /// Who gave way to it as it woke.
    pub(super) over: Option<ThreadIx>,
    pub(super) counts: Counts,
}

/// What is counted of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Time on CPUs, ns.
    pub(super) cpu_ns: u64,
    /// Times it left a CPU: waiting, and runnable.
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    /// From wake-ups to its next turn: how many, in all, at most, ns.
    pub(super) waits: u64,
    pub(super) wait_ns: u64,
    pub(super) longest_ns: u64,
}

impl Thread {
    pub(super) fn new(pid: u32, comm: NameIx, turn: u32, origin: Origin, state: State) -> Thread {
        Thread {
            pid,
            comm,
            turn,
            origin,
            state,
            prio: None,
            first_cpu: None,
            head_ns: 0,
            on: None,
            steps: Vec::new(),
            woke: None,
            over: None,
            counts: Counts::default(),
        }
    }
}
