//! Hyper-threading on and off, published for a kernel build on bare metal, in Xen's dom0 and in a guest of 4 CPUs.
//!
//! One number, the speed of a thread while its sibling is busy, is fitted on the first series and predicts the others. dom0
//! is taken for the same machine with the costs of a guest; the guest for four CPUs of which the hypervisor puts each on a
//! core of its own, with hyper-threading or without. What the hypervisor really does is outside of the model. Deviates: D-186.

use super::build::{BuildError, Role, elapsed, settings};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::RangeInclusive;

/// The measurements.
const PUBLISHED: &str = include_str!("../../published/smt.json");
/// A prediction may be off by so many points: the bar of the comparison, set before looking.
pub const TOLERANCE_POINTS: f64 = 3.0;
/// Where the factor is looked for, in thousandths: two threads do as much as one, or 1.8 times as much.
const FACTORS: RangeInclusive<u32> = 500..=900;

/// Where a series was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The machine itself.
    BareMetal,
    /// Xen's first guest, with all CPUs.
    Dom0,
    /// A guest of 4 CPUs.
    Guest4,
}

/// A measurement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// N of `make -jN`.
    pub jobs: u32,
    /// Elapsed time with hyper-threading.
    pub on_s: f64,
    /// Without.
    pub off_s: f64,
}

/// A series of measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Where it was measured.
    pub place: Place,
    /// What it is for.
    pub role: Role,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// The published measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was measured on what.
    pub about: String,
    /// By whom.
    pub source: String,
    /// The series.
    pub series: Vec<Series>,
}

/// One published ratio and the simulator's. A ratio is what the time grows by without hyper-threading, in percent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// The series.
    pub series: String,
    /// What it is for.
    pub role: Role,
    /// N of `make -jN`.
    pub jobs: u32,
    /// As published.
    pub published_percent: f64,
    /// As simulated.
    pub simulated_percent: f64,
}

impl Predicted {
    /// How far the simulator is off, in points.
    pub fn off_by(&self) -> f64 {
        self.simulated_percent - self.published_percent
    }
}

/// The fit and what it predicts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SmtReport {
    /// Speed of a thread while its sibling is busy, in thousandths.
    pub factor: u32,
    /// Every published ratio.
    pub rows: Vec<Predicted>,
}

/// The published measurements.
///
/// # Errors
/// When they are not what they should be.
pub fn published() -> Result<Published, BuildError> {
    Ok(serde_json::from_str(PUBLISHED)?)
}

/// Builds of so many objects under one seed.
struct Build {
    objects: u32,
    seed: u64,
}

impl Build {
    /// How long it takes, s. The factor says nothing where a core has one thread.
    fn time(&self, place: Place, threads: u32, jobs: u32, factor: u32) -> Result<f64, BuildError> {
        let preset = if place == Place::BareMetal { "bare-metal" } else { "guest" };
        let threads = if place == Place::Guest4 { 1 } else { threads };
        let settings = settings([
            ("machine.topology", format!("1x1x4x{threads}")),
            ("machine.smt.compute", format!("{}", f64::from(factor) / 1000.0)),
            ("costs.preset", preset.to_owned()),
            ("workload.kernel_compile.jobs", jobs.to_string()),
            ("workload.kernel_compile.objects", self.objects.to_string()),
        ]);
        elapsed(&settings, self.seed)
    }
}

/// A series with the simulated times without hyper-threading, which no factor changes.
struct Baseline<'a> {
    series: &'a Series,
    off_s: Vec<f64>,
}

