//! Published comparisons in the report.

use super::scoreboard::Headline;
use crate::chart::{self, Dot};
use crate::document::{Block, Document};
use crate::output::Report;
use crate::verbs::validate::published::PublishedReport;

pub(super) fn headlines(report: &PublishedReport) -> Vec<Headline> {
    let Some(s) = report.judged() else { return Vec::new() };
    let share = |r: validation::published::Rate| match r.share() {
        Some(share) => format!("{} of {} = {:.0} %", r.right, r.of, 100.0 * share),
        None => "none".to_owned(),
    };
    let points = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| format!("{x:.1} points"));
    let aims = report.aims();
    let line = |what: &str, reached: String, bar: String| Headline {
        met: !report.missed().iter().any(|m| m == what),
        what: what.to_owned(),
        reached,
        bar,
    };
    let percent = |x: f64| format!("{:.0} %", 100.0 * x);
    let mut lines = vec![
        line("right signs", share(s.signs), percent(aims.right_signs)),
        line("nulls as null", share(s.nulls), percent(aims.right_nulls)),
        line("median error", points(s.median_error_points), points(Some(aims.median_error_points))),
        line("90th percentile of the error", points(s.p90_error_points), points(Some(aims.p90_error_points))),
        line(
            "coverage of the intervals",
            share(s.coverage),
            format!("{} to {}", percent(aims.coverage[0]), percent(aims.coverage[1])),
        ),
    ];
    lines.iter_mut().for_each(|l| l.what = format!("published comparisons: {}", l.what));
    lines
}

pub(super) fn blocks(d: &mut Document, report: &PublishedReport) {
    let groups = ["size, judging", "direction only", "calibration"];
    let judged = report.judgements();
    let dots = judged.clone().map(|(group, j)| Dot {
        label: j.id.clone(),
        group,
        measured: j.measured_percent,
        predicted: j.predicted.mean,
        interval: j.predicted.interval95,
    });
    let dots: Vec<Dot> = dots.collect();
    d.drawing(
        "published-scatter.svg",
        "Every comparison: on the dashed diagonal a prediction is right",
        chart::scatter("Measured and predicted change", &groups, &dots),
    );
    d.blocks.push(Block::Plain(report.text()));
    report.drawings().into_iter().for_each(|(file, shows, svg)| d.drawing(&file, &shows, svg));
    d.heading(3, "Scenarios");
    d.blocks.push(Block::Links(report.links()));
}
