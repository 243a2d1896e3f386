//! Runs in the formats of other tools: one module a format.

pub(crate) mod ftrace;
pub(crate) mod schedstat;
