//! `wake_affine`: does a wakee come to its waker's CPU or stay near its own?

use crate::observe::{AffineRule, AffineWeight};

/// What the weight part of `wake_affine` compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AffineLoads {
    /// Load of the waker's CPU.
    pub(super) this_load: u64,
    /// Share of it that leaves with the waker, for a synchronous wake-up.
    pub(super) waker_load: Option<u64>,
    /// The wakee's load, seen from the root queue.
    pub(super) task_load: u64,
    /// Load of the wakee's previous CPU.
    pub(super) prev_load: u64,
    /// Capacity of the waker's CPU.
    pub(super) this_capacity: u64,
    /// Capacity of the previous CPU.
    pub(super) prev_capacity: u64,
    /// `imbalance_pct` of the domain that holds both; none when `WA_BIAS` is off.
    pub(super) imbalance_pct: Option<u32>,
}

impl AffineLoads {
    /// Compares what either CPU would be loaded with; the flag says whether the wakee comes to the waker's.
    ///
    /// Mirrors: `wake_affine_weight()`, v4.19–v6.5.
    pub(super) fn weigh(&self) -> (AffineWeight, AffineRule, bool) {
        let signed = u64::cast_signed;
        let mut this = signed(self.this_load);
        let mut figures = AffineWeight {
            this_load: self.this_load,
            waker_load: self.waker_load,
            task_load: self.task_load,
            prev_load: self.prev_load,
            this: 0,
            prev: 0,
        };
        if let Some(waker) = self.waker_load {
            if signed(waker) > this {
                return (figures, AffineRule::SyncWakerIsAll, true);
            }
            this -= signed(waker);
        }
        let (this_bias, prev_bias) = match self.imbalance_pct {
            Some(pct) => (100, 100 + (i64::from(pct) - 100) / 2),
            None => (1, 1),
        };
        let task = signed(self.task_load);
        figures.this = (this + task) * this_bias * signed(self.prev_capacity);
        figures.prev = (signed(self.prev_load) - task) * prev_bias * signed(self.this_capacity)
            + i64::from(self.waker_load.is_some());
        (figures, AffineRule::Weight, figures.this < figures.prev)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loads(this: u64, waker: Option<u64>, task: u64, prev: u64) -> AffineLoads {
        AffineLoads {
            this_load: this,
            waker_load: waker,
            task_load: task,
            prev_load: prev,
            this_capacity: 1024,
            prev_capacity: 1024,
            imbalance_pct: Some(117),
        }
    }

    /// smp.md §3.3: L(cpu), c, tl, L(prev) → t, v (both by 1024), cpu?
    #[test]
    fn vectors_of_the_weight_part() {
        let vectors = [
            (1024, Some(1023), 200, 500, 20_100, 32_400, true),
            (1024, Some(1023), 200, 350, 20_100, 16_200, false),
            (1024, Some(1023), 200, 550, 20_100, 37_800, true),
            (1024, None, 200, 0, 122_400, -21_600, false),
            (300, None, 100, 900, 40_000, 86_400, true),
            (1024, None, 500, 1024, 152_400, 56_592, false),
        ];
        for (this, waker, task, prev, t, v, pull) in vectors {
            let (figures, rule, pulled) = loads(this, waker, task, prev).weigh();
            let sync = i64::from(waker.is_some());
            assert_eq!(
                (figures.this, figures.prev, rule, pulled),
                (t * 1024, v * 1024 + sync, AffineRule::Weight, pull)
            );
        }
    }

    /// Equal sides: a synchronous wake-up pulls, any other does not.
    #[test]
    fn sync_decides_a_tie() {
        let even = |waker| loads(100, waker, 0, 100);
        let unbiased = |l: AffineLoads| AffineLoads { imbalance_pct: None, ..l }.weigh().2;
        assert!(!unbiased(even(None)) && unbiased(even(Some(0))));
    }

    #[test]
    fn a_sync_waker_heavier_than_its_cpu_pulls_at_once() {
        let (_, rule, pull) = loads(500, Some(501), 10_000, 0).weigh();
        assert_eq!((rule, pull), (AffineRule::SyncWakerIsAll, true));
        assert_eq!(loads(500, Some(500), 10_000, 0).weigh().1, AffineRule::Weight);
    }

    /// Either side is weighed with the other's capacity.
    #[test]
    fn capacities_cross() {
        let even = loads(500, None, 0, 480);
        assert!(even.weigh().2, "480 * 108 > 500 * 100");
        assert!(
            !AffineLoads { this_capacity: 512, ..even }.weigh().2,
            "a CPU of half the capacity pulls less"
        );
    }
}
