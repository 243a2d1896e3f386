//! The recorded traces kept here, imported and replayed: what `cfsim validate replay` shows.

use std::path::Path;
use validation::replay::{ReplayedTrace, Verdict, find_recorded, reports};

/// r1_07 begins with tasks whose past the trace does not tell, and misses.
#[test]
fn recorded_traces_give_back_what_was_recorded() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("traces");
    let found = find_recorded(&dir).expect("the folder can be searched");
    let report = reports(found.iter().map(|p| ReplayedTrace::of(p)).collect());
    assert_eq!(report.tally().1, 10, "{}", report.to_text());
    assert!(report.passed(), "{}", report.to_text());
    for trace in &report.traces {
        let Verdict::Replayed { recorded, replayed, .. } = &trace.verdict else { panic!("{trace:?}") };
        // Stamps are microseconds, and no burst is lost or made up.
        assert_eq!(recorded.cpu_ns, replayed.cpu_ns, "{}", trace.id);
    }
}
