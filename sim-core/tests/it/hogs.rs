//! Always-runnable tasks on one CPU: the turn patterns of core.md §15.2, §15.3 and §15.10.

use crate::support::{Log, config, has_base_slice, profiles, run_hogs, set};
use sim_core::kernel::tunables::Tunable;
use sim_core::{Nanos, SimConfig};
use std::collections::BTreeSet;

/// Times of the first switches, us.
fn switch_times(profile: &str, hz: u32, delta_ns: u64, nices: &[i8], n: usize) -> Vec<u64> {
    let log = run_hogs(config(profile, 1, hz, delta_ns), nices, Nanos::from_secs(1));
    log.switches().into_iter().take(n).map(|(at, _)| at / 1000).collect()
}

/// Steady turn lengths of `n` nice-0 hogs, rounded to ms: those after every task had two turns.
fn steady_turns(config: SimConfig, n: usize) -> BTreeSet<u64> {
    let log = run_hogs(config, &vec![0; n], Nanos::from_secs(2));
    log.turns().iter().skip(2 * n + 1).map(|(_, ns)| (ns + 500_000) / 1_000_000).collect()
}

fn ms(values: &[u64]) -> Vec<u64> {
    values.iter().map(|ms| ms * 1000).collect()
}

/// core.md §15.2: the table of two nice-0 hogs.
#[test]
fn two_hogs_switch_as_tabled() {
    let table: [(u32, u64, &[u64]); 8] = [
        (250, 0, &[12_000, 24_000, 36_000, 48_000]),
        (250, 1000, &[12_001, 28_001, 44_001, 60_001]),
        (1000, 0, &[12_000, 24_000, 36_000]),
        (1000, 1000, &[12_001, 25_001, 38_001, 51_001]),
        (100, 0, &[20_000, 40_000, 60_000]),
        (100, 1000, &[20_001, 50_001, 70_001, 90_001, 110_001]),
        (300, 0, &[13_333, 26_666, 39_999]),
        (300, 1000, &[13_334, 30_000, 43_334, 56_667]),
    ];
    for profile in profiles() {
        for (hz, delta, expected) in table {
            let got = switch_times(profile, hz, delta, &[0, 0], expected.len());
            assert_eq!(got, expected, "{profile} HZ {hz} delta {delta}");
        }
    }
}

/// core.md §15.2: steady turns of several nice-0 hogs without and with the tick-to-switch delay.
#[test]
fn several_hogs_take_turns_as_tabled() {
    let table = [
        (250, 3, 8, 12),
        (250, 4, 8, 8),
        (250, 8, 4, 4),
        (250, 10, 4, 4),
        (1000, 3, 8, 9),
        (1000, 4, 6, 7),
        (1000, 8, 3, 4),
        (1000, 10, 3, 4),
    ];
    for profile in profiles() {
        for (hz, n, without, with) in table {
            // A floor of exactly 3 ms is three ticks: a turn of 3 ms would have to be longer than itself.
            let without = if hz == 1000 && n >= 8 && has_base_slice(profile) { 4 } else { without };
            for (delta, turn) in [(0, without), (1000, with)] {
                let got = steady_turns(config(profile, 1, hz, delta), n);
                assert_eq!(got, BTreeSet::from([turn]), "{profile} HZ {hz}, {n} hogs, delta {delta}");
            }
        }
    }
}

/// core.md §15.3: first switches of two hogs of different nice levels; the same with a delay of 1 us.
#[test]
fn unequal_hogs_switch_as_tabled() {
    let table: [(u32, [i8; 2], &[u64]); 6] = [
        (250, [0, 5], &[20, 28, 48, 56, 76, 84]),
        (1000, [0, 5], &[19, 26, 45, 51, 70, 76]),
        (250, [0, 19], &[24, 28, 280, 284, 556, 560]),
        (1000, [0, 19], &[24, 25, 70, 71, 139, 140]),
        (250, [0, 1], &[16, 32, 48, 60, 76, 88]),
        (250, [-5, 0], &[20, 28, 48, 56]),
    ];
    for profile in profiles() {
        for (hz, nices, expected) in table {
            // A floor of 3 ms keeps a nice-19 task, whose slice is 0.35 ms, for three ticks instead of one.
            let floored = hz == 1000 && nices == [0, 19] && has_base_slice(profile);
            let expected = if floored { &[24, 27, 208, 211, 416, 419] } else { expected };
            let got = switch_times(profile, hz, 0, &nices, expected.len());
            assert_eq!(got, ms(expected), "{profile} HZ {hz} nice {nices:?}");
        }
        let late = switch_times(profile, 250, 1000, &[0, 5], 6);
        let expected: Vec<u64> = ms(&[20, 28, 48, 56, 76, 84]).iter().map(|us| us + 1).collect();
        assert_eq!(late, expected, "{profile} with a delay of 1 us");
    }
}

