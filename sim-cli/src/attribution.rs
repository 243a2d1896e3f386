//! How much of a difference each mechanism of the machine contributes: the same pair of settings, run with mechanisms
//! switched off one at a time and switched on one at a time.

use crate::chart::Bar;
use crate::comparison::Side;
use crate::experiment::{self, GroupBy};
use crate::failure::Failure;
use crate::figures::Figure;
use crate::load::{Loaded, ScenarioText, Setting};
use crate::output::Talk;
use crate::stats::Estimate;
use crate::text;
use serde::Serialize;
use sim_core::machine::{MECHANISMS, Mechanism};

/// What to attribute.
pub(crate) struct Plan<'a> {
    pub(crate) text: &'a ScenarioText,
    pub(crate) common: &'a [Setting],
    pub(crate) a: &'a [Setting],
    pub(crate) b: &'a [Setting],
    pub(crate) runs: u32,
    pub(crate) figure: &'static Figure,
}

/// The outcome. All differences are B against A in percent of A's mean.
#[derive(Debug, Serialize)]
pub(crate) struct Attribution {
    pub(crate) metric: &'static str,
    pub(crate) runs: u32,
    /// With the machine as it is.
    pub(crate) total_percent: Estimate,
    /// With every mechanism switched off: what the scheduler's rules do by themselves.
    pub(crate) rules_alone_percent: Estimate,
    pub(crate) mechanisms: Vec<Share>,
    /// What is left of the total after the rules and the mean shares: effects of mechanisms on each other.
    pub(crate) together_percent: Estimate,
    #[serde(skip)]
    title: &'static str,
}

/// What one mechanism contributes, in points.
#[derive(Debug, Serialize)]
pub(crate) struct Share {
    pub(crate) mechanism: &'static str,
    about: &'static str,
    /// The mechanism whose share holds this one: it does not count twice.
    part_of: Option<&'static str>,
    /// It alone, over the rules.
    pub(crate) alone_points: Estimate,
    /// What goes when it alone is switched off.
    pub(crate) without_points: Estimate,
    /// The mean of both.
    pub(crate) mean_points: Estimate,
}

/// Runs the pair in all variants, under the same seeds.
pub(crate) fn attribute(plan: &Plan<'_>, talk: Talk) -> Result<Attribution, Failure> {
    let (a, b) = (side(plan, plan.a, &[])?, side(plan, plan.b, &[])?);
    let present: Vec<&'static Mechanism> = MECHANISMS
        .iter()
        .filter(|m| [&a, &b].iter().any(|side| m.is_in(&side.resolved.config.machine)))
        .collect();
    let names = |keep: &dyn Fn(&Mechanism) -> bool| -> Vec<&'static str> {
        present.iter().filter(|m| keep(m)).map(|m| m.name).collect()
    };
    let total = differences(plan, &[])?;
    let rules = differences(plan, &names(&|_| true))?;
    let (mut shares, mut explained) = (Vec::new(), rules.clone());
    for (i, mechanism) in present.iter().enumerate() {
        talk.progress(&format!("mechanism {} of {}: {}", i + 1, present.len(), mechanism.name));
        let only = differences(plan, &names(&|m| m.name != mechanism.name))?;
        let without = differences(plan, &[mechanism.name])?;
        let alone = combine(&only, &rules, |x, y| x - y);
        let gone = combine(&total, &without, |x, y| x - y);
        let mean = combine(&alone, &gone, |x, y| (x + y) / 2.0);
        if mechanism.part_of.is_none() {
            explained = combine(&explained, &mean, |x, y| x + y);
        }
        shares.push(Share {
            mechanism: mechanism.name,
            about: mechanism.about,
            part_of: mechanism.part_of,
            alone_points: estimate(plan, &alone)?,
            without_points: estimate(plan, &gone)?,
            mean_points: estimate(plan, &mean)?,
        });
    }
    shares.sort_by(|x, y| y.mean_points.mean.abs().total_cmp(&x.mean_points.mean.abs()));
    Ok(Attribution {
        metric: plan.figure.name,
        runs: plan.runs,
        total_percent: estimate(plan, &total)?,
        rules_alone_percent: estimate(plan, &rules)?,
        mechanisms: shares,
        together_percent: estimate(plan, &combine(&total, &explained, |x, y| x - y))?,
        title: plan.figure.title,
    })
}

