//! `cfsim lab compare`: two kernels, or two settings of one, each beside its prediction.

use super::guest::GuestArgs;
use super::report::{KernelReport, MAX_ROWS};
use crate::failure::Failure;
use crate::header::Tool;
use crate::load::Setting;
use crate::output::{Format, Report, Talk, print};
use crate::text::table;
use crate::verbs::compare::Settings;
use clap::Args;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;
use validation::lab::figures::Side;

/// Run a scenario on two real kernels, or on one with two settings, and print both changes: the real and the predicted
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim lab compare scenarios/hog-and-sleeper.toml --duration 2s \\
      --kernel base/bzImage --kernel patched/bzImage
  cfsim lab compare scenarios/pipe-ping-pong.toml --duration 1s --kernel bzImage \\
      --b kernel.sched_wakeup_granularity_ns=15ms

The prediction for a patched kernel has the rules of its version. Say what the patch changes by
name, if cfsim knows it: --b kernel.rules=pipe-exclusive-wake (cfsim kernel show 6.1 lists them).

A change counts as one when it exceeds 1 point of CPU, 5 % and 5 switches, or 5 % and 5 us of
latency. Real and predicted agree when both change the same way or neither does.")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    guest: GuestArgs,
    /// The kernel image; twice for two kernels
    #[arg(long, value_name = "FILE", required = true)]
    kernel: Vec<PathBuf>,
    /// Settings of the first side over the scenario's; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    a: Vec<Settings>,
    /// Settings of the second side over the scenario's; may be repeated
    #[arg(long, value_name = "KEY=VALUE,…", value_parser = Settings::parse)]
    b: Vec<Settings>,
    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn main(args: &CompareArgs, talk: Talk) -> Result<(), Failure> {
    let (a, b) = match args.kernel.as_slice() {
        [a, b] => (a, b),
        [one] if !(args.a.is_empty() && args.b.is_empty()) => (one, one),
        [_] => {
            return Err(Failure::Usage(
                "one --kernel and no settings: give a second --kernel, or settings with --a and --b"
                    .to_owned(),
            ));
        }
        more => {
            return Err(Failure::Usage(format!("{} times --kernel: two kernels are compared", more.len())));
        }
    };
    let text = args.guest.text()?;
    let settings = |of: &[Settings]| of.iter().flat_map(|s| s.0.iter().cloned()).collect::<Vec<Setting>>();
    // Both are compiled before either runs.
    let first = args.guest.plan(&text, &settings(&args.a))?;
    let second = args.guest.plan(&text, &settings(&args.b))?;
    let mut reports = Vec::new();
    let mut name = String::new();
    for ((loaded, plan), kernel, prefix) in [(first, a, "a-"), (second, b, "b-")] {
        let outcome = args.guest.run(&loaded, &plan, kernel, prefix, talk)?;
        name.clone_from(&outcome.name);
        reports.push(KernelReport::new(outcome, args.guest.keeps()));
    }
    let rows = rows(&reports);
    print(
        &CompareReport { tool: Tool::new("lab compare"), scenario: name, sides: reports, figures: rows },
        args.format,
    )
}

#[derive(Serialize)]
struct CompareReport {
    #[serde(flatten)]
    tool: Tool,
    scenario: String,
    sides: Vec<KernelReport>,
    figures: Vec<Row>,
}

/// A figure of both kernels, real and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    figure: String,
    real: (f64, f64),
    predicted: Option<(f64, f64)>,
    /// Whether the prediction changes as the real kernel does.
    agrees: Option<bool>,
}

/// How much a change must exceed to count: absolute, and in % of the first side.
type Threshold = (f64, f64);
const SHARE: Threshold = (1.0, 0.0);
const SWITCHES: Threshold = (5.0, 5.0);
const LATENCY: Threshold = (5.0, 5.0);

