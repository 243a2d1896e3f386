//! One capture of several CPUs beside its simulation.

use super::bars::ManyBars;
use super::figures::{Figures, starts_pinned, wanted};
use super::shares::{ShareResult, shares};
use crate::capture::Capture;
use crate::kernels::CompareError;
use crate::measure::timeline;
use crate::simulate::Experiment;
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
    /// Shares of tasks.
    pub shares: Vec<ShareResult>,
    /// Bars missed.
    pub misses: Vec<Miss>,
}

/// A bar that is missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Miss {
    /// A task's share.
    Share,
    /// Context switches.
    Switches,
    /// Migrations.
    Migrations,
    /// The time until every CPU that can be busy is.
    Occupied,
}

impl Miss {
    /// All of them.
    pub const ALL: [Miss; 4] = [Miss::Share, Miss::Switches, Miss::Migrations, Miss::Occupied];
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Miss::Share => "share",
            Miss::Switches => "switches",
            Miss::Migrations => "migrations",
            Miss::Occupied => "occupied",
        }
    }
}

/// Compares a capture with its simulation.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn compare_many(capture: &Capture, bars: &ManyBars) -> Result<ManyComparison, CompareError> {
    let experiment = Experiment::new(capture)?;
    let threads = capture.meta.layout.map_or(1, |l| l.threads_per_core);
    let wanted = wanted(&capture.spec, threads);
    let traced = timeline(capture)?;
    let (run, counts) = experiment.run_counted(experiment.machine())?;
    let real = Figures::of(&traced, &capture.result.balance, &wanted);
    let simulated = Figures::of(&run, &counts, &wanted);
    let shares = shares(&capture.spec, &traced, &run, bars.share_points);
    let mut misses = Vec::new();
    let mut check = |ok: bool, miss| if !ok { misses.push(miss) };
    check(shares.iter().all(|s| s.ok), Miss::Share);
    check(within(real.switches, simulated.switches, bars.switches_pct, 0), Miss::Switches);
    let migrations = (real.migrations(), simulated.migrations());
    check(within(migrations.0, migrations.1, bars.migrations_pct, bars.migrations_count), Miss::Migrations);
    let interval_ms = f64::from(capture.meta.smp);
    check(occupied(real.occupied_ms, simulated.occupied_ms, bars.occupied_pct, interval_ms), Miss::Occupied);
    Ok(ManyComparison {
        profile: experiment.kernel().profile,
        cpus: (capture.meta.smp, threads),
        starts_pinned: starts_pinned(&capture.spec),
        real,
        simulated,
        shares,
        misses,
    })
}

fn within(real: u64, simulated: u64, pct: f64, count: u64) -> bool {
    let off = real.abs_diff(simulated);
    off <= count || off as f64 <= real as f64 * pct / 100.0
}

/// Both sides get there within the tolerance, or neither does.
fn occupied(real: Option<f64>, simulated: Option<f64>, pct: f64, interval_ms: f64) -> bool {
    match (real, simulated) {
        (Some(r), Some(s)) => (r - s).abs() <= (r * pct / 100.0).max(interval_ms),
        (r, s) => r.is_none() && s.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_relative_or_absolute() {
        assert!(within(100, 110, 10.0, 0) && !within(100, 111, 10.0, 0));
        assert!(within(2, 5, 25.0, 3) && !within(2, 6, 25.0, 3) && within(40, 50, 25.0, 3));
        assert!(occupied(Some(20.0), Some(24.0), 25.0, 4.0) && !occupied(Some(20.0), Some(26.0), 25.0, 4.0));
        assert!(occupied(Some(1.0), Some(5.0), 25.0, 4.0) && occupied(None, None, 25.0, 4.0));
        assert!(!occupied(Some(1.0), None, 25.0, 4.0));
    }
}
