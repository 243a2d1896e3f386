//! One module a verb.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod kernel;
pub(crate) mod new;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod study;
pub(crate) mod sweep;
