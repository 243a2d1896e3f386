//! `cfsim machine`: machines and sets of costs by name, and where their figures come from.

use crate::failure::Failure;
use crate::header::Tool;
use crate::output::{self, Format, Report};
use crate::text;
use clap::{Args, Subcommand};
use serde::Serialize;
use sim_core::machine::{Costs, Estimated, MECHANISMS, Preset};
use sim_workloads::machines::{self, MachineModel};

/// List machines and sets of costs by name, or show the figures of one with their origins
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim machine list
  cfsim machine show i7-8700
  cfsim machine show guest

A scenario chooses by machine.preset and costs.preset, and replaces single figures: costs.context_switch = \"2us\".
An origin that begins with \"assumption\" has no measurement behind it.")]
pub(crate) struct MachineArgs {
    #[command(subcommand)]
    verb: MachineVerb,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum MachineVerb {
    /// All machines and sets of costs
    List,
    /// The figures of one machine or set of costs, and where each comes from
    Show {
        /// Its name
        name: String,
    },
}

pub(crate) fn main(args: &MachineArgs) -> Result<(), Failure> {
    match &args.verb {
        MachineVerb::List => output::print(&list(), args.format),
        MachineVerb::Show { name } => match Preset::by_name(name) {
            Some(preset) => output::print(&show_costs(preset), args.format),
            None => output::print(&show_machine(name)?, args.format),
        },
    }
}

#[derive(Debug, Serialize)]
struct ListReport {
    #[serde(flatten)]
    tool: Tool,
    machines: Vec<Named>,
    costs: Vec<Named>,
}

#[derive(Debug, Serialize)]
struct Named {
    name: String,
    about: String,
}

impl From<Preset> for Named {
    fn from(preset: Preset) -> Named {
        Named { name: preset.name().to_owned(), about: preset.about().to_owned() }
    }
}

impl From<&MachineModel> for Named {
    fn from(machine: &MachineModel) -> Named {
        Named { name: machine.name.clone(), about: machine.about() }
    }
}

fn list() -> ListReport {
    ListReport {
        tool: Tool::new("machine list"),
        machines: machines::all().map(|machine| Named::from(&machine)).collect(),
        costs: Preset::ALL.into_iter().map(Named::from).collect(),
    }
}

impl Report for ListReport {
    fn text(&self) -> String {
        let rows = |head: &str, all: &[Named]| -> String {
            let row = |m: &Named| format!("  {:<16} {}\n", m.name, m.about);
            std::iter::once(format!("{head}\n")).chain(all.iter().map(row)).collect()
        };
        rows("machine.preset", &self.machines) + "\n" + &rows("costs.preset", &self.costs)
    }
}

fn show_machine(name: &str) -> Result<MachineReport, Failure> {
    let costs = Preset::ALL.map(Preset::name).join(", ");
    let machine = MachineModel::by_name(name)
        .map_err(|e| Failure::Usage(format!("{e}; and the sets of costs {costs}")))?;
    let figure = |f: machines::Figure| FigureReport {
        assumption: f.origin.starts_with("assumption"),
        key: f.key,
        value: f.value,
        origin: f.origin,
    };
    let figures = machine.figures().into_iter().map(figure).collect();
    Ok(MachineReport { tool: Tool::new("machine show"), machine: Named::from(&machine), figures })
}

#[derive(Debug, Serialize)]
struct MachineReport {
    #[serde(flatten)]
    tool: Tool,
    machine: Named,
    figures: Vec<FigureReport>,
}

#[derive(Debug, Serialize)]
struct FigureReport {
    key: String,
    value: String,
    origin: String,
    /// Nobody measured it.
    assumption: bool,
}

impl Report for MachineReport {
    fn text(&self) -> String {
        let mut out = format!("{}: {}\n\n", self.machine.name, self.machine.about);
        for figure in &self.figures {
            let mark = if figure.assumption { "?" } else { " " };
            out += &format!("{mark} {} = {}\n      from: {}\n", figure.key, figure.value, figure.origin);
        }
        if self.figures.iter().any(|f| f.assumption) {
            out += "\n? an assumption: nobody measured it\n";
        }
        out
    }
}

#[derive(Debug, Serialize)]
struct CostsReport {
    #[serde(flatten)]
    tool: Tool,
    machine: Named,
    costs: Vec<CostReport>,
    mechanisms: Vec<Named>,
}

#[derive(Debug, Serialize)]
struct CostReport {
    name: &'static str,
    value_ns: u64,
    /// Where it lies as far as is known.
    low_ns: u64,
    high_ns: u64,
    what: &'static str,
    origin: &'static str,
}

fn show_costs(preset: Preset) -> CostsReport {
    let costs = Costs::TABLE.iter().map(|cost| (cost, cost.of(preset)));
    let costs = costs.map(|(cost, Estimated { value, low, high })| CostReport {
        name: cost.name,
        value_ns: value.0,
        low_ns: low.0,
        high_ns: high.0,
        what: cost.about.trim(),
        // Nothing costs anything: no figure needs an origin.
        origin: if preset == Preset::Zero { "the textbook scheduler" } else { cost.source },
    });
    let mechanisms = MECHANISMS.iter().map(|m| Named { name: m.name.to_owned(), about: m.about.to_owned() });
    CostsReport {
        tool: Tool::new("machine show"),
        machine: preset.into(),
        costs: costs.collect(),
        mechanisms: mechanisms.collect(),
    }
}

impl Report for CostsReport {
    fn text(&self) -> String {
        let mut out = format!("{}: {}\n\n", self.machine.name, self.machine.about);
        let show = |ns: u64| text::duration(ns as f64);
        for cost in &self.costs {
            out += &format!("{:<16} {:>8}  {}\n", cost.name, show(cost.value_ns), cost.what);
            if cost.low_ns < cost.high_ns {
                out += &format!("{:27}range: {} to {}\n", "", show(cost.low_ns), show(cost.high_ns));
            }
            out += &format!("{:27}from: {}\n", "", cost.origin);
        }
        out += "\nmechanisms that machine.without and --without switch off, as they do single costs:\n";
        for mechanism in &self.mechanisms {
            out += &format!("{:<16} {}\n", mechanism.name, mechanism.about);
        }
        out
    }
}
