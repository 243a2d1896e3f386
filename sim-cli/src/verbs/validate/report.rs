//! `cfsim validate --report DIR`: all validations in one document, and their headline figures for the README.

use super::{captures_in, kernels_report, power_report, published};
use crate::args::OutputArgs;
use crate::chart::{self, Dot};
use crate::document::{Block, Document};
use crate::failure::Failure;
use crate::output::{Report, Talk};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use validation::kernels::Tally;
use validation::published::{Role, smt};

/// A part of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Part {
    /// Captures of real kernels
    Kernels,
    /// The model broken on purpose
    Power,
    /// Hyper-threading, one factor fitted
    Smt,
    /// Published comparisons
    Published,
}

/// What to report, and where to.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Run all validations and write one report, validation.html, validation.md and validation.json, into a folder
    #[arg(long, value_name = "DIR")]
    pub(super) report: Option<PathBuf>,
    /// The parts of the report
    #[arg(long, value_name = "PART,…", value_delimiter = ',', requires = "report")]
    parts: Vec<Part>,
    /// Pairs of runs for each published record
    #[arg(long, value_name = "N", default_value_t = 4, requires = "report", value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Put the headline figures into this file too, between its lines <!-- validation --> and <!-- /validation -->
    #[arg(long, value_name = "FILE", requires = "report")]
    readme: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// One line of the scoreboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Headline {
    /// What is judged.
    what: String,
    /// What is reached.
    reached: String,
    /// What is asked for.
    bar: String,
    /// Whether it is met.
    met: bool,
}

impl Headline {
    fn of(what: &str, tally: &Tally) -> Headline {
        Headline {
            what: what.to_owned(),
            reached: format!("{} of {} = {:.1} %", tally.kept, tally.of, tally.pct()),
            bar: format!("{:.0} %", tally.required_pct),
            met: tally.met() && tally.of > 0,
        }
    }
}

/// A part that was run.
struct Ran {
    headlines: Vec<Headline>,
    result: Value,
}

/// Runs the parts, one after the other; each is written as soon as it is there.
pub(super) fn main(args: &ReportArgs, folder: &Path, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
    let mut document = Document::new("cfsim: validation");
    document.text(
        "Made by `cfsim validate --report`. Bars and tolerances were fixed before results were looked at; misses are shown as \
         they are. Re-run any part with the command that stands in its heading.",
    );
    let (mut headlines, mut results) = (Vec::new(), serde_json::Map::new());
    let mut bodies = Document::default();
    for part in parts {
        talk.progress(&format!("part {}", part.name()));
        let ran = part.run(args, &mut bodies, talk)?;
        let file = folder.join(format!("{}.json", part.name()));
        fs::create_dir_all(folder).map_err(|source| Failure::Create { file: folder.to_owned(), source })?;
        write(&file, &pretty(&ran.result)?)?;
        results.insert(part.name().to_owned(), json!(ran.headlines));
        headlines.extend(ran.headlines);
    }
    document.heading(2, "Scoreboard");
    document.blocks.push(scoreboard(&headlines));
    document.blocks.append(&mut bodies.blocks);
    document.write(folder, "validation")?;
    write(&folder.join("validation.json"), &pretty(&json!({ "schema_version": 1, "parts": results }))?)?;
    if let Some(readme) = &args.readme {
        let text =
            fs::read_to_string(readme).map_err(|source| Failure::Read { file: readme.clone(), source })?;
        write(readme, &with_headlines(&text, &headlines)?)?;
    }
    crate::output::print(&Scoreboard { headlines: &headlines }, args.output.format)
}

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Kernels => "kernels",
            Part::Power => "power",
            Part::Smt => "smt",
            Part::Published => "published",
        }
    }

    fn run(self, args: &ReportArgs, d: &mut Document, talk: Talk) -> Result<Ran, Failure> {
        let failed = |e: &dyn std::fmt::Display| Failure::Capture(e.to_string());
        d.heading(2, &format!("cfsim validate {}", self.name()));
        match self {
            Part::Kernels => {
                let report = kernels_report(&captures_in(Path::new("validation/kernels"), None)?, talk);
                d.blocks.push(Block::Plain(report.to_text()));
                let headlines = report.tallies().iter().map(|(what, t)| Headline::of(what, t)).collect();
                Ok(Ran { headlines, result: json!(report) })
            }
            Part::Power => {
                let report = power_report(&captures_in(Path::new("validation/kernels"), None)?, talk);
                d.blocks.push(Block::Plain(report.to_text()));
                let names = ["shares", "context switches", "turn lengths"];
                let lines = names.iter().zip(&report.powerful);
                let lines = lines.map(|(n, t)| Headline::of(&format!("{n}, where a broken model misses"), t));
                Ok(Ran { headlines: lines.collect(), result: json!(report) })
            }
            Part::Smt => {
                let report = smt::compare(300, 1).map_err(|e| failed(&e))?;
                d.blocks.push(Block::Plain(report.to_text()));
                let judged = report.rows.iter().filter(|r| r.role == Role::Judge);
                let kept = |r: &&smt::Predicted| r.off_by().abs() <= smt::TOLERANCE_POINTS;
                let tally = Tally {
                    kept: judged.clone().filter(kept).count() as u64,
                    of: judged.count() as u64,
                    required_pct: 100.0,
                };
                let headlines = vec![Headline::of("hyper-threading ratios within 3 points", &tally)];
                Ok(Ran { headlines, result: json!(report) })
            }
            Part::Published => {
                let data = validation::published::Published::load(Path::new("validation/published"))
                    .map_err(|e| failed(&e))?;
                let report = published::run(&data, None, args.runs, talk)?;
                published_blocks(d, &report);
                Ok(Ran { headlines: published_headlines(&report), result: json!(report) })
            }
        }
    }
}

