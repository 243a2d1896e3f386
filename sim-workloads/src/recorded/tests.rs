//! Every oddity of real traces, on fixtures of our own.

use super::*;
use crate::scenario::Document;
use std::io::Write;

fn event(text: &str) -> EventLine<'_> {
    match parse_line(text) {
        Line::Event(event) => event,
        other => panic!("{text}: {other:?}"),
    }
}

fn named(comm: &str, pid: u32, prio: i32) -> Named<'_> {
    Named { comm, pid, prio: Some(prio) }
}

fn limits() -> Limits {
    Limits::default()
}

fn summary(text: &str) -> Summary {
    summarize(text.as_bytes(), &limits(), Part::default()).unwrap()
}

fn refused(bytes: &[u8]) -> String {
    summarize(bytes, &limits(), Part::default()).unwrap_err().to_string()
}

fn imported(text: &str, options: &Options) -> Imported {
    let imported = import(text.as_bytes(), &limits(), options).unwrap();
    let document = Document::parse(&imported.scenario, "imported", &[]);
    document.unwrap_or_else(|e| panic!("{e}\n{}", imported.scenario)).resolve().unwrap();
    imported
}

#[test]
fn heads_of_every_tool() {
    let cases = [
        (
            "          <idle>-0     [003] dNh4.     4.239908: cpu_idle: state=1 cpu_id=3",
            ("<idle>", 0, 3, Some("dNh4."), 4_239_908_000),
        ),
        (
            "    kworker/0:2-46      [000] d..2.     9.1: cpu_idle: state=1",
            ("kworker/0:2", 46, 0, Some("d..2."), 9_100_000_000),
        ),
        (
            " my - app: [x]-77 [012] .... 1.000000001: cpu_idle: state=1",
            ("my - app: [x]", 77, 12, Some("...."), 1_000_000_001),
        ),
        (
            "  a-b-12  (  959) [001] ...1 683201.354908: cpu_idle: state=1",
            ("a-b", 12, 1, Some("...1"), 683_201_354_908_000),
        ),
        (
            "  <...>-19161 (-----) [001] ...1 2.0: cpu_idle: state=1",
            ("<...>", 19161, 1, Some("...1"), 2_000_000_000),
        ),
        ("  a-9 (1)[001] ...1 2.0: cpu_idle: state=1", ("a", 9, 1, Some("...1"), 2_000_000_000)),
        (
            "  trace-cmd-2461  [000]    34.896920: cpu_idle:   state=1",
            ("trace-cmd", 2461, 0, None, 34_896_920_000),
        ),
        (
            "  <unknown>-5 [000] d..2.1. 1.5: cpu_idle: state=1",
            ("<unknown>", 5, 0, Some("d..2.1."), 1_500_000_000),
        ),
        (
            "alpha-worker 1000/2001 [001] 0.000000050: sched:cpu_idle: state=1",
            ("alpha-worker", 2001, 1, None, 50),
        ),
        (
            "Web Content  2001 [001] 12.5:    1 power:cpu_idle: state=1",
            ("Web Content", 2001, 1, None, 12_500_000_000),
        ),
        (":17008 17008 [007] 3.0: sched:cpu_idle: state=1", (":17008", 17008, 7, None, 3_000_000_000)),
        (
            "swapper     0 [000] d.h. 3.0: power:cpu_idle: state=1",
            ("swapper", 0, 0, Some("d.h."), 3_000_000_000),
        ),
    ];
    for (text, (comm, pid, cpu, flags, at_ns)) in cases {
        let e = event(text);
        assert_eq!((e.comm, e.pid, e.cpu, e.flags, e.at_ns), (comm, pid, cpu, flags, at_ns), "{text}");
        assert_eq!((e.event, e.fields), ("cpu_idle", e.fields.trim()), "{text}");
        assert_eq!(payload(e.event, e.fields), Ok(Some(Payload::Idle(Some(1)))), "{text}");
    }
}

#[test]
fn events_without_fields_and_traced_functions() {
    let e = event("  a-1 [000] .... 1.0: my_event:");
    assert_eq!((e.event, e.fields), ("my_event", ""));
    let e = event("  a-1 [000] .... 1.0: do_fork <-sys_clone: x");
    assert_eq!((e.event, payload(e.event, e.fields)), ("", Ok(None)));
}

