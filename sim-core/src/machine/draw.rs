//! Random durations of the machine's own doing: arrivals and lengths of interference, demands of other guests.

use crate::rng::Stream;
use crate::time::Nanos;
use rand::RngExt;
use rand_distr::{Distribution, Exp1};
use serde::Serialize;

/// How long something takes each time. Deviates: D-007.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Always the same; takes no random number.
    #[serde(rename = "constant_ns")]
    Constant(Nanos),
    /// Every nanosecond from the first to the second is equally likely, both included.
    #[serde(rename = "uniform_ns")]
    Uniform(Nanos, Nanos),
    /// Exponential with this mean: the gaps of a Poisson process.
    #[serde(rename = "exponential_mean_ns")]
    Exponential(Nanos),
}

impl Draw {
    /// One draw.
    pub fn sample(self, stream: &mut Stream) -> Nanos {
        match self {
            Draw::Constant(d) => d,
            Draw::Uniform(low, high) => Nanos(stream.random_range(low.0..=high.0.max(low.0))),
            Draw::Exponential(mean) => {
                let x: f64 = Exp1.sample(stream);
                // The nearest whole nanosecond; the cast saturates.
                Nanos((mean.0 as f64 * x + 0.5) as u64)
            }
        }
    }

    /// The mean.
    pub const fn mean(self) -> Nanos {
        match self {
            Draw::Constant(d) | Draw::Exponential(d) => d,
            Draw::Uniform(low, high) => Nanos(low.0 / 2 + high.0 / 2 + (low.0 % 2 + high.0 % 2) / 2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    #[test]
    fn draws_have_the_mean_they_claim() {
        let n = 100_000u64;
        for draw in [
            Draw::Constant(Nanos(7_000)),
            Draw::Uniform(Nanos(2_000), Nanos(12_000)),
            Draw::Exponential(Nanos(7_000)),
        ] {
            let mut s = stream(1, "source", "time");
            let mean = (0..n).map(|_| draw.sample(&mut s).0).sum::<u64>() / n;
            // Five standard errors of the widest, the exponential: 7000 · 5 / √100 000 = 111.
            assert!(mean.abs_diff(7_000) < 111, "{draw:?} {mean}");
            assert_eq!(draw.mean(), Nanos(7_000));
        }
    }
}
