//! Load weights and the kernel's fixed-point division by them.
//!
//! Mirrors: `sched_prio_to_weight`, `sched_prio_to_wmult`, `__calc_delta()`, `__update_inv_weight()`, v4.19–v6.5, 64-bit.

use super::Policy;

/// `SCHED_FIXEDPOINT_SHIFT`: weights are stored this many bits up on 64-bit kernels.
pub const FIXEDPOINT_SHIFT: u32 = 10;
/// Stored weight of a nice-0 task (`NICE_0_LOAD`).
pub const NICE_0_LOAD: u64 = 1024 << FIXEDPOINT_SHIFT;
/// Smallest shares of a task group (`MIN_SHARES`), in user-visible units.
pub const MIN_SHARES: u64 = 2;
/// Largest shares of a task group (`MAX_SHARES`), in user-visible units.
pub const MAX_SHARES: u64 = 1 << 18;
/// `WEIGHT_IDLEPRIO`.
pub const IDLE_WEIGHT: u64 = 3;

const WMULT_CONST: u64 = u32::MAX as u64;
const WMULT_SHIFT: u32 = 32;
const IDLE_WMULT: u32 = 1_431_655_765;

/// Weight per nice level, −20 first; each step is a factor of about 1.25.
const PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// Inverse weight 2^32/weight per nice level, −20 first.
const PRIO_TO_WMULT: [u32; 40] = [
    48388, 59856, 76040, 92818, 118348, 147320, 184698, 229616, 287308, 360437, 449829, 563644, 704093,
    875809, 1099582, 1376151, 1717300, 2157191, 2708050, 3363326, 4194304, 5237765, 6557202, 8165337,
    10153587, 12820798, 15790321, 19976592, 24970740, 31350126, 39045157, 49367440, 61356676, 76695844,
    95443717, 119304647, 148102320, 186737708, 238609294, 286331153,
];

/// A load with its lazily computed inverse (`struct load_weight`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadWeight {
    /// Stored (scaled-up) weight.
    pub weight: u64,
    /// 32-bit inverse; 0 means not computed since the weight last changed.
    inverse: u32,
}

impl LoadWeight {
    /// The weight of a task: taken from the tables, inverse included.
    ///
    /// Mirrors: `set_load_weight()`.
    pub fn of_task(nice: i8, policy: Policy) -> LoadWeight {
        assert!((-20..=19).contains(&nice), "nice {nice} is outside -20..=19");
        if policy == Policy::Idle {
            return LoadWeight { weight: IDLE_WEIGHT << FIXEDPOINT_SHIFT, inverse: IDLE_WMULT };
        }
        let row = (i32::from(nice) + 20) as usize;
        LoadWeight { weight: u64::from(PRIO_TO_WEIGHT[row]) << FIXEDPOINT_SHIFT, inverse: PRIO_TO_WMULT[row] }
    }

    /// A summed or shared load: its inverse is computed by division when first needed.
    pub const fn of_load(weight: u64) -> LoadWeight {
        LoadWeight { weight, inverse: 0 }
    }

    /// Adds to the sum (`update_load_add`).
    pub fn add(&mut self, weight: u64) {
        *self = LoadWeight::of_load(self.weight + weight);
    }

    /// Takes from the sum (`update_load_sub`).
    pub fn sub(&mut self, weight: u64) {
        *self = LoadWeight::of_load(self.weight - weight);
    }

    /// The inverse, computed at most once per change (`__update_inv_weight()`).
    fn inverse(&mut self, floor: bool) -> u64 {
        if self.inverse == 0 {
            let w = scale_load_down(self.weight, floor);
            self.inverse = match w {
                0 => u32::MAX,
                w if w >= WMULT_CONST => 1,
                w => (WMULT_CONST / w) as u32,
            };
        }
        u64::from(self.inverse)
    }

    /// `delta · weight / self`, exactly as the kernel rounds it.
    ///
    /// Mirrors: `__calc_delta()`, v4.19–v6.5.
    pub fn calc_delta(&mut self, delta: u64, weight: u64, floor: bool) -> u64 {
        let mut shift = WMULT_SHIFT;
        let narrow = |mut x: u64, shift: &mut u32| {
            let over = u64::BITS - (x >> 32).leading_zeros();
            x >>= over;
            *shift -= over;
            x
        };
        let fact = narrow(scale_load_down(weight, floor), &mut shift);
        let fact = narrow(fact * self.inverse(floor), &mut shift);
        ((u128::from(delta) * u128::from(fact)) >> shift) as u64
    }
}

/// Stored weight to user-visible weight. With `floor` (5.7 and later, 5.4 stable) a non-zero weight never scales
/// below 2.
///
/// Mirrors: `scale_load_down()`.
pub const fn scale_load_down(weight: u64, floor: bool) -> u64 {
    let w = weight >> FIXEDPOINT_SHIFT;
    if floor && weight != 0 && w < 2 { 2 } else { w }
}

/// Real time to virtual time for an entity of load `load`.
///
/// Mirrors: `calc_delta_fair()`, v4.19–v6.5.
pub fn calc_delta_fair(delta: u64, load: &mut LoadWeight, floor: bool) -> u64 {
    if load.weight == NICE_0_LOAD { delta } else { load.calc_delta(delta, NICE_0_LOAD, floor) }
}

/// cgroup v2 `cpu.weight` (1…10000) to shares (stored units).
///
/// Mirrors: `sched_weight_from_cgroup()` and the clamp of `sched_group_set_shares()`.
pub fn shares_from_cgroup_weight(weight: u64) -> u64 {
    ((weight * 1024 + 50) / 100).clamp(MIN_SHARES, MAX_SHARES) << FIXEDPOINT_SHIFT
}

