//! The worked examples of smp.md §5.3, §5.10 and §9.5.

use super::*;

fn table(name: &str, rules: IdleRules) -> Table {
    let states = StateTable::by_name(name).unwrap().states(LATENCY_PART);
    Table { states, rules, tick: Nanos::from_micros(4_000) }
}

const V4_19: IdleRules = IdleRules::v4_19();
const V5_4: IdleRules = IdleRules {
    menu_starts_beyond_polling: false,
    menu_pattern_must_shorten: true,
    teo: TeoForm::HitsAndMisses,
    haltpoll_driver: true,
    idle_poll_limit: PollLimit::FirstState,
    ..V4_19
};
const V5_7: IdleRules = IdleRules { menu_in_ns: true, ..V5_4 };
const V5_14: IdleRules = IdleRules { teo: TeoForm::Bins, idle_poll_limit: PollLimit::FirstLongState, ..V5_7 };
const V6_6: IdleRules = IdleRules { menu_pattern_must_shorten: false, menu_timer_on_demand: true, ..V5_14 };
const ALL: [IdleRules; 5] = [V4_19, V5_4, V5_7, V5_14, V6_6];

/// A CPU whose tick runs and comes a full tick from now.
fn ask(next_timer_us: u64) -> Ask {
    Ask {
        sleep_length: Nanos::from_micros(next_timer_us),
        delta_tick: Nanos::from_micros(next_timer_us.min(4_000)),
        tick_stopped: false,
        latency_limit: NO_LATENCY_LIMIT,
        iowaiters: 0,
        utilisation: 0,
        capacity: 1024,
    }
}

fn picked(table: &Table, pick: Pick) -> (&str, bool) {
    (&table.states[pick.state].name, pick.stop_tick)
}

/// A row of the picks of §5.3: intervals, next timer in µs, tasks that wait for input, limit in µs, 1024ths of the
/// correction times 8, picks on skl and skx, whether the tick stops.
type Row = ([u64; 8], u64, u64, Option<u64>, u64, &'static str, &'static str, bool);

const PICKS: &[Row] = &[
    ([50; 8], 10_000, 0, None, 8192, "C1E", "C1E", false),
    ([100, 100, 100, 100, 100, 100, 4000, 4000], 10_000, 0, None, 8192, "C3", "C1E", false),
    ([30, 30, 30, 30, 30, 5000, 5000, 5000], 10_000, 0, None, 8192, "C1E", "C1E", false),
    ([150; 8], 10_000, 0, None, 8192, "C3", "C1E", false),
    ([199; 8], 10_000, 0, None, 8192, "C3", "C1E", false),
    ([200; 8], 10_000, 0, None, 8192, "C6", "C1E", false),
    ([250; 8], 10_000, 0, None, 8192, "C6", "C1E", false),
    ([250; 8], 10_000, 1, None, 8192, "C1E", "C1E", false),
    ([900; 8], 10_000, 0, None, 8192, "C8", "C6", false),
    ([900; 8], 10_000, 0, Some(20), 8192, "C1E", "C1E", false),
    ([900; 8], 10_000, 0, Some(1), 8192, "POLL", "POLL", false),
    ([10, 20, 40, 80, 160, 320, 640, 1280], 3_000, 0, None, 8192, "C8", "C6", false),
    ([60; 8], 60, 0, None, 8192, "C1E", "C1E", false),
    ([45_000; 8], 100_000, 0, None, 8192, "C10", "C6", true),
    ([5_000; 8], 10_000, 0, None, 4096, "C10", "C6", true),
];

