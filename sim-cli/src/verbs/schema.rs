//! `cfsim schema`: the JSON Schema of scenarios.

use crate::failure::Failure;
use crate::output;
use clap::Args;
use serde_json::Value;

/// Print the JSON Schema of scenarios, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Editors that read TOML with a schema (such as those with Taplo) check and complete scenarios by it:
  cfsim schema > scenario.schema.json
and, as the first line of a scenario:
  #:schema ./scenario.schema.json

Whatever `cfsim check` accepts is valid by the schema; the reverse does not hold for names that lead nowhere and for
values that contradict each other.")]
pub(crate) struct SchemaArgs {}

pub(crate) fn main(_: &SchemaArgs) -> Result<(), Failure> {
    let schema: Value = sim_workloads::scenario::json_schema();
    output::text(&format!("{schema:#}\n"))
}
