//! Kernel builds by number of jobs, published for five machines.
//!
//! Two points of a machine give the two figures that belong to its build: the work of all objects, as their number and a
//! factor near one, and the serial part, as what follows the link. Every other point is then a prediction, of the same
//! machine with and without hyper-threading too. The speed of a thread beside a busy sibling is that of
//! [`smt`](super::smt). A prediction is the mean over some seeds: which compiler runs last is chance. Deviates: D-232.

mod report;

pub use report::{CompileReport, Fitted, MachineReport, Predicted};

use super::build::{BuildError, Role, elapsed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The measurements.
const PUBLISHED: &str = include_str!("../../../published/compile.json");
/// A prediction may be off by so many percent: the bar of the comparison, set before looking.
pub const TOLERANCE_PERCENT: f64 = 5.0;
/// Objects of the first build of a fit, from which their number follows.
const FIRST_OBJECTS: u32 = 600;
/// The most objects of a fitted build.
const MAX_OBJECTS: f64 = 100_000.0;

/// A measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// N of `make -jN`.
    pub jobs: u32,
    /// Elapsed time.
    pub elapsed_s: f64,
    /// Why the prediction misses it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Measurements that differ in the number of jobs only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Its name.
    pub name: String,
    /// Settings of the scenario beside the machine's.
    pub settings: BTreeMap<String, String>,
    /// The measurements.
    pub rows: Vec<Row>,
}

/// A point that is fitted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The curve.
    pub curve: String,
    /// N of `make -jN`.
    pub jobs: u32,
}

/// A machine and what was measured on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the series.
    pub name: String,
    /// What is known of the machine, and what is assumed.
    pub about: String,
    /// By whom.
    pub source: String,
    /// Settings of the scenario.
    pub settings: BTreeMap<String, String>,
    /// The points that are fitted.
    pub fit: [Point; 2],
    /// The curves.
    pub curves: Vec<Curve>,
}

/// The published measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// What was measured.
    pub about: String,
    /// On which machines.
    pub machines: Vec<Machine>,
}

/// The published measurements.
///
/// # Errors
/// When they are not what they should be.
pub fn published() -> Result<Published, BuildError> {
    Ok(serde_json::from_str(PUBLISHED)?)
}

impl Machine {
    /// How long the build takes, s: the mean over `seeds` seeds.
    fn time(&self, curve: &Curve, jobs: u32, build: Fitted, seeds: u32) -> Result<f64, BuildError> {
        // The factor is on the tail, too.
        let tail = build.tail_s.max(0.0) / build.work_scale;
        let own = [
            ("jobs", jobs.to_string()),
            ("objects", build.objects.to_string()),
            ("work_scale", build.work_scale.to_string()),
            ("tail", format!("{}ns", (tail * 1e9).round())),
        ];
        let own = own.map(|(key, value)| (format!("workload.kernel_compile.{key}"), value));
        let given = self.settings.iter().chain(&curve.settings).map(|(k, v)| (k.clone(), v.clone()));
        let settings: Vec<(String, String)> = given.chain(own).collect();
        let times = (1..=seeds).map(|seed| elapsed(&settings, seed.into()));
        Ok(times.sum::<Result<f64, _>>()? / f64::from(seeds))
    }

    fn point(&self, point: &Point) -> Result<(&Curve, &Row), BuildError> {
        let curve = self.curves.iter().find(|c| c.name == point.curve);
        let row = curve.and_then(|c| Some((c, c.rows.iter().find(|r| r.jobs == point.jobs)?)));
        row.ok_or_else(|| BuildError::NoPoint {
            machine: self.name.clone(),
            curve: point.curve.clone(),
            jobs: point.jobs,
        })
    }

    /// The line through both points, of the time over the simulated time without a serial part: once to find the number
    /// of objects, again to find the rest.
    fn fit(&self, seeds: u32) -> Result<Fitted, BuildError> {
        let points = [self.point(&self.fit[0])?, self.point(&self.fit[1])?];
        let line = |build: Fitted| {
            let x = points.map(|(curve, row)| self.time(curve, row.jobs, build, seeds));
            let [x0, x1] = x;
            let (x0, x1, y0, y1) = (x0?, x1?, points[0].1.elapsed_s, points[1].1.elapsed_s);
            let slope = (y0 - y1) / (x0 - x1);
            Ok::<_, BuildError>((slope, y0 - slope * x0))
        };
        let first = Fitted { objects: FIRST_OBJECTS, work_scale: 1.0, tail_s: 0.0 };
        let (slope, _) = line(first)?;
        let objects = (f64::from(FIRST_OBJECTS) * slope).round().clamp(1.0, MAX_OBJECTS) as u32;
        let (work_scale, tail_s) = line(Fitted { objects, ..first })?;
        Ok(Fitted { objects, work_scale, tail_s })
    }

    /// Fits the build on the points named for it and predicts every time, each as the mean over so many seeds.
    ///
    /// # Errors
    /// When data, scenario or a run is not what it should be.
    pub fn predict(&self, seeds: u32) -> Result<MachineReport, BuildError> {
        let fitted = self.fit(seeds)?;
        let mut rows = Vec::new();
        for curve in &self.curves {
            for row in &curve.rows {
                let is_fit = self.fit.iter().any(|p| p.curve == curve.name && p.jobs == row.jobs);
                rows.push(Predicted {
                    curve: curve.name.clone(),
                    role: if is_fit { Role::Fit } else { Role::Judge },
                    jobs: row.jobs,
                    published_s: row.elapsed_s,
                    simulated_s: self.time(curve, row.jobs, fitted, seeds)?,
                    cause: row.cause.clone(),
                });
            }
        }
        Ok(MachineReport { name: self.name.clone(), fitted, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_has_its_two_points_and_more() {
        for machine in published().unwrap().machines {
            let [a, b] = &machine.fit;
            let (a, b) = (machine.point(a).unwrap().1, machine.point(b).unwrap().1);
            assert!(a.elapsed_s > b.elapsed_s, "{}", machine.name);
            assert!(machine.curves.iter().map(|c| c.rows.len()).sum::<usize>() > 2);
        }
    }

    /// Times that the model itself makes give back what made them.
    #[test]
    fn a_fit_finds_the_build() {
        let mut machine = published().unwrap().machines.remove(0);
        let build = Fitted { objects: 300, work_scale: 1.0, tail_s: 4.0 };
        let curve = machine.curves.remove(0);
        let time = |jobs| machine.time(&curve, jobs, build, 1).unwrap();
        let rows = [2, 4].map(|jobs| Row { jobs, elapsed_s: time(jobs), cause: None }).into();
        machine.curves = vec![Curve { rows, ..curve }];
        let fitted = machine.fit(1).unwrap();
        let work = f64::from(fitted.objects) * fitted.work_scale;
        assert!((work / 300.0 - 1.0).abs() < 0.03, "{fitted:?}");
        // A little more work and a little less tail are the same build: what counts is the times, also at other jobs.
        for jobs in [2, 4, 8] {
            let [of, with] = [build, fitted].map(|b| machine.time(&machine.curves[0], jobs, b, 1).unwrap());
            assert!((with / of - 1.0).abs() < 0.02, "-j{jobs}: {with} instead of {of}, {fitted:?}");
        }
    }
}
