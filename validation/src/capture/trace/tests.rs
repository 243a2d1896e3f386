use super::*;
use proptest::prelude::*;

fn read(text: &str) -> (Trace, ReadStats) {
    read_trace(text.as_bytes(), TraceLimits::default()).unwrap()
}

#[test]
fn reads_both_generations_of_lines() {
    let (t, stats) = read(
        "# tracer: nop\n\
         \x20         <idle>-0       [000] dNh.     4.239908: sched_wakeup: comm=h1 pid=380 prio=120 target_cpu=000\n\
         \x20         <idle>-0       [003] d..2.     4.239914: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=h1 next_pid=380 next_prio=120\n\
         \x20  kworker/0:2-46      [000] d..2.     9.759786: sched_switch: prev_comm=kworker/0:2 prev_pid=46 prev_prio=120 prev_state=I ==> next_comm=hog next_pid=13 next_prio=120\n\
         \x20             wl-158   (    158) [000] ....     0.653425: sched_process_fork: comm=wl pid=158 child_comm=wl child_pid=159\n\
         \x20             wl-158   [000] d..2.     0.653427: sched_wakeup_new: comm=wl pid=159 prio=120 target_cpu=001\n\
         \x20             wl-158   [000] d...     0.653430: sched_stat_runtime: comm=wl pid=158 runtime=2495 [ns] vruntime=858 [ns]\n\
         \x20         <idle>-0   [003] dNh3.     1.5: sched_migrate_task: comm=rc2 pid=325 prio=120 orig_cpu=3 dest_cpu=2\n\
         \x20         <idle>-0   [000] d...     0.7: cpu_idle: state=1 cpu_id=0\n\
         \x20         <idle>-0   [000] .N..     0.8: cpu_idle: state=4294967295 cpu_id=0\n\
         \x20             sh-9   [000] .....     0.9: sched_process_exec: filename=./x.sh pid=9 old_pid=9\n\
         \x20             sh-9   [000] .....     0.9: sched_process_exit: comm=sh pid=9 prio=120\n\
         \x20             sh-9   [000] .....     0.9: sched_waking: comm=sh pid=9 prio=120 target_cpu=000\n\
         nonsense\n",
    );
    assert_eq!((stats.unknown, stats.malformed, stats.first_malformed), (1, 1, Some(14)));
    assert_eq!((t.events[0].at_ns, t.events[0].cpu, t.events[1].cpu), (4_239_908_000, 0, 3));
    assert!(t.events[0].flags.need_resched());
    let TraceKind::Switch { prev, prev_state, next } = &t.events[2].kind else { panic!("{:?}", t.events[2]) };
    assert_eq!((t.name(*prev).comm.as_str(), prev_state.as_str(), t.pid(*next)), ("kworker/0:2", "I", 13));
    assert!(matches!(t.events[4].kind, TraceKind::Wakeup { new: true, target_cpu: 1, .. }));
    assert!(matches!(t.events[5].kind, TraceKind::StatRuntime { runtime_ns: 2495, vruntime_ns: 858, .. }));
    assert!(matches!(t.events[6].kind, TraceKind::Migrate { from: 3, to: 2, .. }));
    assert_eq!((&t.events[7].kind, &t.events[8].kind), (&TraceKind::Idle(Some(1)), &TraceKind::Idle(None)));
    assert_eq!(t.events[6].at_ns, 1_500_000_000);
    assert_eq!(t.events.len(), 11);
}

#[test]
fn comms_may_hold_spaces_dashes_and_brackets() {
    let (t, stats) = read(
        " a [1] pid=2 -b-77 [000] d..2. 1.0: sched_switch: prev_comm=a [1] pid=2 -b prev_pid=77 prev_prio=120 prev_state=R+ ==> next_comm=x-1 y) next_pid=8 next_prio=120\n\
         a [1] pid=2 -b-77 [000] d..2. 1.0: sched_wakeup: comm=c pid=3 d pid=9 prio=120 target_cpu=000\n",
    );
    assert_eq!(stats.malformed, 0);
    let names: Vec<_> = t.tasks.iter().map(|t| (t.comm.as_str(), t.pid)).collect();
    assert_eq!(names, [("a [1] pid=2 -b", 77), ("x-1 y)", 8), ("c pid=3 d", 9)]);
}

#[test]
fn gzip_is_recognised_and_limits_hold() {
    let line = "x-1 [000] d... 1.0: cpu_idle: state=1 cpu_id=0\n";
    let mut gz = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, line.repeat(3).as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    assert_eq!(read_trace(&gz[..], TraceLimits::default()).unwrap().0.events.len(), 3);
    let with = |f: fn(&mut TraceLimits)| {
        let mut limits = TraceLimits::default();
        f(&mut limits);
        read_trace(&gz[..], limits).unwrap_err()
    };
    assert!(matches!(with(|l| l.bytes = 100), TraceError::TooLarge(100)));
    assert!(matches!(with(|l| l.line = 40), TraceError::LongLine { line: 1, max: 40 }));
    assert!(matches!(with(|l| l.events = 2), TraceError::TooManyEvents(2)));
    assert!(matches!(read_trace(&gz[..gz.len() / 2], TraceLimits::default()), Err(TraceError::Io(_))));
    assert!(matches!(
        read_trace(&b"one\ntwo\n"[..], TraceLimits::default()),
        Err(TraceError::Empty { malformed: 2, first: 1 })
    ));
}

proptest! {
    #[test]
    fn never_panics(line in "( |x|-1| \\[000\\] |d\\.h4\\. |1\\.0: |sched_switch: |prev_comm=| prev_pid=| ==> |cpu_idle: state=|9|[^\n]){0,30}") {
        let _ = read_trace(line.as_bytes(), TraceLimits::default());
    }
}
