//! How load spreads over CPUs.

mod classic;
mod detach;
mod group_types;
mod imbalance;
mod interim;
pub(in crate::kernel) mod rules;
mod state;
mod stats;
#[cfg(test)]
mod tables;

pub use state::{LlcShared, RqBalance};
