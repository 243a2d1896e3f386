//! Which CPU a task goes to.

mod idle;
mod interim;
pub(in crate::kernel) mod rules;
