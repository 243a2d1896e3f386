//! Predictions of published comparisons as a report.

use crate::chart::{self, Bar};
use crate::output::Report;
use crate::text;
use serde::Serialize;
use std::fmt::Write;
use validation::published::{Aims, Judged, Published, Rate, Split, Suitability, Summary};

/// What is not run, and why.
#[derive(Debug, Serialize)]
pub(super) struct NotRun {
    pub(super) name: String,
    pub(super) why: String,
}

/// A series and its verdicts.
#[derive(Debug, Serialize)]
pub(super) struct SeriesReport {
    pub(super) series: String,
    pub(super) scenario: String,
    pub(super) cite: String,
    pub(super) differs: String,
    pub(super) rows: Vec<Judged>,
    pub(super) left_out: Vec<NotRun>,
}

/// All of it.
#[derive(Debug, Serialize)]
pub(in crate::verbs::validate) struct PublishedReport {
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
    pub(super) fn new(
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
    pub(in crate::verbs::validate) fn judged(&self) -> Option<&Summary> {
        self.summaries.iter().find(|s| s.of == ALL_JUDGES && s.records > 0)
    }

    pub(in crate::verbs::validate) fn aims(&self) -> &Aims {
        &self.aims
    }

    pub(in crate::verbs::validate) fn missed(&self) -> &[String] {
        &self.missed
    }

    /// Every verdict with its group: size, direction, calibration.
    pub(in crate::verbs::validate) fn judgements(&self) -> impl Iterator<Item = (usize, &Judged)> + Clone {
        self.series.iter().flat_map(|s| &s.rows).map(|j| match (j.split, j.suitability) {
            (Split::Calibrate, _) => (2, j),
            (_, Suitability::Direction) => (1, j),
            _ => (0, j),
        })
    }

    /// A drawing a series: file, what it shows, SVG.
    pub(in crate::verbs::validate) fn drawings(&self) -> Vec<(String, String, String)> {
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
    pub(in crate::verbs::validate) fn links(&self) -> Vec<(String, String)> {
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
