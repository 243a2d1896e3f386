//! `cfsim conformance`: the kernel model follows a real trace, decision by decision.

use super::topology::machine_of;
use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report as Printed, Talk, print};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::{KernelConfig, Profile};
use std::fmt::{Display, Write};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use validation::capture::trace::{ReadStats, Trace, TraceKind, TraceLimits, read_trace};
use validation::capture::{Capture, find_captures};
use validation::conformance::{Report, Setup, follow, follow_capture, tick_phase};

/// Follow a real kernel's trace, and ask the model at each decision in it what it would have decided
#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// ftrace text (- is standard input), or captures: files in the compact form, lab folders, or folders of them
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Kernel profile of a trace; captures name their own
    #[arg(long, value_name = "PROFILE")]
    kernel: Option<String>,
    /// Machine of a trace: a shape like 1x1x4x2, a machine's name, or a file; needed for several CPUs
    #[arg(long, value_name = "MACHINE")]
    topology: Option<String>,
    /// A tunable of a trace's kernel, like sched_wakeup_granularity_ns=4000000
    #[arg(long = "set", value_name = "TUNABLE=NS")]
    set: Vec<String>,
    /// Ticks per second of a trace's kernel
    #[arg(long, value_name = "HZ", default_value_t = 250, value_parser = clap::value_parser!(u32).range(100..=1000))]
    hz: u32,
    /// Whether tasks of a trace wake others synchronously, as pipes and sockets do and futexes do not
    #[arg(long, value_name = "BOOL")]
    sync_wakeups: Option<bool>,
    /// Print so many decisions that the model made otherwise
    #[arg(long, value_name = "N", default_value_t = 0)]
    misses: usize,
    /// Exit code 4 unless next task and preemption are right in 97 % of what can be judged, and wake placements remove half
    /// of the errors of "previous CPU" and are right in 80 % of the cases where the wakee left it
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// One trace followed.
#[derive(Serialize)]
struct One {
    trace: String,
    kernel: String,
    cpus: u32,
    #[serde(flatten)]
    report: Report,
}

/// All traces followed.
#[derive(Serialize)]
pub(crate) struct All {
    traces: Vec<One>,
    total: Report,
    missed_bars: Vec<String>,
    #[serde(skip)]
    misses: usize,
}

impl All {
    fn of(traces: Vec<One>, misses: usize) -> All {
        let mut all = All { traces, total: Report::default(), missed_bars: Vec::new(), misses };
        all.total = all.sum(|_| true);
        all.missed_bars = all.total.missed_bars();
        all
    }

    /// All traces with such numbers of CPUs together.
    pub(crate) fn sum(&self, cpus: impl Fn(u32) -> bool) -> Report {
        let mut total = Report::default();
        self.traces.iter().filter(|t| cpus(t.cpus)).for_each(|t| total.add(&t.report));
        total
    }
}

impl Printed for All {
    fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for one in &self.traces {
            let _ = writeln!(text, "{} (kernel {}, {} CPUs)\n", one.trace, one.kernel, one.cpus);
            text += &one.report.to_text(self.misses);
            text.push('\n');
        }
        if self.traces.len() > 1 {
            let _ = writeln!(text, "all {} traces\n", self.traces.len());
            text += &self.total.to_text(0);
            text.push('\n');
        }
        match self.missed_bars.as_slice() {
            [] => text += "summary: every bar met\n",
            missed => missed.iter().for_each(|m| {
                let _ = writeln!(text, "summary: bar missed: {m}");
            }),
        }
        text
    }
}

pub(crate) fn main(args: &ConformanceArgs, talk: Talk) -> Result<(), Failure> {
    args.output.start_threads()?;
    let mut paths = Vec::new();
    for path in &args.traces {
        paths.extend(inputs(path)?);
    }
    let done = AtomicUsize::new(0);
    let alone = paths.len() == 1;
    let one = |input: &Input| {
        let report = args.follow(input, alone, talk);
        talk.progress(&format!("{}/{} {input}", done.fetch_add(1, Ordering::Relaxed) + 1, paths.len()));
        report
    };
    let traces =
        paths.par_iter().filter_map(|p| one(p).transpose()).collect::<Result<Vec<One>, Failure>>()?;
    let all = All::of(traces, args.misses);
    print(&all, args.output.format)?;
    if args.check && !all.missed_bars.is_empty() {
        return Err(Failure::Tolerance("a bar is missed".to_owned()));
    }
    Ok(())
}

/// Follows all captures below a folder that can be expressed.
pub(crate) fn of_captures(dir: &Path, talk: Talk) -> Result<All, Failure> {
    let paths = find_captures(dir).map_err(|e| Failure::Capture(e.to_string()))?;
    let one = |path: &PathBuf| capture(path, &path.display(), false, talk).transpose();
    let traces = paths.par_iter().filter_map(one).collect::<Result<Vec<One>, Failure>>()?;
    Ok(All::of(traces, 0))
}

