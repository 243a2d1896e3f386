//! `cfsim validate`: the simulator held against real kernels.

mod compile;
mod published;
mod replay;
mod report;

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Format, Report as Printed, Talk, print};
use clap::{Args, Subcommand};
use rayon::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use validation::capture::{Capture, compact::compact, find_captures};
use validation::kernels::many::OwnSpread;
use validation::kernels::{CapturePower, CaptureReport, PowerReport, Report, validate};
use validation::measure::{EventKind, SchedEvent, Timeline, timeline};
use validation::programs::{self, Constants, ProgramsReport, Record};
use validation::published::Published;
use validation::published::smt::{self, SmtReport};
use validation::simulate::{Calibration, Experiment, calibrate};

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
        What::Kernels { dir, only, output } => kernels(dir, only.as_deref(), output, talk),
        What::Power { dir, only, output } => power(dir, only.as_deref(), output, talk),
        What::Replay { dir, only, output } => replay::main(dir, only.as_deref(), output, talk),
        What::Capture { path, events } => side_by_side(path, *events),
        What::Calibrate { dir } => {
            let calibration = calibrate(dir).map_err(|e| Failure::Capture(e.to_string()))?;
            print(&Calibrated(calibration), Format::Json)
        }
        What::Own { dirs } => {
            let spreads = own(dirs).map_err(Failure::Capture)?;
            print(&Spreads(spreads), Format::Json)
        }
        What::Smt { objects, seed, output } => {
            output.start_threads()?;
            let report = smt::compare(*objects, *seed).map_err(|e| Failure::Capture(e.to_string()))?;
            print(&report, output.format)?;
            let missed = || Failure::Tolerance("a prediction is off by more than 3 points".to_owned());
            if report.passed() { Ok(()) } else { Err(missed()) }
        }
        What::Compile { only, seeds, output } => compile::validate(only.as_deref(), *seeds, output, talk),
        What::Published { dir, only, runs, output } => {
            let data = Published::load(dir).map_err(|e| Failure::Capture(e.to_string()))?;
            published::validate(&data, only.as_deref(), *runs, output, talk)
        }
        What::Programs { records, calibrate, output } => {
            real_programs(records.as_deref(), *calibrate, output)
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

fn real_programs(file: Option<&Path>, calibrate: bool, output: &OutputArgs) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Capture(e.to_string());
    output.start_threads()?;
    let records = match file {
        Some(file) => {
            let text =
                std::fs::read_to_string(file).map_err(|e| failed(&format!("{}: {e}", file.display())))?;
            Record::parse(&text).map_err(|e| failed(&format!("{}: {e}", file.display())))?
        }
        None => Record::handed().map_err(|e| failed(&e))?,
    };
    let constants = Constants::fixed().map_err(|e| failed(&e))?;
    if calibrate {
        let fitted = programs::calibrate(&records, &constants).map_err(|e| failed(&e))?;
        return print(&Fitted(fitted), Format::Json);
    }
    let report = programs::compare(&records, &constants).map_err(|e| failed(&e))?;
    print(&report, output.format)?;
    if report.passed() {
        Ok(())
    } else {
        Err(Failure::Tolerance("a prediction is off by more than allowed".to_owned()))
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Fitted(Constants);

impl Printed for Fitted {
    fn text(&self) -> String {
        String::new()
    }
}

impl Printed for ProgramsReport {
    fn text(&self) -> String {
        self.to_text()
    }
}

impl Printed for Report {
    fn text(&self) -> String {
        self.to_text()
    }
}

impl Printed for PowerReport {
    fn text(&self) -> String {
        self.to_text()
    }
}

impl Printed for SmtReport {
    fn text(&self) -> String {
        self.to_text()
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Calibrated(Calibration);

impl Printed for Calibrated {
    fn text(&self) -> String {
        String::new()
    }
}

#[derive(Serialize)]
#[serde(transparent)]
struct Spreads(Vec<OwnSpread>);

impl Printed for Spreads {
    fn text(&self) -> String {
        String::new()
    }
}

/// Runs of one job in one folder belong together.
fn own(dirs: &[PathBuf]) -> Result<Vec<OwnSpread>, String> {
    let mut jobs: BTreeMap<(usize, String), Vec<Capture>> = BTreeMap::new();
    for (i, dir) in dirs.iter().enumerate() {
        for path in find_captures(dir).map_err(|e| e.to_string())? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Some((job, _)) = name.split_once('.') else { continue };
            let capture = Capture::load(&path).map_err(|e| e.to_string())?;
            jobs.entry((i, job.to_owned())).or_default().push(capture);
        }
    }
    let measured = jobs.iter().map(|((_, job), captures)| OwnSpread::measure(job, captures));
    measured.filter_map(Result::transpose).collect::<Result<_, _>>().map_err(|e| e.to_string())
}

/// The captures below a folder whose path contains a text.
fn captures_in(dir: &Path, only: Option<&str>) -> Result<Vec<PathBuf>, Failure> {
    let found = find_captures(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    let wanted = |p: &PathBuf| only.is_none_or(|text| p.to_string_lossy().contains(text));
    let paths: Vec<PathBuf> = found.into_iter().filter(wanted).collect();
    if paths.is_empty() {
        return Err(Failure::Capture(format!(
            "no capture below {}: give their folder with --dir",
            dir.display()
        )));
    }
    Ok(paths)
}

fn kernels(dir: &Path, only: Option<&str>, output: &OutputArgs, talk: Talk) -> Result<(), Failure> {
    output.start_threads()?;
    let report = kernels_report(&captures_in(dir, only)?, talk);
    print(&report, output.format)?;
    if report.passed() { Ok(()) } else { Err(Failure::Tolerance("a bar is missed".to_owned())) }
}

fn kernels_report(paths: &[PathBuf], talk: Talk) -> Report {
    let done = AtomicUsize::new(0);
    let one = |path: &PathBuf| {
        let report = CaptureReport::of(path);
        talk.progress(&format!("{}/{} {}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len(), report.id));
        report
    };
    validate(paths.par_iter().map(one).collect())
}

fn power(dir: &Path, only: Option<&str>, output: &OutputArgs, talk: Talk) -> Result<(), Failure> {
    output.start_threads()?;
    let report = power_report(&captures_in(dir, only)?, talk);
    print(&report, output.format)?;
    let missed = "a bar that counts is missed, or none of the broken models misses it";
    if report.passed() { Ok(()) } else { Err(Failure::Tolerance(missed.to_owned())) }
}

fn power_report(paths: &[PathBuf], talk: Talk) -> PowerReport {
    let done = AtomicUsize::new(0);
    // Captures of several CPUs and those that cannot be simulated have no place here.
    let one = |path: &PathBuf| {
        let power =
            Capture::load(path).ok().filter(|c| c.meta.smp == 1).map(|c| CapturePower::of(&c))?.ok()?;
        talk.progress(&format!("{}/{} {}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len(), power.id));
        Some(power)
    };
    PowerReport::new(paths.par_iter().filter_map(one).collect())
}

fn side_by_side(path: &Path, events: usize) -> Result<(), Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Capture(e.to_string());
    let capture = Capture::load(path).map_err(|e| failed(&e))?;
    let experiment = Experiment::new(&capture).map_err(|e| failed(&e))?;
    let real = timeline(&capture).map_err(|e| failed(&e))?;
    let simulated = experiment.run(experiment.machine()).map_err(|e| failed(&e))?;
    let mut text =
        format!("{}\n{:<52} | {}\n", capture.id, "real kernel (us from T0)", "simulator (us from T0)");
    let (left, right) = (lines(&real), lines(&simulated));
    for i in 0..events.min(left.len().max(right.len())) {
        let at = |side: &[String]| side.get(i).cloned().unwrap_or_default();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<52} | {}", at(&left), at(&right));
    }
    print(&SideBySide(text), Format::Text)
}

#[derive(Serialize)]
struct SideBySide(String);

impl Printed for SideBySide {
    fn text(&self) -> String {
        self.0.clone()
    }
}

/// Switches and wake-ups from T0 on, a line each.
fn lines(t: &Timeline) -> Vec<String> {
    let name = |who| t.label(who).name.as_str();
    let line = |e: &SchedEvent| {
        let us = (e.at_ns - t.t0_ns) as f64 / 1e3;
        match e.kind {
            EventKind::Switch { prev, prev_blocked, next } => {
                let state = if prev_blocked { "S" } else { "R" };
                Some(format!("{us:>11.1} switch {} {state} -> {}", name(prev), name(next)))
            }
            EventKind::Wakeup { task, need_resched_after, .. } => {
                let flag = if need_resched_after { " N" } else { "" };
                Some(format!("{us:>11.1} wakeup {}{flag}", name(task)))
            }
            EventKind::Migrate { task, to } => Some(format!("{us:>11.1} migrate {} to {to}", name(task))),
            EventKind::Fork { .. } | EventKind::Exit { .. } => None,
        }
    };
    t.events.iter().filter(|e| e.at_ns >= t.t0_ns).filter_map(line).collect()
}
