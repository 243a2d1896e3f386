//! `cfsim study`: answers a question with comparisons, sweeps and attributions.

mod file;
mod parts;
mod report;

use crate::args::OutputArgs;
use crate::attribution::{self, Attribution};
use crate::comparison::{self, Comparison, Plan, Side};
use crate::failure::Failure;
use crate::header::{Header, Tool};
use crate::load::{self, ScenarioText, Setting};
use crate::output::{self, Report, Talk};
use crate::stats::Estimate;
use crate::sweeping::{self, Sweep};
use crate::text::plural;
use clap::Args;
use file::{StudyFile, Titled};
use parts::{AttributePart, ComparePart, PublishedChange, SideSpec, SweepPart};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Answer a question with the comparisons, sweeps and attributions a study file names
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  cfsim study scenarios/vmware-5.13.toml
  cfsim study scenarios/vmware-5.13.toml --report validation/reports

A study file names a question, a base scenario, comparisons ([[compare]] with a and b, and what was published of them),
sweeps ([[sweep]]), attributions ([[attribute]]), and what is not modelled yet; scenarios/README.md describes it.")]
pub(crate) struct StudyArgs {
    /// The study file
    study: PathBuf,
    /// Number of seeds of every part, instead of what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Draw uncertain costs from their ranges, anew for every seed
    #[arg(long)]
    uncertainty: bool,
    /// Write the report too, as NAME.md with drawings and as one page NAME.html, NAME being the study's
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn main(args: &StudyArgs, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let study = file::read(&load::read_text(&args.study)?, &args.study)?;
    let parts = study.compare.len() + study.sweep.len() + study.attribute.len();
    let mut report = StudyReport {
        tool: Tool::new("study"),
        question: study.question.clone(),
        comparisons: Vec::new(),
        sweeps: Vec::new(),
        attributions: Vec::new(),
        not_modelled_yet: study.not_modelled_yet.clone(),
    };
    for (i, part) in study.compare.iter().enumerate() {
        talk.progress(&format!("part {} of {parts}: {}", i + 1, part.title));
        report.comparisons.push(run_comparison(args, &study, part)?);
    }
    for (i, part) in study.sweep.iter().enumerate() {
        talk.progress(&format!("part {} of {parts}: {}", study.compare.len() + i + 1, part.title));
        report.sweeps.push(run_sweep(args, &study, part)?);
    }
    let before = study.compare.len() + study.sweep.len();
    for (i, part) in study.attribute.iter().enumerate() {
        talk.progress(&format!("part {} of {parts}: {}", before + i + 1, part.title));
        report.attributions.push(run_attribution(args, &study, part, talk)?);
    }
    report.warnings().for_each(|warning| talk.warn(warning));
    if let Some(folder) = &args.report {
        let name = args.study.file_stem().unwrap_or_default().to_string_lossy();
        for file in report.document(&name).write(folder, &name)? {
            talk.progress(&format!("wrote {}", file.display()));
        }
    }
    output::print(&report, args.output.format)
}

/// Whether a text looks like a study rather than a scenario.
pub(crate) fn is_study(text: &str) -> bool {
    file::is_study(text)
}

/// The JSON Schema of study files.
pub(crate) fn json_schema() -> serde_json::Value {
    sim_workloads::scenario::schema_of::<StudyFile>("cfsim study")
}

/// What a study would run, in two lines, if the scenarios of all parts can be run with all settings. `common` settings
/// come first.
pub(crate) fn check(path: &Path, text: &str, common: &[Setting]) -> Result<String, Failure> {
    let study = file::read(text, path)?;
    let scenario = |part: Option<&PathBuf>| ScenarioText::read(&file::scenario_path(path, &study, part));
    for part in &study.compare {
        let text = scenario(part.scenario.as_ref())?;
        for side in [&part.a, &part.b] {
            text.with(&[common, &side.settings()].concat())?;
        }
    }
    for part in &study.attribute {
        let text = scenario(part.scenario.as_ref())?;
        for side in [&part.a, &part.b] {
            text.with(&[common, &side.settings()].concat())?;
        }
    }
    for part in &study.sweep {
        let text = scenario(part.scenario.as_ref())?;
        for value in &part.values.0 {
            text.with(&[common, &[(part.key.clone(), value.text.clone())]].concat())?;
        }
    }
    let attributions = match study.attribute.len() {
        0 => String::new(),
        n => format!(" and {}", plural(n as u64, "attribution")),
    };
    Ok(format!(
        "{}: a study of {} and {}{attributions}, {} a part unless it says otherwise\n  {}\n",
        path.display(),
        plural(study.compare.len() as u64, "comparison"),
        plural(study.sweep.len() as u64, "sweep"),
        plural(u64::from(study.runs), "seed"),
        study.question.trim().lines().next().unwrap_or_default(),
    ))
}

fn run_comparison(
    args: &StudyArgs,
    study: &StudyFile,
    part: &ComparePart,
) -> Result<Titled<Compared>, Failure> {
    let text = ScenarioText::read(&file::scenario_path(&args.study, study, part.scenario.as_ref()))?;
    let text = text.uncertain(args.uncertainty);
    let make = |spec: &SideSpec| Side::new(&text, &[], &spec.label, spec.settings());
    let (a, b) = (make(&part.a)?, make(&part.b)?);
    let runs = args.runs.or(part.runs).unwrap_or(study.runs);
    let plan = Plan {
        runs,
        margin: study.equivalence,
        figures: part.metrics.as_ref().unwrap_or(&study.metrics).0.clone(),
    };
    let header = Header::new("study", &a.loaded, runs);
    let result = comparison::compare(a, b, &plan)?;
    let published = part.published.iter().map(|p| Published::of(p, &result)).collect();
    let result = Compared { comparison: result, published };
    Ok(Titled { title: part.title.clone(), scenario: header.scenario, notes: header.notes, result })
}

fn run_sweep(args: &StudyArgs, study: &StudyFile, part: &SweepPart) -> Result<Titled<Sweep>, Failure> {
    let scenario = ScenarioText::read(&file::scenario_path(&args.study, study, part.scenario.as_ref()))?;
    let scenario = scenario.uncertain(args.uncertainty);
    let runs = args.runs.or(part.runs).unwrap_or(study.runs);
    let header = Header::new("study", &scenario.with(&[])?, runs);
    let (values, figures) = (part.values.0.clone(), part.metrics.0.clone());
    let plan = sweeping::Plan { scenario: &scenario, settings: &[], key: &part.key, values, runs, figures };
    let result = sweeping::sweep(&plan)?;
    Ok(Titled { title: part.title.clone(), scenario: header.scenario, notes: header.notes, result })
}

fn run_attribution(
    args: &StudyArgs,
    study: &StudyFile,
    part: &AttributePart,
    talk: Talk,
) -> Result<Titled<Attribution>, Failure> {
    let text = ScenarioText::read(&file::scenario_path(&args.study, study, part.scenario.as_ref()))?;
    let text = text.uncertain(args.uncertainty);
    let runs = args.runs.or(part.runs).unwrap_or(study.runs);
    let header = Header::new("study", &text.with(&[])?, runs);
    let (a, b) = (part.a.settings(), part.b.settings());
    let plan = attribution::Plan { text: &text, common: &[], a: &a, b: &b, runs, figure: part.metric.0 };
    let result = attribution::attribute(&plan, talk)?;
    Ok(Titled { title: part.title.clone(), scenario: header.scenario, notes: header.notes, result })
}

/// A comparison with what was published of it.
#[derive(Debug, Serialize)]
struct Compared {
    #[serde(flatten)]
    comparison: Comparison,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    published: Vec<Published>,
}

/// A published change beside the predicted one, percent of A.
#[derive(Debug, Serialize)]
struct Published {
    metric: &'static str,
    #[serde(skip)]
    title: &'static str,
    published_percent: f64,
    at_most: bool,
    source: String,
    predicted_percent: Option<Estimate>,
}

impl Published {
    fn of(p: &PublishedChange, comparison: &Comparison) -> Published {
        let line = comparison.figures.iter().find(|line| line.metric == p.metric.0.name);
        Published {
            metric: p.metric.0.name,
            title: p.metric.0.title,
            published_percent: p.change_percent,
            at_most: p.at_most,
            source: p.source.clone(),
            predicted_percent: line.and_then(|line| line.difference_percent),
        }
    }

