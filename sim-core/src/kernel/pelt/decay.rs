//! Geometric decay: y³² = ½, one step per period of 1024 · 1024 ns.
//!
//! Mirrors: `decay_load()`, `__accumulate_pelt_segments()`, v4.19–v6.5; smp.md §2.1.

/// Units of 1024 ns in a period.
pub(super) const PERIOD: u64 = 1024;
/// Periods in which a value halves.
const HALF_LIFE: u64 = 32;
/// Periods after which nothing is left of any value.
const FULL_DECAY: u64 = HALF_LIFE * 63;
/// The sum that a signal which is always on approaches (`LOAD_AVG_MAX`).
pub(super) const LOAD_AVG_MAX: u64 = limit();
/// Smallest divider of a sum: at the start of a period (`PELT_MIN_DIVIDER`).
pub(super) const MIN_DIVIDER: u64 = LOAD_AVG_MAX - PERIOD;

/// ⌊(2³² − 1) · yⁿ⌋ for n of 0…31 (`runnable_avg_yN_inv`).
const INVERSE: [u32; HALF_LIFE as usize] = inverses();

/// 1 as a fixed-point number of [`inverses`].
const ONE: u128 = 1 << 62;

const fn inverses() -> [u32; HALF_LIFE as usize] {
    // y is the square root of the square root … of ½, five times.
    let mut y = ONE / 2;
    let mut i = 0;
    while i < HALF_LIFE.ilog2() {
        y = (y * ONE).isqrt();
        i += 1;
    }
    let mut table = [0; HALF_LIFE as usize];
    let (mut power, mut n) = (ONE, 0);
    while n < table.len() {
        table[n] = ((u32::MAX as u128 * power) >> 62) as u32;
        power = (power * y) >> 62;
        n += 1;
    }
    table
}

const fn limit() -> u64 {
    let mut sum = 0;
    loop {
        let next = decay(sum, 1) + PERIOD;
        if next == sum {
            return sum;
        }
        sum = next;
    }
}

/// What is left of a value after so many periods.
pub(super) const fn decay(value: u64, periods: u64) -> u64 {
    if periods > FULL_DECAY {
        return 0;
    }
    let value = value >> (periods / HALF_LIFE);
    ((value as u128 * INVERSE[(periods % HALF_LIFE) as usize] as u128) >> 32) as u64
}

/// Weight now of a time that ended just now: `before` units in the first period, then whole periods, then `after` units.
pub(super) const fn segments(periods: u64, before: u64, after: u64) -> u64 {
    decay(before, periods) + (LOAD_AVG_MAX - decay(LOAD_AVG_MAX, periods) - PERIOD) + after
}

#[cfg(test)]
mod tests {
    use super::*;

    /// smp.md §2.1.
    #[test]
    fn the_table_is_the_kernels() {
        let given = [(0, 0xffff_ffff_u32), (1, 0xfa83_b2da), (16, 0xb504_f333), (31, 0x82cd_8698)];
        for (n, inverse) in given {
            assert_eq!(INVERSE[n], inverse, "n = {n}");
        }
        for (n, inverse) in INVERSE.iter().enumerate() {
            let exact = f64::from(u32::MAX) * 0.5f64.powf(n as f64 / 32.0);
            assert_eq!(u64::from(*inverse), exact.floor() as u64, "n = {n}");
        }
        assert_eq!(LOAD_AVG_MAX, 47742);
    }

    /// smp.md §2.1.
    #[test]
    fn the_limit_is_reached_in_347_steps() {
        let (mut sum, mut steps) = (0, 0);
        while sum != LOAD_AVG_MAX {
            sum = decay(sum, 1) + PERIOD;
            steps += 1;
        }
        assert_eq!(steps, 347);
    }

    /// smp.md §2.1, its checks and its note.
    #[test]
    fn decay_to_the_unit() {
        let given = [
            (1024, 1, 1002),
            (47742, 1, 46718),
            (47742, 32, 23870),
            (47742, 345, 26),
            (47742, 2016, 0),
            (47742, 2017, 0),
            (u64::MAX, 2017, 0),
            (1024, 32, 511),
        ];
        for (value, periods, left) in given {
            assert_eq!(decay(value, periods), left, "{value} after {periods}");
        }
    }
}
