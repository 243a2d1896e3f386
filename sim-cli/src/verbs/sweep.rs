//! `cfsim sweep`: one setting at many values.

use crate::args::{OutputArgs, ScenarioArgs};
use crate::failure::Failure;
use crate::figures::{self, Figure};
use crate::header::{self, Header};
use crate::load::parse_setting;
use crate::output::{self, Report, Talk};
use crate::sweeping::{self, Plan, Sweep, Value};
use crate::text::plural;
use clap::Args;
use serde::Serialize;

/// Run a scenario at many values of one setting and mark where figures change most
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim sweep scenarios/hog-and-sleeper.toml --scan kernel.sched_wakeup_granularity_ns 1ms 25ms 1ms
  cfsim sweep scenarios/two-hogs.toml --list kernel.hz=100,250,300,1000
  cfsim sweep scenarios/kernel-compile-8vcpu.toml --list kernel.profile=5.12,5.13,6.1 --runs 5")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// The setting and its values
    #[arg(short = 'L', long, value_name = "KEY=V1,V2,…", value_parser = parse_setting, required_unless_present = "scan", conflicts_with = "scan")]
    list: Option<(String, String)>,
    /// The setting, its first and last value (durations or whole numbers) and the step
    #[arg(short = 'P', long, num_args = 4, allow_hyphen_values = true, value_names = ["KEY", "MIN", "MAX", "STEP"])]
    scan: Option<Vec<String>>,
    /// Number of seeds at each value
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Figures to show; may be repeated. Without it: all there are
    #[arg(long, value_name = "NAME", value_parser = figures::by_name)]
    metric: Vec<&'static Figure>,
    #[command(flatten)]
    output: OutputArgs,
}

impl SweepArgs {
    fn key_and_values(&self) -> Result<(String, Vec<Value>), Failure> {
        match (&self.list, self.scan.as_deref()) {
            (Some((key, values)), _) => Ok((key.clone(), values.split(',').map(Value::plain).collect())),
            (None, Some([key, min, max, step])) => {
                Ok((key.clone(), sweeping::scan(min, max, step).map_err(Failure::Usage)?))
            }
            _ => Err(Failure::Usage("give --list or --scan".to_owned())),
        }
    }
}

pub(crate) fn main(args: &SweepArgs, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let (key, values) = args.key_and_values()?;
    let scenario = args.scenario.text()?;
    let settings = args.scenario.settings();
    let base = scenario.with(&settings)?;
    let header = Header::new("sweep", &base, args.runs);
    talk.progress(&format!(
        "{} of {key}, {} each",
        plural(values.len() as u64, "value"),
        plural(u64::from(args.runs), "run")
    ));
    let (runs, figures) = (args.runs, args.metric.clone());
    let plan = Plan { scenario: &scenario, settings: &settings, key: &key, values, runs, figures };
    let sweep = sweeping::sweep(&plan)?;
    sweep.warnings.iter().for_each(|warning| talk.warn(warning));
    output::print(
        &SweepReport { header, configuration: header::configuration(&base), sweep },
        args.output.format,
    )
}

#[derive(Debug, Serialize)]
struct SweepReport {
    /// Of the scenario before the swept setting.
    #[serde(flatten)]
    header: Header,
    /// The same scenario as it would run.
    configuration: serde_json::Value,
    sweep: Sweep,
}

impl Report for SweepReport {
    fn text(&self) -> String {
        let h = &self.header;
        format!("{}: {}\n{}\n{}", h.scenario, h.seeds_text(), h.notes_text(), self.sweep.text())
    }
}
