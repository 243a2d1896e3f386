//! At which value of a tunable a decision would have gone the other way.

use sim_core::kernel::Policy;
use sim_core::kernel::weight::{LoadWeight, calc_delta_fair};

/// No tunable may be set higher than this (1 s).
const HIGHEST_NS: u64 = 1_000_000_000;

/// The smallest value in `0..=HIGHEST_NS` for which `is_so` holds. It must hold for all larger ones too.
pub(super) fn smallest(is_so: impl Fn(u64) -> bool) -> Option<u64> {
    if !is_so(HIGHEST_NS) {
        return None;
    }
    let (mut no, mut yes) = (None, HIGHEST_NS);
    loop {
        let middle = match no {
            None => yes / 2,
            Some(no) if yes - no <= 1 => return Some(yes),
            Some(no) => no + (yes - no) / 2,
        };
        if is_so(middle) {
            if middle == 0 {
                return Some(0);
            }
            yes = middle;
        } else {
            no = Some(middle);
        }
    }
}

/// A load with the inverse the kernel uses: a task's from its table, a sum's by division.
fn load_of(weight: u64) -> LoadWeight {
    let idle = LoadWeight::of_task(0, Policy::Idle);
    let of_nice = (-20..=19).map(|nice| LoadWeight::of_task(nice, Policy::Normal));
    of_nice.chain([idle]).find(|l| l.weight == weight).unwrap_or(LoadWeight::of_load(weight))
}

/// The smallest wakeup granularity with which a wakee of this weight does not preempt when it lies `lead` behind.
pub(super) fn granularity_that_keeps(lead: u64, weight: u64, floor: bool) -> Option<u64> {
    smallest(|granularity| calc_delta_fair(granularity, &mut load_of(weight), floor) >= lead)
}

/// The smallest period in which the slice of one weight among `load` is at least `ran`.
pub(super) fn period_that_keeps(ran: u64, weight: u64, load: u64, floor: bool) -> Option<u64> {
    smallest(|period| LoadWeight::of_load(load).calc_delta(period, weight, floor) >= ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_edge() {
        for edge in [0, 1, 2, 3, 12_345, HIGHEST_NS] {
            assert_eq!(smallest(|x| x >= edge), Some(edge));
        }
        assert_eq!(smallest(|_| false), None);
    }

    #[test]
    fn granularity_is_scaled_by_the_wakee() {
        let weight = |nice| LoadWeight::of_task(nice, Policy::Normal).weight;
        assert_eq!(granularity_that_keeps(12_000_000, weight(0), true), Some(12_000_000));
        // 4 ms are 12 226 865 ns in the units of nice 5 (core.md, table of weights).
        assert_eq!(granularity_that_keeps(12_226_865, weight(5), true), Some(4_000_000));
        assert!(granularity_that_keeps(12_226_866, weight(5), true) > Some(4_000_000));
    }
}
