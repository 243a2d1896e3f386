//! The report over several seeds: the mean of each total with its interval.

use super::MAX_TEXT_ROWS;
use crate::experiment::{Row, RunResult};
use crate::figures::{self, Figure, Unit};
use crate::header::{self, Header};
use crate::load::Loaded;
use crate::output::Report;
use crate::stats::{Estimate, Interval};
use crate::text;
use serde::Serialize;
use sim_core::observe::Latencies;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub(super) struct TotalsReport {
    #[serde(flatten)]
    header: Header,
    configuration: serde_json::Value,
    totals: Vec<FigureReport>,
    /// Means of each task, or group of tasks of one name, that every run has.
    tasks: Vec<RowReport>,
    /// The values behind the means, in the order of seeds.
    by_seed: Vec<SeedReport>,
}

#[derive(Debug, Serialize)]
struct FigureReport {
    metric: &'static str,
    #[serde(flatten)]
    estimate: Estimate,
    min: f64,
    max: f64,
    #[serde(skip)]
    figure: &'static Figure,
}

/// The means of one row over the seeds; none where a run has no value.
#[derive(Debug, Serialize)]
struct RowReport {
    label: String,
    count: usize,
    figures: BTreeMap<&'static str, Option<Estimate>>,
}

/// A figure of a task.
struct RowFigure {
    name: &'static str,
    title: &'static str,
    unit: Unit,
    of: fn(&Row) -> Option<f64>,
}

const ROW_FIGURES: &[RowFigure] = &[
    RowFigure {
        name: "cpu_time_ns",
        title: "CPU time",
        unit: Unit::Duration,
        of: |r| Some(r.metrics.cpu_time.0 as f64),
    },
    RowFigure {
        name: "latency_after_wakeup_mean_ns",
        title: "mean latency",
        unit: Unit::Duration,
        of: |r| some_latency(r, |l| l.mean().0),
    },
    RowFigure {
        name: "latency_after_wakeup_p99_ns",
        title: "p99",
        unit: Unit::Duration,
        of: |r| some_latency(r, |l| l.quantile(0.99).0),
    },
    RowFigure {
        name: "voluntary_switches",
        title: "voluntary",
        unit: Unit::Number,
        of: |r| Some(r.metrics.voluntary as f64),
    },
    RowFigure {
        name: "involuntary_switches",
        title: "involuntary",
        unit: Unit::Number,
        of: |r| Some(r.metrics.involuntary as f64),
    },
    RowFigure { name: "work", title: "work", unit: Unit::Number, of: |r| Some(r.metrics.work as f64) },
    RowFigure {
        name: "completion_time_ns",
        title: "completion",
        unit: Unit::Duration,
        of: |r| r.completion.map(|t| t.0 as f64),
    },
];

/// Of latencies after wake-ups, where there are any.
fn some_latency(row: &Row, of: fn(&Latencies) -> u64) -> Option<f64> {
    let latencies = &row.metrics.latency_after_wakeup;
    (latencies.count() > 0).then(|| of(latencies) as f64)
}

/// The rows that every run has.
fn rows(results: &[RunResult], interval: Interval) -> Vec<RowReport> {
    let by_label: Vec<BTreeMap<&str, &Row>> =
        results.iter().map(|r| r.rows.iter().map(|row| (row.label.as_str(), row)).collect()).collect();
    let row = |first: &Row| {
        let all: Option<Vec<&Row>> =
            by_label.iter().map(|rows| rows.get(first.label.as_str()).copied()).collect();
        let all = all?;
        let figures = ROW_FIGURES.iter().map(|figure| {
            let values: Option<Vec<f64>> = all.iter().map(|row| (figure.of)(row)).collect();
            (figure.name, values.and_then(|values| Estimate::of(&values, interval)))
        });
        Some(RowReport { label: first.label.clone(), count: first.count, figures: figures.collect() })
    };
    results.first().into_iter().flat_map(|r| &r.rows).filter_map(row).collect()
}

#[derive(Debug, Serialize)]
struct SeedReport {
    seed: u64,
    ended_by: &'static str,
    totals: BTreeMap<&'static str, f64>,
}

pub(super) fn report(loaded: &Loaded, results: &[RunResult], warnings: Vec<String>) -> TotalsReport {
    let figures = figures::select(&[], results);
    let totals = figures.iter().filter_map(|figure| {
        let values = figures::values(figure, results);
        Some(FigureReport {
            metric: figure.name,
            estimate: Estimate::of(&values, loaded.interval())?,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            figure,
        })
    });
    let by_seed = results.iter().map(|r| SeedReport {
        seed: r.seed,
        ended_by: r.ended_by,
        totals: figures.iter().filter_map(|f| Some((f.name, f.of(r)?))).collect(),
    });
    TotalsReport {
        header: Header { warnings, ..Header::new("run", loaded, results.len() as u32) },
        configuration: header::configuration(loaded),
        totals: totals.collect(),
        tasks: rows(results, loaded.interval()),
        by_seed: by_seed.collect(),
    }
}

impl Report for TotalsReport {
    fn text(&self) -> String {
        let h = &self.header;
        let mut out = format!("{}: kernel {}, {}\n{}", h.scenario, h.kernel, h.seeds_text(), h.notes_text());
        out += "\n";
        let rows = self.totals.iter().map(|t| {
            let show = |x| t.figure.unit.show(x);
            let interval = t.estimate.interval95.map(|(low, high)| format!("{} … {}", show(low), show(high)));
            vec![
                t.figure.title.to_owned(),
                show(t.estimate.mean),
                interval.unwrap_or_else(|| "-".to_owned()),
                show(t.min),
                show(t.max),
            ]
        });
        out += &text::table(&["total", "mean", "95 % interval", "min", "max"], rows);
        out += "\n";
        let head: Vec<&str> = ["mean of"].into_iter().chain(ROW_FIGURES.iter().map(|f| f.title)).collect();
        let rows = self.tasks.iter().take(MAX_TEXT_ROWS).map(|row| {
            let cell = |figure: &RowFigure| match row.figures.get(figure.name) {
                Some(Some(estimate)) => figure.unit.show(estimate.mean),
                _ => "-".to_owned(),
            };
            let label = super::label(&row.label, row.count);
            [label].into_iter().chain(ROW_FIGURES.iter().map(cell)).collect()
        });
        out += &text::table(&head, rows);
        if self.tasks.len() > MAX_TEXT_ROWS {
            out += &format!("the first {MAX_TEXT_ROWS} of {} rows; JSON has all\n", self.tasks.len());
        }
        out
    }
}
