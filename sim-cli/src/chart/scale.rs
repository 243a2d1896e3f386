//! From values to places on paper.

/// A scale from values to a range of places.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    /// Equal factors far from zero, equal differences near it.
    signed_log: bool,
}

impl Scale {
    /// An even scale over these values and a little more.
    pub(super) fn even(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = range(values);
        let room = if high > low { (high - low) * 0.06 } else { low.abs().max(1.0) * 0.1 };
        Scale { low: low - room, high: high + room, from, to, signed_log: false }
    }

    /// A scale for changes from a few to thousands of percent, of either sign.
    pub(super) fn signed_log(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let (low, high) = range(values.chain([0.0]));
        let scale = Scale { low: 0.0, high: 0.0, from, to, signed_log: true };
        let (low, high) = (scale.bend(low), scale.bend(high));
        let room = (high - low).max(0.5) * 0.06;
        Scale { low: low - room, high: high + room, ..scale }
    }

    fn bend(self, value: f64) -> f64 {
        if self.signed_log { value.signum() * value.abs().ln_1p() } else { value }
    }

    /// The place of a value.
    pub(super) fn place(self, value: f64) -> f64 {
        self.from + (self.bend(value) - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// Round values within the scale, for a grid.
    pub(super) fn ticks(self) -> Vec<f64> {
        let within = |x: &f64| (self.low..=self.high).contains(&self.bend(*x));
        if self.signed_log {
            const STEPS: [f64; 10] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4];
            let negative = STEPS.iter().rev().map(|x| -x);
            return negative.chain([0.0]).chain(STEPS).filter(within).collect();
        }
        let step = round_step((self.high - self.low) / 5.0);
        let first = (self.low / step).ceil();
        (0..12).map(|i| (first + f64::from(i)) * step).filter(within).collect()
    }
}

/// The next step of 1, 2 or 5 times a power of ten.
fn round_step(at_least: f64) -> f64 {
    let power = 10f64.powf(at_least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * power >= at_least).unwrap_or(10.0);
    factor * power
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let values = values.filter(|x| x.is_finite());
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_scales_put_values_in_order_within_their_range() {
        let s = Scale::even([2.0, 4.0].into_iter(), 0.0, 100.0);
        let (a, b) = (s.place(2.0), s.place(4.0));
        assert!(0.0 < a && a < b && b < 100.0);
        assert_eq!(s.ticks(), [2.0, 2.5, 3.0, 3.5, 4.0]);
        // Up is a smaller place.
        assert!(Scale::even([0.0, 1.0].into_iter(), 100.0, 0.0).place(1.0) < 50.0);
    }

    #[test]
    fn one_value_or_none_still_has_a_scale() {
        for values in [vec![], vec![7.0], vec![f64::NAN]] {
            let s = Scale::even(values.into_iter(), 0.0, 1.0);
            assert!(s.place(7.0).is_finite() && !s.ticks().is_empty());
        }
    }

    #[test]
    fn signed_logs_are_symmetric() {
        let s = Scale::signed_log([-4000.0, 4000.0].into_iter(), 0.0, 100.0);
        assert!((s.place(0.0) - 50.0).abs() < 1e-9);
        assert!((s.place(300.0) + s.place(-300.0) - 100.0).abs() < 1e-9);
        assert!(s.ticks().contains(&-100.0) && s.ticks().contains(&3e3));
    }
}
