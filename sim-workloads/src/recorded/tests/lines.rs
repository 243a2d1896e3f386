//! Lines and payloads.

use crate::recorded::*;

fn event(text: &str) -> EventLine<'_> {
    match parse_line(text) {
        Line::Event(event) => event,
        other => panic!("{text}: {other:?}"),
    }
}

fn named(comm: &str, pid: u32, prio: i32) -> Named<'_> {
    Named { comm, pid, prio: Some(prio) }
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