/// -1, 0 or 1.
fn direction((a, b): (f64, f64), (absolute, percent): Threshold) -> i8 {
    let change = b - a;
    let counts = change.abs() > absolute && change.abs() > a.abs() * percent / 100.0;
    if !counts {
        0
    } else if change > 0.0 {
        1
    } else {
        -1
    }
}

fn row(figure: String, real: (f64, f64), predicted: Option<(f64, f64)>, threshold: Threshold) -> Row {
    let agrees = predicted.map(|p| direction(p, threshold) == direction(real, threshold));
    Row { figure, real, predicted, agrees }
}

/// A side's figure, if it has it.
type Get<'a> = &'a dyn Fn(&Side) -> Option<f64>;

fn rows(reports: &[KernelReport]) -> Vec<Row> {
    let [a, b] = reports else { return Vec::new() };
    let mut rows = Vec::new();
    let mut add = |figure: String, threshold: Threshold, get: Get<'_>| {
        let real = get(&a.measured).zip(get(&b.measured));
        let predicted = a.predicted.as_ref().and_then(get).zip(b.predicted.as_ref().and_then(get));
        rows.extend(real.map(|real| row(figure, real, predicted, threshold)));
    };
    add("context switches".to_owned(), SWITCHES, &|s| Some(s.switches));
    for name in a.measured.tasks.keys() {
        add(format!("{name}: CPU %"), SHARE, &|s| Some(s.tasks.get(name)?.share_pct));
        add(format!("{name}: involuntary switches"), SWITCHES, &|s| Some(s.tasks.get(name)?.involuntary));
        add(format!("{name}: wake-up latency, us"), LATENCY, &|s| s.tasks.get(name)?.latency_us);
    }
    rows
}

impl CompareReport {
    fn write(&self, out: &mut String) -> std::fmt::Result {
        for (side, letter) in self.sides.iter().zip(["A", "B"]) {
            side.head(out, &format!("{letter}, {}", self.scenario))?;
        }
        writeln!(out)?;
        let pair = |p: (f64, f64)| format!("{:.1} -> {:.1}", p.0, p.1);
        let cells = |r: &Row| {
            let agrees = r.agrees.map_or("-", |yes| if yes { "yes" } else { "NO" });
            vec![
                r.figure.clone(),
                pair(r.real),
                r.predicted.map_or_else(|| "-".to_owned(), pair),
                agrees.to_owned(),
            ]
        };
        let head = ["figure", "real A -> B", "predicted A -> B", "same direction"];
        *out += &table(&head, self.figures.iter().take(3 * MAX_ROWS).map(cells));
        let judged: Vec<bool> = self.figures.iter().filter_map(|r| r.agrees).collect();
        if !judged.is_empty() {
            let right = judged.iter().filter(|yes| **yes).count();
            writeln!(out, "\nsummary: {right} of {} figures change as predicted", judged.len())?;
        }
        Ok(())
    }
}

impl Report for CompareReport {
    fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write(&mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_beyond_both_thresholds() {
        assert_eq!(direction((50.0, 50.9), SHARE), 0);
        assert_eq!(direction((50.0, 51.1), SHARE), 1);
        assert_eq!(direction((1000.0, 960.0), SWITCHES), 0);
        assert_eq!(direction((1000.0, 940.0), SWITCHES), -1);
        assert_eq!(direction((10.0, 14.0), SWITCHES), 0);
    }

    #[test]
    fn agreement_is_about_direction() {
        let agrees = |real, predicted| row(String::new(), real, Some(predicted), SHARE).agrees;
        assert_eq!(agrees((50.0, 60.0), (40.0, 42.0)), Some(true));
        assert_eq!(agrees((50.0, 60.0), (40.0, 40.5)), Some(false));
        assert_eq!(agrees((50.0, 50.5), (40.0, 40.5)), Some(true));
        assert_eq!(row(String::new(), (1.0, 2.0), None, SHARE).agrees, None);
    }
}
