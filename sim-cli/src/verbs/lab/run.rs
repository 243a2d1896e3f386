//! `cfsim lab run`: one kernel beside its prediction.

use super::guest::GuestArgs;
use super::report::{RunReport, judged};
use crate::failure::Failure;
use crate::output::{Format, Talk, print};
use clap::Args;
use std::path::PathBuf;

/// Run a scenario on a real kernel and print measured beside predicted
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    guest: GuestArgs,
    /// The kernel image: arch/x86/boot/bzImage of a build, or /boot/vmlinuz-VERSION
    #[arg(long, value_name = "FILE")]
    kernel: PathBuf,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn main(args: &RunArgs, talk: Talk) -> Result<(), Failure> {
    let (loaded, plan) = args.guest.plan(&args.guest.text()?, &[])?;
    let outcome = args.guest.run(&loaded, &plan, &args.kernel, "", talk)?;
    let held = judged(&outcome, talk);
    print(&RunReport::new(outcome, held, args.guest.keeps()), args.format)
}