#[test]
fn menu_picks_of_every_version() {
    for rules in ALL {
        for (n, (ring, next, io, qos, factor, skl, skx, stops)) in PICKS.iter().enumerate() {
            for (name, expected) in [("skl", skl), ("skx", skx)] {
                let table = table(name, rules);
                let mut menu = Menu::remembering(*ring, *factor);
                let limit = qos.map_or(NO_LATENCY_LIMIT, Nanos::from_micros);
                let ask = Ask { latency_limit: limit, iowaiters: *io, ..ask(*next) };
                let pick = menu.select(&table, &ask);
                assert_eq!(picked(&table, pick), (*expected, *stops), "row {n} on {name}, {rules:?}");
            }
        }
    }
}

#[test]
fn intervals_of_one_microsecond_poll_but_for_4_19() {
    for rules in ALL {
        for name in ["skl", "skx"] {
            let table = table(name, rules);
            let pick = Menu::remembering([1; 8], 8192).select(&table, &ask(5_000));
            let expected = if rules == V4_19 { "C1" } else { "POLL" };
            assert_eq!(picked(&table, pick), (expected, false), "{name} {rules:?}");
        }
    }
}

#[test]
fn patterns_in_the_last_intervals() {
    let skl = table("skl", V5_4);
    let pattern = |ring, predicted| Menu::remembering(ring, 8192).pattern(&skl, predicted);
    assert_eq!(pattern([1; 8], 5_000), Some(1));
    assert_eq!(pattern([100, 100, 100, 100, 100, 100, 4000, 4000], 10_000), Some(100));
    assert_eq!(pattern([30, 30, 30, 30, 30, 5000, 5000, 5000], 10_000), Some(30));
    assert_eq!(pattern([10, 20, 40, 80, 160, 320, 640, 1280], 3_000), None);
    assert_eq!(pattern([60; 8], 60), None, "it must shorten the prediction");
    let latest = table("skl", V6_6);
    assert_eq!(Menu::remembering([0; 8], 8192).pattern(&latest, 100), None);
    assert_eq!(Menu::remembering([60; 8], 8192).pattern(&latest, 60), Some(60));
}

/// §5.3: 8192 becomes 7424 after 2500 of 10000 µs, 2476 after 20 such sleeps; then 3022 µs are foreseen.
#[test]
fn the_correction_factor_follows_what_was_measured() {
    for rules in ALL {
        let table = table("skl", rules);
        let mut menu = Menu::default();
        // C6 with 85 µs: 2585 µs of residency measure 2500.
        let slept =
            Slept { state: 4, residency: Nanos::from_micros(2_585), by_tick: false, poll_limit: false };
        for n in 1..=20 {
            menu.select(&table, &ask(10_000));
            menu.reflect(&table, &slept);
            if n == 1 {
                assert_eq!(menu.factor(), 7424);
            }
        }
        assert_eq!(menu.factor(), 2476);
        let mut menu = Menu::remembering([10, 20, 40, 80, 160, 320, 640, 1280], 2476);
        // 3022 µs: a state of 3022 is taken, one of 3023 is not.
        let mut states = table.states.clone();
        states.truncate(3);
        for (residency, expected) in [(3_022, 2), (3_023, 1)] {
            let mut table = Table { states: states.clone(), ..table.clone() };
            table.states[2].residency = Nanos::from_micros(residency);
            let pick = menu.select(&table, &ask(10_000));
            assert_eq!(pick.state, expected, "{residency} {rules:?}");
        }
    }
}

#[test]
fn what_a_sleep_counts_as() {
    let skl = table("skl", V5_7);
    let after = |next, slept: Slept| {
        let mut menu = Menu::default();
        menu.select(&skl, &ask(next));
        menu.reflect(&skl, &slept);
        menu.factor()
    };
    let slept = Slept { state: 4, residency: Nanos::from_micros(100), by_tick: false, poll_limit: false };
    let added = |measured: u64, next: u64| 8192 - 1024 + 1024 * measured / next;
    assert_eq!(after(1_000, slept), added(50, 1_000), "not longer than two exit latencies: half");
    let by_tick = Slept { by_tick: true, ..slept };
    assert_eq!(after(90_000, by_tick), added(45_000, 90_000), "the tick ended it: long");
    assert_eq!(after(1_000, by_tick), added(50, 1_000), "the tick was the timer");
    let polled = Slept { state: 0, residency: Nanos::from_micros(20), poll_limit: true, by_tick: false };
    assert_eq!(after(1_000, polled), 8192, "polling ran out: as foreseen");
    assert_eq!(
        after(100_000, Slept { residency: Nanos::from_micros(60_000), ..slept }),
        8192,
        "50 ms and more"
    );
}

