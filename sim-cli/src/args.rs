//! The command line.

use crate::failure::Failure;
use crate::load::{Loaded, ScenarioText, Setting, parse_setting};
use crate::output::Format;
use crate::verbs::{
    attribute, check, compare, conformance, explain, import, kernel, lab, machine, new, run, schema, study,
    sweep, topology, trace, validate,
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cfsim run scenarios/two-hogs.toml
  cfsim run scenarios/hog-and-sleeper.toml --set kernel.sched_wakeup_granularity_ns=15ms
  cfsim compare scenarios/pipe-ping-pong.toml --b kernel.sched_wakeup_granularity_ns=15ms --runs 10
  cfsim sweep scenarios/hog-and-sleeper.toml --scan kernel.sched_wakeup_granularity_ns 1ms 25ms 1ms
  cfsim attribute scenarios/gzip-i7-8700.toml --a kernel.profile=5.4 --b kernel.profile=5.5
  cfsim kernel diff 5.12 5.13
  cfsim machine show guest
  cfsim study scenarios/vmware-5.13.toml
  cfsim import rt-app workload.json -o workload.toml
  cfsim new my-idea && cfsim check my-idea.toml
  cfsim trace scenarios/two-hogs.toml -o hogs.txt
  cfsim explain scenarios/hog-and-sleeper.toml --task sleeper --to 100ms
  cfsim topology show i7-8700 --kernel 5.4
  cfsim validate kernels
  cfsim conformance trace.txt --kernel 5.4 --topology 1x1x4x1
  cfsim lab run scenarios/two-hogs.toml --kernel path/to/bzImage --duration 1s

Exit codes:
  0  done
  1  error while running
  2  wrong usage
  3  a scenario or study is invalid or cannot be read
  4  a comparison or validation is out of tolerance
  5  a limit was reached (events, simulated time, steps at one instant, tasks)

Results go to standard output, progress and warnings to standard error.";

/// Predicts what scheduler tunables, kernel versions and patches cost, by simulating Linux's Completely Fair Scheduler.
#[derive(Debug, Parser)]
#[command(name = "cfsim", version, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say what is being done
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    Run(run::RunArgs),
    Compare(compare::CompareArgs),
    Attribute(attribute::AttributeArgs),
    Sweep(sweep::SweepArgs),
    Kernel(kernel::KernelArgs),
    Machine(machine::MachineArgs),
    Study(study::StudyArgs),
    Check(check::CheckArgs),
    Import(import::ImportArgs),
    New(new::NewArgs),
    Schema(schema::SchemaArgs),
    Trace(trace::TraceArgs),
    Explain(explain::ExplainArgs),
    Topology(topology::TopologyArgs),
    Conformance(conformance::ConformanceArgs),
    Validate(validate::ValidateArgs),
    Lab(lab::LabArgs),
}

/// A scenario and what replaces parts of it.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// The scenario file; - is standard input. One that ends in .json is an rt-app workload (cfsim import rt-app)
    pub(crate) scenario: PathBuf,
    /// Replace a value of the scenario, like kernel.hz=1000 or task.hog.nice=5
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<Setting>,
    /// Kernel profile: short for --set kernel.profile=PROFILE
    #[arg(long, value_name = "PROFILE")]
    pub(crate) kernel: Option<String>,
    /// Seed of the random draws
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub(crate) seed: Option<u64>,
    /// Switch off mechanisms of the machine or single costs: short for --set machine.without=NAME,…; where both have a name,
    /// it is the mechanism's (cfsim machine show bare-metal)
    #[arg(long, value_name = "NAME,…")]
    pub(crate) without: Option<String>,
    /// Draw uncertain costs from their ranges, anew for every seed: intervals then say where a machine may lie of which no
    /// more is known than the ranges (cfsim machine show)
    #[arg(long)]
    pub(crate) uncertainty: bool,
    /// What of an rt-app workload may be left out: mem, memrun, iorun, policy, membind, uclamp
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = import::parse_waiver)]
    pub(crate) waive: Vec<String>,
    /// Simulated time, like 10s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Simulated time at the start that statistics leave out, like 1s
    #[arg(long, value_name = "TIME")]
    pub(crate) warmup: Option<String>,
}

impl ScenarioArgs {
    /// The settings in order: `--set` first, so that the named options win.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let named = [
            ("kernel.profile", self.kernel.clone()),
            ("seed", self.seed.map(|s| s.to_string())),
            ("run.duration", self.duration.clone()),
            ("run.warmup", self.warmup.clone()),
            ("machine.without", self.without.clone()),
        ];
        let named = named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        self.set.iter().cloned().chain(named).collect()
    }

    /// Reads the scenario with its settings.
    pub(crate) fn load(&self) -> Result<Loaded, Failure> {
        self.text()?.with(&self.settings())
    }

    /// Reads the file, to be used with several settings.
    pub(crate) fn text(&self) -> Result<ScenarioText, Failure> {
        Ok(ScenarioText::read_any(&self.scenario, &self.waive)?.uncertain(self.uncertainty))
    }
}

/// How a verb that simulates works and prints.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Number of threads; 0 takes all cores. Results do not depend on it
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    pub(crate) jobs: usize,
}

impl OutputArgs {
    /// Starts the threads that runs are spread over.
    pub(crate) fn start_threads(&self) -> Result<(), Failure> {
        // More threads than cores gain nothing, and a slip of the pen must not start millions.
        let jobs = self.jobs.min(1024);
        let started = rayon::ThreadPoolBuilder::new().num_threads(jobs).build_global();
        started.map_err(|e| Failure::Environment(format!("cannot start threads: {e}")))
    }
}
