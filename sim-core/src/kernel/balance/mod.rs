//! How load spreads over CPUs.

mod classic;
mod detach;
pub(in crate::kernel) mod group_types;
mod imbalance;
mod interim;
pub(in crate::kernel) mod rules;
mod state;
pub(in crate::kernel) mod stats;
#[cfg(test)]
mod tables;

pub use state::{LlcShared, RqBalance};
