//! The event queue: one heap, a total order, cancellation by generation.
//!
//! **The order is behaviour.** Events come by time; at one instant by [`Class`], whose variants stand in order of
//! precedence; within a class first in, first out, except that ticks and the ends of bursts come by CPU number: when they
//! were armed or last forecast must not matter. `ARCHITECTURE.md` carries the same table.

use crate::id::{CpuId, TaskId};
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Precedence of events at one instant. The order of the variants is the order in which they happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The machine: speed changes, interference; changes from outside.
    Machine,
    /// Timers: sleeps that end, tasks that start.
    Timer,
    /// The tick, the last timer of its interrupt.
    Tick,
    /// Interrupts from other CPUs.
    Ipi,
    /// Softirqs at the end of interrupts go on.
    Softirq,
    /// need_resched is honoured before the interrupted task goes on; idle loops go round.
    Resched,
    /// The running task's burst ends.
    Progress,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    /// Row of [`crate::machine::MachineConfig::speed_changes`].
    Speed(u32),
    /// The time of a source of interference on one of its CPUs, by row of the engine's arrivals.
    Interfere(u32),
    /// What that source does reaches its CPU.
    Source(u32),
    /// Something outside, or the network card, acts; which arming.
    Wire(u32),
    /// A receive queue of the card interrupts its CPU.
    NetIrq(u32),
    /// What a CPU's softirq is at is done.
    Softirq(CpuId),
    /// The host has finished what kept a virtual CPU from executing.
    Vcpu {
        /// The CPU.
        cpu: CpuId,
        /// Which of its absences.
        generation: u32,
    },
    /// Row of the timeline of changes from outside.
    Control(u32),
    /// The running task of a CPU has loaded its working set.
    Warm {
        /// The CPU.
        cpu: CpuId,
        /// Which projection of its burst.
        generation: u32,
    },
    /// An idle core is in a deep idle state, or one that left it is given its clock.
    CoreTimer {
        /// A CPU of the core.
        cpu: CpuId,
        /// Whether it is about the clock.
        ramp: bool,
        /// Which of its idle periods, or of its ways out of a deep state.
        generation: u32,
    },
    /// A package gives its cores the clocks they should have.
    Clocks {
        /// The package.
        package: u32,
    },
    /// A sleep ends.
    Timer {
        /// The sleeper.
        task: TaskId,
        /// Which of its sleeps.
        generation: u32,
    },
    /// A CPU's high-resolution tick.
    Hrtick {
        /// The CPU.
        cpu: CpuId,
        /// Which arming.
        generation: u32,
    },
    /// A CPU's tick.
    Tick {
        /// The CPU.
        cpu: CpuId,
        /// Which arming of its tick.
        generation: u32,
    },
    /// Queued wake-ups are enqueued.
    Ipi(CpuId),
    /// An idle CPU balances for the tickless ones.
    NohzKick(CpuId),
    /// A CPU reschedules.
    Resched {
        /// The CPU.
        cpu: CpuId,
        /// Which arming.
        generation: u32,
    },
    /// A CPU's idle loop goes round.
    Idle {
        /// The CPU.
        cpu: CpuId,
        /// Which arming.
        generation: u32,
    },
    /// An interrupt handler of a CPU has ended: the first event that waited for that happens.
    Deferred {
        /// The class of that event.
        class: Class,
        /// The CPU.
        cpu: CpuId,
        /// Which arming.
        generation: u32,
    },
    /// A CPU's running burst ends.
    Progress {
        /// The CPU.
        cpu: CpuId,
        /// Which projection of the burst.
        generation: u32,
    },
}

impl Happening {
    /// Whether such events alone make no task runnable. A CPU that runs one has other events than its tick.
    const fn is_machine(self) -> bool {
        let outside = matches!(self, Happening::Deferred { .. } | Happening::Wire(_) | Happening::NetIrq(_));
        !outside && matches!(self.class(), Class::Machine | Class::Tick)
    }

    /// Its precedence.
    pub(super) const fn class(self) -> Class {
        match self {
            Happening::Speed(_) | Happening::Interfere(_) | Happening::Source(_) => Class::Machine,
            Happening::Control(_) | Happening::Vcpu { .. } => Class::Machine,
            Happening::Wire(_) | Happening::NetIrq(_) => Class::Machine,
            Happening::Softirq(_) => Class::Softirq,
            Happening::Warm { .. } | Happening::CoreTimer { .. } | Happening::Clocks { .. } => Class::Machine,
            Happening::Timer { .. } | Happening::Hrtick { .. } => Class::Timer,
            Happening::Tick { .. } => Class::Tick,
            Happening::Ipi(_) | Happening::NohzKick(_) => Class::Ipi,
            Happening::Resched { .. } | Happening::Idle { .. } => Class::Resched,
            Happening::Deferred { class, .. } => class,
            Happening::Progress { .. } => Class::Progress,
        }
    }
}

