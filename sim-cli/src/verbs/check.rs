//! `cfsim check`: whether scenarios can be run.

use crate::failure::Failure;
use crate::load::{Loaded, ScenarioText, Setting, parse_setting};
use crate::output;
use crate::text;
use crate::verbs::study;
use clap::Args;
use std::path::PathBuf;

/// Check scenarios and studies without running them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cfsim check scenarios/*.toml
  cfsim check scenarios/two-hogs.toml --set kernel.profile=5.10

Prints two lines for each file on what it would run, or the mistake with its place. A study is checked with the
scenarios and settings of all its parts. The exit code is 3 if any file cannot be run.")]
pub(crate) struct CheckArgs {
    /// The scenario or study files; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Replace a value in each scenario, like kernel.hz=1000
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting)]
    set: Vec<Setting>,
}

pub(crate) fn main(args: &CheckArgs) -> Result<(), Failure> {
    let check = |file: &PathBuf| {
        let text = ScenarioText::read(file)?;
        if study::is_study(text.text()) {
            return study::check(file, text.text(), &args.set);
        }
        Ok(summary(&file.display().to_string(), &text.with(&args.set)?))
    };
    if let [file] = args.files.as_slice() {
        return output::text(&check(file)?);
    }
    let mut failed = 0;
    for file in &args.files {
        match check(file) {
            Ok(summary) => output::text(&summary)?,
            Err(failure) => {
                failed += 1;
                output::line(&failure.render());
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Invalid { failed, of: args.files.len() }),
    }
}

/// What a scenario would run, in two lines.
fn summary(file: &str, loaded: &Loaded) -> String {
    let (scenario, config) = (&loaded.document.scenario, &loaded.resolved.config);
    let built = scenario.build(loaded.resolved.seed);
    let o = &built.objects;
    let objects = o.pipes.len()
        + o.semaphores.len()
        + o.mutexes.len()
        + o.barriers.len()
        + o.epolls.len()
        + o.conditions.len()
        + o.timers.len();
    let plural = |n: usize, noun: &str| text::plural(n as u64, noun);
    let time = |ns: u64| text::duration(ns as f64);
    let length = match config.duration {
        Some(duration) => format!("for {}", time(duration.0)),
        None => "until every task has ended".to_owned(),
    };
    let tunables = &config.kernel.tunables;
    format!(
        "{file}: {}, {} on {}, {length}, seed {}\n  kernel {}, HZ {}; latency {}, min granularity {}, wakeup \
         granularity {}\n",
        plural(built.tasks.len(), "task"),
        plural(objects, "object"),
        plural(config.kernel.cpus as usize, "CPU"),
        loaded.resolved.seed,
        config.kernel.profile,
        config.kernel.hz,
        time(tunables.latency_ns),
        time(tunables.min_granularity_ns),
        time(tunables.wakeup_granularity_ns),
    )
}
