//! The captures kept here, against the bars: what `cfsim validate kernels` shows.

use std::path::Path;
use validation::capture::{Capture, find_captures};
use validation::kernels::{BARS, CaptureReport, compare, conformance, validate};
use validation::measure::{measure, timeline};
use validation::simulate::{CaptureMachine, Experiment, calibrate};

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

/// A bar that a broken simulator clears would prove nothing: with the tick-to-switch delay gone, turns of two hogs at
/// slices of whole ticks get shorter by a tick; with switches a millisecond dear, a pipe pair hardly runs.
#[test]
fn a_broken_machine_is_noticed() {
    let capture = load("iii-pingpong/6.1/pp1_hog1.");
    let experiment = Experiment::new(&capture).expect("expressible");
    let broken = CaptureMachine { context_switch_ns: 1_000_000, ..experiment.machine().clone() };
    let real = measure(&timeline(&capture).expect("one CPU"));
    let sim = measure(&experiment.run(&broken).expect("runs"));
    let off = real.switches.abs_diff(sim.switches) as f64;
    assert!(
        off > real.switches as f64 * BARS.switches_pct / 100.0,
        "{} against {}",
        real.switches,
        sim.switches
    );
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
