//! `cfsim study`: answers a question with comparisons and sweeps.

mod file;

use crate::args::OutputArgs;
use crate::comparison::{self, Comparison, Plan, Side};
use crate::failure::Failure;
use crate::header::{Header, Tool};
use crate::load::{self, ScenarioText, Setting};
use crate::output::{self, Report, Talk};
use crate::sweeping::{self, Sweep};
use crate::text::plural;
use clap::Args;
use file::{ComparePart, StudyFile, SweepPart, Titled};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Answer a question with the comparisons and sweeps a study file names
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  cfsim study scenarios/vmware-5.13.toml

A study file names a question, a base scenario, comparisons ([[compare]] with a and b), sweeps ([[sweep]]), and what is
not modelled yet; scenarios/README.md describes it.")]
pub(crate) struct StudyArgs {
    /// The study file
    study: PathBuf,
    /// Number of seeds of every part, instead of what the file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,
    /// Draw uncertain costs from their ranges, anew for every seed
    #[arg(long)]
    uncertainty: bool,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn main(args: &StudyArgs, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let study = file::read(&load::read_text(&args.study)?, &args.study)?;
    let parts = study.compare.len() + study.sweep.len();
    let mut report = StudyReport {
        tool: Tool::new("study"),
        question: study.question.clone(),
        comparisons: Vec::new(),
        sweeps: Vec::new(),
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
    report.warnings().for_each(|warning| talk.warn(warning));
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
    for part in &study.sweep {
        let text = scenario(part.scenario.as_ref())?;
        for value in &part.values.0 {
            text.with(&[common, &[(part.key.clone(), value.text.clone())]].concat())?;
        }
    }
    Ok(format!(
        "{}: a study of {} and {}, {} a part unless it says otherwise\n  {}\n",
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
) -> Result<Titled<Comparison>, Failure> {
    let text = ScenarioText::read(&file::scenario_path(&args.study, study, part.scenario.as_ref()))?;
    let text = text.uncertain(args.uncertainty);
    let make = |spec: &file::SideSpec| Side::new(&text, &[], &spec.label, spec.settings());
    let (a, b) = (make(&part.a)?, make(&part.b)?);
    let runs = args.runs.or(part.runs).unwrap_or(study.runs);
    let plan = Plan { runs, margin: study.equivalence, figures: study.metrics.0.clone() };
    let header = Header::new("study", &a.loaded, runs);
    let result = comparison::compare(a, b, &plan)?;
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

#[derive(Debug, Serialize)]
struct StudyReport {
    #[serde(flatten)]
    tool: Tool,
    question: String,
    comparisons: Vec<Titled<Comparison>>,
    sweeps: Vec<Titled<Sweep>>,
    not_modelled_yet: Vec<String>,
}

impl StudyReport {
    fn warnings(&self) -> impl Iterator<Item = &String> {
        let compared = self.comparisons.iter().flat_map(|part| &part.result.warnings);
        compared.chain(self.sweeps.iter().flat_map(|part| &part.result.warnings))
    }
}

impl Report for StudyReport {
    fn text(&self) -> String {
        let mut out = format!("{}\n", self.question.trim());
        for part in &self.comparisons {
            out += &part.head(part.result.runs);
            out += &part.result.text();
        }
        for part in &self.sweeps {
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
