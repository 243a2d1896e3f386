//! How load spreads over CPUs. Deviates: D-122.

mod active;
mod busiest;
mod classic;
mod detach;
mod env;
pub(in crate::kernel) mod group_types;
mod imbalance;
mod newidle;
mod nohz;
mod pass;
mod periodic;
pub(in crate::kernel) mod rules;
mod state;
pub(crate) mod stats;
mod sums;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;

pub(in crate::kernel) use state::Balancing;
pub use state::{LlcShared, RqBalance};