    /// What of the published change the prediction explains, in words.
    fn text(&self) -> String {
        let most = if self.at_most { "up to " } else { "" };
        let published = format!("{}: published {most}{:+.1} %", self.title, self.published_percent);
        let Some(e) = self.predicted_percent else {
            return format!("{published}; not predicted ({})\n", self.source);
        };
        let rest = self.published_percent - e.mean;
        let mean = e.mean;
        format!(
            "{published}, predicted {mean:+.1} %, so {rest:+.1} points are not explained ({})\n",
            self.source
        )
    }
}

#[derive(Debug, Serialize)]
struct StudyReport {
    #[serde(flatten)]
    tool: Tool,
    question: String,
    comparisons: Vec<Titled<Compared>>,
    sweeps: Vec<Titled<Sweep>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attributions: Vec<Titled<Attribution>>,
    not_modelled_yet: Vec<String>,
}

impl StudyReport {
    fn warnings(&self) -> impl Iterator<Item = &String> {
        let compared = self.comparisons.iter().flat_map(|part| &part.result.comparison.warnings);
        compared.chain(self.sweeps.iter().flat_map(|part| &part.result.warnings))
    }
}

impl Report for StudyReport {
    fn text(&self) -> String {
        let mut out = format!("{}\n", self.question.trim());
        for part in &self.comparisons {
            out += &part.head(part.result.comparison.runs);
            out += &part.result.comparison.text();
            out += &part.result.published.iter().map(Published::text).collect::<String>();
        }
        for part in &self.sweeps {
            out += &part.head(part.result.runs);
            out += &part.result.text();
        }
        for part in &self.attributions {
            out += &part.head(part.result.runs);
            out += &part.result.text();
        }
        if !self.not_modelled_yet.is_empty() {
            out += "\nNot modelled yet, and so not in these figures\n";
            out += &self.not_modelled_yet.iter().map(|what| format!("- {what}\n")).collect::<String>();
        }
        out
    }
}

impl<T> Titled<T> {
    fn head(&self, runs: u32) -> String {
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        let seeds = plural(u64::from(runs), "seed");
        let rule = "-".repeat(self.title.chars().count());
        format!("\n{}\n{rule}\n{}, {seeds}\n{notes}\n", self.title, self.scenario)
    }
}
