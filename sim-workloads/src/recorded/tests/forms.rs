//! Forms of traces, refusals and limits.

use super::*;
use std::io::Write;

#[test]
fn perf_script_in_its_short_form() {
    let text = "\
swapper     0 [000]  1.000000000: sched:sched_switch: swapper/0:0 [120] R ==> ping:1 [120]
ping     1 [000]  1.001000000: sched:sched_wakeup: pong:2 [120] success=1 CPU:000
ping     1 [000]  1.002000000: sched:sched_switch: ping:1 [120] S ==> pong:2 [120]
pong     2 [000]  1.003000000: sched:sched_wakeup: ping:1 [120] CPU:000
pong     2 [000]  1.004000000: sched:sched_switch: pong:2 [120] S ==> ping:1 [120]
";
    let s = summary(text);
    assert_eq!((s.stats.form, s.stats.digits, s.stats.malformed), (Form::Perf, 9, 0));
    let imported = imported(text, &Options::default());
    assert!(imported.scenario.contains("wait 1:2\nrun 1ms\npost 2:1 stay"), "{}", imported.scenario);
    assert!(imported.notes.iter().any(|n| n.contains("inferred")));
}

#[test]
fn regular_sleeps_are_timers_where_contexts_are_not_shown() {
    let mut text = String::new();
    for i in 0..10 {
        let at = |us: u64| format!("{}.{:06}", 5 + i / 100, i % 100 * 10_000 + us);
        text += &format!("hog 7 [000] {}: sched:sched_wakeup: slp:8 [120] CPU:000\n", at(1_000));
        text += &format!("hog 7 [000] {}: sched:sched_switch: hog:7 [120] R ==> slp:8 [120]\n", at(1_005));
        text += &format!("slp 8 [000] {}: sched:sched_switch: slp:8 [120] S ==> hog:7 [120]\n", at(1_100));
    }
    let text = imported(&text, &Options::default()).scenario;
    assert!(text.contains("sleep_until") && !text.contains("post"), "{text}");
}

#[test]
fn web_pages_and_compressed_traces() {
    let body: String = HOG.lines().map(|l| format!("{l}\\n\\\n")).collect();
    let page = format!(
        "<!DOCTYPE html>\n<html>\n<script>{}</script>\n  var linuxPerfData = \"\\\n{body}  \\n\";\n</html>\n",
        "x".repeat(100_000)
    );
    let s = summary(&page);
    assert_eq!((s.stats.form, s.stats.long, s.stats.malformed, s.tasks.len()), (Form::Systrace, 1, 0, 2));
    assert_eq!(s.tasks, summary(HOG).tasks);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(HOG.as_bytes()).unwrap();
    let atrace = [b"capturing trace... done\nTRACE:\n".as_slice(), &zlib.finish().unwrap()].concat();
    let s = summarize(atrace.as_slice(), &limits(), Part::default()).unwrap();
    assert_eq!((s.stats.form, s.tasks.len()), (Form::Atrace, 2));
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(HOG.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let s = summarize(gz.as_slice(), &limits(), Part::default()).unwrap();
    assert_eq!((s.stats.packing, s.tasks.len()), (Some("gzip"), 2));
    assert!(refused(&gz[..gz.len() / 2]).starts_with("reading the trace: "));
}

#[test]
fn parts_are_cut_out() {
    let part = Part { from_ns: 1_000_000, to_ns: Some(2_200_000) };
    let s = summarize(HOG.as_bytes(), &limits(), part).unwrap();
    assert_eq!((s.switches, s.begins_ns, s.span_ns), (1, 1_002_000_000, 3_000));
    let nothing = summarize(HOG.as_bytes(), &limits(), Part { from_ns: 9_000_000_000, to_ns: None });
    assert!(nothing.unwrap_err().to_string().contains("from 1000010000 to 1002503000 ns"));
}

#[test]
fn refusals_say_what_a_file_is() {
    let cases: [(&[u8], &str); 12] = [
        (b"", "no scheduling event: none of 0 lines"),
        (b"hello\nworld", "none of 2 lines is a line of a trace"),
        (
            b" a-1 [000] .... 1.0: tracing_mark_write: x",
            "a trace, but there is only 1 tracing_mark_write: record sched_switch",
        ),
        (b"# tracer: nop\n#\n", "a trace, but there is no event at all"),
        (b" a-1 [000] d..2 1.0: sched_switch: prev_comm=a", "only 1 sched_switch"),
        (b"PERFILE2........", "a perf.data file"),
        (b"\x17\x08\x44tracing6\0", "a trace.dat file"),
        (b"\xfd7zXZ\0", "xz: unpack it first"),
        (b"\x28\xb5\x2f\xfd", "zstd: unpack it first"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x7fELF", "a program"),
        (b"   time  cpu  task name  wait time  sch delay   run time\n", "perf sched timehist"),
    ];
    for (bytes, message) in cases {
        assert!(refused(bytes).contains(message), "{}", refused(bytes));
    }
    assert!(
        refused(b"  Task | Runtime ms | Switches | Average delay ms | Maximum delay ms |")
            .contains("perf sched latency")
    );
    let mut tar = vec![b'x'; 600];
    tar[257..262].copy_from_slice(b"ustar");
    assert!(refused(&tar).contains("a tar archive"));
    let exits = " a-1 [000] .... 1.0: sched_process_exit: comm=a pid=1 prio=120";
    let refused = import(exits.as_bytes(), &limits(), &Options::default()).unwrap_err();
    assert!(refused.to_string().contains("no task runs in it: 1 scheduling events"), "{refused}");
}

#[test]
fn limits_are_typed_errors() {
    let with = |limits: Limits| summarize(HOG.as_bytes(), &limits, Part::default()).unwrap_err();
    assert!(matches!(with(Limits { bytes: 100, ..limits() }), TraceError::TooLarge(100)));
    assert!(matches!(with(Limits { tasks: 1, ..limits() }), TraceError::TooManyTasks(1)));
    let far =
        summarize(HOG.replace("[000]", "[099]").as_bytes(), &Limits { cpus: 8, ..limits() }, Part::default());
    assert!(matches!(far.unwrap_err(), TraceError::Cpu { line: 3, found: 99, max: 8 }));
    // A line that is too long is passed over.
    let s = summarize(HOG.as_bytes(), &Limits { line: 120, ..limits() }, Part::default()).unwrap();
    assert_eq!((s.stats.long, s.stats.used), (3, 2));
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(( |x|-1| \\[000\\] |\\[2\\]|d\\.h4\\. |dN\\.\\.| 1\\.0: | 2\\.5: |sched_switch: |sched_wakeup: |sched_process_fork: |CPU:0 \\[LOST 1 EVENTS\\]|prev_comm=| prev_pid=| prev_state=1026| ==> |comm=a pid=7 prio=120|a:1 \\[120\\] S|9|\\n|[^\\n]){0,12}\\n){0,12}") {
        let _ = import(text.as_bytes(), &limits(), &Options::default());
    }
}
