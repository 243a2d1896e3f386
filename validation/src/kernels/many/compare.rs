//! One capture of several CPUs beside its simulation.

use super::bars::ManyBars;
use super::check::{Check, ManyBar, medians};
use super::figures::{Figures, starts_pinned, wanted};
use super::own::own_spread_of;
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

/// Delays are known to so many ns, see [`crate::kernels::BARS`].
const DELAY_NS: i64 = 1_000;

/// Compares a capture with its simulation.
///
/// # Errors
/// [`CompareError`] when the capture cannot be simulated or measured.
pub fn compare_many(capture: &Capture, bars: &ManyBars) -> Result<ManyComparison, CompareError> {
    compare_many_with(capture, capture, bars)
}

/// Compares a capture with simulations of another experiment.
pub(in crate::kernels) fn compare_many_with(
    capture: &Capture,
    simulated: &Capture,
    bars: &ManyBars,
) -> Result<ManyComparison, CompareError> {
    let experiment = Experiment::new(simulated)?;
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
