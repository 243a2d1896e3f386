//! `cfsim compare`: what a change of settings does.

use crate::args::{OutputArgs, ScenarioArgs};
use crate::comparison::{self, Comparison, Plan, Side};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::header::Header;
use crate::load::{Setting, parse_settings};
use crate::output::{self, Report, Talk};
use clap::Args;
use serde::Serialize;

/// Compare two settings of a scenario under the same random draws
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim compare scenarios/kernel-compile-8vcpu.toml --b kernel.sched_wakeup_granularity_ns=15ms
  cfsim compare scenarios/pipe-ping-pong.toml --a kernel.profile=5.12 --b kernel.profile=5.13 --runs 20
  cfsim compare scenarios/two-hogs.toml --b kernel.features=NO_LAST_BUDDY,NEXT_BUDDY,kernel.hz=1000

Both sides run under the same seeds, and tasks ask for the same under every setting, so each seed gives one difference
that is the setting's alone. The verdict on a figure is taken from the 95 % interval of the mean difference:
  equivalent       the interval lies within the margin (--equivalence)
  faster, slower   it lies beyond zero on one side (more, less for figures that are neither good nor bad)
  undecided        it holds zero: more runs may decide
  cannot act here  under every seed both sides made the same decisions at the same times")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Settings of side A over the scenario's; may be repeated. Without it: the scenario as it is
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    a: Vec<Settings>,
    /// Settings of side B over the scenario's; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    b: Vec<Settings>,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Figures to compare, the first decides; may be repeated. Without it: all there are
    #[arg(long, value_name = "NAME", value_parser = figures::by_name)]
    metric: Vec<&'static Figure>,
    /// Differences within this are equivalent
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = parse_margin)]
    equivalence: f64,
    #[command(flatten)]
    output: OutputArgs,
}

/// The settings of one `--a` or `--b`.
#[derive(Debug, Clone)]
pub(crate) struct Settings(pub(crate) Vec<Setting>);

impl Settings {
    pub(crate) fn parse(text: &str) -> Result<Settings, String> {
        parse_settings(text).map(Settings)
    }
}

/// Reads `1%` as 0.01.
pub(crate) fn parse_margin(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
    let percent = number.filter(|x| (0.0..=100.0).contains(x));
    percent.map(|x| x / 100.0).ok_or_else(|| format!("'{text}' is not a margin: write 0% to 100%, like 1%"))
}

pub(crate) fn main(args: &CompareArgs, talk: Talk) -> Result<(), Failure> {
    if args.a.is_empty() && args.b.is_empty() {
        return Err(Failure::Usage("nothing to compare: give --a or --b".to_owned()));
    }
    args.output.start_threads()?;
    let text = args.scenario.text()?;
    let common = args.scenario.settings();
    let side = |label: &str, settings: &[Settings]| {
        let settings: Vec<Setting> = settings.iter().flat_map(|s| s.0.iter().cloned()).collect();
        if let Some(why) = settings.iter().find_map(|(key, _)| comparison::refusal(key)) {
            return Err(Failure::Usage(format!("--{}: {why}", label.to_lowercase())));
        }
        Side::new(&text, &common, label, settings)
    };
    let plan = Plan { runs: args.runs, margin: args.equivalence, figures: args.metric.clone() };
    let (a, b) = (side("A", &args.a)?, side("B", &args.b)?);
    talk.progress(&format!("{} pairs of runs of {}", args.runs, args.scenario.scenario.display()));
    let header = Header::new("compare", &a.loaded, args.runs);
    let comparison = comparison::compare(a, b, &plan)?;
    comparison.warnings.iter().for_each(|warning| talk.warn(warning));
    output::print(&CompareReport { header, comparison }, args.output.format)
}

#[derive(Debug, Serialize)]
struct CompareReport {
    /// Of side A.
    #[serde(flatten)]
    header: Header,
    comparison: Comparison,
}

impl Report for CompareReport {
    fn text(&self) -> String {
        let h = &self.header;
        format!("{}: {}\n{}\n{}", h.scenario, h.seeds_text(), h.notes_text(), self.comparison.text())
    }
}
