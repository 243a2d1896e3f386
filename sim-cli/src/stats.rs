//! Means over seeds with their confidence intervals.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// The interval; none from a single value.
    pub(crate) interval95: Option<(f64, f64)>,
}

/// What a 95 % interval is to cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interval {
    /// The mean over seeds: more seeds narrow it.
    Mean,
    /// A single value, drawn as the others were: what is uncertain about a machine does not go away with more draws.
    Single,
}

impl Estimate {
    /// From independent values: Student's t with n − 1 degrees of freedom. None without values.
    pub(crate) fn of(values: &[f64], interval: Interval) -> Option<Estimate> {
        if values.is_empty() {
            return None;
        }
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let spread = match interval {
            Interval::Mean => variance / n,
            Interval::Single => variance * (1.0 + 1.0 / n),
        };
        let half = t_975(values.len() - 1).map(|t| t * spread.sqrt());
        Some(Estimate { mean, interval95: half.map(|h| (mean - h, mean + h)) })
    }

    /// The same divided by a number that is not zero.
    pub(crate) fn scaled(self, factor: f64) -> Estimate {
        let ends = |(a, b): (f64, f64)| (f64::min(a * factor, b * factor), f64::max(a * factor, b * factor));
        Estimate { mean: self.mean * factor, interval95: self.interval95.map(ends) }
    }
}

/// The 97.5 % quantile of Student's t; none for zero degrees of freedom.
fn t_975(degrees: usize) -> Option<f64> {
    StudentsT::new(0.0, 1.0, degrees as f64).ok().map(|t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.t.interval(0.95, 4, mean, sem) of 1 … 5 is 3 ± 1.96324.
    #[test]
    fn interval_of_five_values() {
        let e = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], Interval::Mean).unwrap();
        let (low, high) = e.interval95.unwrap();
        assert!((e.mean - 3.0).abs() < 1e-12);
        assert!((low - 1.036_757).abs() < 1e-5 && (high - 4.963_243).abs() < 1e-5, "{low} {high}");
    }

    /// The prediction interval of a sixth value: mean ± 2.77645 · 1.58114 · sqrt(6/5).
    #[test]
    fn interval_of_a_single_value() {
        let (low, high) =
            Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0], Interval::Single).unwrap().interval95.unwrap();
        assert!((high - 7.808_93).abs() < 1e-4 && (low + 1.808_93).abs() < 1e-4, "{low} {high}");
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Estimate::of(&[7.0], Interval::Mean).unwrap().interval95, None);
        assert_eq!(Estimate::of(&[], Interval::Mean), None);
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        assert_eq!(Estimate::of(&[2.0; 4], Interval::Single).unwrap().interval95, Some((2.0, 2.0)));
    }
}
