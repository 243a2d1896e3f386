//! Distributions of latencies.

use crate::time::Nanos;
use hdrhistogram::Histogram;

/// Significant digits kept by a histogram: its values are exact to 0.1 %.
const DIGITS: u8 = 3;
/// Up to this many values are kept as they are: a histogram takes 100 KiB and more, too much for each of thousands of
/// short-lived tasks.
const FEW: usize = 512;

/// A distribution of latencies: exact while it has few values, to 0.1 % beyond.
#[derive(Clone, Debug)]
pub struct Latencies(Store);

#[derive(Clone, Debug)]
enum Store {
    Few(Vec<u64>),
    Many(Box<Histogram<u64>>),
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies(Store::Few(Vec::new()))
    }
}

impl Latencies {
    pub(super) fn record(&mut self, time: Nanos) {
        match &mut self.0 {
            Store::Few(values) if values.len() < FEW => values.push(time.0),
            Store::Few(_) => add(self.many(), time.0),
            Store::Many(histogram) => add(histogram, time.0),
        }
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Store::Few(values) => values.len() as u64,
            Store::Many(histogram) => histogram.len(),
        }
    }
    /// The smallest value that at least the fraction `q` of all (0 … 1) does not exceed. Zero when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        match &self.0 {
            Store::Few(values) => {
                let mut sorted = values.clone();
                sorted.sort_unstable();
                // Less a hair, so that 0.99 of 100 is the 99th in spite of rounding.
                let rank = (q * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
                Nanos(sorted.get(rank - 1).or(sorted.last()).copied().unwrap_or(0))
            }
            Store::Many(histogram) => Nanos(histogram.value_at_quantile(q).min(histogram.max())),
        }
    }
    /// The longest. Zero when empty.
    pub fn max(&self) -> Nanos {
        match &self.0 {
            Store::Few(values) => Nanos(values.iter().copied().max().unwrap_or(0)),
            Store::Many(histogram) => Nanos(histogram.max()),
        }
    }
    /// The mean. Zero when empty.
    pub fn mean(&self) -> Nanos {
        match &self.0 {
            Store::Few(values) => {
                let sum: u128 = values.iter().map(|v| u128::from(*v)).sum();
                Nanos(sum.checked_div(values.len() as u128).unwrap_or(0) as u64)
            }
            Store::Many(histogram) => Nanos(histogram.mean().round() as u64),
        }
    }
    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Latencies) {
        match &other.0 {
            Store::Few(values) => values.iter().for_each(|v| self.record(Nanos(*v))),
            Store::Many(histogram) => {
                self.many().add(&**histogram).expect("histograms that resize themselves take any value");
            }
        }
    }

    /// Changes to a histogram for good.
    fn many(&mut self) -> &mut Histogram<u64> {
        if let Store::Few(values) = &mut self.0 {
            let mut histogram = Histogram::new(DIGITS).expect("three digits are within a histogram's range");
            values.iter().for_each(|v| add(&mut histogram, *v));
            self.0 = Store::Many(Box::new(histogram));
        }
        match &mut self.0 {
            Store::Many(histogram) => histogram,
            Store::Few(_) => unreachable!("just replaced"),
        }
    }
}

fn add(histogram: &mut Histogram<u64>, value: u64) {
    histogram.record(value).expect("histograms that resize themselves take any value");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl Iterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        values.for_each(|v| latencies.record(Nanos(v)));
        latencies
    }

    #[test]
    fn few_values_are_exact() {
        let l = of((1..=100).rev());
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|q| l.quantile(q).0), [1, 50, 99, 100]);
        assert_eq!((l.count(), l.max().0, l.mean().0), (100, 100, 50));
        let none = Latencies::default();
        assert_eq!((none.quantile(0.5).0, none.max().0, none.mean().0), (0, 0, 0));
    }

    /// Values far above a fresh histogram's range, on both sides of the change of store.
    #[test]
    fn many_values_are_exact_to_a_thousandth() {
        for n in [FEW as u64, FEW as u64 + 1, 10_000] {
            let l = of((1..=n).map(|i| i * 1_000_000));
            for q in [0.5, 0.95, 0.99, 1.0] {
                let (got, right) = (l.quantile(q).0 as f64, (q * n as f64).ceil() * 1e6);
                assert!((got / right - 1.0).abs() < 1e-3, "{n} values, quantile {q}: {got}, not {right}");
            }
            assert_eq!(l.count(), n);
        }
    }

    #[test]
    fn merging_is_recording_all() {
        for (a, b) in [(10, 20), (10, 2_000), (2_000, 10), (2_000, 3_000)] {
            let (mut merged, other) = (of(0..a), of(1_000..1_000 + b));
            merged.merge(&other);
            let all = of((0..a).chain(1_000..1_000 + b));
            assert_eq!(merged.count(), all.count());
            assert_eq!(merged.quantile(0.9), all.quantile(0.9), "{a} and {b}");
        }
    }
}
