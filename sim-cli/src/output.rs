//! Results go to standard output, everything else to standard error.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::Serialize;
use std::io::{ErrorKind, IsTerminal, Write};

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people.
    Text,
    /// One JSON document.
    Json,
}

/// A result that can be printed in every [`Format`].
pub(crate) trait Report: Serialize {
    /// The text for people, ending in a line feed.
    fn text(&self) -> String;
}

/// Prints a result.
pub(crate) fn print(report: &impl Report, format: Format) -> Result<(), Failure> {
    let text = match format {
        Format::Text => report.text(),
        Format::Json => {
            let json = serde_json::to_string_pretty(report);
            json.map_err(|e| Failure::Environment(format!("the result has no JSON form: {e}")))? + "\n"
        }
    };
    self::text(&text)
}

/// Prints text as it is.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        // The reader (head, less) has seen enough.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(Failure::Write),
    }
}

/// What the program says beside its results, by `-q` and `-v`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Talk {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

impl Talk {
    /// Something to check before the result is trusted.
    pub(crate) fn warn(self, message: &str) {
        if !self.quiet {
            line(&format!("warning: {message}"));
        }
    }

    /// What the program is doing: shown to people who wait, or on demand.
    pub(crate) fn progress(self, message: &str) {
        if !self.quiet && (self.verbose || std::io::stderr().is_terminal()) {
            line(&format!("cfsim: {message}"));
        }
    }
}

/// Writes a line to standard error; nobody can be told when that fails.
pub(crate) fn line(message: &str) {
    let _ = writeln!(anstream::stderr(), "{message}");
}
