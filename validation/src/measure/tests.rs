use super::*;

const IDLE: Who = Who(0);
const A: Who = Who(1);
const B: Who = Who(2);
const K: Who = Who(3);

fn switch(at_ns: u64, prev: Who, prev_blocked: bool, next: Who) -> SchedEvent {
    SchedEvent { at_ns, cpu: 0, kind: EventKind::Switch { prev, prev_blocked, next } }
}

fn wakeup(at_ns: u64, task: Who, before: bool, after: bool, idle: bool) -> SchedEvent {
    let kind = EventKind::Wakeup {
        task,
        target: 0,
        new: false,
        need_resched_before: before,
        need_resched_after: after,
        curr_is_idle: idle,
        after_tick: false,
    };
    SchedEvent { at_ns, cpu: 0, kind }
}

fn made(events: Vec<SchedEvent>) -> Timeline {
    let label = |name: &str, pid, measured| Label { name: name.into(), pid, measured };
    let tasks = vec![
        label("swapper/0", 0, false),
        label("a", 1, true),
        label("a", 2, true),
        label("kworker", 3, false),
    ];
    Timeline { cpus: 1, tasks, events, t0_ns: 100 }
}

fn example() -> Timeline {
    made(vec![
        wakeup(90, A, false, true, true),
        switch(95, IDLE, false, A),
        switch(120, A, false, A),
        wakeup(130, B, false, false, false),
        wakeup(140, K, false, true, false),
        wakeup(141, A, true, true, false),
        switch(150, A, false, K),
        switch(155, K, true, B),
        switch(185, B, true, A),
        switch(200, A, true, IDLE),
        wakeup(300, K, false, true, true),
        switch(310, IDLE, false, K),
        switch(311, K, true, IDLE),
    ])
}

#[test]
fn measures_shares_turns_switches_and_latencies() {
    let t = example();
    let m = measure(&t);
    assert_eq!((m.span_ns, m.switches), (100, 4));
    let [a, b, k] = [&m.tasks[1], &m.tasks[2], &m.tasks[3]];
    // The turn from before T0 counts from T0, and the re-pick at 120 does not end it.
    assert_eq!((a.turns.as_slice(), a.cpu_ns, a.voluntary, a.involuntary), (&[50, 15][..], 65, 1, 1));
    assert!((m.share_pct(a) - 65.0).abs() < 1e-9);
    assert_eq!((b.turns.as_slice(), b.wake_latencies.as_slice()), (&[30][..], &[25][..]));
    assert_eq!((k.turns.as_slice(), k.wake_latencies.as_slice()), (&[5][..], &[10][..]));
    // A was woken while running: it waited for nothing.
    assert_eq!(a.wake_latencies, [0u64; 0]);
}

#[test]
fn judges_only_wakeups_onto_a_busy_cpu_within_the_span() {
    let v: Vec<_> =
        verdicts(&example()).iter().map(|v| (v.at_ns, v.task, v.current, v.set, v.already_set)).collect();
    assert_eq!(
        v,
        [(130, B, Some(A), false, false), (140, K, Some(A), true, false), (141, A, Some(A), false, true)]
    );
}

#[test]
fn need_resched_is_known_from_the_first_event_that_shows_it_to_the_switch() {
    let mut t = NeedReschedTracker::default();
    assert!(!t.is_set());
    t.seen(true);
    assert!(t.is_set());
    t.switched();
    assert!(!t.is_set());
}