#[test]
fn a_stopped_tick_leaves_no_reason_for_shallow_states() {
    let skl = table("skl", V5_4);
    let stopped = |delta_us| {
        let pattern = Menu::remembering([50; 8], 8192);
        let ask = Ask { tick_stopped: true, delta_tick: Nanos::from_micros(delta_us), ..ask(100_000) };
        pattern.clone().select(&skl, &ask)
    };
    assert_eq!(picked(&skl, stopped(100_000)), ("C10", true));
    assert_eq!(picked(&skl, stopped(300)), ("C6", true));
}

/// §5.10: what a limit on latency leaves of skl.
#[test]
fn latency_limits() {
    let skl = table("skl", V5_4);
    let cases = [
        (0, "POLL"),
        (1, "POLL"),
        (2, "C1"),
        (9, "C1"),
        (10, "C1E"),
        (69, "C1E"),
        (70, "C3"),
        (84, "C3"),
        (85, "C6"),
        (123, "C6"),
    ];
    for (us, expected) in cases {
        let ask = Ask { latency_limit: Nanos::from_micros(us), ..ask(1_000_000) };
        let pick = Menu::remembering([45_000; 8], 8192).select(&skl, &ask);
        assert_eq!(skl.states[pick.state].name, expected, "{us} us");
    }
}

#[test]
fn polling_lasts_by_version() {
    let limit = |name, rules| table(name, rules).poll_limit();
    assert_eq!(limit("skl", V4_19), Nanos::from_micros(250));
    assert_eq!(limit("skl", V5_4), Nanos::from_micros(2));
    assert_eq!(limit("skl", V5_14), Nanos::from_micros(20));
    assert_eq!(limit("icx", V5_14), Nanos::from_micros(250), "600 us, at most a sixteenth of a tick");
    assert_eq!(limit("poll", V5_4), Nanos::from_micros(4_000));
}

/// §9.5.
#[test]
fn haltpoll_follows_the_halts() {
    let guest = table("haltpoll", V5_4);
    let mut g = Haltpoll::default();
    let us = Nanos::from_micros;
    let halted = |blocked| Slept { state: 1, residency: us(blocked), by_tick: false, poll_limit: false };
    assert_eq!(g.select(&guest, &ask(10_000)).state, 1, "nothing to poll for yet");
    g.reflect(&guest, &halted(80));
    assert_eq!(g.limit(), us(50));
    assert_eq!(g.select(&guest, &ask(10_000)), Pick { state: 0, stop_tick: false });
    g.reflect(&guest, &Slept { state: 0, residency: us(50), by_tick: false, poll_limit: true });
    assert_eq!(g.select(&guest, &ask(10_000)).state, 1, "polling has timed out");
    g.reflect(&guest, &halted(70));
    for (blocked, limit) in [(300, 50), (120, 100), (150, 200)] {
        g.reflect(&guest, &halted(blocked));
        assert_eq!(g.limit(), us(limit), "after {blocked}");
    }
    let polled = Slept { state: 0, residency: us(30), by_tick: false, poll_limit: false };
    g.reflect(&guest, &polled);
    assert_eq!((g.limit(), g.select(&guest, &ask(10_000)).state), (us(200), 0), "a wake-up while polling");
    let forbidden = Ask { latency_limit: Nanos::ZERO, ..ask(10_000) };
    assert_eq!(Haltpoll::default().select(&guest, &forbidden).state, 0);
}