/// Time, class, place within the class.
type Entry = (Instant, Class, u64, Happening);

/// Pending events. A cancelled event stays in the heap with an outdated generation; its owner drops it when it comes.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<Entry>>,
    sequence: u64,
    last: Instant,
    /// How many of the events are the machine's own: they make no task runnable.
    machine: usize,
}

impl EventQueue {
    /// An empty queue with room for so many events.
    pub(crate) fn with_capacity(events: usize) -> EventQueue {
        EventQueue { heap: BinaryHeap::with_capacity(events), ..EventQueue::default() }
    }

    /// Adds an event. Panics if it lies before the event popped last: time never goes back.
    pub(crate) fn push(&mut self, at: Instant, what: Happening) {
        assert!(at >= self.last, "an event at {at:?} lies before the present {:?}", self.last);
        self.machine += usize::from(what.is_machine());
        let place = match what {
            Happening::Tick { cpu, .. } | Happening::Progress { cpu, .. } => u64::from(cpu.0),
            _ => self.sequence,
        };
        self.heap.push(Reverse((at, what.class(), place, what)));
        self.sequence += 1;
    }

    /// The next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, Happening)> {
        let Reverse((at, _, _, what)) = self.heap.pop()?;
        self.machine -= usize::from(what.is_machine());
        self.last = at;
        Some((at, what))
    }

    /// Events in the queue, cancelled ones included.
    pub(crate) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Drops cancelled events before their time.
    pub(crate) fn retain(&mut self, mut valid: impl FnMut(Happening) -> bool) {
        let machine = &mut self.machine;
        self.heap.retain(|Reverse((.., what))| {
            let keep = valid(*what);
            *machine -= usize::from(!keep && what.is_machine());
            keep
        });
    }

    /// Whether nothing is left that could make a task do anything: no event, or only those of the machine itself, which
    /// go on for ever.
    pub(crate) fn is_idle(&self) -> bool {
        self.heap.len() == self.machine
    }

    /// When the next event comes.
    pub(crate) fn peek(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_time_then_class_then_first_in_first_out() {
        let cpu = CpuId(0);
        let timer = |t| Happening::Timer { task: TaskId(t), generation: 0 };
        let (tick, resched) =
            (Happening::Tick { cpu, generation: 0 }, Happening::Resched { cpu, generation: 0 });
        let progress = Happening::Progress { cpu, generation: 0 };
        let mut q = EventQueue::default();
        for (at, what) in [
            (5, progress),
            (5, resched),
            (5, Happening::Softirq(cpu)),
            (5, Happening::Ipi(cpu)),
            (5, tick),
            (5, timer(9)),
            (5, timer(2)),
            (5, Happening::Speed(0)),
            (4, progress),
            (6, Happening::Interfere(0)),
        ] {
            q.push(Instant(at), what);
        }
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).map(|(_, w)| w).collect();
        let expected = [
            progress,
            Happening::Speed(0),
            timer(9),
            timer(2),
            tick,
            Happening::Ipi(cpu),
            Happening::Softirq(cpu),
            resched,
            progress,
            Happening::Interfere(0),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn bursts_end_by_cpu_whenever_they_were_forecast() {
        let progress = |cpu| Happening::Progress { cpu: CpuId(cpu), generation: 0 };
        let mut q = EventQueue::default();
        for cpu in [3, 1, 2] {
            q.push(Instant(5), progress(cpu));
        }
        let order: Vec<_> = std::iter::from_fn(|| q.pop()).map(|(_, w)| w).collect();
        assert_eq!(order, [progress(1), progress(2), progress(3)]);
    }

    #[test]
    fn the_machine_alone_makes_nothing_happen() {
        let mut q = EventQueue::default();
        assert!(q.is_idle());
        q.push(Instant(1), Happening::Interfere(0));
        assert!(q.is_idle());
        q.push(Instant(2), Happening::Ipi(CpuId(0)));
        assert!(!q.is_idle());
        q.pop();
        assert!(!q.is_idle());
        q.pop();
        assert!(q.is_idle());
    }

    #[test]
    #[should_panic(expected = "lies before the present")]
    fn time_never_goes_back() {
        let mut q = EventQueue::default();
        q.push(Instant(5), Happening::Ipi(CpuId(0)));
        q.pop();
        q.push(Instant(4), Happening::Ipi(CpuId(0)));
    }
}
