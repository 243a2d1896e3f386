//! A prediction beside what was measured: right sign, null as null, close enough, covered by its interval.

use super::measurements::{Measurement, Split, Suitability};
use serde::{Deserialize, Serialize};

/// What predictions are held to (`validation/published/tolerances.toml`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerances {
    /// Spread of a measurement where none is published, percent.
    pub spread_percent: f64,
    /// A change of more than so many spreads has a sign; any other is null.
    pub effect_spreads: f64,
    /// A prediction agrees within so many points …
    pub within_points: f64,
    /// … or so many spreads …
    pub within_spreads: f64,
    /// … or this share of the measured change.
    pub within_share: f64,
    /// Aims, on the records that judge.
    pub aims: Aims,
}

/// What is aimed at.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aims {
    /// Share of changes with the right sign, at least.
    pub right_signs: f64,
    /// Share of nulls predicted as such, at least.
    pub right_nulls: f64,
    /// Median absolute error of quantitative records, points, at most.
    pub median_error_points: f64,
    /// The same at the 90th percentile.
    pub p90_error_points: f64,
    /// Share of quantitative records within their prediction's interval, from and to.
    pub coverage: [f64; 2],
}

/// A predicted change from base to variant, percent, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// The mean.
    pub mean: f64,
    /// The interval; none from one run.
    pub interval95: Option<(f64, f64)>,
}

/// A record with its prediction and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The record.
    pub id: String,
    /// Its series.
    pub series: String,
    /// What it is good for.
    pub suitability: Suitability,
    /// Fitted on, or judged by.
    pub split: Split,
    /// The measured change, percent.
    pub measured_percent: f64,
    /// Its spread, published or assumed, percent.
    pub spread_percent: f64,
    /// The predicted change.
    pub predicted: Prediction,
    /// Predicted less measured, points; none for a record that is good for its direction only.
    pub error_points: Option<f64>,
    /// The sign is right; none where the measured change is null.
    pub right_sign: Option<bool>,
    /// Null is predicted as null; none where the measured change has a sign.
    pub right_null: Option<bool>,
    /// The size agrees; none for a record that is good for its direction only.
    pub within: Option<bool>,
    /// The interval holds what was measured; none likewise, and without an interval.
    pub covered: Option<bool>,
}

impl Judged {
    /// Judges a prediction; none for a record without a published change.
    ///
    /// A sign is right if the mean has it and the interval does not hold zero. Null is right if the mean is as close to zero
    /// as a prediction may be off.
    pub fn of(m: &Measurement, predicted: Prediction, t: &Tolerances) -> Option<Judged> {
        let measured = m.change_percent?;
        let spread = m.spread_percent.unwrap_or(t.spread_percent);
        let margin = t.within_points.max(t.within_spreads * spread);
        let effect = measured.abs() > t.effect_spreads * spread;
        let quantitative = m.suitability == Suitability::Quantitative;
        let error = predicted.mean - measured;
        let same_side = predicted.mean * measured > 0.0;
        let decided = predicted.interval95.is_none_or(|(low, high)| low > 0.0 || high < 0.0);
        let covered = predicted.interval95.map(|(low, high)| (low..=high).contains(&measured));
        Some(Judged {
            id: m.id.clone(),
            series: m.series.clone(),
            suitability: m.suitability,
            split: m.split,
            measured_percent: measured,
            spread_percent: spread,
            predicted,
            error_points: quantitative.then_some(error),
            right_sign: effect.then_some(same_side && decided),
            right_null: (!effect).then_some(predicted.mean.abs() <= margin),
            within: quantitative.then_some(error.abs() <= margin.max(t.within_share * measured.abs())),
            covered: covered.filter(|_| quantitative),
        })
    }

    /// The verdict in a word or two.
    pub fn words(&self) -> &'static str {
        match (self.right_sign, self.right_null, self.within) {
            (Some(false), _, _) => "wrong sign",
            (_, Some(false), _) => "not null",
            (_, Some(true), Some(false)) => "null, wrong size",
            (_, _, Some(false)) => "right sign, wrong size",
            (_, Some(true), _) => "null",
            _ => "right",
        }
    }
}

/// How many of how many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// So many are.
    pub right: usize,
    /// Of so many.
    pub of: usize,
}

impl Rate {
    fn count(verdicts: impl Iterator<Item = Option<bool>>) -> Rate {
        verdicts
            .flatten()
            .fold(Rate::default(), |r, ok| Rate { right: r.right + usize::from(ok), of: r.of + 1 })
    }

    /// The share; none of none.
    pub fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.right as f64 / self.of as f64)
    }
}

/// Verdicts summed up.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What of.
    pub of: String,
    /// Records.
    pub records: usize,
    /// Signs of measured changes that are right.
    pub signs: Rate,
    /// Nulls predicted as null.
    pub nulls: Rate,
    /// Sizes that agree.
    pub within: Rate,
    /// Median absolute error, points.
    pub median_error_points: Option<f64>,
    /// 90th percentile of the absolute error, points.
    pub p90_error_points: Option<f64>,
    /// Measured changes within the predicted interval.
    pub coverage: Rate,
}

impl Summary {
    /// Sums verdicts up.
    pub fn of<'a>(what: &str, judged: impl Iterator<Item = &'a Judged> + Clone) -> Summary {
        let mut errors: Vec<f64> = judged.clone().filter_map(|j| j.error_points).map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        // The smallest error that so many are within.
        let quantile = |q: f64| {
            let rank = (q * errors.len() as f64).ceil() as usize;
            errors.get(rank.saturating_sub(1)).copied()
        };
        Summary {
            of: what.to_owned(),
            records: judged.clone().count(),
            signs: Rate::count(judged.clone().map(|j| j.right_sign)),
            nulls: Rate::count(judged.clone().map(|j| j.right_null)),
            within: Rate::count(judged.clone().map(|j| j.within)),
            median_error_points: quantile(0.5),
            p90_error_points: quantile(0.9),
            coverage: Rate::count(judged.map(|j| j.covered)),
        }
    }

    /// The aims that are missed, in words; one without records to judge it by is missed too.
    pub fn missed(&self, aims: &Aims) -> Vec<String> {
        let share = |r: Rate| r.share().unwrap_or(0.0);
        let most = |x: Option<f64>| x.unwrap_or(f64::INFINITY);
        let coverage = share(self.coverage);
        let checks = [
            (share(self.signs) >= aims.right_signs, "right signs"),
            (share(self.nulls) >= aims.right_nulls, "nulls as null"),
            (most(self.median_error_points) <= aims.median_error_points, "median error"),
            (most(self.p90_error_points) <= aims.p90_error_points, "90th percentile of the error"),
            ((aims.coverage[0]..=aims.coverage[1]).contains(&coverage), "coverage of the intervals"),
        ];
        checks.into_iter().filter(|(met, _)| !met).map(|(_, what)| what.to_owned()).collect()
    }
}