#[test]
fn switches_long_short_and_raw() {
    let (a, b) = (named("a b=c", 7, 120), named("next_comm", 0, 100));
    for text in [
        "prev_comm=a b=c prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=next_comm next_pid=0 next_prio=100",
        "prev_comm=a b=c prev_pid=7 prev_prio=120 prev_state=1 next_comm=next_comm next_pid=0 next_prio=100",
        "prev_comm=a b=c prev_pid=7 prev_prio=120 prev_state=0x1 ==> next_comm=next_comm next_pid=0 next_prio=100 more=1",
        "[FAILED TO PARSE] prev_comm=a b=c prev_pid=7 prev_prio=120 prev_state=1 next_comm=next_comm next_pid=0x0 next_prio=100",
        "a b=c:7 [120] S ==> next_comm:0 [100]",
    ] {
        let Ok(Some(Payload::Switch { prev, left, next, .. })) = payload("sched_switch", text) else {
            panic!("{text}")
        };
        assert_eq!((prev, left, next), (a, Left::Blocked, b), "{text}");
    }
    let arrow = payload("sched_switch", "x ==> y:7 [120] R+ ==> b:8 [-1]");
    assert!(
        matches!(
            arrow,
            Ok(Some(Payload::Switch {
                prev: Named { comm: "x ==> y", .. },
                next: Named { prio: Some(-1), .. },
                ..
            }))
        ),
        "{arrow:?}"
    );
    for bad in [
        "",
        "prev_comm=a prev_pid=7",
        "a:7 [120] ==> b:8 [120]",
        "a:x [120] S ==> b:8 [120]",
        "prev_comm=a prev_pid=7 prev_prio=120 prev_state=? ==> next_comm=b next_pid=0 next_prio=1",
    ] {
        assert_eq!(payload("sched_switch", bad), Err(Malformed), "{bad}");
    }
}

#[test]
fn wakeups_of_every_generation() {
    for (text, target, success) in [
        ("comm=a pid=7 prio=120 target_cpu=005", Some(5), true),
        ("comm=a pid=7 prio=120 success=1 target_cpu=000", Some(0), true),
        ("comm=a pid=7 prio=120 success=0 target_cpu=000", Some(0), false),
        ("a:7 [120] success=1 CPU:003", Some(3), true),
        ("a:7 [120] CPU:011", Some(11), true),
        ("a:7 [120]", None, true),
    ] {
        let expected = Payload::Wake { wake: Wake::Wakeup, task: named("a", 7, 120), target, success };
        assert_eq!(payload("sched_wakeup", text), Ok(Some(expected)), "{text}");
    }
    assert_eq!(payload("sched_wakeup", "comm=a prio=120"), Err(Malformed));
    let fork = payload("sched_process_fork", "comm=make pid=1 child_comm=make child_pid=2");
    assert!(matches!(fork, Ok(Some(Payload::Fork { child: Named { pid: 2, .. }, .. }))));
    let moved = payload("sched_migrate_task", "comm=a pid=7 prio=120 orig_cpu=3 dest_cpu=2");
    assert!(matches!(moved, Ok(Some(Payload::Migrate { from: 3, to: 2, .. }))));
    let gone = payload("sched_process_exit", "comm=a pid=7 prio=120 group_dead=true");
    assert!(matches!(gone, Ok(Some(Payload::Exit(Named { pid: 7, .. })))));
    let charged = payload("sched_stat_runtime", "comm=a pid=7 runtime=5 [ns]");
    assert!(matches!(charged, Ok(Some(Payload::StatRuntime { runtime_ns: 5, vruntime_ns: None, .. }))));
}

#[test]
fn lines_that_are_no_events() {
    for comment in ["", "# tracer: nop", "version = 6", "cpus=8", "CPU 3 is empty", "   "] {
        assert_eq!(parse_line(comment), Line::Comment, "{comment}");
    }
    assert_eq!(parse_line("CPU:2 [LOST 17 EVENTS]"), Line::Lost { cpu: Some(2), events: Some(17) });
    assert_eq!(parse_line("CPU:0 [EVENTS DROPPED]"), Line::Lost { cpu: Some(0), events: None });
    for stack in [" => do_syscall_64", "\tffffffff8112 schedule ([kernel])", " <stack trace>"] {
        assert_eq!(parse_line(stack), Line::Stack, "{stack}");
    }
    for other in [
        "CPU:2 is fine",
        "hello",
        "a-1 [000] .... 1.0 sched_switch",
        "a-1 [x] .... 1.0: e: f",
        "a [000] .... 1.0: e: f",
        "a-1 [000] .... 123456789: e: f",
        "a-1 [000] .... 1.0000000001: e: f",
        "a-1 [000] .... 99999999999999.0: e: f",
    ] {
        assert_eq!(parse_line(other), Line::Other, "{other}");
    }
}

