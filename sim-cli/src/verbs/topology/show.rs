//! `cfsim topology show`: machine, domains, groups, flags.

use super::Source;
use super::domains::DomainsReport;
use super::machine::MachineReport;
use crate::failure::Failure;
use crate::header::SCHEMA_VERSION;
use crate::output::{self, Format, Report};
use clap::Args;
use serde::Serialize;
use sim_core::CpuId;
use sim_core::kernel::Profile;
use sim_core::kernel::domains::build;
use sim_workloads::resolve::DEFAULT_PROFILE;
use std::path::PathBuf;

/// Show a machine's CPUs and the scheduling domains a kernel makes of them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim topology show
  cfsim topology show i7-8700 --kernel 5.4
  cfsim topology show 2x1x4x2 --cpu 5
  cfsim topology show scenarios/two-hogs.toml
  cfsim topology show --from topology.xml --format json

Without an argument, the running machine is shown.")]
pub(crate) struct ShowArgs {
    /// Sockets x caches per socket x cores per cache x threads per core, the name of a machine, or a scenario
    #[arg(conflicts_with_all = ["from", "sysfs_root"])]
    machine: Option<String>,
    /// hwloc XML, output of lscpu -p, lscpu -J or lscpu, or what topology import wrote; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "sysfs_root")]
    from: Option<PathBuf>,
    /// A copy of another machine's /sys, or a folder that holds one
    #[arg(long, value_name = "DIR")]
    sysfs_root: Option<PathBuf>,
    /// Kernel profile [default: the scenario's, or 6.1]
    #[arg(long, value_name = "PROFILE")]
    kernel: Option<String>,
    /// Show the domains of one CPU, groups in the order it walks them
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn main(args: &ShowArgs) -> Result<(), Failure> {
    let source = match (&args.machine, &args.from) {
        (Some(machine), _) => Source::named_or_file(machine)?,
        (None, Some(file)) => Source::file(file)?,
        (None, None) => Source::sysfs(args.sysfs_root.as_ref())?,
    };
    let name = args.kernel.as_deref().or(source.profile.as_deref()).unwrap_or(DEFAULT_PROFILE);
    let profile = Profile::by_name(name).map_err(|e| Failure::Usage(e.to_string()))?;
    let only = args.cpu.map(CpuId);
    if let Some(cpu) = only.filter(|c| !source.topology.present().contains(*c)) {
        let present = source.topology.present();
        return Err(Failure::Usage(format!("CPU {}: the machine has CPUs {present}", cpu.0)));
    }
    let domains = build(&source.topology, &profile.rules(), &source.partitions);
    let domains = domains.map_err(|e| Failure::Usage(e.to_string()))?;
    let report = ShowReport {
        schema_version: SCHEMA_VERSION,
        from: source.from,
        kernel: profile.name,
        notes: source.notes,
        machine: MachineReport::new(&source.topology),
        domains: DomainsReport::new(&source.topology, &domains, only),
    };
    output::print(&report, args.format)
}

#[derive(Debug, Serialize)]
struct ShowReport {
    schema_version: u32,
    from: String,
    kernel: &'static str,
    notes: Vec<String>,
    machine: MachineReport,
    #[serde(flatten)]
    domains: DomainsReport,
}

impl Report for ShowReport {
    fn text(&self) -> String {
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        format!(
            "{}\n{notes}\n{}\nscheduling domains of kernel {}\n\n{}",
            self.from,
            self.machine.text(),
            self.kernel,
            self.domains.text()
        )
    }
}
