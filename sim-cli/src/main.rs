//! `cfsim`: predicts what scheduler tunables, kernel versions and patches cost.

mod args;
mod attribution;
mod chart;
mod comparison;
mod document;
mod experiment;
mod export;
mod failure;
mod figures;
mod header;
mod idle;
mod load;
mod output;
mod pace;
mod schedule_digest;
mod simulate;
mod spread;
mod stats;
mod sweeping;
mod text;
mod verbs;
mod waits;
mod walltime;

use args::{Cli, Verb};
use clap::{ColorChoice, Parser};
use output::Talk;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
    let talk = Talk { quiet: cli.quiet, verbose: cli.verbose };
    let result = match &cli.verb {
        Verb::Run(args) => verbs::run::main(args, talk),
        Verb::Compare(args) => verbs::compare::main(args, talk),
        Verb::Attribute(args) => verbs::attribute::main(args, talk),
        Verb::Sweep(args) => verbs::sweep::main(args, talk),
        Verb::Kernel(args) => verbs::kernel::main(args),
        Verb::Machine(args) => verbs::machine::main(args),
        Verb::Study(args) => verbs::study::main(args, talk),
        Verb::Check(args) => verbs::check::main(args),
        Verb::Import(args) => verbs::import::main(args, talk),
        Verb::New(args) => verbs::new::main(args),
        Verb::Schema(args) => verbs::schema::main(args),
        Verb::Trace(args) => verbs::trace::main(args, talk),
        Verb::Explain(args) => verbs::explain::main(args, talk),
        Verb::Topology(args) => verbs::topology::main(args),
        Verb::Conformance(args) => verbs::conformance::main(args, talk),
        Verb::Validate(args) => verbs::validate::main(args, talk),
        Verb::Lab(args) => verbs::lab::main(args, talk),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::line(&failure.render());
            failure.exit_code()
        }
    }
}
