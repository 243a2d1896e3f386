//! What is made of a trace.

use super::*;

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