fn published_headlines(report: &published::PublishedReport) -> Vec<Headline> {
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

fn published_blocks(d: &mut Document, report: &published::PublishedReport) {
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

/// The headlines as a table.
fn scoreboard(headlines: &[Headline]) -> Block {
    let head = ["judged", "reached", "bar", "met"].map(str::to_owned).to_vec();
    let rows = headlines.iter().map(|h| {
        vec![h.what.clone(), h.reached.clone(), h.bar.clone(), if h.met { "yes" } else { "no" }.to_owned()]
    });
    Block::Table(head, rows.collect())
}

#[derive(Serialize)]
struct Scoreboard<'a> {
    headlines: &'a [Headline],
}

impl Report for Scoreboard<'_> {
    fn text(&self) -> String {
        let mut d = Document::default();
        d.blocks.push(scoreboard(self.headlines));
        d.markdown().trim_start_matches("# \n").trim_start().to_owned()
    }
}

/// Between these lines the headline figures stand.
const MARKS: [&str; 2] = ["<!-- validation -->", "<!-- /validation -->"];

/// A text with the headline figures put between its marks.
fn with_headlines(text: &str, headlines: &[Headline]) -> Result<String, Failure> {
    let (start, end) = (text.find(MARKS[0]), text.find(MARKS[1]));
    let (Some(start), Some(end)) = (start, end) else {
        return Err(Failure::Usage(format!(
            "no lines '{}' and '{}' to put figures between",
            MARKS[0], MARKS[1]
        )));
    };
    let mut d = Document::default();
    d.blocks.push(scoreboard(headlines));
    let table = d.markdown();
    let table = table.trim_start_matches("# \n").trim();
    Ok(format!("{}{}\n\n{table}\n\n{}", &text[..start], MARKS[0], &text[end..]))
}

fn pretty(value: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|e| Failure::Environment(format!("the result has no JSON form: {e}")))? + "\n")
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|source| Failure::Create { file: file.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headline() -> Headline {
        Headline::of("shares", &Tally { kept: 19, of: 20, required_pct: 95.0 })
    }

    #[test]
    fn figures_go_between_their_marks_again_and_again() {
        let text = format!("a\n{}\nold\n{}\nb\n", MARKS[0], MARKS[1]);
        let once = with_headlines(&text, &[headline()]).unwrap();
        assert!(once.contains("| shares | 19 of 20 = 95.0 % | 95 % | yes |") && !once.contains("old"));
        assert!(once.starts_with("a\n") && once.ends_with("\nb\n"));
        assert_eq!(with_headlines(&once, &[headline()]).unwrap(), once);
        assert!(with_headlines("a", &[]).is_err());
    }

    /// The README's figures are those of the report in the repository.
    #[test]
    fn the_readme_shows_the_reports_figures() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let Ok(report) = fs::read_to_string(root.join("validation/reports/validation.json")) else {
            panic!("no report: cfsim validate --report validation/reports --readme README.md");
        };
        let report: Value = serde_json::from_str(&report).unwrap();
        let parts = Part::value_variants().iter().filter_map(|p| report["parts"].get(p.name()));
        let headlines: Vec<Headline> =
            parts.flat_map(|p| serde_json::from_value::<Vec<Headline>>(p.clone()).unwrap()).collect();
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        assert_eq!(with_headlines(&readme, &headlines).unwrap(), readme);
    }
}
