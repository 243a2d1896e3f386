//! What takes CPUs away from tasks: named sources of interrupts, softirqs, stolen time and kernel threads.

use super::Draw;
use crate::cpumask::CpuMask;
use crate::id::CpuId;
use crate::time::{Instant, Nanos};
use serde::{Deserialize, Serialize};

/// What takes a CPU's time away from tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonTaskKind {
    /// An interrupt handler.
    Interrupt,
    /// A softirq run at the end of an interrupt.
    Softirq,
    /// The hypervisor runs something else.
    Steal,
}

/// What a source does when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// An interrupt handler runs.
    Interrupt,
    /// A softirq runs at the end of an interrupt. Deviates: D-193.
    Softirq,
    /// The hypervisor runs something else.
    Steal,
    /// An interrupt wakes a thread of the kernel (nice 0, bound to the CPU), which does the work.
    Kthread,
}

impl SourceKind {
    /// What its time counts as; none for a thread, which the scheduler runs.
    pub const fn nontask(self) -> Option<NonTaskKind> {
        match self {
            SourceKind::Interrupt => Some(NonTaskKind::Interrupt),
            SourceKind::Softirq => Some(NonTaskKind::Softirq),
            SourceKind::Steal => Some(NonTaskKind::Steal),
            SourceKind::Kthread => None,
        }
    }
}

/// A source of interference. Each of its CPUs has its own arrivals, from random streams of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interference {
    /// Name, also that of its random streams.
    pub name: String,
    /// Its CPUs.
    pub cpus: CpuMask,
    /// What it does.
    pub kind: SourceKind,
    /// First time.
    pub start: Instant,
    /// From one time to the next.
    pub every: Draw,
    /// How long each time.
    pub time: Draw,
}

impl Interference {
    /// The same on one CPU at regular intervals.
    pub fn regular(cpu: CpuId, kind: SourceKind, start: Instant, period: Nanos, time: Nanos) -> Interference {
        let (every, time) = (Draw::Constant(period), Draw::Constant(time));
        Interference { name: String::new(), cpus: CpuMask::one(cpu), kind, start, every, time }
    }
}
