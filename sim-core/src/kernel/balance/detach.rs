//! Which tasks move for an imbalance.

use super::rules::{BalanceRules, LoadLimit};

/// How often a domain's balancing has failed, and how often it may before tasks count as movable though cache-hot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// `nr_balance_failed`.
    pub(super) failed: u32,
    /// `cache_nice_tries`.
    pub(super) nice_tries: u32,
}

/// Whether a task of this load is too much for what is left of a load imbalance.
///
/// Mirrors: the load limit of `detach_tasks()`, v4.19–v6.6; smp.md §4.4.9.
pub(super) fn load_too_large(rules: &BalanceRules, load: u64, imbalance: i64, f: Failures) -> bool {
    let limit = imbalance.cast_unsigned();
    match rules.load_limit {
        LoadLimit::Half => load / 2 > limit,
        LoadLimit::HalfUntilFailed => load / 2 > limit && f.failed <= f.nice_tries,
        LoadLimit::HalvedByFailures => load >> f.failed.min(u64::BITS - 1) > limit,
    }
}

/// Whether a task of this utilisation is too much for what is left of an imbalance in utilisation.
pub(super) fn util_too_large(rules: &BalanceRules, util: u64, imbalance: i64, f: Failures) -> bool {
    let shift = if rules.util_halved_by_failures { f.failed.min(u64::BITS - 1) } else { 0 };
    util >> shift > imbalance.cast_unsigned()
}