#[test]
fn ladder_goes_down_after_four_long_sleeps_and_up_after_a_short_one() {
    let skl = table("skl", V5_4);
    let mut g = Ladder::new(&skl);
    let mut step = |us, state| {
        let pick = g.select(&skl, &ask(10_000));
        assert_eq!(pick, Pick { state, stop_tick: true }, "{us}");
        g.reflect(
            &skl,
            &Slept { state, residency: Nanos::from_micros(us), by_tick: false, poll_limit: false },
        );
    };
    (0..4).for_each(|_| step(5, 1));
    (0..4).for_each(|_| step(100, 2));
    step(71, 3);
    step(5, 2);
    step(1_000, 1);
    let strict = Ask { latency_limit: Nanos::ZERO, ..ask(10_000) };
    assert_eq!(g.select(&skl, &strict).state, 0);
}

fn slept(state: usize, us: u64) -> Slept {
    Slept { state, residency: Nanos::from_micros(us), by_tick: false, poll_limit: false }
}

#[test]
fn teo_forgets_a_state_that_missed() {
    for rules in [V5_4, V5_14] {
        let skl = table("skl", rules);
        let mut g = Governor::new(GovernorKind::Teo, &skl);
        let deepest = skl.states.len() - 1;
        // Sleeps that last to the timer: the deepest state that fits.
        for _ in 0..20 {
            assert_eq!(g.select(&skl, &ask(10_000)), Pick { state: deepest, stop_tick: true }, "{rules:?}");
            g.reflect(&skl, &slept(deepest, 11_000));
        }
        // Now they end after 50 µs each, with a timer as far away: C1E before long, and the tick stays.
        for _ in 0..20 {
            let pick = g.select(&skl, &ask(10_000));
            g.reflect(&skl, &slept(pick.state, 50));
        }
        let pick = g.select(&skl, &ask(10_000));
        assert_eq!(picked(&skl, pick), ("C1E", false), "{rules:?}");
    }
}

#[test]
fn teo_on_a_used_cpu_is_shallower() {
    let skl = table("skl", IdleRules { teo_heeds_utilisation: true, ..V5_14 });
    let at = |utilisation| TeoBins::new(&skl).select(&skl, &Ask { utilisation, ..ask(10_000) }).state;
    assert_eq!((at(16), at(17)), (8, 7));
}

#[test]
fn every_table_is_in_order_and_has_its_source() {
    for t in TABLES {
        let states = t.states(LATENCY_PART);
        assert!(!states.is_empty() && states.len() <= MAX_STATES && !t.source.is_empty(), "{}", t.name);
        assert!(
            states.is_sorted_by_key(|s| s.residency) && states.is_sorted_by_key(|s| s.latency),
            "{}",
            t.name
        );
        assert!(states.iter().is_sorted_by_key(|s| s.flushes), "{}", t.name);
    }
    assert!(StateTable::by_name("pentium").unwrap_err().contains("skl"));
}

#[test]
fn entering_and_leaving_make_up_the_worst_case() {
    let skl = StateTable::by_name("skl").unwrap().states(512);
    assert_eq!(skl[4].entry_and_exit(Nanos::ZERO), (Nanos(42_500), Nanos(42_500)));
    let juno = StateTable::by_name("juno").unwrap().states(512);
    assert_eq!(juno[1].entry_and_exit(Nanos::ZERO), (Nanos::from_micros(300), Nanos::from_micros(1_200)));
    let halt = StateTable::by_name("halt").unwrap().states(512);
    assert_eq!(halt[0].entry_and_exit(Nanos(7)), (Nanos::ZERO, Nanos(7)));
    let mut free = IdleConfig::of(StateTable::by_name("skl").unwrap());
    free.leave_at_once();
    assert!(free.states.iter().all(|s| s.entry_and_exit(Nanos(7)) == (Nanos::ZERO, Nanos::ZERO)));
}
