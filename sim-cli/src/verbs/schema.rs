//! `cfsim schema`: the JSON Schemas of scenarios and studies.

use crate::failure::Failure;
use crate::output;
use crate::verbs::study;
use clap::{Args, ValueEnum};
use serde_json::Value;

/// Print the JSON Schema of scenarios or studies, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Editors that read TOML with a schema (such as those with Taplo) check and complete scenarios by it:
  cfsim schema > scenario.schema.json
  cfsim schema study > study.schema.json
and, as the first line of a scenario:
  #:schema ./scenario.schema.json

Whatever `cfsim check` accepts is valid by the schema; the reverse does not hold for names that lead nowhere and for
values that contradict each other.")]
pub(crate) struct SchemaArgs {
    /// Of which files
    #[arg(value_enum, default_value_t = Of::Scenario)]
    of: Of,
}

/// Kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Of {
    /// Scenarios
    Scenario,
    /// Studies
    Study,
}

pub(crate) fn main(args: &SchemaArgs) -> Result<(), Failure> {
    let schema: Value = match args.of {
        Of::Scenario => sim_workloads::scenario::json_schema(),
        Of::Study => study::json_schema(),
    };
    output::text(&format!("{schema:#}\n"))
}