/// A side without these mechanisms, beside those that its settings leave out.
fn side(plan: &Plan<'_>, settings: &[Setting], without: &[&str]) -> Result<Loaded, Failure> {
    let all = [plan.common, settings].concat();
    let loaded = plan.text.with(&all)?;
    if without.is_empty() {
        return Ok(loaded);
    }
    let given = loaded.document.scenario.machine.without.iter().map(String::as_str);
    let list: Vec<&str> = given.chain(without.iter().copied()).collect();
    plan.text.with(&[all, vec![("machine.without".to_owned(), list.join(","))]].concat())
}

/// B against A in percent of A's mean, a value a seed.
fn differences(plan: &Plan<'_>, without: &[&str]) -> Result<Vec<f64>, Failure> {
    let values = |settings| {
        let loaded = side(plan, settings, without)?;
        let results = experiment::run_seeds(&loaded, plan.runs, GroupBy::Name)?;
        let values: Option<Vec<f64>> = results.iter().map(|r| plan.figure.of(r)).collect();
        values.ok_or_else(|| Failure::Usage(format!("not every run has a {}", plan.figure.title)))
    };
    let (a, b): (Vec<f64>, Vec<f64>) = (values(plan.a)?, values(plan.b)?);
    let mean = a.iter().sum::<f64>() / a.len() as f64;
    if mean == 0.0 {
        let message = format!("the {} of side A is zero: no percentage can be given", plan.figure.title);
        return Err(Failure::Usage(message));
    }
    Ok(combine(&b, &a, |y, x| 100.0 * (y - x) / mean))
}

fn combine(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect()
}

fn estimate(plan: &Plan<'_>, values: &[f64]) -> Result<Estimate, Failure> {
    let nothing = || Failure::Usage("nothing was run".to_owned());
    Estimate::of(values, plan.text.interval()).ok_or_else(nothing)
}

impl Attribution {
    /// The shares as bars, points.
    pub(crate) fn bars(&self) -> Vec<Bar> {
        let bar = |label: &str, e: &Estimate| Bar {
            label: label.to_owned(),
            measured: None,
            predicted: e.mean,
            interval: e.interval95,
        };
        let whole = self.mechanisms.iter().filter(|s| s.part_of.is_none());
        std::iter::once(bar("the rules alone", &self.rules_alone_percent))
            .chain(whole.map(|s| bar(s.mechanism, &s.mean_points)))
            .chain([bar("on each other", &self.together_percent), bar("in all", &self.total_percent)])
            .collect()
    }

    /// One row a mechanism, from the largest share on.
    pub(crate) fn text(&self) -> String {
        let show = |e: &Estimate| match e.interval95 {
            Some((low, high)) => format!("{} ({} … {})", signed(e.mean), signed(low), signed(high)),
            None => signed(e.mean),
        };
        let single = |name: &str, e: &Estimate| vec![name.to_owned(), show(e), String::new(), String::new()];
        let rows = std::iter::once(single("the rules alone", &self.rules_alone_percent))
            .chain(self.mechanisms.iter().map(|s| {
                let (mean, alone, without) = (&s.mean_points, &s.alone_points, &s.without_points);
                let name = match s.part_of {
                    Some(whole) => format!("{} (of {whole})", s.mechanism),
                    None => s.mechanism.to_owned(),
                };
                vec![name, show(mean), show(alone), show(without)]
            }))
            .chain([single("on each other", &self.together_percent), single("in all", &self.total_percent)]);
        let head = ["", "share, points", "it alone adds", "without it go"];
        let runs = text::plural(u64::from(self.runs), "seed");
        format!(
            "{}: B against A in percent of A, {runs}, 95 % intervals\n\n{}",
            self.title,
            text::table(&head, rows)
        )
    }
}

fn signed(x: f64) -> String {
    // A share too small to show has no sign.
    if x.abs() < 0.005 { "0.00".to_owned() } else { format!("{x:+.2}") }
}

/// Side labels and settings of the report.
pub(crate) fn sides(plan: &Plan<'_>) -> Result<(Side, Side), Failure> {
    let side = |label, settings: &[Setting]| Side::new(plan.text, plan.common, label, settings.to_vec());
    Ok((side("A", plan.a)?, side("B", plan.b)?))
}
