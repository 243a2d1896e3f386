//! rt-app workloads: read in the grammar they are written in, turned into a scenario of our own.

mod convert;
mod event;
mod first;
mod json;
mod names;
mod program;
mod task;
#[cfg(test)]
mod tests;

pub use convert::{Imported, Options, WAIVABLE, import};
pub use json::MAX_BYTES;

use thiserror::Error;

/// A place in a file, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: u32,
    /// Column in characters.
    pub column: u32,
}

impl Place {
    fn error(self, message: impl Into<String>) -> RtAppError {
        RtAppError { file: None, place: self, message: message.into() }
    }
}

/// What cannot be read or is not modelled, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{}:{}: {message}", .file.as_ref().map(|f| format!("{f}:")).unwrap_or_default(), place.line, place.column)]
pub struct RtAppError {
    /// The file, where there are several or it has a name.
    pub file: Option<String>,
    /// Where in it.
    pub place: Place,
    /// What was found and what is allowed.
    pub message: String,
}
