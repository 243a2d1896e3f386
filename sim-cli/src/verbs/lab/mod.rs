//! `cfsim lab`: scenarios on real kernels.

mod compare;
mod guest;
mod report;
mod run;

use crate::failure::Failure;
use crate::output::{self, Talk};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use validation::lab::{LabError, fetch};

const ABOUT: &str = "\
Examples:
  cfsim lab fetch 6.1
  cfsim lab run scenarios/two-hogs.toml --kernel lab-kernels/vmlinuz-6.1.0-* --duration 1s
  cfsim lab run scenarios/hog-and-sleeper.toml --kernel bzImage --duration 2s \\
      --set kernel.sched_wakeup_granularity_ns=15ms
  cfsim lab compare scenarios/hog-and-sleeper.toml --duration 2s \\
      --kernel base/bzImage --kernel patched/bzImage

The kernel boots in QEMU, whose clock counts instructions: one takes 1 ns. That needs no rights
and no hardware support. Runs are meant to repeat on one CPU; that has not been checked yet. It says
how a kernel decides; it says nothing of caches or clock speeds.

What is needed:
  QEMU        qemu-system-x86_64, or --qemu, or CFSIM_QEMU; version 10 for several CPUs
  C compiler  cc, or --cc, or CC; it must link statically
  kernel      an x86 image up to 6.5, with ftrace, debugfs, cgroup v2, PCI and a serial console
              built in (distributions have them)
A boot takes 10 to 40 s of the host, each second of a busy guest 2 to 5 more.

Tasks with run, run_cpu, sleep, period, pipes, semaphores, barriers, fork, affinity and loops do
in the guest what the file says, in groups by cpu.weight; what the guest cannot do is refused
with its place. Tunables and features are written in the guest and read back. The machine's
speeds and costs make way for the guest's. Both sides are measured from the start, warm-up
included, up to 60 s; a trace holds about two million events.";

/// Run a scenario on a real kernel, in QEMU, beside its prediction
#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Run(run::RunArgs),
    Compare(compare::CompareArgs),
    /// Get a kernel of a distribution, without installing it
    Fetch {
        /// Which: 5.10 or 6.1
        version: String,
        /// The folder its image is put into
        #[arg(short, long, value_name = "DIR", default_value = "lab-kernels")]
        output: PathBuf,
    },
}

pub(crate) fn main(args: &LabArgs, talk: Talk) -> Result<(), Failure> {
    match &args.what {
        What::Run(args) => run::main(args, talk),
        What::Compare(args) => compare::main(args, talk),
        What::Fetch { version, output } => {
            let image = fetch::fetch(version, output, &|doing| talk.progress(doing))?;
            output::text(&format!("{}\n", image.display()))
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Failure {
        Failure::Environment(error.to_string())
    }
}
