//! The kernel model follows kept captures of real kernels decision by decision, and must agree with them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use validation::capture::trace::{TraceLimits, read_trace};
use validation::capture::{Capture, find_captures};
use validation::conformance::{Report, Setup, SetupError, follow, follow_capture, tick_phase};

fn followed(kinds: &[&str]) -> Report {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut total = Report::default();
    for kind in kinds {
        for path in find_captures(&root.join(kind)).unwrap() {
            total.add(&follow_capture(&Capture::load(&path).unwrap()).unwrap());
        }
    }
    total
}

/// One CPU: 97 % of next tasks and of wake-up preemptions that can be judged.
#[test]
fn one_cpu_agrees() {
    let all = followed(&["i-hogs/6.1", "ii-sleeper/6.1", "ix-random/6.1"]);
    assert!(all.next_task.decidable() > 5_000 && all.preemption.decidable() > 1_000, "{all:?}");
    assert!(all.next_task.right * 100 >= all.next_task.decidable() * 97, "{:?}", all.next_task);
    assert!(all.preemption.right * 100 >= all.preemption.decidable() * 97, "{:?}", all.preemption);
    // What decides is not just order of arrival.
    assert!(
        all.next_task.first_come < all.next_task.right && all.preemption.first_come < all.preemption.right
    );
}

/// Four CPUs: half of the errors of "previous CPU" gone, 80 % right where the wakee left it.
#[test]
fn several_cpus_agree() {
    let all = followed(&["vi-smp4/6.1", "ix-random-smp4/6.1"]);
    let wake = &all.wake_placement;
    assert!(wake.decidable() > 2_000 && wake.left > 40, "{wake:?}");
    assert_eq!(all.missed_bars(), Vec::<String>::new());
    assert!(all.misfits < 10, "{}", all.misfits);
}

const HEAD: &str = "# tracer: nop\n";
const TRACE: &str = "\
          a-10      [000] d..2. 1.000010: sched_wakeup: comm=b pid=11 prio=120 target_cpu=001\n\
     <idle>-0       [001] d..2. 1.000020: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=b next_pid=11 next_prio=120\n";

fn read(text: &str, cpus: u32) -> Result<Report, SetupError> {
    let (trace, stats) = read_trace(text.as_bytes(), TraceLimits::default()).unwrap();
    let profile = sim_core::kernel::Profile::by_name("5.4").unwrap();
    let config = sim_core::kernel::KernelConfig::new(profile, cpus);
    assert_eq!(tick_phase(&trace, config.tick_ns()), None);
    follow(&trace, &stats, Setup::new(config, &stats.prios))
}

#[test]
fn a_trace_is_followed_from_its_first_event() {
    let report = read(&format!("{HEAD}{TRACE}"), 2).unwrap();
    assert_eq!((report.misfits, report.wake_placement.asked, report.wake_placement.asked_right), (0, 1, 1));
}

#[test]
fn errors_name_the_line() {
    assert_eq!(
        read(&format!("{HEAD}{TRACE}"), 1),
        Err(SetupError::Cpu { line: 2, cpu: 1, allowed: "0".to_owned() })
    );
    let back = TRACE.replace("1.000020", "0.9");
    assert_eq!(read(&format!("{HEAD}\nnonsense\n{back}"), 2), Err(SetupError::Order { line: 5 }));
}
