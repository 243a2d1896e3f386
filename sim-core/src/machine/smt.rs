//! Hardware threads of a core: what a thread gets while others of its core are busy too.

use super::{FULL_SPEED, WorkClass};
use serde::Serialize;

/// Speed of a thread while one other thread of its core is busy, by the class of its own task, in parts of
/// [`FULL_SPEED`].
///
/// A thread is busy when it runs a task. An idle one is not, not even when it polls: the pause instruction of the polling
/// loop hands the core to the sibling. Interrupts on a CPU that idles are too short to count. What the sibling runs does
/// not matter, only that it runs. Deviates: D-180, D-240.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SmtConfig {
    /// Work limited by execution units.
    pub compute: u32,
    /// Work limited by memory.
    pub memory: u32,
}

impl Default for SmtConfig {
    /// Threads do not mind each other.
    fn default() -> SmtConfig {
        SmtConfig { compute: FULL_SPEED, memory: FULL_SPEED }
    }
}

impl SmtConfig {
    /// Two threads together do 1.25 times the work of one if it is limited by execution units (1.15 to 1.3: the kernel's old
    /// `smt_gain` of 1178/1024; up to 30 % on servers, Intel Technology Journal 6(1), 2002; integer compression 1.15 to
    /// 1.25), and, an assumption within the published range of 0.9 to 1.7, 1.5 times if it waits for memory.
    pub const TYPICAL: SmtConfig = SmtConfig { compute: FULL_SPEED / 8 * 5, memory: FULL_SPEED / 4 * 3 };
    /// The slowest that a thread may be beside one other, as a share of [`FULL_SPEED`]: then two threads do 0.6 of the work
    /// of one.
    pub const MIN: u32 = FULL_SPEED / 10 * 3;

    /// Whether threads do not mind each other.
    pub fn is_off(&self) -> bool {
        *self == SmtConfig::default()
    }

    /// Speed of a thread with a task of `class` while `busy` threads of its core, itself included, are busy.
    ///
    /// With two it is the configured share. Each further thread adds half as much to the core's throughput as the one before
    /// it, an assumption (D-180).
    pub fn factor(&self, class: WorkClass, busy: u32) -> u32 {
        let pair = match class {
            WorkClass::Compute => self.compute,
            WorkClass::Memory => self.memory,
        };
        let full = i64::from(FULL_SPEED);
        let (mut throughput, mut gain) = (full, 2 * i64::from(pair) - full);
        for _ in 1..busy {
            throughput += gain;
            gain /= 2;
        }
        u32::try_from(throughput / i64::from(busy.max(1))).unwrap_or(1).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0.65 each: 1.3 in all with two threads, 1.45 with three, 1.525 with four.
    #[test]
    fn further_threads_add_half_as_much() {
        let smt = SmtConfig { compute: 42_600, memory: FULL_SPEED };
        let of = |busy| smt.factor(WorkClass::Compute, busy);
        assert_eq!((of(0), of(1), of(2)), (FULL_SPEED, FULL_SPEED, 42_600));
        // 65536 + 19664 + 9832 = 95032, + 4916 = 99948.
        assert_eq!((of(3), of(4)), (95_032 / 3, 99_948 / 4));
        assert_eq!(smt.factor(WorkClass::Memory, 2), FULL_SPEED);
    }

    #[test]
    fn more_busy_threads_never_make_one_faster_nor_stop_it() {
        for pair in [SmtConfig::MIN, FULL_SPEED / 2, 42_600, FULL_SPEED] {
            let smt = SmtConfig { compute: pair, memory: pair };
            let of = |busy| smt.factor(WorkClass::Compute, busy);
            assert!((1..16).all(|busy| of(busy + 1) <= of(busy) && of(busy + 1) > 0), "{pair}");
        }
    }
}
