//! Why a machine cannot be read.

use sim_core::machine::topology::TopologyError;
use thiserror::Error;

/// Why a file or a tree is not a machine that can be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// Larger than allowed.
    #[error("{bytes} bytes: at most {limit} are allowed")]
    TooLarge {
        /// Size.
        bytes: usize,
        /// Limit.
        limit: usize,
    },
    /// More parts than allowed.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// Limit.
        limit: usize,
    },
    /// Nothing this program reads.
    #[error(
        "not a description of a machine: hwloc XML, lscpu -p, lscpu -J, lscpu and cfsim's own TOML are read"
    )]
    UnknownFormat,
    /// Not well-formed.
    #[error("not valid {format}: {message}")]
    Syntax {
        /// What it should be.
        format: &'static str,
        /// What is wrong and where.
        message: String,
    },
    /// Something that must be there is not.
    #[error("{what} is missing")]
    Missing {
        /// What.
        what: String,
    },
    /// A value that cannot be.
    #[error("{place}: found '{found:.60}', expected {expected}")]
    BadValue {
        /// Where.
        place: String,
        /// What was found.
        found: String,
        /// What is allowed.
        expected: &'static str,
    },
    /// Something that scenarios cannot express.
    #[error("{what}")]
    Unsupported {
        /// What.
        what: String,
    },
    /// A file of the tree cannot be read.
    #[error("{path}: {message}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The machine as described is impossible.
    #[error("{0}")]
    Machine(#[from] TopologyError),
}

impl ImportError {
    pub(super) fn bad(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: &'static str,
    ) -> ImportError {
        ImportError::BadValue { place: place.into(), found: found.into(), expected }
    }
    pub(super) fn unreadable(path: &str, error: &std::io::Error) -> ImportError {
        ImportError::Io { path: path.to_owned(), message: error.to_string() }
    }
    pub(super) fn missing(what: impl Into<String>) -> ImportError {
        ImportError::Missing { what: what.into() }
    }
}