/// A hog and a sleeper on one CPU, with what wraps and follows lines.
const HOG: &str = "\
# tracer: nop
# entries-in-buffer/entries-written: 5/9   #P:1
          <idle>-0  [000] dNh4. 1.000010: sched_wakeup: comm=hog pid=10 prio=120 target_cpu=000
          <idle>-0  [000] d..2. 1.000014: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=10 next_prio=120
             hog-10 [000] dNh4. 1.002000: sched_wakeup: comm=sleeper pid=11 prio=110 target_cpu=000
             hog-10 [000] d..2. 1.002003: sched_switch: prev_comm=hog prev_pid=10 prev_prio=120 prev_state=R ==> next_comm=sleeper next_pid=11 next_prio=110
         sleeper-11 [000] d..2. 1.002503: sched_switch: prev_comm=sleeper prev_pid=11 prev_prio=110 prev_state=S ==> next_comm=hog next_pid=10 next_prio=120";

#[test]
fn a_summary_counts() {
    let s = summary(HOG);
    assert_eq!((s.stats.form, s.stats.digits, s.stats.overwritten, s.stats.lines), (Form::Ftrace, 6, 4, 7));
    assert_eq!(
        (s.cpus.as_slice(), s.span_ns, s.switches, s.odd),
        (&[0][..], 2_493_000, 3, Oddities::default())
    );
    let of = |t: &TaskSummary| {
        (t.comm.clone(), t.pid, t.nice, t.cpu_ns, t.voluntary, t.involuntary, t.mean_latency_ns)
    };
    assert_eq!(of(&s.tasks[0]), ("hog".to_owned(), 10, Some(0), 1_989_000, 0, 1, 4_000));
    assert_eq!(of(&s.tasks[1]), ("sleeper".to_owned(), 11, Some(-10), 500_000, 1, 0, 3_000));
    assert_eq!((s.latency.count, s.latency.max_ns), (2, 4_000));
    // Carriage returns and an end without a newline change nothing.
    let other = summary(&HOG.replace('\n', "\r\n"));
    assert_eq!(other, s);
}

#[test]
fn interrupts_are_timers_and_tasks_are_wakers() {
    let timer = imported(HOG, &Options::default()).scenario;
    assert!(
        timer.contains(
            "[task.\"sleeper-11\"]\nnice = -10\nprogram = '''\nsleep_until 11990us\nrun 500us\n'''"
        ),
        "{timer}"
    );
    let task =
        imported(&HOG.replace("hog-10 [000] dNh4.", "hog-10 [000] dN.4."), &Options::default()).scenario;
    assert!(task.contains("wait 10:11\nrun 500us"), "{task}");
    assert!(task.contains("run 1986us\npost 10:11 stay\nrun 3us"), "{task}");
    let relative = imported(HOG, &Options { sleeps: Sleeps::Relative, ..Options::default() }).scenario;
    assert!(relative.contains("sleep 1990us\nrun 500us"), "{relative}");
}

#[test]
fn groups_come_from_a_map() {
    let groups = GroupMap::parse("hog /batch\n11 /web\n/web 300").unwrap();
    let text = imported(HOG, &Options { groups, ..Options::default() }).scenario;
    assert!(text.contains("[group.\"/batch\"]\n\n[group.\"/web\"]\ncpu.weight = 300\n"), "{text}");
    assert!(text.contains("[task.\"hog-10\"]\ngroup = \"/batch\""), "{text}");
}

