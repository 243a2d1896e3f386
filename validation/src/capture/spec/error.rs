//! What a spec may not exceed, and why one is refused.

use thiserror::Error;

/// What a spec may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits;

impl Limits {
    /// Size of the text, bytes (the driver's own buffer).
    pub const BYTES: usize = 1 << 20;
    /// Depth of nested blocks.
    pub const DEPTH: usize = 64;
    /// Tasks, `count` multiplied out (the driver's table).
    pub const TASKS: usize = 512;
    /// Steps of all tasks together (the driver's table).
    pub const NODES: usize = 65_536;
    /// Semaphores, pipes and barriers together (the driver's table).
    pub const OBJECTS: usize = 256;
    /// Groups.
    pub const GROUPS: usize = 256;
    /// Length of an object's or a group's name, bytes (the driver's buffers).
    pub const NAME: usize = 23;
}

/// Why a spec is refused, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct SpecError {
    /// Line number, from 1; 0 is the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: SpecProblem,
}

/// What is wrong with a spec.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecProblem {
    /// Larger than [`Limits::BYTES`].
    #[error("the spec has {0} bytes; allowed are {max}", max = Limits::BYTES)]
    TooLarge(usize),
    /// Nested deeper than [`Limits::DEPTH`].
    #[error("blocks nest deeper than {max}", max = Limits::DEPTH)]
    TooDeep,
    /// More of something than its limit.
    #[error("more than {max} {what}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many are allowed.
        max: usize,
    },
    /// A line that starts with none of the language's words.
    #[error("'{0}' starts no line: allowed are seed, slack, lead, phase, limit, chunk, clock, group, task")]
    UnknownLine(String),
    /// A word that is no step.
    #[error("'{0}' is not a step of a task's body")]
    UnknownStep(String),
    /// An attribute that does not exist here.
    #[error("'{0}' is not an attribute of this line")]
    UnknownAttribute(String),
    /// The line or body ends where something is needed.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// More on the line than it can hold.
    #[error("'{0}' is left over at the end of the line")]
    LeftOver(String),
    /// A `}` without its `{`.
    #[error("a '}}' without its '{{'")]
    StrayBrace,
    /// Something other than `{` where a block starts.
    #[error("'{{' expected, found '{0}'")]
    NoBlock(String),
    /// Not a duration, or a longer one than an hour, or a range from high to low.
    #[error("'{0}' is not a duration: write 250us, 1.5ms or LO..HI, at most an hour")]
    BadDuration(String),
    /// Not a whole number within bounds.
    #[error("'{found}' is not a whole number from {min} to {max}")]
    BadNumber {
        /// As written.
        found: String,
        /// Least allowed.
        min: u64,
        /// Most allowed.
        max: u64,
    },
    /// Not a whole number within bounds.
    #[error("'{found}' is not a whole number from {min} to {max}")]
    BadSigned {
        /// As written.
        found: String,
        /// Least allowed.
        min: i64,
        /// Most allowed.
        max: i64,
    },
    /// None of the allowed words.
    #[error("'{found}' is not allowed here: allowed are {allowed}")]
    BadWord {
        /// As written.
        found: String,
        /// The words that may stand here.
        allowed: &'static str,
    },
    /// Not a cpulist.
    #[error("{0}")]
    BadCpus(String),
    /// A name too long for the driver.
    #[error("the name '{0}' is longer than {max} bytes", max = Limits::NAME)]
    LongName(String),
    /// A task without a body.
    #[error("the task has no ':' and body")]
    NoBody,
}
