//! Weights and the division by them, step by step as core.md §1 states them.

use sim_core::kernel::Policy;

/// Stored weight of a nice-0 task.
pub(crate) const NICE_0: u128 = 1024 << 10;

/// A stored weight, with its inverse where a table gives one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weight {
    pub(crate) stored: u128,
    pub(crate) from_table: Option<u128>,
}

/// W and inv of nice −20 … 19 (core.md §1.1).
const TABLE: [(u128, u128); 40] = [
    (88761, 48388),
    (71755, 59856),
    (56483, 76040),
    (46273, 92818),
    (36291, 118348),
    (29154, 147320),
    (23254, 184698),
    (18705, 229616),
    (14949, 287308),
    (11916, 360437),
    (9548, 449829),
    (7620, 563644),
    (6100, 704093),
    (4904, 875809),
    (3906, 1099582),
    (3121, 1376151),
    (2501, 1717300),
    (1991, 2157191),
    (1586, 2708050),
    (1277, 3363326),
    (1024, 4194304),
    (820, 5237765),
    (655, 6557202),
    (526, 8165337),
    (423, 10153587),
    (335, 12820798),
    (272, 15790321),
    (215, 19976592),
    (172, 24970740),
    (137, 31350126),
    (110, 39045157),
    (87, 49367440),
    (70, 61356676),
    (56, 76695844),
    (45, 95443717),
    (36, 119304647),
    (29, 148102320),
    (23, 186737708),
    (18, 238609294),
    (15, 286331153),
];

impl Weight {
    /// A task's weight (§1.1).
    pub(crate) fn of_task(nice: i8, policy: Policy) -> Weight {
        let (w, inv) = match policy {
            Policy::Idle => (3, 1_431_655_765),
            _ => TABLE[(nice + 20) as usize],
        };
        Weight { stored: w << 10, from_table: Some(inv) }
    }

    /// A sum of weights, or a group's.
    pub(crate) fn computed(stored: u128) -> Weight {
        Weight { stored, from_table: None }
    }
}

/// `scale_load_down` (§1.2).
fn scale_load_down(stored: u128, floor: bool) -> u128 {
    match stored {
        0 => 0,
        w if floor => (w >> 10).max(2),
        w => w >> 10,
    }
}

/// `__calc_delta` (§1.3): delta · w / load.
pub(crate) fn calc_delta(delta: u128, w: u128, load: Weight, floor: bool) -> u128 {
    let most = (1u128 << 32) - 1;
    let inverse = load.from_table.unwrap_or_else(|| match scale_load_down(load.stored, floor) {
        0 => most,
        x if x >= most => 1,
        x => most / x,
    });
    let mut f = scale_load_down(w, floor);
    let mut shift = 32;
    while f > most {
        f >>= 1;
        shift -= 1;
    }
    f *= inverse;
    while f > most {
        f >>= 1;
        shift -= 1;
    }
    (delta * f) >> shift
}

/// `calc_delta_fair` (§1.4).
pub(crate) fn calc_delta_fair(delta: u128, of: Weight, floor: bool) -> u128 {
    if of.stored == NICE_0 { delta } else { calc_delta(delta, NICE_0, of, floor) }
}
