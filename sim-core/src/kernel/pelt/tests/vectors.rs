//! The test vectors of smp.md §2.6, to the unit.

use super::super::avg::{Scale, SchedAvg, Signals};

/// One period, ns.
const PERIOD_NS: u64 = 1 << 20;

/// Full speed, 5.7 and later.
const FULL: Scale = Scale { freq: 1024, cpu: 1024, runnable: 1024 };
const RUNNING: Signals = Signals { load: 1, runnable: 1, running: true };
const WAITING: Signals = Signals { load: 1, runnable: 1, running: false };
const BLOCKED: Signals = Signals { load: 0, runnable: 1, running: true };

/// Brings an entity of some weight up to date.
fn update(a: &mut SchedAvg, now: u64, signals: Signals, weight: u64) {
    if a.accumulate(now, signals, FULL) {
        a.average(weight, 1);
    }
}

/// Always running, one update after so many periods.
fn after(periods: u64, weight: u64) -> SchedAvg {
    let mut a = SchedAvg::default();
    update(&mut a, periods * PERIOD_NS, RUNNING, weight);
    a
}

#[test]
fn v1_one_update_after_whole_periods() {
    let given = [
        (1, 21, 1_026_048),
        (2, 43, 2_028_544),
        (4, 85, 3_971_072),
        (8, 162, 7_611_392),
        (10, 199, 9_316_352),
        (16, 299, 14_012_416),
        (20, 360, 16_819_200),
        (32, 512, 23_919_616),
        (50, 677, 31_642_624),
        (64, 768, 35_879_936),
        (100, 906, 42_356_736),
        (128, 960, 44_850_176),
        (200, 1010, 47_211_520),
        (345, 1023, 47_812_608),
    ];
    for (n, util, sum) in given {
        let a = after(n, 1024);
        assert_eq!((a.util_avg, a.load_avg, a.util_sum, a.period_contrib), (util, util, sum, 0), "N = {n}");
        assert_eq!((a.runnable_avg, a.runnable_sum), (util, sum), "N = {n}");
    }
}

#[test]
fn v2_updated_every_millisecond() {
    let given = [
        (1, 0, 0, Some(999_424), 976),
        (2, 41, 41, Some(1_976_408), 929),
        (3, 61, 61, Some(2_930_409), 881),
        (4, 81, 81, Some(3_863_968), 834),
        (8, 156, 155, Some(7_390_418), 644),
        (16, 288, 288, Some(13_544_229), 265),
        (32, 495, 495, Some(23_410_391), 530),
        (64, 751, 750, Some(35_128_087), 36),
        (100, 894, 894, Some(42_135_012), 376),
        (200, 1008, 1007, None, 752),
        (400, 1024, 1023, None, 481),
    ];
    let (mut a, mut seen) = (SchedAvg::default(), 0);
    for t in 1..=400 {
        update(&mut a, t * 1_000_000, RUNNING, 1024);
        for (_, util, load, sum, contrib) in given.iter().filter(|g| g.0 == t) {
            assert_eq!((a.util_avg, a.load_avg, a.period_contrib), (*util, *load, *contrib), "t = {t} ms");
            assert!(sum.is_none_or(|s| s == a.util_sum), "t = {t} ms: util_sum {}", a.util_sum);
            seen += 1;
        }
    }
    assert_eq!(seen, given.len());
}

#[test]
fn v3_updated_every_four_milliseconds() {
    let given = [(4, 81), (8, 156), (16, 288), (32, 495), (64, 751), (100, 894), (200, 1007), (400, 1023)];
    let (mut a, mut seen) = (SchedAvg::default(), 0);
    for t in (4..=400).step_by(4) {
        update(&mut a, t * 1_000_000, RUNNING, 1024);
        for (_, util) in given.iter().filter(|g| g.0 == t) {
            assert_eq!(a.util_avg, *util, "t = {t} ms");
            seen += 1;
        }
    }
    assert_eq!(seen, given.len());
}