/// core.md §15.3: shares of the first task over 20 s, as printed there; weight ratios within 0.1 points.
#[test]
fn unequal_hogs_share_by_weight() {
    let table = [
        (250, [0, 5], 75.34, 1024.0 / 1359.0),
        (1000, [0, 5], 75.35, 1024.0 / 1359.0),
        (250, [0, 19], 98.54, 1024.0 / 1039.0),
        (250, [0, 1], 55.54, 1024.0 / 1844.0),
        (250, [-5, 0], 75.28, 3121.0 / 4145.0),
    ];
    for profile in profiles() {
        for (hz, nices, printed, ideal) in table {
            let log: Log = run_hogs(config(profile, 1, hz, 0), &nices, Nanos::from_secs(20));
            let share = 100.0 * log.share(0, 2);
            assert!((share - printed).abs() <= 0.005, "{profile} HZ {hz} nice {nices:?}: {share}");
            assert!((share - 100.0 * ideal).abs() <= 0.1, "{profile} HZ {hz} nice {nices:?}: {share}");
        }
    }
}

/// Share of a nice −10 task beside nice −9 … 9 by weight, percent, from the table of weights in core.md §1.1.
const SHIFTED_IDEAL: [f64; 19] = [
    55.615, 61.017, 66.067, 70.968, 75.365, 79.243, 82.745, 85.755, 88.203, 90.314, 92.091, 93.58, 94.779,
    95.758, 96.61, 97.23, 97.798, 98.23, 98.585,
];

/// The nice ladder of the kernel's own documentation: two hogs, nice (0, n); levels shifted by −10 change little.
#[test]
fn nice_ladder() {
    // Expected share of the nice-0 task in percent, tolerance of the printed figure in points.
    let documented = [(1, 55.5, 0.1), (5, 75.35, 0.1), (10, 90.3, 0.1), (19, 98.56, 0.1)];
    let share = |hz, nices: [i8; 2]| {
        100.0 * run_hogs(config("6.1", 1, hz, 1000), &nices, Nanos::from_secs(40)).share(0, 2)
    };
    for (n, expected, tolerance) in documented {
        let got = share(250, [0, n]);
        assert!((got - expected).abs() <= tolerance, "nice 0 and {n}: {got}");
    }
    // Shifting both levels is documented to change shares by less than 0.2 points; the weights themselves differ by up
    // to 0.23 (nice 6), so the bound is on what the scheduler adds to that.
    for (n, shifted_ideal) in (1i8..).zip(SHIFTED_IDEAL) {
        let shifted = share(250, [-10, n - 10]);
        assert!((shifted - shifted_ideal).abs() < 0.1, "nice -10 and {}: {shifted}", n - 10);
    }
    // "nice +19 gets a HZ-independent 1.5 %".
    for hz in [100, 250, 300, 1000] {
        let light = 100.0 - share(hz, [0, 19]);
        assert!((light - 1.5).abs() < 0.1, "HZ {hz}: {light}");
    }
}

/// core.md §15.10: tuned's throughput-performance.
#[test]
fn turns_under_a_tuned_minimum_granularity() {
    for profile in profiles() {
        for (n, without, with) in [(2, 12, 16), (3, 8, 12), (4, 12, 12)] {
            // With BASE_SLICE three hogs have the 10 ms floor instead of a third of 24 ms.
            let without = if n == 3 && has_base_slice(profile) { 12 } else { without };
            for (delta, turn) in [(0, without), (1000, with)] {
                let mut c = config(profile, 1, 250, delta);
                set(&mut c, Tunable::MinGranularity, 10_000_000);
                set(&mut c, Tunable::WakeupGranularity, 15_000_000);
                assert_eq!(steady_turns(c, n), BTreeSet::from([turn]), "{profile}, {n} hogs, delta {delta}");
            }
        }
    }
}
