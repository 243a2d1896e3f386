//! Two settings of one scenario, compared pair by pair under common random numbers.
//!
//! Both sides of a pair run under the same seed, and what tasks ask for depends on nothing but the seed: the
//! difference within a pair is the setting's alone.

use crate::experiment::{self, GroupBy, RunResult};
use crate::failure::Failure;
use crate::figures::{self, Figure, Growth, Unit};
use crate::header;
use crate::load::{Loaded, ScenarioText, Setting};
use crate::stats::{Estimate, Interval};
use crate::text;
use serde::Serialize;
use serde_json::Value;

/// What a comparison says about one figure, or in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// B is faster than A.
    Faster,
    /// B is slower than A.
    Slower,
    /// B has more of it.
    More,
    /// B has less of it.
    Less,
    /// The interval of the difference lies within the margin.
    Equivalent,
    /// The interval holds zero, and more than the margin.
    Undecided,
    /// Both sides made the same decisions at the same times under every seed.
    CannotAct,
}

impl Verdict {
    /// From the difference B − A. `margin` is in the same unit.
    fn of(difference: Estimate, margin: f64, growth: Growth) -> Verdict {
        let Some((low, high)) = difference.interval95 else { return Verdict::Undecided };
        if low >= -margin && high <= margin {
            return Verdict::Equivalent;
        }
        let grows = low > 0.0;
        match growth {
            _ if !grows && high >= 0.0 => Verdict::Undecided,
            Growth::More if grows => Verdict::More,
            Growth::More => Verdict::Less,
            Growth::Slower if grows => Verdict::Slower,
            Growth::Faster if !grows => Verdict::Slower,
            Growth::Slower | Growth::Faster => Verdict::Faster,
        }
    }

    fn words(self, runs: u32) -> String {
        match self {
            Verdict::Faster => "faster".to_owned(),
            Verdict::Slower => "slower".to_owned(),
            Verdict::More => "more".to_owned(),
            Verdict::Less => "less".to_owned(),
            Verdict::Equivalent => "equivalent".to_owned(),
            Verdict::Undecided => format!("undecided at {}", text::plural(u64::from(runs), "seed")),
            Verdict::CannotAct => "cannot act here".to_owned(),
        }
    }
}

/// One side of a comparison.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Side {
    /// What to call it.
    pub(crate) label: String,
    /// Profile of the kernel imitated.
    pub(crate) kernel: String,
    /// Settings over the scenario.
    pub(crate) settings: Vec<Setting>,
    pub(crate) config_hash: String,
    /// As it was run.
    pub(crate) configuration: Value,
    #[serde(skip)]
    pub(crate) loaded: Loaded,
}

/// Why a setting cannot be that of one side, if it cannot: pairs share their seeds and their length.
pub(crate) fn refusal(key: &str) -> Option<String> {
    let of_both = key == "seed" || key == "run" || key.starts_with("run.");
    of_both.then(|| {
        let name = if key == "seed" { "--seed" } else { "--duration or --warmup" };
        format!("'{key}' holds for both sides, which run under the same seeds for the same time: give {name}")
    })
}

/// How to compare.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) runs: u32,
    /// Half-width of "equivalent", as a part of A's mean.
    pub(crate) margin: f64,
    /// Figures to show; the first decides. All without any.
    pub(crate) figures: Vec<&'static Figure>,
}

/// The outcome.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Comparison {
    pub(crate) a: Side,
    pub(crate) b: Side,
    pub(crate) runs: u32,
    pub(crate) equivalence_margin: f64,
    /// Pairs in which both sides made the same decisions at the same times.
    pub(crate) identical_pairs: u32,
    /// The verdict on the first figure.
    pub(crate) verdict: Verdict,
    pub(crate) figures: Vec<Line>,
    pub(crate) warnings: Vec<String>,
}

