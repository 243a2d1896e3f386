//! The captures kept here, against the bars: what `cfsim validate kernels` shows.

use std::path::Path;
use std::sync::LazyLock;
use validation::capture::{Capture, find_captures};
use validation::kernels::{
    BARS, CaptureReport, Report, Status, VruntimeCheck, compare, conformance, known_causes, validate,
    vruntimes,
};
use validation::simulate::{CaptureMachine, calibrate};

fn kept() -> Vec<std::path::PathBuf> {
    find_captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")).expect("the folder can be searched")
}

fn load(id: &str) -> Capture {
    let found = kept().into_iter().find(|p| p.to_string_lossy().contains(id));
    Capture::load(&found.expect("the capture is kept")).expect("the capture can be read")
}

static REPORT: LazyLock<Report> =
    LazyLock::new(|| validate(kept().iter().map(|p| CaptureReport::of(p)).collect()));

/// The one on several CPUs too: see `tests/many.rs`.
#[test]
fn every_bar_is_met_on_the_captures_kept() {
    let missed: Vec<_> =
        REPORT.tallies().into_iter().filter(|(_, t)| !t.met()).map(|(name, _)| name).collect();
    assert!(missed.is_empty(), "{missed:?}\n{}", REPORT.to_text());
}

/// Only quotas are left out.
#[test]
fn what_cannot_be_expressed_is_named_with_its_reason() {
    let left = REPORT
        .captures
        .iter()
        .filter(|c| matches!(c.status, Status::NotExpressible(_) | Status::Unreadable(_)));
    let reasons: Vec<String> = left.map(|c| format!("{:?}", c.status)).collect();
    assert_eq!(reasons.len(), 8);
    assert!(reasons.iter().all(|r| r.contains("cpu.max")), "{reasons:?}");
}

/// A cause without its miss is stale, a miss without a cause is not understood.
#[test]
fn the_known_misses_are_the_misses() {
    let known = known_causes();
    let mut listed: Vec<_> = known.iter().map(|c| (c.capture.as_str(), c.bar)).collect();
    let mut missed: Vec<_> = REPORT.misses().into_iter().map(|(id, bar, _)| (id, bar)).collect();
    listed.sort();
    missed.sort();
    assert_eq!(listed, missed);
    assert!(known.iter().all(|c| c.cause.len() > 20));
}

fn checked(capture: &Capture) -> VruntimeCheck {
    vruntimes(capture).expect("expressible").expect("it traces charges")
}

/// To the ns: see the head of `kernels/vruntime/mod.rs` for what is taken from the trace and what may be off.
#[test]
fn vruntimes_are_the_kernels_at_every_charge() {
    let paths = kept().into_iter().filter(|p| p.to_string_lossy().contains("viii-vruntime"));
    let captures: Vec<Capture> = paths.map(|p| Capture::load(&p).expect("readable")).collect();
    let checks = captures.iter().filter_map(|c| vruntimes(c).ok().flatten().map(|v| (c, v)));
    let mut all = VruntimeCheck::default();
    for (capture, check) in checks {
        assert!(check.is_right(), "{}: {check:?}", capture.id);
        // Start values may explain little: at most one a task and one a queue.
        let starts = capture.trace.tasks.len() + 1 + capture.spec.groups.len();
        assert!(check.starts <= starts as u64 && check.untraced <= 10, "{}: {check:?}", capture.id);
        all.add(&check);
    }
    assert!(all.charges > 10_000 && all.placements > 1_000, "{all:?}");
}

/// The check must be able to fail: without the debit of new tasks, with other sleeper credit, with a wrong weight.
#[test]
fn a_broken_kernel_misses_vruntimes() {
    for feature in ["START_DEBIT", "GENTLE_FAIR_SLEEPERS"] {
        let mut fork = load("viii-vruntime/6.1/fork.");
        for (name, on) in &mut fork.tunables.features {
            *on &= name != feature;
        }
        let check = checked(&fork);
        assert!(check.right < check.charges, "{feature}: {check:?}");
    }
    let mut hogs = load("viii-vruntime/5.10/hogs_0_5.");
    hogs.spec.tasks[1].nice = 4;
    let check = checked(&hogs);
    assert!(check.right < check.charges * 9 / 10, "{check:?}");
    assert!(check.first_miss.is_some_and(|m| m.task == "h1"));
}

/// Bars that a broken simulator clears would prove nothing: without wakeup preemption the sleeper's share is wrong, with
/// a wrong weight the hogs' shares and turns are.
#[test]
fn a_broken_kernel_misses_the_bars() {
    let mut sleeper = load("ii-sleeper/6.1/s1_wg01_mg3.");
    assert!(compare(&sleeper, &BARS).expect("expressible").shares_ok());
    for (name, on) in &mut sleeper.tunables.features {
        *on &= name != "WAKEUP_PREEMPTION";
    }
    assert!(!compare(&sleeper, &BARS).expect("expressible").shares_ok());

    let mut hogs = load("i-hogs/6.1/h2_n0_5.");
    hogs.spec.tasks[1].nice = 3;
    let wrong = compare(&hogs, &BARS).expect("expressible");
    assert!(!wrong.shares_ok() && !wrong.overlap_ok && !wrong.switches.ok);
}

#[test]
fn the_machines_are_what_the_calibration_gives() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    for machine in calibrate(&root).expect("the captures calibrated on are kept").0 {
        assert_eq!(CaptureMachine::of(&machine.profile).expect("in the table"), machine);
    }
}

#[test]
fn decisions_of_a_simple_capture_are_all_right() {
    let capture = load("i-hogs/6.1/h2_n0_0.");
    let all = conformance(&capture).expect("expressible");
    assert_eq!((all.ticks, all.picks, all.misfits), (all.ticks_right, all.picks_right, 0));
    assert!(all.ticks > 200 && all.picks > 200);
    assert!(compare(&capture, &BARS).expect("expressible").shares_ok());
}
