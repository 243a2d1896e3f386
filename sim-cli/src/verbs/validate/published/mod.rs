//! `cfsim validate published`: published comparisons beside predictions of the same experiments.

mod report;

pub(super) use report::PublishedReport;

use crate::comparison::{self, Plan, Side};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::load::{ScenarioText, Setting};
use crate::output::{Talk, print};
use report::{NotRun, SeriesReport};
use std::path::Path;
use validation::published::{Judged, Measurement, Point, Prediction, Published, Series, Settings};

pub(super) fn main(
    dir: &Path,
    only: Option<&str>,
    runs: u32,
    output: &crate::args::OutputArgs,
    talk: Talk,
) -> Result<(), Failure> {
    output.start_threads()?;
    let report = report(dir, only, runs, talk)?;
    print(&report, output.format)?;
    if report.missed().is_empty() {
        return Ok(());
    }
    Err(Failure::Tolerance(format!("aims missed on the records that judge: {}", report.missed().join(", "))))
}

/// Predicts the records below `dir` of the series whose names contain `only`, `runs` pairs of runs each.
pub(super) fn report(
    dir: &Path,
    only: Option<&str>,
    runs: u32,
    talk: Talk,
) -> Result<PublishedReport, Failure> {
    let published = &Published::load(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    let wanted = |name: &str| only.is_none_or(|text| name.contains(text));
    let mut series = Vec::new();
    for one in published.series.values().filter(|s| wanted(&s.series)) {
        series.push(of_series(published, one, runs, talk)?);
    }
    let not_run: Vec<NotRun> = published
        .not_run
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, why)| NotRun { name: name.clone(), why: why.clone() })
        .collect();
    if series.is_empty() && not_run.is_empty() {
        let known = published.setups.iter().map(|s| s.series.as_str()).collect::<Vec<_>>();
        return Err(Failure::Usage(format!("no series of that name: there are {}", known.join(", "))));
    }
    Ok(PublishedReport::new(published, series, not_run, runs))
}

/// Predicts the records of a series.
fn of_series(published: &Published, series: &Series, runs: u32, talk: Talk) -> Result<SeriesReport, Failure> {
    let mut rows = Vec::new();
    let mut left_out: Vec<NotRun> =
        series.left_out.iter().map(|(name, why)| NotRun { name: name.clone(), why: why.clone() }).collect();
    for m in published.of(&series.series) {
        let Some(point) = series.points.get(&m.id) else { continue };
        talk.progress(&format!("{}: {} pairs of runs", m.id, runs));
        let text = ScenarioText::read(&published.scenario(series, point))?.uncertain(true);
        match predict(&text, series, point, runs) {
            Ok(prediction) => match Judged::of(m, prediction, &published.tolerances) {
                Some(judged) => rows.push(judged),
                None => {
                    left_out.push(NotRun { name: m.id.clone(), why: "no change is published".to_owned() })
                }
            },
            // A record that fails does not take the others with it.
            Err(failure) => left_out.push(NotRun { name: m.id.clone(), why: failure.to_string() }),
        }
    }
    Ok(SeriesReport {
        series: series.series.clone(),
        scenario: series.scenario.clone(),
        cite: published.of(&series.series).next().map(cite).unwrap_or_default(),
        differs: series.differs.clone(),
        rows,
        left_out,
    })
}

fn cite(m: &Measurement) -> String {
    format!("{}, \"{}\", {}", m.source.author, m.source.title, m.source.date)
}

fn predict(text: &ScenarioText, series: &Series, point: &Point, runs: u32) -> Result<Prediction, Failure> {
    let name = point.figure.as_deref().unwrap_or(&series.figure);
    let figure: &'static Figure = figures::by_name(name).map_err(Failure::Usage)?;
    let settings = |s: Settings| -> Vec<Setting> { s.into_iter().collect() };
    let [base, variant] = series.sides(point).map(settings);
    let a = Side::new(text, &[], "base", base)?;
    let b = Side::new(text, &[], "variant", variant)?;
    let plan = Plan { runs, margin: 0.0, figures: vec![figure] };
    let comparison = comparison::compare(a, b, &plan)?;
    let line = comparison.figures.first().and_then(|line| line.difference_percent);
    let estimate = line.ok_or_else(|| Failure::Usage(format!("the runs have no {name}")))?;
    Ok(Prediction { mean: estimate.mean, interval95: estimate.interval95 })
}
