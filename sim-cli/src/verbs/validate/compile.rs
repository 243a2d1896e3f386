//! `cfsim validate compile`: kernel builds by number of jobs.

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report as Printed, Talk, print};
use rayon::prelude::*;
use validation::published::BuildError;
use validation::published::compile::{self, CompileReport, Machine};

pub(super) fn main(only: Option<&str>, seeds: u32, output: &OutputArgs, talk: Talk) -> Result<(), Failure> {
    output.start_threads()?;
    let report = report(only, seeds, talk)?;
    print(&report, output.format)?;
    let missed = report.missed().count();
    let failure = || Failure::Tolerance(format!("{missed} predictions are off by more than 5 %"));
    if missed == 0 { Ok(()) } else { Err(failure()) }
}

/// Machines are independent of each other.
pub(super) fn report(only: Option<&str>, seeds: u32, talk: Talk) -> Result<CompileReport, Failure> {
    let failed = |e: BuildError| Failure::Capture(e.to_string());
    let mut machines = compile::published().map_err(failed)?.machines;
    machines.retain(|m| only.is_none_or(|text| m.name.contains(text)));
    if machines.is_empty() {
        return Err(Failure::Usage("no machine has such a name".to_owned()));
    }
    let one = |machine: &Machine| {
        let report = machine.predict(seeds);
        talk.progress(&format!("{} done", machine.name));
        report
    };
    let reports: Result<Vec<_>, _> = machines.par_iter().map(one).collect::<Vec<_>>().into_iter().collect();
    Ok(CompileReport(reports.map_err(failed)?))
}

impl Printed for CompileReport {
    fn text(&self) -> String {
        self.to_text()
    }
}
