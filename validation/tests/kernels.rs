//! The captures kept here, against the bars: what `cfsim validate kernels` shows.

use std::path::Path;
use validation::capture::{Capture, find_captures};
use validation::kernels::{BARS, CaptureReport, compare, conformance, validate};
use validation::simulate::{CaptureMachine, calibrate};

fn kept() -> Vec<std::path::PathBuf> {
    find_captures(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")).expect("the folder can be searched")
}

fn load(id: &str) -> Capture {
    let found = kept().into_iter().find(|p| p.to_string_lossy().contains(id));
    Capture::load(&found.expect("the capture is kept")).expect("the capture can be read")
}

#[test]
fn every_bar_is_met_on_the_captures_kept() {
    let report = validate(kept().iter().map(|p| CaptureReport::of(p)).collect());
    assert!(report.passed(), "{}", report.to_text());
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
