//! One capture of several CPUs beside its simulation.

use super::bars::ManyBars;
use super::figures::{Figures, starts_pinned, wanted};
use super::shares::{TaskShare, shares};
use crate::capture::Capture;
use crate::kernels::CompareError;
use crate::measure::timeline;
use crate::simulate::{CaptureMachine, Experiment};
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
    /// The simulator.
    pub simulated: Figures,
    /// What is held against the bars.
    pub checks: Vec<Check>,
}

impl ManyComparison {
    /// Whether every bar is kept.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|c| c.ok)
    }

    /// Whether a bar is kept.
    pub fn keeps(&self, bar: ManyBar) -> bool {
        self.checks.iter().filter(|c| c.bar == bar).all(|c| c.ok)
    }

    /// Whether all misses are chance: the real kernel's value lies among those of the simulator's own runs on machines that
    /// the captures would allow as well.
    pub fn by_chance(&self) -> bool {
        self.checks.iter().all(|c| c.ok || c.by_chance())
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
    /// In the simulator.
    pub simulated: Option<f64>,
    /// How far apart they may be.
    pub allowed: f64,
    /// Whether they are not.
    pub ok: bool,
    /// Where the bar is missed: least and greatest of the simulator's runs on equally likely machines.
    pub range: Option<(f64, f64)>,
}

impl Check {
    fn new(bar: ManyBar, of: Option<String>, sides: (Option<f64>, Option<f64>), allowed: f64) -> Check {
        let (measured, simulated) = sides;
        let ok = match sides {
            (Some(m), Some(s)) => (m - s).abs() <= allowed,
            (m, s) => m.is_none() && s.is_none(),
        };
        Check { bar, of, measured, simulated, allowed, ok, range: None }
    }

    fn by_chance(&self) -> bool {
        let (min, max) = self.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        self.measured.is_some_and(|m| (min..=max).contains(&m))
    }

    /// Widens the range to a run's value.
    fn widen(&mut self, value: Option<f64>) {
        let value = value.unwrap_or(f64::INFINITY);
        let (min, max) = self.range.unwrap_or((value, value));
        self.range = Some((min.min(value), max.max(value)));
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
    let run = |machine: &CaptureMachine| {
        let (run, counts) = experiment.run_counted(machine)?;
        let simulated = Figures::of(&run, &counts, &wanted);
        let shares = shares(&capture.spec, &traced, &run);
        let checks = checks(&real, &simulated, shares, bars, capture.meta.smp);
        Ok::<_, CompareError>((simulated, checks))
    };
    let (simulated, mut checks) = run(experiment.machine())?;
    if checks.iter().any(|c| !c.ok) {
        let mut others = vec![checks.clone()];
        for machine in experiment.machine().equally_likely(DELAY_NS) {
            others.push(run(&machine)?.1);
        }
        for (i, check) in checks.iter_mut().enumerate().filter(|(_, c)| !c.ok) {
            others.iter().filter_map(|o| o.get(i)).for_each(|o| check.widen(o.simulated));
        }
    }
    Ok(ManyComparison {
        profile: experiment.kernel().profile,
        cpus: (capture.meta.smp, threads),
        starts_pinned: starts_pinned(&capture.spec),
        real,
        simulated,
        checks,
    })
}

/// Everything that is held against a bar. The list is the same for every run of a capture.
fn checks(real: &Figures, simulated: &Figures, shares: Vec<TaskShare>, bars: &ManyBars, cpus: u32) -> Vec<Check> {
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
    fn a_miss_within_the_range_of_equally_likely_runs_is_chance() {
        let mut check = Check::new(ManyBar::Migrations, None, (Some(9.0), Some(2.0)), 3.0);
        check.widen(Some(2.0));
        check.widen(Some(8.0));
        assert!(!check.ok && !check.by_chance());
        check.widen(Some(10.0));
        assert!(check.by_chance() && check.range == Some((2.0, 10.0)));
    }
}
