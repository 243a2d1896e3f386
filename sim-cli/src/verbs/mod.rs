//! One module a verb.

pub(crate) mod compare;
pub(crate) mod kernel;
pub(crate) mod run;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod validate;
