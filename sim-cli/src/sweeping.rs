//! One setting, many values: figures at each, and where they change most.

use crate::chart;
use crate::experiment::{self, GroupBy, RunResult};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::header;
use crate::load::{ScenarioText, Setting};
use crate::stats::{Estimate, Interval};
use crate::text;
use serde::Serialize;
use sim_core::Nanos;

/// Most values of one sweep.
pub(crate) const MAX_VALUES: u64 = 1_000;

/// A value of the swept setting: for people, and as it is set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Value {
    pub(crate) label: String,
    pub(crate) text: String,
}

impl Value {
    /// A value as the user wrote it.
    pub(crate) fn plain(text: &str) -> Value {
        Value { label: text.to_owned(), text: text.to_owned() }
    }
}

/// The values from `min` to `max` in steps: durations, or whole numbers.
pub(crate) fn scan(min: &str, max: &str, step: &str) -> Result<Vec<Value>, String> {
    if let (Ok(a), Ok(b), Ok(s)) = (min.parse::<i64>(), max.parse::<i64>(), step.parse::<i64>()) {
        return Ok(steps(a.into(), b.into(), s.into())?.map(|n| Value::plain(&n.to_string())).collect());
    }
    let duration = |text: &str| text.parse::<Nanos>().map(|n| i128::from(n.0)).map_err(|e| e.to_string());
    let values = steps(duration(min)?, duration(max)?, duration(step)?)?;
    Ok(values.map(|n| Value { label: Nanos(n as u64).to_string(), text: format!("{n}ns") }).collect())
}

fn steps(min: i128, max: i128, step: i128) -> Result<impl Iterator<Item = i128>, String> {
    if step <= 0 || min > max {
        return Err("a scan goes from a smaller to a larger value in steps of more than zero".to_owned());
    }
    let count = (max - min) / step + 1;
    if count > i128::from(MAX_VALUES) {
        return Err(format!("the scan has {count} values: at most {MAX_VALUES} are allowed"));
    }
    Ok((0..count).map(move |i| min + i * step))
}

/// What to sweep.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) scenario: &'a ScenarioText,
    /// Settings that hold throughout.
    pub(crate) settings: &'a [Setting],
    pub(crate) key: &'a str,
    pub(crate) values: Vec<Value>,
    pub(crate) runs: u32,
    /// Figures to show; all without any.
    pub(crate) figures: Vec<&'static Figure>,
}

/// The outcome.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep {
    pub(crate) key: String,
    pub(crate) runs: u32,
    pub(crate) points: Vec<Point>,
    /// For each figure that changes, the largest step between neighbours.
    pub(crate) knees: Vec<Knee>,
    pub(crate) warnings: Vec<String>,
    #[serde(skip)]
    figures: Vec<&'static Figure>,
}

/// The figures at one value.
#[derive(Debug, Serialize)]
pub(crate) struct Point {
    value: String,
    /// Of the configuration with this value.
    config_hash: String,
    figures: Vec<PointFigure>,
}

#[derive(Debug, Serialize)]
struct PointFigure {
    metric: &'static str,
    #[serde(flatten)]
    estimate: Estimate,
}

/// The largest step of a figure.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Knee {
    metric: &'static str,
    /// Value before the step.
    after: String,
    /// Value behind the step.
    before: String,
    from: f64,
    to: f64,
    /// The step as a part of the figure's whole range over the sweep.
    share_of_range: f64,
}

/// Runs the scenario at every value.
pub(crate) fn sweep(plan: &Plan<'_>) -> Result<Sweep, Failure> {
    let (mut results, mut hashes): (Vec<Vec<RunResult>>, Vec<String>) = (Vec::new(), Vec::new());
    for value in &plan.values {
        let setting = (plan.key.to_owned(), value.text.clone());
        let loaded = plan.scenario.with(&[plan.settings, &[setting]].concat())?;
        hashes.push(header::config_hash(&loaded));
        results.push(experiment::run_seeds(&loaded, plan.runs, GroupBy::Name)?);
    }
    let figures = figures::select(&plan.figures, results.iter().flatten());
    let interval = plan.scenario.interval();
    let points = plan.values.iter().zip(hashes).zip(&results);
    let points = points.map(|((value, hash), runs)| point(&figures, value, hash, runs, interval));
    let points: Vec<Point> = points.collect();
    let mut warnings: Vec<String> = results.iter().flat_map(|runs| experiment::warnings(runs)).collect();
    warnings.sort();
    warnings.dedup();
    Ok(Sweep {
        key: plan.key.to_owned(),
        runs: plan.runs,
        knees: figures.iter().filter_map(|f| knee(f.name, &points)).collect(),
        points,
        warnings,
        figures,
    })
}

fn point(
    figures: &[&'static Figure],
    value: &Value,
    config_hash: String,
    runs: &[RunResult],
    interval: Interval,
) -> Point {
    let figure = |f: &&'static Figure| {
        let estimate = Estimate::of(&figures::values(f, runs), interval)?;
        Some(PointFigure { metric: f.name, estimate })
    };
    Point { value: value.label.clone(), config_hash, figures: figures.iter().filter_map(figure).collect() }
}

