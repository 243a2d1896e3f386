//! Always-runnable tasks on one CPU: the turn patterns of core.md §15.2, §15.3 and §15.10.

use crate::support::{config, run_hogs, set};
use sim_core::kernel::tunables::Tunable;
use sim_core::{Nanos, TaskId};

/// Times of the first switches, us.
fn switch_times(profile: &str, hz: u32, delta_ns: u64, nices: &[i8], n: usize) -> Vec<u64> {
    let log = run_hogs(config(profile, 1, hz, delta_ns), nices, Nanos::from_secs(2));
    log.switches().into_iter().take(n).map(|(at, _)| at / 1000).collect()
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
    for profile in ["4.19", "5.12", "5.13", "6.1", "6.5"] {
        for (hz, delta, expected) in table {
            let got = switch_times(profile, hz, delta, &[0, 0], expected.len());
            assert_eq!(got, expected, "{profile} HZ {hz} delta {delta}");
        }
    }
}
