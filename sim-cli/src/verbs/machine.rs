//! `cfsim machine`: what kernel and hardware paths cost, and where the figures come from.

use crate::failure::Failure;
use crate::header::Tool;
use crate::output::{self, Format, Report};
use crate::text;
use clap::{Args, Subcommand};
use serde::Serialize;
use sim_core::machine::{Costs, Preset};

/// List the machines whose costs are known, or show the costs of one with their origins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim machine list
  cfsim machine show guest

A scenario chooses by costs.preset and replaces single costs: costs.context_switch = \"2us\".")]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    verb: MachineVerb,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum MachineVerb {
    /// All presets of costs
    List,
    /// The costs of one preset, what each is and where it comes from
    Show {
        /// The preset
        preset: Preset,
    },
}

pub(crate) fn main(args: &MachineArgs) -> Result<(), Failure> {
    match args.verb {
        MachineVerb::List => output::print(&list(), args.format),
        MachineVerb::Show { preset } => output::print(&show(preset), args.format),
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    #[serde(flatten)]
    tool: Tool,
    machines: Vec<PresetReport>,
}

#[derive(Debug, Serialize)]
struct PresetReport {
    name: &'static str,
    about: &'static str,
}

impl From<Preset> for PresetReport {
    fn from(preset: Preset) -> PresetReport {
        PresetReport { name: preset.name(), about: preset.about() }
    }
}

fn list() -> ListReport {
    let machines = Preset::ALL.into_iter().map(PresetReport::from).collect();
    ListReport { tool: Tool::new("machine list"), machines }
}

impl Report for ListReport {
    fn text(&self) -> String {
        let row = |name: &str, about: &str| format!("{name:<12} {about}\n");
        let rows = self.machines.iter().map(|m| row(m.name, m.about));
        std::iter::once(row("preset", "machine")).chain(rows).collect()
    }
}

#[derive(Debug, Serialize)]
struct ShowReport {
    #[serde(flatten)]
    tool: Tool,
    machine: PresetReport,
    costs: Vec<CostReport>,
}

#[derive(Debug, Serialize)]
struct CostReport {
    name: &'static str,
    value_ns: u64,
    what: &'static str,
    origin: &'static str,
}

fn show(preset: Preset) -> ShowReport {
    let values = Costs::preset(preset);
    let costs = Costs::TABLE.iter().zip(values.iter()).map(|(cost, (name, value))| CostReport {
        name,
        value_ns: value.0,
        what: cost.about.trim(),
        // Nothing costs anything: no figure needs an origin.
        origin: if preset == Preset::Zero { "the textbook scheduler" } else { cost.source },
    });
    ShowReport { tool: Tool::new("machine show"), machine: preset.into(), costs: costs.collect() }
}

impl Report for ShowReport {
    fn text(&self) -> String {
        let mut out = format!("{}: {}\n\n", self.machine.name, self.machine.about);
        for cost in &self.costs {
            let value = text::duration(cost.value_ns as f64);
            out += &format!("{:<16} {value:>8}  {}\n{:27}from: {}\n", cost.name, cost.what, "", cost.origin);
        }
        out
    }
}
