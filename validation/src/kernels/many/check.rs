//! One quantity held against its bar.

use super::own::OwnSpread;
use serde::Serialize;

/// A quantity held against its bar.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The bar.
    pub bar: ManyBar,
    /// Whose share it is, where it is one.
    pub of: Option<String>,
    /// On the real kernel: %, a number, or ms; none if it never comes.
    pub measured: Option<f64>,
    /// In the simulator: the median of its runs.
    pub simulated: Option<f64>,
    /// The band: least and greatest of its runs.
    pub band: (f64, f64),
    /// How far apart they may be.
    pub allowed: f64,
    /// How far a real kernel is from itself, where that is known.
    pub own: Option<f64>,
    /// Whether they are not farther apart than allowed.
    pub within: bool,
    /// Whether the bar is kept within that tolerance, or the real value lies inside the band.
    pub alone: bool,
    /// Whether the bar is kept so, or the two are not farther apart than a real kernel is from itself.
    pub ok: bool,
}

impl Check {
    /// A check of one run.
    pub(super) fn new(
        bar: ManyBar,
        of: Option<String>,
        sides: (Option<f64>, Option<f64>),
        allowed: f64,
    ) -> Check {
        let (measured, simulated) = sides;
        let within = match sides {
            (Some(m), Some(s)) => (m - s).abs() <= allowed,
            (m, s) => m.is_none() && s.is_none(),
        };
        let at = simulated.unwrap_or(f64::INFINITY);
        Check {
            bar,
            of,
            measured,
            simulated,
            band: (at, at),
            allowed,
            own: None,
            within,
            alone: within,
            ok: within,
        }
    }

    /// The same check of several runs, as one with their median and band.
    fn median(runs: &[&Check]) -> Option<Check> {
        let first = runs.first()?;
        let mut values: Vec<f64> = runs.iter().map(|c| c.simulated.unwrap_or(f64::INFINITY)).collect();
        values.sort_by(f64::total_cmp);
        let middle = Some(values[values.len() / 2]).filter(|v| v.is_finite());
        let mut check = Check::new(first.bar, first.of.clone(), (first.measured, middle), first.allowed);
        let (min, max) = (values[0], values[values.len() - 1]);
        check.band = (min, max);
        check.alone |= (min..=max).contains(&first.measured.unwrap_or(f64::INFINITY));
        check.ok = check.alone;
        Some(check)
    }

    /// Heeds how far a real kernel is from itself.
    pub(super) fn heed(&mut self, own: &OwnSpread) {
        self.own = own.of(self);
        if let (Some(own), Some(m), Some(s)) = (self.own, self.measured, self.simulated) {
            self.ok |= (m - s).abs() <= own;
        }
    }
}

/// What a bar is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ManyBar {
    /// A task's share.
    Share,
    /// Context switches.
    Switches,
    /// Migrations.
    Migrations,
    /// The time until every CPU that can be busy is.
    Occupied,
}

impl ManyBar {
    /// All of them.
    pub const ALL: [ManyBar; 4] = [ManyBar::Share, ManyBar::Switches, ManyBar::Migrations, ManyBar::Occupied];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            ManyBar::Share => "share",
            ManyBar::Switches => "switches",
            ManyBar::Migrations => "migrations",
            ManyBar::Occupied => "occupied",
        }
    }
}

/// The runs' lists of checks as one.
pub(super) fn medians<'a>(runs: impl Iterator<Item = &'a [Check]>) -> Vec<Check> {
    let runs: Vec<&[Check]> = runs.collect();
    let length = runs.iter().map(|r| r.len()).min().unwrap_or(0);
    (0..length).filter_map(|i| Check::median(&runs.iter().map(|r| &r[i]).collect::<Vec<_>>())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_relative_or_absolute() {
        let ok = |m, s, allowed| Check::new(ManyBar::Switches, None, (m, s), allowed).ok;
        assert!(ok(Some(100.0), Some(110.0), 10.0) && !ok(Some(100.0), Some(111.0), 10.0));
        assert!(ok(None, None, 1.0) && !ok(Some(1.0), None, 100.0));
    }

    #[test]
    fn runs_are_one_by_their_median_and_band() {
        let run = |s| Check::new(ManyBar::Migrations, None, (Some(9.0), s), 3.0);
        let runs = [run(Some(2.0)), run(Some(8.5)), run(Some(4.0)), run(Some(5.0)), run(Some(3.0))];
        let of = |runs: &[Check]| Check::median(&runs.iter().collect::<Vec<_>>()).unwrap();
        let check = of(&runs);
        assert_eq!(
            (check.simulated, check.band, check.within, check.ok),
            (Some(4.0), (2.0, 8.5), false, false)
        );
        let check = of(&[runs[0].clone(), runs[2].clone(), run(None)]);
        assert_eq!((check.simulated, check.within, check.ok), (Some(4.0), false, true));
        let lists = [vec![runs[0].clone()], vec![runs[1].clone()]];
        let one = medians(lists.iter().map(Vec::as_slice));
        assert_eq!((one.len(), one[0].simulated, one[0].within), (1, Some(8.5), true));
    }
}
