//! Who woke whom: which wake-ups are the doing of the task that was current, and which came from a timer or a device.
//!
//! In a task's own context it is the task's doing, in an interrupt never. A softirq may be raised by the task itself (loopback
//! traffic) or by an interrupt; and some traces do not show the context. There what happened over the whole trace tells:
//!
//! - softirq: the task woke the other if the other wakes it in turn, or if nine in ten of the other's wake-ups from softirqs
//!   come while the same task is current; never a kernel thread, whose timers run in softirqs.
//! - unknown: the same for kernel threads; any other task is woken by the current one, unless its sleeps show a timer: half
//!   of them, at 0.5 ms or more, are within 1 % as long as the one before.
//!
//! Deviates: D-211.

use super::event::Context;
use super::thread::ThreadIx;
use std::collections::BTreeMap;

/// The task that was current at a wake-up, and in what context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waker {
    pub(super) thread: ThreadIx,
    pub(super) context: Context,
}

/// Sleeps shorter than this say nothing of timers: messages back and forth are as regular.
const TIMER_LIKE_NS: u64 = 500_000;

/// What a thread's wake-ups have in common.
#[derive(Debug, Clone, Copy, Default)]
struct Sleeps {
    last_ns: u64,
    all: u64,
    alike: u64,
}

/// All wake-ups by who was current, wakee and context.
#[derive(Debug, Default)]
pub(super) struct Wakers {
    /// Wakee, context, who was current (`None`: the idle task); how often.
    counts: BTreeMap<(ThreadIx, Context, Option<ThreadIx>), u64>,
    /// Wakee and context; how often.
    totals: BTreeMap<(ThreadIx, Context), u64>,
    sleeps: BTreeMap<ThreadIx, Sleeps>,
}

impl Wakers {
    /// Notes a wake-up after a sleep of so long, if that is known.
    pub(super) fn note(
        &mut self,
        wakee: ThreadIx,
        context: Context,
        current: Option<ThreadIx>,
        slept_ns: Option<u64>,
    ) {
        *self.counts.entry((wakee, context, current)).or_default() += 1;
        *self.totals.entry((wakee, context)).or_default() += 1;
        let (Context::Unknown, Some(ns)) = (context, slept_ns) else { return };
        let sleeps = self.sleeps.entry(wakee).or_default();
        sleeps.all += 1;
        sleeps.alike += u64::from(ns >= TIMER_LIKE_NS && ns.abs_diff(sleeps.last_ns) <= ns / 100);
        sleeps.last_ns = ns;
    }

    /// Whether wake-ups of `wakee` with `waker` current are the waker's doing.
    pub(super) fn caused(&self, wakee: ThreadIx, waker: Waker, kernel_thread: bool) -> bool {
        match waker.context {
            Context::Task => true,
            Context::Interrupt => false,
            Context::Softirq => !kernel_thread && (self.mutual(wakee, waker) || self.always(wakee, waker)),
            Context::Unknown if kernel_thread => self.mutual(wakee, waker) || self.always(wakee, waker),
            Context::Unknown => self.sleeps.get(&wakee).is_none_or(|s| s.alike * 2 < s.all.max(2)),
        }
    }

    /// Whether two tasks wake each other in contexts of their own.
    pub(super) fn answer(&self, one: ThreadIx, other: ThreadIx) -> bool {
        let wakes = |waker, wakee| {
            let contexts = [Context::Task, Context::Softirq, Context::Unknown];
            contexts.iter().any(|context| self.counts.contains_key(&(wakee, *context, Some(waker))))
        };
        wakes(one, other) && wakes(other, one)
    }

    /// Whether the wakee wakes the waker, too.
    fn mutual(&self, wakee: ThreadIx, waker: Waker) -> bool {
        let contexts = [Context::Task, waker.context];
        contexts.iter().any(|context| self.counts.contains_key(&(waker.thread, *context, Some(wakee))))
    }

    /// Whether it is nearly always this task that is current when the other wakes.
    fn always(&self, wakee: ThreadIx, waker: Waker) -> bool {
        let all = self.totals.get(&(wakee, waker.context)).copied().unwrap_or(0);
        let own = self.counts.get(&(wakee, waker.context, Some(waker.thread))).copied().unwrap_or(0);
        own >= 3 && own * 10 >= all * 9
    }
}

/// Beginnings of names that kernel threads have.
const KERNEL_THREADS: &[&str] = &[
    "kworker/",
    "ksoftirqd/",
    "migration/",
    "rcu",
    "kcompactd",
    "kswapd",
    "khugepaged",
    "kthreadd",
    "watchdog",
    "cpuhp/",
    "irq/",
    "jbd2/",
    "kauditd",
    "oom_reaper",
    "writeback",
    "kblockd",
    "scsi_",
    "ext4-",
    "xfs",
    "kdevtmpfs",
    "khungtaskd",
    "ksmd",
    "sugov",
    "mmcqd",
    "ktimer",
    "idle_inject",
    "stopper/",
    "kdamond",
    "btrfs-",
];

/// Whether a name is one of the kernel's own threads.
pub(super) fn is_kernel_thread(comm: &str) -> bool {
    KERNEL_THREADS.iter().any(|name| comm.starts_with(name))
}

/// The CPU that a per-CPU kernel thread is bound to.
pub(super) fn bound_to(comm: &str) -> Option<u32> {
    let (name, cpu) = comm.split_once('/')?;
    let bound = [
        "ksoftirqd",
        "migration",
        "cpuhp",
        "watchdog",
        "rcuc",
        "ktimers",
        "ktimersoftd",
        "idle_inject",
        "stopper",
    ];
    let cpu = if name == "kworker" { cpu.split_once(':')?.0 } else { cpu };
    if name != "kworker" && !bound.contains(&name) {
        return None;
    }
    super::line::digits(cpu).filter(|_| !cpu.is_empty())
}