/// One figure of a comparison.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    pub(crate) metric: &'static str,
    pub(crate) a: Estimate,
    pub(crate) b: Estimate,
    /// B − A.
    pub(crate) difference: Estimate,
    /// The same in percent of A's mean; none when that is zero.
    pub(crate) difference_percent: Option<Estimate>,
    pub(crate) verdict: Verdict,
    #[serde(skip)]
    figure: &'static Figure,
}

/// Runs both sides under the same seeds.
pub(crate) fn compare(a: Side, b: Side, plan: &Plan) -> Result<Comparison, Failure> {
    let (ra, rb) = rayon::join(
        || experiment::run_seeds(&a.loaded, plan.runs, GroupBy::Name),
        || experiment::run_seeds(&b.loaded, plan.runs, GroupBy::Name),
    );
    let (ra, rb) = (ra?, rb?);
    let identical = ra.iter().zip(&rb).filter(|(x, y)| same_decisions(x, y)).count() as u32;
    let interval = a.loaded.interval();
    let shown = figures::select(&plan.figures, ra.iter().chain(&rb));
    let lines: Vec<Line> =
        shown.into_iter().filter_map(|figure| line(figure, &ra, &rb, plan.margin, interval)).collect();
    let verdict = match lines.first() {
        _ if identical == plan.runs => Verdict::CannotAct,
        Some(first) => first.verdict,
        None => Verdict::Undecided,
    };
    let warnings = [(&a, &ra), (&b, &rb)].into_iter().flat_map(|(side, results)| {
        experiment::warnings(results).into_iter().map(|w| format!("{}: {w}", side.label)).collect::<Vec<_>>()
    });
    let warnings = warnings.collect();
    let (runs, equivalence_margin) = (plan.runs, plan.margin);
    Ok(Comparison {
        a,
        b,
        runs,
        equivalence_margin,
        identical_pairs: identical,
        verdict,
        figures: lines,
        warnings,
    })
}

/// Whether two runs made the same decisions at the same times.
fn same_decisions(a: &RunResult, b: &RunResult) -> bool {
    a.digest == b.digest && a.end_time == b.end_time
}

fn line(
    figure: &'static Figure,
    a: &[RunResult],
    b: &[RunResult],
    margin: f64,
    interval: Interval,
) -> Option<Line> {
    let pairs: Option<Vec<(f64, f64)>> =
        a.iter().zip(b).map(|(x, y)| Some((figure.of(x)?, figure.of(y)?))).collect();
    let pairs = pairs?;
    let column = |f: fn(&(f64, f64)) -> f64| Estimate::of(&pairs.iter().map(f).collect::<Vec<_>>(), interval);
    let (ea, eb, difference) = (column(|p| p.0)?, column(|p| p.1)?, column(|p| p.1 - p.0)?);
    Some(Line {
        metric: figure.name,
        a: ea,
        b: eb,
        difference,
        difference_percent: (ea.mean > 0.0).then(|| difference.scaled(100.0 / ea.mean)),
        verdict: Verdict::of(difference, margin * ea.mean.abs(), figure.growth),
        figure,
    })
}

impl Comparison {
    /// A row a figure: its name, A, B, the difference and what it means.
    pub(crate) fn rows(&self) -> Vec<Vec<String>> {
        let rows = self.figures.iter().map(|line| {
            let show = |e: Estimate| line.figure.unit.show(e.mean);
            vec![
                line.figure.title.to_owned(),
                show(line.a),
                show(line.b),
                line.difference_text(),
                line.verdict.words(self.runs),
            ]
        });
        rows.collect()
    }

    /// The table, and the verdict in words.
    pub(crate) fn text(&self) -> String {
        let table = text::table(&["", "A", "B", "B against A, 95 % interval", "B is"], self.rows());
        format!("A: {}\nB: {}\n\n{table}\n{}", self.a.title(), self.b.title(), self.verdict_text())
    }

