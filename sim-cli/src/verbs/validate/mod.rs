//! `cfsim validate`: the simulator held against real kernels.

mod calibrate;
mod compile;
mod kernels;
mod pages;
mod power;
mod programs;
mod published;
mod replay;
mod report;
mod side_by_side;
mod smt;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::Talk;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use validation::capture::compact::compact;

/// Hold the simulator against real kernels and published measurements
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  cfsim validate kernels
  cfsim validate published --only kb-
  cfsim validate --report validation/reports --readme README.md"
)]
pub(crate) struct ValidateArgs {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    all: report::ReportArgs,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Simulate every capture found and print measured beside simulated; exit code 4 when a bar is missed
    Kernels {
        /// Folder with captures: lab folders or compact files, at any depth
        #[arg(long, value_name = "DIR", default_value = "validation/kernels")]
        dir: PathBuf,
        /// Only captures whose path contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Write a page for each capture into this folder, and an index
        #[arg(long, value_name = "DIR")]
        pages: Option<PathBuf>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Break the model on purpose and compare the captures of one CPU again: which bars could have been missed, and are they;
    /// exit code 4 when a bar is kept by every broken model or missed where it counts
    Power {
        /// Folder with captures: lab folders or compact files, at any depth
        #[arg(long, value_name = "DIR", default_value = "validation/kernels")]
        dir: PathBuf,
        /// Only captures whose path contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Import every recorded trace found, run it again under the recorded kernel, and print what it gives back beside what was
    /// recorded; exit code 4 when too few are within tolerance
    Replay {
        /// Folder with traces: folders with trace.txt or trace.txt.gz, meta.json and tunables.txt, at any depth
        #[arg(long, value_name = "DIR", default_value = "validation/traces")]
        dir: PathBuf,
        /// Only traces whose path contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Print one capture and its simulation side by side, event by event
    Capture {
        /// The capture: a lab folder or a compact file
        path: PathBuf,
        /// How many events of each
        #[arg(long, value_name = "N", default_value_t = 40)]
        events: usize,
    },
    /// Calibrate the captured machines' delays on the captures named for it, and print them
    Calibrate {
        /// Folder with captures
        #[arg(long, value_name = "DIR", default_value = "validation/kernels")]
        dir: PathBuf,
    },
    /// Measure how far a real kernel is from itself: lab folders called JOB.N are runs of one job
    Own {
        /// Folders with such folders
        #[arg(required = true)]
        dirs: Vec<PathBuf>,
    },
    /// Fit the speed of a thread beside a busy sibling on one published series and predict two others; exit code 4 when a
    /// prediction is off by more than 3 points
    Smt {
        /// Objects of the build
        #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        objects: u32,
        /// Seed of its draws
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Fit kernel builds of published machines on two points each and predict all others by number of jobs; exit code 4 when
    /// a prediction is off by more than 5 %
    Compile {
        /// Only machines whose name contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Seeds of which each time is the mean
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
        seeds: u32,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Predict published comparisons of kernels, patches and tunables and print measured beside predicted; exit code 4 when
    /// an aim is missed on the records that judge
    Published {
        /// Folder with the records, the series' scenarios and settings, and the tolerances
        #[arg(long, value_name = "DIR", default_value = "validation/published")]
        dir: PathBuf,
        /// Only series whose name contains this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Pairs of runs for each record: seeds, each with costs drawn from their ranges
        #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1000))]
        runs: u32,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Predict what tunables do to real programs and print it beside what was measured; exit code 4 when a bar is missed
    Programs {
        /// Records to predict, JSON; those of the project unless given
        #[arg(long, value_name = "FILE")]
        records: Option<PathBuf>,
        /// Fit the programs' CPU times to their d8 runs and print all constants; nothing is judged
        #[arg(long)]
        calibrate: bool,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Write captures in the compact form
    Compact {
        /// Lab folders
        #[arg(required = true)]
        folders: Vec<PathBuf>,
        /// Where to; the kind and kernel become folders
        #[arg(long, value_name = "DIR", default_value = "validation/kernels")]
        to: PathBuf,
    },
}

pub(crate) fn main(args: &ValidateArgs, talk: Talk) -> Result<(), Failure> {
    let Some(what) = &args.what else {
        let folder = args.all.report.as_deref();
        let missing =
            || Failure::Usage("nothing to validate: give a subcommand, or --report DIR for all".to_owned());
        return report::main(&args.all, folder.ok_or_else(missing)?, talk);
    };
    match what {
        What::Kernels { dir, only, pages, output } => {
            kernels::main(dir, only.as_deref(), pages.as_deref(), output, talk)
        }
        What::Power { dir, only, output } => power::main(dir, only.as_deref(), output, talk),
        What::Replay { dir, only, output } => replay::main(dir, only.as_deref(), output, talk),
        What::Capture { path, events } => side_by_side::main(path, *events),
        What::Calibrate { dir } => calibrate::delays(dir),
        What::Own { dirs } => calibrate::own_spread(dirs),
        What::Smt { objects, seed, output } => smt::main(*objects, *seed, output),
        What::Compile { only, seeds, output } => compile::main(only.as_deref(), *seeds, output, talk),
        What::Published { dir, only, runs, output } => {
            published::main(dir, only.as_deref(), *runs, output, talk)
        }
        What::Programs { records, calibrate, output } => {
            programs::main(records.as_deref(), *calibrate, output)
        }
        What::Compact { folders, to } => {
            for folder in folders {
                let written = compact(folder, to).map_err(|e| Failure::Capture(e.to_string()))?;
                talk.progress(&format!("wrote {}", written.display()));
            }
            Ok(())
        }
    }
}
