//! Costs drawn from the ranges they lie in.

use super::{Costs, Estimated, Preset};
use crate::rng;
use crate::time::Nanos;
use rand::{Rng, RngExt};

impl Estimated {
    /// A draw whose median is the figure: as often below as above it, and even on each side.
    fn draw(&self, rng: &mut impl Rng) -> Nanos {
        let above = rng.random::<bool>();
        let (from, to) = if above { (self.value, self.high) } else { (self.low, self.value) };
        Nanos(rng.random_range(from.0..=to.0))
    }
}

impl Costs {
    /// These costs, where those that are `preset`'s are drawn from their ranges. Each has a random stream of its own, so that
    /// both sides of a comparison under one seed draw the same, whatever else differs. What is given or switched off stays.
    #[must_use]
    pub fn drawn(mut self, preset: Preset, is_given: impl Fn(&str) -> bool, seed: u64) -> Costs {
        let before = self;
        for (row, (name, value)) in Costs::TABLE.iter().zip(before.iter()) {
            if !value.is_zero() && !is_given(name) {
                let drawn = row.of(preset).draw(&mut rng::stream(seed, name, "uncertainty"));
                // The name comes from the table of names.
                let _ = self.set(name, drawn);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64) -> Costs {
        Costs::preset(Preset::Guest).drawn(Preset::Guest, |name| name == "tick", seed)
    }

    #[test]
    fn draws_stay_in_their_range_and_what_is_given_stays() {
        let mut differ = 0;
        for seed in 0..200 {
            let costs = drawn(seed);
            for (row, (_, value)) in Costs::TABLE.iter().zip(costs.iter()) {
                assert!(row.guest.low <= value && value <= row.guest.high, "{}", row.name);
            }
            assert_eq!((costs.tick, costs.timer_slack), (Nanos(3_000), Nanos(50_000)));
            differ += usize::from(costs.idle_exit != Costs::preset(Preset::Guest).idle_exit);
        }
        assert!(differ > 190);
    }

    #[test]
    fn the_figure_is_the_median() {
        let below = (0..1_000).filter(|seed| drawn(*seed).idle_exit < Nanos(20_000)).count();
        assert!((450..550).contains(&below), "{below}");
    }
}