#[test]
fn bins_have_edges_at_powers_of_two_and_half_ticks() {
    let bins = Bins::new(4_000_000);
    let same = |a: u64, b: u64| bins.index(a) == bins.index(b);
    assert!(same(3_000_000, 5_999_999) && same(6_000_000, 9_999_999) && same(10_000_000, 13_999_999));
    assert!(!same(5_999_999, 6_000_000) && !same(9_999_999, 10_000_000) && !same(1_999_999, 2_000_000));
    assert!(!same(2_047_999, 2_048_000) && same(2_048_000, 4_000_001) && !same(999, 1_000));
    assert!(same(1_024_000, 1_999_999) && !same(1_023_999, 1_024_000));
    let all: Vec<usize> = [0, 1_000, 2_000, 1_999_999, 2_000_000, 2_048_000, 6_000_000, 10_000_000]
        .map(|l| bins.index(l))
        .into();
    assert_eq!(all, [0, 1, 2, 11, 12, 13, 14, 15]);
    assert!(Bins::new(0).index(u64::MAX) > 0);
}

#[test]
fn overlap_weighs_turns_by_their_time() {
    let bins = Bins::new(4_000_000);
    let h = |turns: &[u64]| Histogram::of(turns.iter().copied(), &bins);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    close(h(&[4_000_000, 8_000_000]).overlap_pct(&h(&[8_000_000, 4_000_000, 8_000_000, 4_000_000])), 100.0);
    // A third of the time against all of it in turns of one tick.
    close(h(&[4_000_000, 8_000_000]).overlap_pct(&h(&[4_000_000])), 100.0 / 3.0);
    close(h(&[4_000_000]).overlap_pct(&h(&[500_000])), 0.0);
    close(h(&[]).overlap_pct(&h(&[])), 100.0);
    close(h(&[]).overlap_pct(&h(&[1])), 0.0);
}

/// The kernel's own counters against what is measured of its trace: the definitions must agree.
#[test]
fn kept_captures_measure_as_the_kernel_counted() {
    use crate::capture::{Capture, find_captures};
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let (mut set, mut followed) = (0, 0);
    for path in find_captures(&kept).unwrap() {
        let capture = Capture::load(&path).unwrap();
        let t = timeline(&capture).unwrap();
        let m = measure(&t);
        for counted in &capture.result.tasks {
            let who = t.tasks.iter().position(|l| l.pid == counted.pid).unwrap();
            let task = &m.tasks[who];
            // The counters were read just before the exit, which is one more voluntary switch and, rarely, another
            // involuntary one. Before the span lie the sleep until T0 of a task of the spec, a voluntary switch, and the
            // set-up, which a tick may have interrupted once.
            // On several CPUs paths take as many times longer as CPUs are busy, and more ticks fall into them.
            let cpus = i64::from(capture.meta.smp);
            let slept = i64::from(capture.result.top_level().any(|t| t.pid == counted.pid));
            let (vol, invol) =
                (task.voluntary as i64 - counted.nvcsw + slept, task.involuntary as i64 - counted.nivcsw);
            assert!(
                (0..=1).contains(&vol) && (-cpus..=cpus + 1).contains(&invol),
                "{path:?} {} {vol} {invol}",
                counted.name
            );
            // The kernel also counts some 0.1 ms of set-up before T0, and not the 0.2–0.5 ms of tear-down; and it charges
            // a preempting task from its wake-up on, 2–4 µs before the switch.
            let (off, turns) = (task.cpu_ns as i64 - counted.run_ns, task.turns.len() as i64);
            assert!(off.abs() < cpus * (500_000 + 4_000 * turns), "{path:?} {}: {off} ns", counted.name);
        }
        if capture.meta.smp > 1 {
            continue;
        }
        let next_switch = |at| {
            let later = t.events.iter().skip_while(|e| e.at_ns < at);
            later.filter(|e| matches!(e.kind, EventKind::Switch { .. })).map(|e| e.at_ns - at).next()
        };
        for verdict in verdicts(&t).iter().filter(|v| v.set) {
            set += 1;
            followed += u32::from(next_switch(verdict.at_ns).is_some_and(|ns| ns < 50_000));
        }
    }
    // A set flag makes the task give way at once, unless it is in the kernel, as one that exits is for some 0.2 ms.
    assert!(set > 1000 && followed * 100 >= set * 97, "{followed} of {set}");
}
