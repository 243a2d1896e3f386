//! `cfsim validate published`: published comparisons beside predictions of the same experiments.

use crate::chart::{self, Bar};
use crate::comparison::{self, Plan, Side};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::load::{ScenarioText, Setting};
use crate::output::{Report, Talk, print};
use crate::text;
use serde::Serialize;
use std::fmt::Write;
use validation::published::{
    Aims, Judged, Measurement, Point, Prediction, Published, Rate, Series, Settings, Split, Suitability,
    Summary,
};

/// Predicts the records of the series whose names contain `only`, `runs` seeds each, and prints them.
pub(super) fn validate(
    published: &Published,
    only: Option<&str>,
    runs: u32,
    output: &crate::args::OutputArgs,
    talk: Talk,
) -> Result<(), Failure> {
    output.start_threads()?;
    let report = run(published, only, runs, talk)?;
    print(&report, output.format)?;
    if report.missed.is_empty() {
        return Ok(());
    }
    Err(Failure::Tolerance(format!("aims missed on the records that judge: {}", report.missed.join(", "))))
}

/// The predictions.
pub(super) fn run(
    published: &Published,
    only: Option<&str>,
    runs: u32,
    talk: Talk,
) -> Result<PublishedReport, Failure> {
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

/// What is not run, and why.
#[derive(Debug, Serialize)]
struct NotRun {
    name: String,
    why: String,
}

/// A series and its verdicts.
#[derive(Debug, Serialize)]
struct SeriesReport {
    series: String,
    scenario: String,
    cite: String,
    differs: String,
    rows: Vec<Judged>,
    left_out: Vec<NotRun>,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(super) struct PublishedReport {
    schema_version: u32,
    verb: &'static str,
    runs: u32,
    series: Vec<SeriesReport>,
    not_run: Vec<NotRun>,
    summaries: Vec<Summary>,
    aims: Aims,
    /// Aims missed on the records that judge.
    missed: Vec<String>,
}

impl PublishedReport {
    fn new(
        published: &Published,
        series: Vec<SeriesReport>,
        not_run: Vec<NotRun>,
        runs: u32,
    ) -> PublishedReport {
        let of = |split: Split, suitability: Option<Suitability>| {
            let rows = series.iter().flat_map(|s| &s.rows);
            rows.filter(move |r| r.split == split && suitability.is_none_or(|s| r.suitability == s))
        };
        let judge = Summary::of(ALL_JUDGES, of(Split::Judge, None));
        let missed = if judge.records > 0 { judge.missed(&published.tolerances.aims) } else { Vec::new() };
        let summaries = vec![
            Summary::of("judge, quantitative", of(Split::Judge, Some(Suitability::Quantitative))),
            Summary::of("judge, direction", of(Split::Judge, Some(Suitability::Direction))),
            judge,
            Summary::of("calibrate, all", of(Split::Calibrate, None)),
        ];
        PublishedReport {
            schema_version: 1,
            verb: "validate published",
            runs,
            series,
            not_run,
            summaries,
            aims: published.tolerances.aims,
            missed,
        }
    }
}

impl PublishedReport {
    /// All records that judge, summed up; none when nothing was run.
    pub(super) fn judged(&self) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.of == ALL_JUDGES && s.records > 0)
    }

    pub(super) fn aims(&self) -> &Aims {
        &self.aims
    }

    pub(super) fn missed(&self) -> &[String] {
        &self.missed
    }

    /// Every verdict with its group: size, direction, calibration.
    pub(super) fn judgements(&self) -> impl Iterator<Item = (usize, &Judged)> + Clone {
        self.series.iter().flat_map(|s| &s.rows).map(|j| match (j.split, j.suitability) {
            (Split::Calibrate, _) => (2, j),
            (_, Suitability::Direction) => (1, j),
            _ => (0, j),
        })
    }

    /// A drawing a series: file, what it shows, SVG.
    pub(super) fn drawings(&self) -> Vec<(String, String, String)> {
        let drawing = |s: &SeriesReport| {
            let bar = |j: &Judged| Bar {
                label: j.id.strip_prefix(&format!("{}-", s.series)).unwrap_or(&j.id).to_owned(),
                measured: Some(j.measured_percent),
                predicted: j.predicted.mean,
                interval: j.predicted.interval95,
            };
            let bars: Vec<Bar> = s.rows.iter().map(bar).collect();
            (format!("published-{}.svg", s.series), s.cite.clone(), chart::bars(&s.series, &bars))
        };
        self.series.iter().filter(|s| !s.rows.is_empty()).map(drawing).collect()
    }

    /// The scenario of every series, seen from `validation/reports`.
    pub(super) fn links(&self) -> Vec<(String, String)> {
        let link = |s: &SeriesReport| (s.series.clone(), format!("../published/scenarios/{}", s.scenario));
        self.series.iter().map(link).collect()
    }
}

