//! `cfsim validate smt`: hyper-threading ratios with one factor fitted.

use crate::args::OutputArgs;
use crate::failure::Failure;
use crate::output::{Report as Printed, print};
use validation::published::smt::{self, SmtReport};

pub(super) fn main(objects: u32, seed: u64, output: &OutputArgs) -> Result<(), Failure> {
    output.start_threads()?;
    let report = smt::compare(objects, seed).map_err(|e| Failure::Capture(e.to_string()))?;
    print(&report, output.format)?;
    let missed = || Failure::Tolerance("a prediction is off by more than 3 points".to_owned());
    if report.passed() { Ok(()) } else { Err(missed()) }
}

impl Printed for SmtReport {
    fn text(&self) -> String {
        self.to_text()
    }
}
