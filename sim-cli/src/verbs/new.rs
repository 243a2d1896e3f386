//! `cfsim new`: a scenario to start from.

use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a commented scenario to start from
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim new my-idea
  cfsim new my-idea --template pipe -o -

The scenario goes to NAME.toml, which must not exist yet.")]
pub(crate) struct NewArgs {
    /// Name of the scenario: letters, digits, - and _
    #[arg(value_parser = parse_name)]
    name: String,
    /// What to start from
    #[arg(long, value_enum, default_value_t = Template::Wakeup)]
    template: Template,
    /// Where to write it instead; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Scenarios to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Template {
    /// A task that wakes often, beside one that never sleeps
    Wakeup,
    /// Producers and a consumer with a pipe and a mutex
    Pipe,
    /// A parallel build
    Make,
}

impl Template {
    fn text(self) -> &'static str {
        match self {
            Template::Wakeup => include_str!("../templates/wakeup.toml"),
            Template::Pipe => include_str!("../templates/pipe.toml"),
            Template::Make => include_str!("../templates/make.toml"),
        }
    }
}

/// The name becomes part of a file name and of a text in TOML.
fn parse_name(name: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let good = !name.is_empty() && name.len() <= 64 && name.chars().all(plain) && !name.starts_with('-');
    if good { Ok(name.to_owned()) } else { Err("write 1 to 64 letters, digits, - or _".to_owned()) }
}

pub(crate) fn main(args: &NewArgs) -> Result<(), Failure> {
    let text = args.template.text().replace("NAME", &args.name);
    let file = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}.toml", args.name)));
    if file == Path::new("-") {
        return output::text(&text);
    }
    let failed = |source| Failure::Create { file: file.clone(), source };
    let mut new = OpenOptions::new().write(true).create_new(true).open(&file).map_err(failed)?;
    new.write_all(text.as_bytes()).map_err(failed)?;
    output::text(&format!("{0}: now try\n  cfsim run {0}\n", file.display()))
}
