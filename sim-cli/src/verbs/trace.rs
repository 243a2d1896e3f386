//! `cfsim trace`: a run as ftrace text.

use crate::args::ScenarioArgs;
use crate::export::ftrace::{EventSet, Ftrace, Style, TraceEvent};
use crate::failure::Failure;
use crate::output::Talk;
use crate::simulate;
use clap::Args;
use sim_core::kernel::hooks::NoHooks;
use sim_core::{End, Instant, Nanos};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Write a run as the kernel's own trace text
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim trace scenarios/two-hogs.toml -o hogs.txt
  cfsim trace scenarios/hog-and-sleeper.toml --events sched_switch,sched_wakeup --from 1s --to 1.1s
  cfsim trace scenarios/pipe-ping-pong.toml --nanoseconds | less

The text is what /sys/kernel/tracing/trace shows on the kernel that is imitated, so that readers of ftrace and
`trace-cmd report` text take it. It is written while the run goes on: its header cannot know the number of entries, and
says 0. Pids start at 1000 in the order of creation; pid 0 is the idle task.")]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Where to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Which events, separated by commas; all when left out
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    events: Vec<TraceEvent>,
    /// Simulated time of the first event
    #[arg(long, value_name = "TIME", default_value = "0s")]
    from: Nanos,
    /// Simulated time at which the run is cut off
    #[arg(long, value_name = "TIME")]
    to: Option<Nanos>,
    /// Stamps with nine digits of fraction, as `trace-cmd report -t` shows them, instead of the kernel's six
    #[arg(long)]
    nanoseconds: bool,
}

pub(crate) fn main(args: &TraceArgs, talk: Talk) -> Result<(), Failure> {
    if args.to.is_some_and(|to| to < args.from) {
        return Err(Failure::Usage("--to lies before --from: the trace would be empty".to_owned()));
    }
    let loaded = args.scenario.load()?.drawn()?;
    talk.progress(&format!("tracing {}", args.scenario.scenario.display()));
    let kernel = &loaded.resolved.config.kernel;
    let style = Style::of(kernel, args.nanoseconds);
    let from = Instant(args.from.0);
    let events = EventSet::of(&args.events);
    let trace = Ftrace::new(open(&args.output)?, style, kernel.cpus, events, from);
    let seed = loaded.resolved.seed;
    let mut simulation = simulate::prepare(&loaded, seed, args.to, trace, NoHooks);
    let outcome = simulation.run().map_err(|error| Failure::run(seed, error, &simulation));
    // What was traced until an error is kept.
    match simulation.observer.finish() {
        // The reader (head, less) has seen enough.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => {}
        Err(e) => return Err(Failure::Write(e)),
        Ok(_) => {}
    }
    if matches!(outcome?.end, End::Stalled(_)) {
        talk.warn("some tasks wait for what never comes: the trace ends there");
    }
    Ok(())
}

fn open(path: &Path) -> Result<Box<dyn Write>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(BufWriter::new(io::stdout().lock())));
    }
    Ok(Box::new(BufWriter::new(File::create(path).map_err(Failure::Write)?)))
}
