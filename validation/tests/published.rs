//! Predictions of published series, as `cfsim validate smt` makes them, and how far they are off.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use validation::published::smt::{self, TOLERANCE_POINTS};
use validation::published::{Role, compile};

/// Ratios that are off by more than the tolerance. Why:
///
/// With 4 jobs the published builds lose 5 to 7 % with hyper-threading, the simulated ones 1 to 2: which tasks share a core
/// while another idles is the same, so something else costs there. A guest of 4 CPUs loses by hyper-threading if its
/// hypervisor puts two of them on one core; here each has its own (D-186).
const KNOWN_MISSES: &[(&str, u32)] = &[("kb-dom0-ht", 4), ("kb-hvm4-ht", 8), ("kb-hvm4-ht", 16)];

#[test]
fn one_factor_for_hyper_threading() {
    let report = smt::compare(300, 1).unwrap();
    let text = report.to_text();
    // The literature: each thread at 0.60 to 0.65, both together 0.9 to 1.7 times one.
    assert!((600..=700).contains(&report.factor), "{text}");
    let judged = report.rows.iter().filter(|r| r.role == Role::Judge);
    let missed: Vec<(&str, u32)> =
        judged.filter(|r| r.off_by().abs() > TOLERANCE_POINTS).map(|r| (r.series.as_str(), r.jobs)).collect();
    assert_eq!(missed, KNOWN_MISSES, "{text}");
}

/// The machine whose build is the shortest: six predictions from two points. `cfsim validate compile` makes all.
#[test]
fn builds_by_number_of_jobs() {
    let published = compile::published().unwrap();
    let machine = published.machines.iter().find(|m| m.name == "kb-bm-ht").unwrap();
    let report = compile::CompileReport(vec![machine.predict(1).unwrap()]);
    assert_eq!(report.missed().count(), 0, "{}", report.to_text());
    let fitted = report.0[0].rows.iter().filter(|r| r.role == Role::Fit);
    // The fit is a line through both points.
    assert!(fitted.into_iter().all(|r| r.off_by().abs() < 1.0), "{}", report.to_text());
}