/// Name of the summary that the aims hold for.
const ALL_JUDGES: &str = "judge, all";

/// A signed percentage.
fn percent(x: f64) -> String {
    format!("{x:+.1} %")
}

fn rate(r: Rate) -> String {
    match r.share() {
        Some(share) => format!("{}/{} = {}", r.right, r.of, text::percent(share)),
        None => "-".to_owned(),
    }
}

impl Report for PublishedReport {
    fn text(&self) -> String {
        let mut out = format!(
            "Published comparisons beside predictions: change from base to variant, {} of runs a record, costs drawn from their ranges\n",
            text::plural(u64::from(self.runs), "pair"),
        );
        for s in &self.series {
            // Writing to a String cannot fail.
            let _ = write!(out, "\n{}: {}\ndiffers: {}\n", s.series, s.cite, s.differs);
            out += &text::table(&HEAD, rows(&s.rows));
            for left in &s.left_out {
                let _ = writeln!(out, "not run: {}: {}", left.name, left.why);
            }
        }
        out += "\nSeries that are not run\n";
        for n in &self.not_run {
            let _ = writeln!(out, "{}: {}", n.name, n.why);
        }
        out += "\nSummary\n";
        out += &text::table(&SUMMARY_HEAD, summary_rows(&self.summaries));
        out
    }
}

/// Columns of a series.
const HEAD: [&str; 8] =
    ["record", "for", "measured", "spread", "predicted", "95 % interval", "error", "verdict"];

fn rows(judged: &[Judged]) -> impl Iterator<Item = Vec<String>> {
    judged.iter().map(|j| {
        let interval = j.predicted.interval95;
        let interval = interval.map_or_else(|| "-".to_owned(), |(a, b)| format!("{a:+.1} … {b:+.1}"));
        let for_what = match (j.suitability, j.split) {
            (_, Split::Calibrate) => "calibration",
            (Suitability::Direction, _) => "direction",
            _ => "size",
        };
        vec![
            j.id.clone(),
            for_what.to_owned(),
            percent(j.measured_percent),
            format!("{:.1} %", j.spread_percent),
            percent(j.predicted.mean),
            interval,
            j.error_points.map_or_else(|| "-".to_owned(), |e| format!("{e:+.1}")),
            j.words().to_owned(),
        ]
    })
}

/// Columns of the summary.
const SUMMARY_HEAD: [&str; 8] =
    ["of", "records", "right signs", "nulls as null", "right sizes", "median error", "p90 error", "coverage"];

fn summary_rows(summaries: &[Summary]) -> impl Iterator<Item = Vec<String>> {
    let points = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1} points"));
    summaries.iter().map(move |s| {
        vec![
            s.of.clone(),
            s.records.to_string(),
            rate(s.signs),
            rate(s.nulls),
            rate(s.within),
            points(s.median_error_points),
            points(s.p90_error_points),
            rate(s.coverage),
        ]
    })
}