/// Follows a capture; none if it is one of many and cannot be expressed.
fn capture(path: &Path, input: &dyn Display, alone: bool, talk: Talk) -> Result<Option<One>, Failure> {
    let failed = |e: &dyn Display| Failure::Capture(format!("{input}: {e}"));
    let capture = Capture::load(path).map_err(|e| Failure::Capture(e.to_string()))?;
    let report = match follow_capture(&capture) {
        Ok(report) => report,
        Err(e) if alone => return Err(failed(&e)),
        Err(e) => {
            talk.warn(&format!("{input} is left out: {e}"));
            return Ok(None);
        }
    };
    let kernel = capture.meta.profile().map_err(|e| failed(&e))?.to_owned();
    Ok(Some(One { trace: capture.id.to_string(), kernel, cpus: capture.meta.smp, report }))
}

/// What is followed.
enum Input {
    Capture(PathBuf),
    Trace(PathBuf),
}

impl Display for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Input::Capture(path) | Input::Trace(path)) = self;
        path.display().fmt(f)
    }
}

fn inputs(path: &Path) -> Result<Vec<Input>, Failure> {
    let captures = if path == Path::new("-") {
        Vec::new()
    } else {
        find_captures(path).map_err(|e| Failure::Capture(e.to_string()))?
    };
    if captures.is_empty() {
        if path.is_dir() {
            return Err(Failure::Capture(format!("no capture below {}", path.display())));
        }
        return Ok(vec![Input::Trace(path.to_path_buf())]);
    }
    Ok(captures.into_iter().map(Input::Capture).collect())
}

impl ConformanceArgs {
    /// Follows one; none if it is one of many and cannot be expressed.
    fn follow(&self, input: &Input, alone: bool, talk: Talk) -> Result<Option<One>, Failure> {
        let failed = |e: &dyn Display| Failure::Capture(format!("{input}: {e}"));
        match input {
            Input::Capture(path) => {
                let own = [self.kernel.is_some(), self.topology.is_some(), !self.set.is_empty()];
                if own.contains(&true) {
                    return Err(Failure::Usage(format!(
                        "{input} is a capture, which names its kernel, machine and settings: leave out --kernel, --topology and --set"
                    )));
                }
                capture(path, input, alone, talk)
            }
            Input::Trace(path) => {
                let (trace, stats) = self.read(path).map_err(|e| failed(&e))?;
                if let Some(line) = stats.first_malformed {
                    talk.warn(&format!(
                        "{input}: {} lines are no ftrace text and passed over, the first is line {line}",
                        stats.malformed
                    ));
                }
                let setup = self.setup(&trace, &stats)?;
                let (kernel, cpus) = (setup.config.profile.to_owned(), setup.config.cpus);
                if setup.tick_phase_ns.is_none() {
                    talk.warn(&format!(
                        "{input}: too few switches show when ticks come: ticks are not asked"
                    ));
                }
                let report = follow(&trace, &stats, setup).map_err(|e| failed(&e))?;
                Ok(Some(One { trace: input.to_string(), kernel, cpus, report }))
            }
        }
    }

    fn read(&self, path: &Path) -> Result<(Trace, ReadStats), Box<dyn std::error::Error>> {
        let source: Box<dyn Read> = if path == Path::new("-") {
            Box::new(std::io::stdin().lock())
        } else {
            Box::new(File::open(path)?)
        };
        Ok(read_trace(source, TraceLimits::default())?)
    }

    fn setup(&self, trace: &Trace, stats: &ReadStats) -> Result<Setup, Failure> {
        let name = self.kernel.as_ref();
        let name = name.ok_or_else(|| Failure::Usage("a trace needs --kernel PROFILE".to_owned()))?;
        let profile = Profile::by_name(name).map_err(|e| Failure::Usage(e.to_string()))?;
        let several = trace
            .events
            .iter()
            .any(|e| e.cpu > 0 || matches!(e.kind, TraceKind::Wakeup { target_cpu: 1.., .. }));
        let mut config = match &self.topology {
            Some(text) => KernelConfig::on(profile, machine_of(text)?),
            None if several => {
                return Err(Failure::Usage(
                    "the trace has several CPUs: say with --topology how they hang together, like 1x1x4x2"
                        .to_owned(),
                ));
            }
            None => KernelConfig::new(profile, 1),
        };
        config.hz = self.hz;
        config.tunables = Tunables::boot(config.topology.online().count() as u32);
        for setting in &self.set {
            let (key, value) = setting.split_once('=').unwrap_or((setting, ""));
            let name = key.trim_start_matches("kernel.").trim_start_matches("sched_");
            let tunable: Tunable =
                name.parse().map_err(|_| Failure::Usage(format!("--set {key}: no such tunable")))?;
            let value = value
                .parse()
                .map_err(|_| Failure::Usage(format!("--set {key}: '{value}' is not a whole number of ns")))?;
            config
                .tunables
                .write(&config.rules, tunable, value)
                .map_err(|e| Failure::Usage(e.to_string()))?;
        }
        let tick = config.tick_ns();
        let mut setup = Setup::new(config, &stats.prios);
        setup.tick_phase_ns = tick_phase(trace, tick);
        setup.sync_wakeups = self.sync_wakeups;
        Ok(setup)
    }
}
