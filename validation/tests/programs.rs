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

/// In between, who is how far ahead when the test begins decides: netserver's child is placed a third of sched_latency, 8 ms,
/// behind netperf, which has spent more than the child has by the time its buffer is full. So netperf is no longer far enough
/// behind to preempt it; sending costs more than receiving, until the receiver preempts at nearly every message.
#[test]
fn a_stream_goes_message_by_message_where_the_receiver_preempts() {
    let cells = cells("tcp", &["d8", "wg08"], &Constants::fixed().unwrap());
    let wg08 = &cells[1];
    assert_eq!(wg08.verdict, Verdict::Within, "{wg08:?}");
    assert!(wg08.measured_ratio.unwrap() < 0.25);
}

/// A hog at nice 5 beside make: nothing was fitted to it.
#[test]
fn make_beside_a_hog_takes_as_much_longer_as_measured() {
    let cells = cells("makehog", &["d8"], &Constants::fixed().unwrap());
    assert!(cells[0].absolute_error_percent.unwrap().abs() < 5.0, "{cells:?}");
}

/// Settings the model does not know are named; those it knows are heeded.
#[test]
fn unknown_settings_are_named() {
    let constants = Constants::fixed().unwrap();
    let mut records: Vec<Record> = Record::handed().unwrap();
    records.retain(|r| r.program == "gzip" && r.rep == 0 && !r.traced);
    assert!(records.iter().all(|r| r.unknown_setting().is_none()));
    records[1].set.push("kernel.sched_coffee=3".to_owned());
    let cell = &compare(&records, &constants).unwrap().cells[1];
    assert_eq!(
        (cell.verdict, cell.unknown_setting.as_deref()),
        (Verdict::NoSetting, Some("kernel.sched_coffee=3"))
    );
    records[1].set.pop();
    records[1].tunables.others.insert("autogroup_enabled".to_owned(), 1.into());
    assert_eq!(records[1].unknown_setting().as_deref(), Some("autogroup_enabled=1"));
    records[1].tunables.others.insert("autogroup_enabled".to_owned(), 0.into());
    records[1].tunables.child_runs_first = Some(1);
    records[1].tunables.idle_min_granularity_ns = Some(750_000);
    let text = Program::Gzip.scenario(&records[1], &constants, 1, 0);
    assert!(
        text.contains("sched_child_runs_first = 1\nsched_idle_min_granularity_ns = \"750000ns\""),
        "{text}"
    );
    assert!(compare(&records, &constants).unwrap().cells[1].predicted_ratio.is_some());
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
