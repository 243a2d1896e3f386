//! `cfsim attribute`: which mechanisms of the machine a difference comes from.

use super::compare::Settings;
use crate::args::{OutputArgs, ScenarioArgs};
use crate::attribution::{self, Attribution, Plan};
use crate::comparison::{self, Side};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::header::Header;
use crate::load::Setting;
use crate::output::{self, Report, Talk};
use clap::Args;
use serde::Serialize;

/// Say how much of a difference between two settings each mechanism of the machine contributes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim attribute scenarios/kernel-compile-8vcpu.toml --a kernel.sched_wakeup_granularity_ns=15ms
  cfsim attribute scenarios/gzip-i7-8700.toml --a kernel.profile=5.4 --b kernel.profile=5.5 --runs 5

The difference B − A is found with the machine as it is, with every mechanism switched off (what the scheduler's rules do
by themselves), with each mechanism alone switched on, and with each alone switched off. A mechanism's share is the mean of
what it adds alone and of what goes without it; what is left is what mechanisms do to each other. Parts of a mechanism are
shown too and do not count twice. The mechanisms are those of machine.without; those that the scenario's machine does not have are left out.")]
pub(crate) struct AttributeArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Settings of side A over the scenario's; may be repeated. Without it: the scenario as it is
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    a: Vec<Settings>,
    /// Settings of side B over the scenario's; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    b: Vec<Settings>,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// The figure whose difference is attributed
    #[arg(long, value_name = "NAME", value_parser = figures::by_name, default_value = "completion_time_ns")]
    metric: &'static Figure,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn main(args: &AttributeArgs, talk: Talk) -> Result<(), Failure> {
    if args.a.is_empty() && args.b.is_empty() {
        return Err(Failure::Usage("nothing to compare: give --a or --b".to_owned()));
    }
    args.output.start_threads()?;
    let text = args.scenario.text()?;
    let flat = |settings: &[Settings]| settings.iter().flat_map(|s| s.0.clone()).collect::<Vec<Setting>>();
    let (a, b, common) = (flat(&args.a), flat(&args.b), args.scenario.settings());
    if let Some(why) = a.iter().chain(&b).find_map(|(key, _)| comparison::refusal(key)) {
        return Err(Failure::Usage(why));
    }
    let (runs, figure) = (args.runs, args.metric);
    let plan = Plan { text: &text, common: &common, a: &a, b: &b, runs, figure };
    let (side_a, side_b) = attribution::sides(&plan)?;
    let header = Header::new("attribute", &side_a.loaded, runs);
    let attribution = attribution::attribute(&plan, talk)?;
    output::print(&AttributeReport { header, a: side_a, b: side_b, attribution }, args.output.format)
}

#[derive(Debug, Serialize)]
struct AttributeReport {
    #[serde(flatten)]
    header: Header,
    a: Side,
    b: Side,
    attribution: Attribution,
}

impl Report for AttributeReport {
    fn text(&self) -> String {
        let h = &self.header;
        let head = format!("{}: {}\n{}", h.scenario, h.seeds_text(), h.notes_text());
        format!("{head}\nA: {}\nB: {}\n\n{}", self.a.title(), self.b.title(), self.attribution.text())
    }
}
