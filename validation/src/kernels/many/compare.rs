//! One capture of several CPUs beside its simulation.

use super::bars::ManyBars;
use super::figures::{Figures, starts_pinned, wanted};
use super::own::{OwnSpread, own_spread_of};
use super::shares::{TaskShare, shares};
use crate::capture::Capture;
use crate::kernels::CompareError;
use crate::measure::timeline;
use crate::simulate::{CaptureMachine, Experiment, Starts};
use serde::Serialize;

/// A capture of several CPUs beside its simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ManyComparison {
    /// The kernel's profile.
    pub profile: &'static str,
    /// CPUs, and hardware threads of a core.
    pub cpus: (u32, u32),
    /// Whether tasks start pinned to CPUs.
    pub starts_pinned: bool,
    /// The real kernel.
    pub real: Figures,
    /// The simulator, from where the captured tasks started: medians of its runs.
    pub simulated: Figures,
    /// What is held against the bars.
    pub checks: Vec<Check>,
    /// The simulator with starts of its own.
    pub free: Figures,
    /// The same checks of those runs.
    pub free_checks: Vec<Check>,
}

impl ManyComparison {
    /// Whether every bar is kept.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|c| c.ok)
    }

    /// Whether every bar is kept, how far a real kernel is from itself left aside.
    pub fn ok_alone(&self) -> bool {
        self.checks.iter().all(|c| c.alone)
    }

    /// Whether every quantity lies within its tolerance, the simulator's own band left aside too.
    pub fn within(&self) -> bool {
        self.checks.iter().all(|c| c.within)
    }

    /// Whether every bar is kept by runs with starts of the simulator's own.
    pub fn ok_free(&self) -> bool {
        self.free_checks.iter().all(|c| c.ok)
    }

    /// Whether a bar is kept.
    pub fn keeps(&self, bar: ManyBar) -> bool {
        self.checks.iter().filter(|c| c.bar == bar).all(|c| c.ok)
    }
}

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
    fn new(bar: ManyBar, of: Option<String>, sides: (Option<f64>, Option<f64>), allowed: f64) -> Check {
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
    fn heed(&mut self, own: &OwnSpread) {
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

/// Delays are known to so many ns, see [`crate::kernels::BARS`].
const DELAY_NS: i64 = 1_000;

/// Compares a capture with its simulation.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn compare_many(capture: &Capture, bars: &ManyBars) -> Result<ManyComparison, CompareError> {
    let experiment = Experiment::new(capture)?;
    let threads = capture.meta.layout.map_or(1, |l| l.threads_per_core);
    let wanted = wanted(&capture.spec, threads);
    let traced = timeline(capture)?;
    let real = Figures::of(&traced, &capture.result.balance, &wanted);
    let nominal = experiment.machine();
    let machines: Vec<CaptureMachine> =
        std::iter::once(nominal.clone()).chain(nominal.equally_likely(DELAY_NS)).collect();
    let own = own_spread_of(capture);
    let run_all = |starts| -> Result<(Figures, Vec<Check>), CompareError> {
        let mut runs = Vec::new();
        for (machine, seed) in machines.iter().zip(0..) {
            let (run, counts) = experiment.run_counted(machine, seed, starts)?;
            let simulated = Figures::of(&run, &counts, &wanted);
            let shares = shares(&capture.spec, &traced, &run);
            let checks = checks(&real, &simulated, shares, bars, capture.meta.smp);
            runs.push((simulated, checks));
        }
        let mut checks = medians(runs.iter().map(|(_, checks)| checks.as_slice()));
        if let Some(own) = &own {
            checks.iter_mut().for_each(|c| c.heed(own));
        }
        Ok((Figures::medians(runs.iter().map(|(figures, _)| figures)), checks))
    };
    let (simulated, checks) = run_all(Starts::AsCaptured)?;
    let (free, free_checks) = run_all(Starts::Free)?;
    Ok(ManyComparison {
        profile: experiment.kernel().profile,
        cpus: (capture.meta.smp, threads),
        starts_pinned: starts_pinned(&capture.spec),
        real,
        simulated,
        checks,
        free,
        free_checks,
    })
}

/// Compares a capture with another of the same experiment on a real kernel, as if that were a run of the simulator.
///
/// # Errors
/// [`CompareError`] when a capture cannot be measured.
pub fn compare_captures(
    capture: &Capture,
    other: &Capture,
    bars: &ManyBars,
) -> Result<Vec<Check>, CompareError> {
    let threads = capture.meta.layout.map_or(1, |l| l.threads_per_core);
    let wanted = wanted(&capture.spec, threads);
    let figures = |c: &Capture| -> Result<_, CompareError> {
        let traced = timeline(c)?;
        Ok((Figures::of(&traced, &c.result.balance, &wanted), traced))
    };
    let ((real, traced), (run, retraced)) = (figures(capture)?, figures(other)?);
    let shares = shares(&capture.spec, &traced, &retraced);
    Ok(checks(&real, &run, shares, bars, capture.meta.smp))
}

/// The runs' lists of checks as one.
fn medians<'a>(runs: impl Iterator<Item = &'a [Check]>) -> Vec<Check> {
    let runs: Vec<&[Check]> = runs.collect();
    let length = runs.iter().map(|r| r.len()).min().unwrap_or(0);
    (0..length).filter_map(|i| Check::median(&runs.iter().map(|r| &r[i]).collect::<Vec<_>>())).collect()
}

/// Everything that is held against a bar. The list is the same for every run of a capture.
fn checks(
    real: &Figures,
    simulated: &Figures,
    shares: Vec<TaskShare>,
    bars: &ManyBars,
    cpus: u32,
) -> Vec<Check> {
    let share = |s: TaskShare| {
        let sides = (Some(s.measured_pct), Some(s.simulated_pct));
        Check::new(ManyBar::Share, Some(s.name), sides, bars.share_points.max(s.turn_pct))
    };
    let mut checks: Vec<Check> = shares.into_iter().map(share).collect();
    let mut count = |bar, real: u64, simulated: u64, pct: f64, count: f64| {
        let (real, simulated) = (real as f64, simulated as f64);
        checks.push(Check::new(bar, None, (Some(real), Some(simulated)), (real * pct / 100.0).max(count)));
    };
    count(ManyBar::Switches, real.switches, simulated.switches, bars.switches_pct, 0.0);
    let few = bars.migrations_count as f64;
    count(ManyBar::Migrations, real.migrations(), simulated.migrations(), bars.migrations_pct, few);
    let (r, s) = (real.occupied_ms, simulated.occupied_ms);
    let interval_ms = f64::from(cpus);
    let allowed = r.map_or(0.0, |ms| ms * bars.occupied_pct / 100.0).max(interval_ms);
    checks.push(Check::new(ManyBar::Occupied, None, (r, s), allowed));
    checks
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