/// The largest step of a figure between neighbours that have it; none if it never changes.
fn knee(metric: &'static str, points: &[Point]) -> Option<Knee> {
    let values: Vec<(&str, f64)> =
        points.iter().filter_map(|p| Some((p.value.as_str(), p.get(metric)?.mean))).collect();
    let low = values.iter().map(|v| v.1).fold(f64::INFINITY, f64::min);
    let high = values.iter().map(|v| v.1).fold(f64::NEG_INFINITY, f64::max);
    let height = |w: &[(&str, f64)]| (w[1].1 - w[0].1).abs();
    let largest = values.windows(2).max_by(|a, b| height(a).total_cmp(&height(b)))?;
    (high > low).then(|| Knee {
        metric,
        after: largest[0].0.to_owned(),
        before: largest[1].0.to_owned(),
        from: largest[0].1,
        to: largest[1].1,
        share_of_range: height(largest) / (high - low),
    })
}

impl Point {
    fn get(&self, metric: &str) -> Option<Estimate> {
        self.figures.iter().find(|f| f.metric == metric).map(|f| f.estimate)
    }
}

impl Sweep {
    /// A drawing of each figure that changes: its title and the SVG.
    pub(crate) fn drawings(&self) -> Vec<(&'static str, String)> {
        let labels: Vec<String> = self.points.iter().map(|p| p.value.clone()).collect();
        let drawing = |figure: &&'static Figure| {
            let knee = self.knees.iter().find(|k| k.metric == figure.name)?;
            let (scale, unit) = figure.unit.scale();
            let value = |p: &Point| {
                let e = p.get(figure.name)?.scaled(scale);
                Some((e.mean, e.interval95))
            };
            let values = self.points.iter().map(value).collect();
            let line = chart::Line { name: figure.title.to_owned(), values };
            let mark = labels.iter().position(|l| *l == knee.before);
            let y =
                if unit.is_empty() { figure.title.to_owned() } else { format!("{}, {unit}", figure.title) };
            Some((figure.title, chart::lines(figure.title, &self.key, &labels, &y, &[line], mark)))
        };
        self.figures.iter().filter_map(drawing).collect()
    }

    /// A row a value, then the knees and what does not change.
    pub(crate) fn text(&self) -> String {
        let knee_of = |f: &Figure| self.knees.iter().find(|k| k.metric == f.name);
        let (changing, constant): (Vec<&Figure>, Vec<&Figure>) =
            self.figures.iter().copied().partition(|f| knee_of(f).is_some());
        let head: Vec<&str> =
            [self.key.as_str()].into_iter().chain(changing.iter().map(|f| f.short)).collect();
        let rows = self.points.iter().map(|point| {
            let cells = changing.iter().map(|f| {
                let Some(value) = point.get(f.name) else { return "-".to_owned() };
                let here = knee_of(f).is_some_and(|k| k.before == point.value);
                format!("{}{}", f.unit.show(value.mean), if here { " *" } else { "  " })
            });
            [point.value.clone()].into_iter().chain(cells).collect()
        });
        let mut out = text::table(&head, rows);
        if !changing.is_empty() {
            out += "\n* largest change from the row above:\n";
        }
        for figure in &changing {
            out += &knee_of(figure).map(|k| k.text(figure)).unwrap_or_default();
        }
        let constant: Vec<String> = constant
            .iter()
            .filter_map(|f| {
                Some(format!("{} {}", f.title, f.unit.show(self.points.first()?.get(f.name)?.mean)))
            })
            .collect();
        if !constant.is_empty() {
            out += &format!("the same at every value: {}\n", constant.join(", "));
        }
        out
    }
}

impl Knee {
    fn text(&self, figure: &Figure) -> String {
        format!(
            "  {}: from {} to {} between {} and {}, {:.0} % of its whole range\n",
            figure.title,
            figure.unit.show(self.from),
            figure.unit.show(self.to),
            self.after,
            self.before,
            self.share_of_range * 100.0
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_take_durations_and_numbers_and_have_bounds() {
        let labels = |v: Vec<Value>| v.into_iter().map(|v| v.label).collect::<Vec<_>>();
        assert_eq!(labels(scan("1ms", "2ms", "500us").unwrap()), ["1 ms", "1.5 ms", "2 ms"]);
        assert_eq!(labels(scan("1", "8", "3").unwrap()), ["1", "4", "7"]);
        assert_eq!(labels(scan("-20", "19", "15").unwrap()), ["-20", "-5", "10"]);
        for bad in [
            ("1", "8", "0"),
            ("8", "1", "-1"),
            ("-9223372036854775808", "9223372036854775807", "1"),
            ("8", "1", "1"),
            ("1", "9999", "1"),
            ("1ms", "2", "1ms"),
        ] {
            assert!(scan(bad.0, bad.1, bad.2).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_knee_is_the_largest_step() {
        let points: Vec<Point> = [1.0, 1.5, 9.0, 9.5]
            .into_iter()
            .enumerate()
            .map(|(i, mean)| Point {
                value: i.to_string(),
                config_hash: String::new(),
                figures: vec![PointFigure { metric: "m", estimate: Estimate { mean, interval95: None } }],
            })
            .collect();
        let knee = knee("m", &points).unwrap();
        assert_eq!((knee.after.as_str(), knee.before.as_str()), ("1", "2"));
        assert!((knee.share_of_range - 7.5 / 8.5).abs() < 1e-12);
        assert!(super::knee("other", &points).is_none());
    }
}