#[test]
fn v4_blocked_decay() {
    let full = after(400, 1024);
    assert_eq!((full.util_avg, full.util_sum), (1023, 47_832_064));
    let given = [
        (1, 1001),
        (2, 980),
        (8, 860),
        (16, 723),
        (32, 511),
        (64, 255),
        (96, 127),
        (128, 63),
        (200, 13),
        (320, 0),
    ];
    for (n, util) in given {
        let mut a = full;
        update(&mut a, (400 + n) * PERIOD_NS, BLOCKED, 1024);
        assert_eq!(a.util_avg, util, "after {n} periods");
    }
}

/// Utilisation at the end of a run and of a sleep, in the steady state of running and sleeping so many periods each.
fn periodic(run: u64, sleep: u64) -> (u64, u64) {
    let (mut a, mut now, mut seen) = (SchedAvg::default(), 0, (0, 0));
    for _ in 0..400 {
        now += run * PERIOD_NS;
        update(&mut a, now, RUNNING, 1024);
        seen.0 = a.util_avg;
        now += sleep * PERIOD_NS;
        update(&mut a, now, BLOCKED, 1024);
        seen.1 = a.util_avg;
    }
    seen
}

#[test]
fn v5_periodic() {
    assert_eq!(periodic(8, 8), (556, 467));
    assert_eq!(periodic(1, 9), (112, 92));
}

#[test]
fn v6_two_tasks_by_turns() {
    let (mut a, mut b) = (SchedAvg::default(), SchedAvg::default());
    for turn in 1..=400 {
        let now = turn * 4 * PERIOD_NS;
        update(&mut a, now, if turn % 2 == 1 { RUNNING } else { WAITING }, 1024);
        update(&mut b, now, if turn % 2 == 0 { RUNNING } else { WAITING }, 1024);
    }
    assert_eq!((a.util_avg, b.util_avg), (489, 534));
    for e in [a, b] {
        assert_eq!((e.load_avg, e.runnable_avg), (1023, 1024));
    }
}

#[test]
fn v7_less_than_a_period() {
    let mut a = SchedAvg::default();
    update(&mut a, 512_000, RUNNING, 1024);
    assert_eq!((a.util_avg, a.util_sum, a.period_contrib), (0, 512_000, 500));
    update(&mut a, 512_000 + 614_400, RUNNING, 1024);
    assert_eq!((a.util_avg, a.util_sum, a.period_contrib), (23, 1_103_140, 76));
}

#[test]
fn v8_weights() {
    for (weight, load) in [(15, 7), (1024, 512), (3121, 1560), (88761, 44380)] {
        assert_eq!(after(32, weight).load_avg, load, "weight {weight}");
    }
}

/// smp.md §2.2, step 1: a clock that went back only moves the time, and less than a unit is left for later.
#[test]
fn clocks_that_go_back_or_stand() {
    let mut a = after(3, 1024);
    let before = a;
    update(&mut a, PERIOD_NS, RUNNING, 1024);
    assert_eq!(a, SchedAvg { last_update: PERIOD_NS, ..before });
    update(&mut a, PERIOD_NS + 1023, RUNNING, 1024);
    assert_eq!(a, SchedAvg { last_update: PERIOD_NS, ..before });
}

/// smp.md §2.3, 4.19–5.0: at half the frequency time counts half, on a CPU of half the capacity utilisation counts a half
/// of that again.
#[test]
fn scaled_contributions() {
    let mut a = SchedAvg::default();
    a.accumulate(PERIOD_NS, RUNNING, Scale { freq: 512, cpu: 512, runnable: 1 });
    // ⌊(decay(1024, 1) + 0) · 512/1024⌋ = 501.
    assert_eq!((a.load_sum, a.runnable_sum, a.util_sum), (501, 501, 501 * 512));
}
