//! Parameters and flags of a domain by its level.
//!
//! Mirrors: `sd_init`, v4.19–v6.6 (smp.md §1.3).

use super::flags::DomainFlags as F;
use super::levels::Level;
use crate::kernel::rules::Rules;

/// What a domain's level gives it.
#[derive(Clone, Copy)]
pub(super) struct LevelParams {
    pub(super) flags: F,
    pub(super) imbalance_pct: u32,
    pub(super) cache_nice_tries: u32,
}

/// Parameters of a level whose nodes are up to `distance` away.
pub(super) fn level_params(level: Level, distance: u8, reclaim_distance: u8, rules: &Rules) -> LevelParams {
    let (flags, imbalance_pct, cache_nice_tries) = match level {
        Level::Smt => (F::SHARE_CPUCAPACITY | F::SHARE_PKG_RESOURCES | F::PREFER_SIBLING, 110, 0),
        Level::Cls | Level::Mc => (F::SHARE_PKG_RESOURCES | F::PREFER_SIBLING, 117, 1),
        Level::Die | Level::Node => (F::PREFER_SIBLING, rules.imbalance_pct, 1),
        Level::Numa(_) => (F::NUMA | F::OVERLAP | F::SERIALIZE, rules.imbalance_pct, 2),
    };
    let mut flags = flags | F::BALANCE_NEWIDLE;
    if !matches!(level, Level::Numa(_)) || distance <= reclaim_distance {
        flags |= F::BALANCE_EXEC | F::BALANCE_FORK | F::WAKE_AFFINE;
    }
    if rules.sd_load_balance {
        flags |= F::LOAD_BALANCE;
    }
    LevelParams { flags, imbalance_pct, cache_nice_tries }
}
