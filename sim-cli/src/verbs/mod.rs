//! One module a verb.

pub(crate) mod attribute;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod conformance;
pub(crate) mod explain;
pub(crate) mod import;
pub(crate) mod kernel;
pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod new;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod topology;
pub(crate) mod trace;
pub(crate) mod validate;
