//! `cfsim validate programs`: real programs under other tunables.

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Format, Report as Printed, print};
use serde::Serialize;
use std::path::Path;
use validation::programs::{self, Constants, ProgramsReport, Record};

pub(super) fn main(file: Option<&Path>, calibrate: bool, output: &OutputArgs) -> Result<(), Failure> {
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

/// The records of the project and their predictions.
pub(super) fn handed() -> Result<ProgramsReport, Failure> {
    let failed = |e: &dyn std::fmt::Display| Failure::Capture(e.to_string());
    let records = Record::handed().map_err(|e| failed(&e))?;
    let constants = Constants::fixed().map_err(|e| failed(&e))?;
    programs::compare(&records, &constants).map_err(|e| failed(&e))
}
