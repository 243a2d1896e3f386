//! What tunables do to real programs, as `cfsim validate programs` predicts it.
#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use validation::programs::{Cell, Constants, Program, Record, Verdict, compare};

/// Untraced records of a program under some settings, first repetition.
fn cells(program: &str, settings: &[&str], constants: &Constants) -> Vec<Cell> {
    let wanted =
        |r: &Record| r.program == program && r.rep == 0 && !r.traced && settings.contains(&&*r.setting);
    let records: Vec<Record> = Record::handed().unwrap().into_iter().filter(wanted).collect();
    assert_eq!(records.len(), settings.len());
    compare(&records, constants).unwrap().cells
}

/// A wakeup granularity beyond the sleeper's credit makes the stream almost three times slower, in the same number of
/// switches as measured.
#[test]
fn a_stream_that_no_longer_batches_is_slower_by_as_much() {
    let cells = cells("tcp", &["d8", "tuned"], &Constants::fixed().unwrap());
    let tuned = &cells[1];
    assert_eq!(tuned.verdict, Verdict::Within, "{tuned:?}");
    assert!(tuned.measured_ratio.unwrap() < 0.4);
    assert!((tuned.predicted_switches.unwrap() / tuned.measured_switches as f64 - 1.0).abs() < 0.01);
}

/// The control: where buffers and windows cost nothing, the prediction is wrong.
#[test]
fn without_the_costs_of_segments_the_prediction_fails() {
    let mut constants = Constants::fixed().unwrap();
    for cost in ["tcp_segment", "tcp_ack", "tcp_buffer", "tcp_free"] {
        constants.costs_ns.insert(cost.to_owned(), 0);
    }
    let cells = cells("tcp", &["d8", "tuned"], &constants);
    assert_eq!(cells[1].verdict, Verdict::Missed, "{:?}", cells[1]);
}

#[test]
fn records_that_are_none_are_refused() {
    let refused = |text: &str| Record::parse(text).unwrap_err().to_string();
    assert!(refused("{}").contains("not a list of records"));
    assert!(refused("[{}]").contains("missing field"));
    let record = r#"{"kernel":"6.1","program":"tcp","setting":"d8","rep":0,"elapsed_ns":1,"nvcsw":0,"nivcsw":0,"thr":0.0,
        "tunables":{"latency_ns":1,"min_granularity_ns":1,"wakeup_granularity_ns":1}}"#;
    assert!(refused(&format!("[{record}]")).contains("a number above zero"));
}

/// Programs without a model and settings without a baseline are named, not judged.
#[test]
fn what_cannot_be_predicted_is_said() {
    let mut records: Vec<Record> = Record::handed().unwrap();
    records.truncate(1);
    records[0].program = "nginx".to_owned();
    let constants = Constants::fixed().unwrap();
    assert_eq!(compare(&records, &constants).unwrap().cells[0].verdict, Verdict::NoModel);
    records[0].setting = "wg08".to_owned();
    assert_eq!(compare(&records, &constants).unwrap().cells[0].verdict, Verdict::NoBaseline);
    assert!(Program::of(&records[0]).is_none());
}
