//! How load spreads over CPUs.

mod interim;
