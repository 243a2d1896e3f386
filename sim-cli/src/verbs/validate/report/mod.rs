//! `cfsim validate --report DIR`: all validations in one document, and their headline figures for the README.

mod part;
mod published;
mod scoreboard;

use crate::args::OutputArgs;
use crate::document::Document;
use crate::failure::Failure;
use crate::output::Talk;
use clap::ValueEnum;
use part::Part;
use scoreboard::{Scoreboard, scoreboard, with_headlines};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

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
        let ran = part.run(args.runs, &mut bodies, talk)?;
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

fn pretty(value: &Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|e| Failure::Environment(format!("the result has no JSON form: {e}")))? + "\n")
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    fs::write(file, text).map_err(|source| Failure::Create { file: file.to_owned(), source })
}