#[test]
fn forks_exits_and_used_numbers() {
    let text = "\
 sh-5 [001] .... 2.0: sched_process_fork: comm=sh pid=5 child_comm=sh child_pid=6
 sh-5 [001] d... 2.000002: sched_wakeup_new: comm=sh pid=6 prio=120 target_cpu=001
 sh-5 [001] d..2 2.000100: sched_switch: prev_comm=sh prev_pid=5 prev_prio=120 prev_state=S ==> next_comm=sh next_pid=6 next_prio=120
 ls-6 [001] .... 2.000200: sched_process_exec: filename=/bin/ls pid=6 old_pid=6
 ls-6 [001] d..4 2.001000: sched_wakeup: comm=sh pid=5 prio=120 target_cpu=001
 ls-6 [001] d..2 2.001004: sched_switch: prev_comm=ls prev_pid=6 prev_prio=120 prev_state=Z ==> next_comm=sh next_pid=5 next_prio=120
 sh-5 [001] .... 2.002000: sched_process_fork: comm=sh pid=5 child_comm=sh child_pid=6
 sh-5 [001] d..2 2.002100: sched_switch: prev_comm=sh prev_pid=5 prev_prio=125 prev_state=S ==> next_comm=sh next_pid=6 next_prio=120
 sh-6 [001] d..2 2.002200: sched_switch: prev_comm=sh prev_pid=6 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120
";
    let text = imported(
        text,
        &Options { cpus: Some(4), kernel: Some("5.10".to_owned()), hz: Some(250), ..Options::default() },
    )
    .scenario;
    let expected = "[task.\"sh-5\"]\ncpus = \"1\"\nprogram = '''\naffinity 0-3\nsleep_until 10ms\nfork ls-6 {\n  run 100us\n  exec ls\n  run 800us\n  post 6:5 stay\n  run 4us\n}\nrun 100us\nwait 6:5\nrun 996us\nfork sh-6.1 {\n  run 100us\n}\nrun 100us\nnice 5\n'''\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("profile = \"5.10\"\nhz = 250\n"), "{text}");
}

#[test]
fn what_is_missing_is_counted() {
    // The sleeper runs though nothing woke it; then the hog is current though it was never switched to.
    let text = "\
 a-1 [000] d..2 1.0: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 next_prio=120
 b-2 [000] d..2 1.1: sched_switch: prev_comm=b prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=a next_pid=1 next_prio=120
 c-3 [000] d..2 1.3: sched_switch: prev_comm=c prev_pid=3 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
 <idle>-0 [000] d.h4 1.4: sched_wakeup: comm=c pid=3 prio=120 target_cpu=000
 <idle>-0 [000] d.h4 1.4: sched_wakeup: comm=c pid=3 prio=120 target_cpu=000
";
    let s = summary(text);
    assert_eq!(s.odd, Oddities { missing_wakeups: 1, missing_switches: 1, spurious_wakeups: 1 });
    let notes = imported(text, &Options::default()).notes.join("\n");
    for part in
        ["1 tasks went on though nothing", "1 switches are missing", "1 wake-ups of tasks that did not wait"]
    {
        assert!(notes.contains(part), "{notes}");
    }
}

#[test]
fn lost_events_end_what_is_known_of_a_cpu() {
    let text = "\
 a-1 [000] d..2 1.0: sched_switch: prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=1 next_prio=120
 a-1 [000] .... 1.1: other_event: x
CPU:0 [LOST 5 EVENTS]
 a-1 [000] d..2 3.0: other_event: x
 a-1 [000] d..2 3.1: sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120
";
    let s = summary(text);
    assert_eq!((s.stats.gaps, s.stats.lost, s.tasks[0].cpu_ns), (1, 5, 200_000_000));
}

#[test]
fn unsorted_lines_are_put_in_order_and_counted() {
    let mut lines: Vec<&str> = HOG.lines().collect();
    lines.swap(3, 4);
    let s = summary(&lines.join("\n"));
    assert_eq!((s.stats.unsorted, s.stats.late), (1, 0));
    assert_eq!(s.tasks, summary(HOG).tasks);
}

#[test]
fn preempted_or_waiting_shows_in_what_follows() {
    // 1026: preempted under one kernel, waiting under another. Here nothing wakes it: it was preempted.
    let text = HOG.replace("prev_state=R ==> next_comm=sleeper", "prev_state=1026 ==> next_comm=sleeper");
    let s = summary(&text);
    assert_eq!(s.odd, Oddities::default());
    assert!(imported(&text, &Options::default()).scenario.contains("sleep_until 10ms\nrun 1989us"));
}

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
    assert!(s.stats.gzip && s.tasks.len() == 2);
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
    let cases: [(&[u8], &str); 13] = [
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
        (b"BZh91AY", "bzip2: unpack it first"),
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
    assert!(refused(&tar).contains("a tar archive: unpack it first"));
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