impl<'a> Baseline<'a> {
    fn of(build: &Build, series: &'a Series) -> Result<Baseline<'a>, BuildError> {
        let off = |row: &Row| build.time(series.place, 1, row.jobs, *FACTORS.end());
        let off_s = series.rows.iter().map(off).collect::<Result<_, _>>()?;
        Ok(Baseline { series, off_s })
    }

    /// The ratios, published and simulated.
    fn predict(&self, build: &Build, factor: u32) -> Result<Vec<Predicted>, BuildError> {
        let series = self.series;
        let row = |(row, off): (&Row, &f64)| {
            Ok(Predicted {
                series: series.name.clone(),
                role: series.role,
                jobs: row.jobs,
                published_percent: percent(row.off_s, row.on_s),
                simulated_percent: percent(*off, build.time(series.place, 2, row.jobs, factor)?),
            })
        };
        series.rows.iter().zip(&self.off_s).map(row).collect()
    }
}

fn percent(off: f64, on: f64) -> f64 {
    (off / on - 1.0) * 100.0
}

fn squares(rows: &[Predicted]) -> f64 {
    rows.iter().map(|r| r.off_by().powi(2)).sum()
}

/// Fits the factor on the series named for it by least squares over its ratios, with builds of so many objects, and predicts
/// every series.
///
/// # Errors
/// When data, scenario or a run is not what it should be.
pub fn compare(objects: u32, seed: u64) -> Result<SmtReport, BuildError> {
    let (build, published) = (Build { objects, seed }, published()?);
    let baselines: Vec<Baseline<'_>> =
        published.series.iter().map(|s| Baseline::of(&build, s)).collect::<Result<_, _>>()?;
    let to_fit: Vec<&Baseline<'_>> = baselines.iter().filter(|b| b.series.role == Role::Fit).collect();
    let badness =
        |factor| to_fit.iter().try_fold(0.0, |sum, b| Ok(sum + squares(&b.predict(&build, factor)?)));
    let factor = least(FACTORS, badness)?;
    let rows = baselines.iter().map(|b| b.predict(&build, factor)).collect::<Result<Vec<_>, _>>()?;
    Ok(SmtReport { factor, rows: rows.into_iter().flatten().collect() })
}

/// Where a function with one valley is least, to 5: by looking at five points around the best so far, ever closer.
fn least(range: RangeInclusive<u32>, f: impl Fn(u32) -> Result<f64, BuildError>) -> Result<u32, BuildError> {
    let (mut low, mut high) = range.into_inner();
    loop {
        let step = ((high - low) / 4).max(5);
        let mut best = (f64::INFINITY, low);
        for at in (low..=high).step_by(step as usize) {
            let value = f(at)?;
            if value < best.0 {
                best = (value, at);
            }
        }
        if step == 5 {
            return Ok(best.1);
        }
        (low, high) = (best.1.saturating_sub(step).max(low), (best.1 + step).min(high));
    }
}

impl SmtReport {
    /// Whether every ratio that judges is within the tolerance.
    pub fn passed(&self) -> bool {
        self.rows.iter().filter(|r| r.role == Role::Judge).all(|r| r.off_by().abs() <= TOLERANCE_POINTS)
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "a thread beside a busy sibling works at {:.3} of full speed (fitted)\n\n\
             what the time grows by without hyper-threading\n\
             series       role   jobs   published   simulated   off by\n",
            f64::from(self.factor) / 1000.0
        );
        for r in &self.rows {
            let role = r.role.name();
            let late =
                if r.role == Role::Judge && r.off_by().abs() > TOLERANCE_POINTS { "  missed" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:<12} {role:<5} {:>5} {:>9.1} % {:>9.1} % {:>+8.1}{late}",
                r.series,
                r.jobs,
                r.published_percent,
                r.simulated_percent,
                r.off_by()
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_found() {
        for valley in [500, 637, 662, 900] {
            let found = least(FACTORS, |x| Ok((f64::from(x) - f64::from(valley)).powi(2))).unwrap();
            assert!(found.abs_diff(valley) <= 5, "{found} for {valley}");
        }
    }

    #[test]
    fn three_series_of_four_ratios_one_of_them_to_fit() {
        let published = published().unwrap();
        assert!(published.series.iter().all(|s| s.rows.len() == 4));
        let roles: Vec<Role> = published.series.iter().map(|s| s.role).collect();
        assert_eq!(roles, [Role::Fit, Role::Judge, Role::Judge]);
        let first = &published.series[0].rows[2];
        assert!((percent(first.off_s, first.on_s) - 31.23).abs() < 0.01);
    }
}