    fn verdict_text(&self) -> String {
        let same = match self.identical_pairs {
            0 => String::new(),
            n => format!(
                "{n} of {} made the same decisions at the same times\n",
                text::plural(u64::from(self.runs), "pair")
            ),
        };
        let verdict = match self.figures.first() {
            _ if self.verdict == Verdict::CannotAct => {
                "verdict: cannot act here: both sides made the same decisions under every seed".to_owned()
            }
            Some(line) => format!("verdict by {}: {}", line.figure.title, self.verdict.words(self.runs)),
            None => "verdict: undecided: no figure exists on both sides".to_owned(),
        };
        let margin = text::significant(self.equivalence_margin * 100.0);
        let pairs = text::plural(u64::from(self.runs), "pair");
        format!("{same}{verdict} ({pairs}, equivalent means within ±{margin} %)\n")
    }
}

impl Line {
    /// The difference in percent, or in points where the figure is a share, or plain where A is zero.
    fn difference_text(&self) -> String {
        let (estimate, unit) = match self.difference_percent {
            _ if self.figure.unit == Unit::Share => (self.difference.scaled(100.0), " points"),
            Some(percent) => (percent, " %"),
            None => (self.difference, ""),
        };
        let show = |x: f64| match self.difference_percent {
            None if self.figure.unit == Unit::Duration => text::duration(x),
            // A difference too small to show has no sign.
            _ if x.abs() < 0.005 => "0.00".to_owned(),
            _ => format!("{x:+.2}"),
        };
        match estimate.interval95 {
            Some((low, high)) => format!("{}{unit} ({} … {})", show(estimate.mean), show(low), show(high)),
            None => format!("{}{unit}", show(estimate.mean)),
        }
    }
}

impl Side {
    /// A side: `settings` over `common` over the scenario.
    pub(crate) fn new(
        text: &ScenarioText,
        common: &[Setting],
        label: &str,
        settings: Vec<Setting>,
    ) -> Result<Side, Failure> {
        let loaded = text.with(&[common, &settings].concat())?;
        Ok(Side {
            label: label.to_owned(),
            kernel: loaded.resolved.config.kernel.profile.to_owned(),
            settings,
            config_hash: header::config_hash(&loaded),
            configuration: header::configuration(&loaded),
            loaded,
        })
    }

    pub(crate) fn title(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let settings =
            if settings.is_empty() { "the scenario as it is".to_owned() } else { settings.join(" ") };
        match self.label.as_str() {
            "A" | "B" => settings,
            label => format!("{label} ({settings})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(low: f64, high: f64, growth: Growth) -> Verdict {
        Verdict::of(Estimate { mean: (low + high) / 2.0, interval95: Some((low, high)) }, 1.0, growth)
    }

    #[test]
    fn verdicts_follow_from_the_interval() {
        assert_eq!(verdict(-0.5, 0.9, Growth::Slower), Verdict::Equivalent);
        assert_eq!(verdict(0.2, 0.9, Growth::Slower), Verdict::Equivalent);
        assert_eq!(verdict(0.2, 1.1, Growth::Slower), Verdict::Slower);
        assert_eq!(verdict(-1.1, -0.2, Growth::Slower), Verdict::Faster);
        assert_eq!(verdict(0.2, 1.1, Growth::Faster), Verdict::Faster);
        assert_eq!(verdict(-1.1, -0.2, Growth::Faster), Verdict::Slower);
        assert_eq!(verdict(2.0, 3.0, Growth::More), Verdict::More);
        assert_eq!(verdict(-3.0, -2.0, Growth::More), Verdict::Less);
        assert_eq!(verdict(-2.0, 0.5, Growth::Slower), Verdict::Undecided);
        assert_eq!(verdict(-2.0, 2.0, Growth::More), Verdict::Undecided);
        let single = Estimate { mean: 0.0, interval95: None };
        assert_eq!(Verdict::of(single, 1.0, Growth::More), Verdict::Undecided);
    }
}
