//! The report over several seeds: the mean of each total with its interval.

use crate::experiment::RunResult;
use crate::figures::{self, Figure};
use crate::header::{self, Header};
use crate::load::Loaded;
use crate::output::Report;
use crate::stats::Estimate;
use crate::text;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
pub(super) struct TotalsReport {
    #[serde(flatten)]
    header: Header,
    configuration: serde_json::Value,
    totals: Vec<FigureReport>,
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
            estimate: Estimate::of(&values)?,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            figure,
        })
    });
    let by_seed = results.iter().map(|r| SeedReport {
        seed: r.seed,
        ended_by: r.ended_by,
        totals: figures.iter().filter_map(|f| Some((f.name, (f.of)(r)?))).collect(),
    });
    TotalsReport {
        header: Header { warnings, ..Header::new("run", loaded, results.len() as u32) },
        configuration: header::configuration(loaded),
        totals: totals.collect(),
        by_seed: by_seed.collect(),
    }
}

impl Report for TotalsReport {
    fn text(&self) -> String {
        let h = &self.header;
        let mut out = format!(
            "{}: kernel {}, {} seeds from {} on; the first {} of each run are left out\n",
            h.scenario,
            h.model,
            h.runs,
            h.seed,
            text::duration(h.warmup_ns as f64)
        );
        out += &h.notes_text();
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
        out
    }
}