/// Keeps stored shares within what a group may have.
pub fn clamp_shares(shares: u64) -> u64 {
    shares.clamp(MIN_SHARES << FIXEDPOINT_SHIFT, MAX_SHARES << FIXEDPOINT_SHIFT)
}

/// cgroup v1 `cpu.shares` to shares (stored units).
///
/// Mirrors: `cpu_shares_write_u64()` and the clamp of `sched_group_set_shares()`.
pub fn shares_from_cpu_shares(shares: u64) -> u64 {
    shares.clamp(MIN_SHARES, MAX_SHARES) << FIXEDPOINT_SHIFT
}

/// cgroup v2 `cpu.weight.nice`, or the nice level of an autogroup, to shares (stored units).
///
/// Mirrors: `cpu_weight_nice_write_s64()`, `proc_sched_autogroup_set_nice()`.
pub fn shares_from_nice(nice: i8) -> u64 {
    LoadWeight::of_task(nice, Policy::Normal).weight
}

/// What `cpu.weight` reads back as.
///
/// Mirrors: `sched_weight_to_cgroup()`.
pub fn cgroup_weight_from_shares(shares: u64) -> u64 {
    (((shares >> FIXEDPOINT_SHIFT) * 100 + 512) / 1024).clamp(1, 10_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// core.md §1.1, columns 4–6 of the table: vruntime of 1 ms, wakeup granularity of 4 ms, for every nice level.
    #[test]
    fn one_millisecond_and_four_by_nice_level() {
        let rows: [(i8, u64, u64); 12] = [
            (-20, 11536, 46146),
            (-15, 35123, 140495),
            (-10, 107247, 428990),
            (-5, 328099, 1312399),
            (-1, 801879, 3207517),
            (0, 1000000, 4000000),
            (1, 1248780, 4995121),
            (4, 2420803, 9683215),
            (5, 3056716, 12226865),
            (10, 9309090, 37236363),
            (15, 28444444, 113777777),
            (19, 68266666, 273066666),
        ];
        for (nice, one, four) in rows {
            let mut load = LoadWeight::of_task(nice, Policy::Normal);
            assert_eq!(calc_delta_fair(1_000_000, &mut load, true), one, "nice {nice}");
            assert_eq!(calc_delta_fair(4_000_000, &mut load, true), four, "nice {nice}");
        }
        let mut idle = LoadWeight::of_task(0, Policy::Idle);
        assert_eq!(calc_delta_fair(1_000_000, &mut idle, true), 341_333_333);
        assert_eq!(calc_delta_fair(4_000_000, &mut idle, true), 1_365_333_333);
    }

    /// core.md §15.1.
    #[test]
    fn computed_inverses_differ_from_the_table() {
        let mut two = LoadWeight::of_load(2048 << 10);
        assert_eq!(two.inverse(true), 2_097_151);
        let mut one = LoadWeight::of_load(NICE_0_LOAD);
        assert_eq!(one.inverse(true), 4_194_303);
        assert_eq!(LoadWeight::of_task(0, Policy::Normal).inverse(true), 4_194_304);
        assert_eq!(LoadWeight::of_load(NICE_0_LOAD).calc_delta(1_000_000, NICE_0_LOAD, true), 999_999);
        assert_eq!(calc_delta_fair(1_000_000, &mut one, true), 1_000_000);
    }

    /// core.md §15.8: wakeup granularity of a group entity with 256 shares.
    #[test]
    fn granularity_of_a_quarter_weight_group() {
        let mut quarter = LoadWeight::of_load(262_144);
        assert_eq!(calc_delta_fair(4_000_000, &mut quarter, true), 15_999_999);
    }

    /// core.md §1.2 and §9.3.
    #[test]
    fn scaling_and_cgroup_weights() {
        assert_eq!(scale_load_down(1, true), 2);
        assert_eq!(scale_load_down(1, false), 0);
        assert_eq!(scale_load_down(0, true), 0);
        let table = [
            (1, 10),
            (10, 102),
            (50, 512),
            (100, 1024),
            (200, 2048),
            (500, 5120),
            (1000, 10240),
            (10000, 102400),
        ];
        for (weight, shares) in table {
            assert_eq!(shares_from_cgroup_weight(weight), shares << 10, "cpu.weight {weight}");
            assert_eq!(cgroup_weight_from_shares(shares << 10), weight, "reading {weight} back");
        }
        // An idle group reads (3 · 100 + 512) / 1024 = 0, kept at the smallest weight; the largest shares at the largest.
        assert_eq!(cgroup_weight_from_shares(3 << 10), 1);
        assert_eq!(cgroup_weight_from_shares(MAX_SHARES << 10), 10_000);
        for (v1, shares) in [(0, 2), (2, 2), (1024, 1024), (262_144, 262_144), (1 << 40, 262_144)] {
            assert_eq!(shares_from_cpu_shares(v1), shares << 10, "cpu.shares {v1}");
        }
        for (nice, shares) in [(-20, 88_761), (0, 1024), (5, 335), (19, 15)] {
            assert_eq!(shares_from_nice(nice), shares << 10, "cpu.weight.nice {nice}");
        }
    }

    /// The tables follow from their defining formula: inverse = 2^32 / weight, rounded to nearest or down.
    #[test]
    fn tables_agree_with_each_other() {
        for (w, inv) in PRIO_TO_WEIGHT.iter().zip(PRIO_TO_WMULT) {
            let exact = (1u64 << 32) as f64 / f64::from(*w);
            assert!((exact - f64::from(inv)).abs() <= 1.0, "weight {w}");
        }
    }
}
