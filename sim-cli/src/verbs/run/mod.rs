//! `cfsim run`: what tasks get out of a scenario.

mod single;
mod totals;

use crate::args::{OutputArgs, ScenarioArgs};
use crate::experiment::{self, GroupBy};
use crate::export::schedstat;
use crate::failure::Failure;
use crate::load::Loaded;
use crate::output::{self, Talk};
use crate::simulate;
use crate::text;
use clap::Args;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Schedstat;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most rows shown as text; JSON has all.
const MAX_TEXT_ROWS: usize = 60;

/// A row's name, with the number of tasks that share it.
fn label(name: &str, tasks: usize) -> String {
    if tasks == 1 { name.to_owned() } else { format!("{name} ({})", text::plural(tasks as u64, "task")) }
}

/// Run a scenario and print what every task got
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim run scenarios/two-hogs.toml
  cfsim run scenarios/two-hogs.toml --kernel 5.12 --set costs.preset=zero --duration 30s
  cfsim run scenarios/kernel-compile-8vcpu.toml --runs 10 --format json

With --runs N the scenario runs under N seeds (its own and those that follow) on all cores, and the means over the
seeds are printed with their 95 % confidence intervals (Student's t), those of single tasks without.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Number of seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: u32,
    /// Which tasks share a row; auto: by name when there are more than 20
    #[arg(long, value_enum, default_value_t = GroupBy::Auto)]
    group_by: GroupBy,
    /// Also write the counters of /proc/schedstat (version 15) at the end of the run to FILE; - for standard output
    #[arg(long, value_name = "FILE")]
    schedstat: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn main(args: &RunArgs, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let loaded = args.scenario.load()?;
    talk.progress(&format!(
        "{} of {}",
        text::plural(u64::from(args.runs), "run"),
        args.scenario.scenario.display()
    ));
    if let Some(file) = &args.schedstat {
        if args.runs > 1 {
            let message = "--schedstat holds the counters of one run: leave out --runs".to_owned();
            return Err(Failure::Usage(message));
        }
        write_schedstat(&loaded.clone().drawn()?, file)?;
    }
    let results = experiment::run_seeds(&loaded, args.runs, args.group_by)?;
    let warnings = experiment::warnings(&results);
    warnings.iter().for_each(|warning| talk.warn(warning));
    match results.as_slice() {
        [result] => output::print(&single::report(&loaded, result, warnings), args.output.format),
        _ => output::print(&totals::report(&loaded, &results, warnings), args.output.format),
    }
}

/// Runs the scenario once more for its counters.
fn write_schedstat(loaded: &Loaded, file: &Path) -> Result<(), Failure> {
    let config = &loaded.resolved.config.kernel;
    let topology = Arc::clone(&config.topology);
    let tick_ns = config.tick_ns();
    let domains = config.domains().map_err(|e| Failure::Usage(e.to_string()))?;
    let stat = Schedstat::new(domains, topology.nr_cpu_ids());
    let seed = loaded.resolved.seed;
    let mut simulation = simulate::prepare(loaded, seed, None, stat, NoHooks);
    let outcome = simulation.run().map_err(|error| Failure::run(seed, error, &simulation))?;
    let text = schedstat::text(&simulation.observer, &topology, outcome.at, tick_ns);
    if file == Path::new("-") {
        output::text(&text)
    } else {
        std::fs::write(file, text).map_err(|source| Failure::Create { file: file.to_owned(), source })
    }
}
