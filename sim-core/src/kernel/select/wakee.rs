//! Who wakes whom: `record_wakee` and `wake_wide`.

use crate::id::TaskId;

/// How often a task changes whom it wakes (`wakee_flips` and its companions in `struct task_struct`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WakeeFlips {
    /// Changes of wakee, halved once in a second of wake-ups.
    pub flips: u32,
    /// Jiffy of the last halving.
    pub flip_decay: u64,
    /// Whom it woke last.
    pub last_wakee: Option<TaskId>,
}

impl WakeeFlips {
    /// Notes that this task wakes `wakee`; whether it woke another one last, and how often it had changed before.
    ///
    /// Mirrors: `record_wakee()`, v4.19–v6.5.
    pub fn record(&mut self, wakee: TaskId, jiffies: u64, hz: u32) -> (bool, u32) {
        if jiffies > self.flip_decay + u64::from(hz) {
            self.flips >>= 1;
            self.flip_decay = jiffies;
        }
        let (changed, before) = (self.last_wakee != Some(wakee), self.flips);
        if changed {
            self.last_wakee = Some(wakee);
            self.flips = self.flips.wrapping_add(1);
        }
        (changed, before)
    }

    /// A waker that had changed `waker_flips` times wakes this task anew: if that is far more often, the waker's restlessness
    /// is this task's too (posted patch, patches.md §6).
    pub(super) fn couple(&mut self, waker_flips: u32, factor: u32) {
        if waker_flips > self.flips.wrapping_mul(factor.wrapping_mul(2)) {
            self.flips = self.flips.wrapping_add(1);
        }
    }
}

/// Whether waker and wakee change partners so often that pulling the wakee to the waker would pile tasks up. `factor` is
/// the number of CPUs that share the waker's last-level cache.
///
/// Mirrors: `wake_wide()`, v4.19–v6.5.
pub(super) fn wake_wide(waker_flips: u32, wakee_flips: u32, factor: u32) -> bool {
    let (most, least) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    least >= factor && most >= least.wrapping_mul(factor)
}

/// [`wake_wide`] with coupled flips: wide also where one side alone changes very often (posted patch, patches.md §6).
pub(super) fn wake_wide_coupled(waker_flips: u32, wakee_flips: u32, factor: u32) -> bool {
    let (most, least) = (waker_flips.max(wakee_flips), waker_flips.min(wakee_flips));
    let one_sided = least < factor && most < (factor / 2).wrapping_mul(factor);
    !one_sided && most >= least.wrapping_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §3.2, 12 CPUs.
    #[test]
    fn wide_from_the_square_of_the_factor() {
        for (most, least, wide) in [(144, 12, true), (143, 12, false), (200, 11, false)] {
            assert_eq!(wake_wide(most, least, 12), wide, "{most} {least}");
            assert_eq!(wake_wide(least, most, 12), wide, "{least} {most}");
        }
    }

    /// patches.md §6, caches of 16 CPUs.
    #[test]
    fn coupled_flips_are_wide_earlier() {
        for (most, least, wide) in [(127, 0, false), (128, 0, true), (207, 13, false), (208, 13, true)] {
            assert_eq!(wake_wide_coupled(most, least, 16), wide, "{most} {least}");
            assert_eq!(wake_wide_coupled(least, most, 16), wide, "{least} {most}");
        }
        assert!(!wake_wide(255, 15, 16) && wake_wide(256, 16, 16));
        let mut w = WakeeFlips { flips: 3, ..WakeeFlips::default() };
        w.couple(96, 16);
        assert_eq!(w.flips, 3, "96 is not above 3 times 32");
        w.couple(97, 16);
        assert_eq!(w.flips, 4);
    }

    /// A machine whose CPUs share no cache has factor 1.
    #[test]
    fn without_a_shared_cache_one_flip_each_is_wide() {
        assert!(wake_wide(1, 1, 1) && wake_wide(1, 9, 1));
        assert!(!wake_wide(0, 9, 1));
    }

    #[test]
    fn flips_count_changes_and_halve_after_more_than_a_second() {
        let mut w = WakeeFlips::default();
        for wakee in [1, 2, 2, 1, 1] {
            w.record(TaskId(wakee), 250, 250);
        }
        assert_eq!((w.flips, w.flip_decay), (3, 0), "the second is not over at jiffy 250");
        w.record(TaskId(1), 251, 250);
        assert_eq!((w.flips, w.flip_decay), (1, 251));
        w.record(TaskId(2), 501, 250);
        assert_eq!((w.flips, w.flip_decay), (2, 251));
    }
}
