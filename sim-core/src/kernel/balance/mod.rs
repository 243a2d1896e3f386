//! How load spreads over CPUs.

mod interim;
mod state;

pub use state::{LlcShared, RqBalance};
