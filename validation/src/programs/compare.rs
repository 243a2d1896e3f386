//! Measured beside predicted, cell by cell. Deviates: D-222.

use super::constants::Constants;
use super::record::Record;
use super::run::{RunError, Simulated, simulate};
use super::scenario::Program;
use serde::Serialize;
use std::fmt::Write;

/// How far predicted switches may be off, in percent. Fixed before the first comparison.
pub const SWITCH_TOLERANCE_PERCENT: f64 = 25.0;

/// What a cell came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Ratio and switches are within their tolerances.
    Within,
    /// One of them is not.
    Missed,
    /// The baseline itself: its throughput was fitted.
    Baseline,
    /// Tracing takes time that the model does not have.
    Traced,
    /// There is no model of the program.
    NoModel,
    /// There is no baseline to compare with.
    NoBaseline,
    /// Something was set that the model does not know.
    NoSetting,
}

/// One record and its prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell {
    /// Kernel.
    pub kernel: String,
    /// Program.
    pub program: String,
    /// Setting.
    pub setting: String,
    /// Repetition.
    pub rep: u32,
    /// Measured throughput over that of the baseline.
    pub measured_ratio: Option<f64>,
    /// Predicted throughput over the predicted baseline's.
    pub predicted_ratio: Option<f64>,
    /// By how much the prediction is off, in percent of the measured ratio.
    pub error_percent: Option<f64>,
    /// Measured switches of the command.
    pub measured_switches: u64,
    /// Predicted ones.
    pub predicted_switches: Option<f64>,
    /// Predicted throughput over measured, in percent: how far absolute figures are off.
    pub absolute_error_percent: Option<f64>,
    /// What was set that the model does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_setting: Option<String>,
    /// Verdict on both.
    pub verdict: Verdict,
}

/// All cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgramsReport {
    /// In the order of the records.
    pub cells: Vec<Cell>,
}

/// Predicts every record.
///
/// # Errors
/// When a run fails.
pub fn compare(records: &[Record], constants: &Constants) -> Result<ProgramsReport, RunError> {
    let cells = records.iter().map(|record| cell(record, records, constants));
    Ok(ProgramsReport { cells: cells.collect::<Result<_, _>>()? })
}

/// The baselines of a record: runs under `d8` of the same program and kernel, with the same call where repetitions differ in
/// it.
fn baselines<'a>(record: &Record, records: &'a [Record]) -> Vec<&'a Record> {
    let same = |r: &&Record| !Program::of(record).is_some_and(Program::differs_by_rep) || r.rep == record.rep;
    records.iter().filter(|r| r.is_baseline() && r.is_alike(record)).filter(same).collect()
}

fn cell(record: &Record, records: &[Record], constants: &Constants) -> Result<Cell, RunError> {
    let mut cell = Cell {
        kernel: record.kernel.clone(),
        program: record.program.clone(),
        setting: record.setting.clone(),
        rep: record.rep,
        measured_ratio: None,
        predicted_ratio: None,
        error_percent: None,
        measured_switches: record.nvcsw + record.nivcsw,
        predicted_switches: None,
        absolute_error_percent: None,
        unknown_setting: record.unknown_setting(),
        verdict: Verdict::NoBaseline,
    };
    let baselines = baselines(record, records);
    let Some(first) = baselines.first() else { return Ok(cell) };
    let measured = record.thr / (baselines.iter().map(|r| r.thr).sum::<f64>() / baselines.len() as f64);
    cell.measured_ratio = Some(measured);
    let known = Program::of(record).zip(constants.work_of(&record.program));
    let Some((program, work)) = known else {
        cell.verdict = Verdict::NoModel;
        return Ok(cell);
    };
    if cell.unknown_setting.is_some() {
        cell.verdict = Verdict::NoSetting;
        return Ok(cell);
    }
    let base = simulate(program, &Record { rep: record.rep, ..(*first).clone() }, constants, work)?;
    let Simulated { thr, switches } = simulate(program, record, constants, work)?;
    let error = (thr / base.thr / measured - 1.0) * 100.0;
    cell.predicted_ratio = Some(thr / base.thr);
    cell.error_percent = Some(error);
    cell.predicted_switches = Some(switches);
    cell.absolute_error_percent = Some((thr / record.thr - 1.0) * 100.0);
    let off = (switches / (cell.measured_switches.max(1) as f64) - 1.0).abs() * 100.0;
    cell.verdict = match () {
        () if record.traced => Verdict::Traced,
        () if record.is_baseline() => Verdict::Baseline,
        () if error.abs() <= program.tolerance_percent() && off <= SWITCH_TOLERANCE_PERCENT => {
            Verdict::Within
        }
        () => Verdict::Missed,
    };
    Ok(cell)
}

impl ProgramsReport {
    /// Whether every cell that is judged is within its tolerances.
    pub fn passed(&self) -> bool {
        self.cells.iter().all(|c| c.verdict != Verdict::Missed)
    }

    /// As a table for people.
    pub fn to_text(&self) -> String {
        let mut out = format!(
            "{:<6} {:<8} {:<7} {:>3} {:>9} {:>9} {:>7} {:>9} {:>9} {:>8}  verdict\n",
            "kernel",
            "program",
            "setting",
            "rep",
            "measured",
            "predicted",
            "error",
            "switches",
            "predicted",
            "absolute"
        );
        for c in &self.cells {
            let number =
                |x: Option<f64>, digits: usize| x.map_or("-".to_owned(), |x| format!("{x:.digits$}"));
            let percent = |x: Option<f64>| x.map_or("-".to_owned(), |x| format!("{x:+.1} %"));
            let verdict = match c.verdict {
                Verdict::Within => "within",
                Verdict::Missed => "MISSED",
                Verdict::Baseline => "baseline",
                Verdict::Traced => "traced",
                Verdict::NoModel => "no model of this program",
                Verdict::NoBaseline => "no baseline",
                Verdict::NoSetting => "not modelled: ",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:<6} {:<8} {:<7} {:>3} {:>9} {:>9} {:>7} {:>9} {:>9} {:>8}  {verdict}{}",
                c.kernel,
                c.program,
                c.setting,
                c.rep,
                number(c.measured_ratio, 4),
                number(c.predicted_ratio, 4),
                percent(c.error_percent),
                c.measured_switches,
                number(c.predicted_switches, 0),
                percent(c.absolute_error_percent),
                c.unknown_setting.as_deref().filter(|_| c.verdict == Verdict::NoSetting).unwrap_or_default()
            );
        }
        let count = |v| self.cells.iter().filter(|c| c.verdict == v).count();
        let (within, missed) = (count(Verdict::Within), count(Verdict::Missed));
        let _ = writeln!(out, "\n{within} of {} judged cells are within their tolerances", within + missed);
        out
    }
}
