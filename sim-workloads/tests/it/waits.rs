//! Tasks that wait for ever, and what the engine says about them.

use sim_core::engine::{Deadlock, Doing, WaitFor};
use sim_core::kernel::hooks::NoHooks;
use sim_core::{End, Instant, Simulation, TaskId};
use sim_workloads::scenario::Document;

/// Runs a scenario without costs: every time below is the sum of what the programs ask for.
fn run(text: &str) -> (Simulation, End) {
    let text = format!("costs.preset = \"zero\"\n{text}");
    let document = Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let resolved = document.resolve().expect("a resolved scenario");
    let built = document.scenario.build(resolved.seed);
    let mut simulation = built.simulation(resolved.config, (), NoHooks);
    let end = simulation.run().expect("an end").end;
    (simulation, end)
}

/// The deadlock of a scenario in which nothing can happen any more.
#[track_caller]
fn stalls(text: &str) -> (Deadlock, Vec<WaitFor>) {
    let (simulation, end) = run(text);
    let deadlock = simulation.deadlock().expect("a deadlock");
    assert_eq!(end, End::Stalled(deadlock.tasks.iter().map(|u| u.task).collect()));
    let what = |doing: &Doing| match doing {
        Doing::Waiting { what, .. } => *what,
        other => panic!("{other:?}"),
    };
    let waits = deadlock.tasks.iter().map(|u| what(&u.doing)).collect();
    (deadlock, waits)
}

/// a takes m at 0 ms and wants n at 5 ms; b, on another CPU, takes n at 1 ms and wants m at 3 ms.
const TWO_LOCKS: &str = r#"
machine.cpus = 2
[task.a]
program = [{ lock = "m" }, { run = "5ms" }, { lock = "n" }, { unlock = "n" }, { unlock = "m" }]
[task.b]
program = [{ run = "1ms" }, { lock = "n" }, { run = "2ms" }, { lock = "m" }, { unlock = "m" }, { unlock = "n" }]
"#;

#[test]
fn two_mutexes_taken_in_opposite_order() {
    let (deadlock, waits) = stalls(TWO_LOCKS);
    assert_eq!((deadlock.at, deadlock.cycle), (Instant(5_000_000), vec![TaskId(0), TaskId(1)]));
    let owners: Vec<_> = waits
        .iter()
        .map(|w| match w {
            WaitFor::Mutex { owner, .. } => *owner,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(owners, [Some(TaskId(1)), Some(TaskId(0))]);
}

#[test]
fn a_mutex_cycle_is_found_beside_tasks_that_go_on_and_beside_interrupts() {
    let beside = format!(
        "run.duration = \"1s\"\n{TWO_LOCKS}[task.hog]\nprogram = [{{ forever = [{{ run = \"1ms\" }}] }}]\n"
    );
    let (simulation, end) = run(&beside);
    assert_eq!(end, End::Duration);
    let deadlock = simulation.deadlock().expect("a deadlock");
    assert_eq!(deadlock.cycle, [TaskId(0), TaskId(1)]);
    assert_eq!(deadlock.tasks.len(), 2);
    let hog = &simulation.unfinished()[2];
    assert!(matches!(hog.doing, Doing::Running(_) | Doing::Runnable(_)), "{hog:?}");
    let irq = "[[machine.interference]]\ncpu = 0\nkind = \"interrupt\"\nperiod = \"1ms\"\ntime = \"1us\"\n";
    // Interrupts alone must not keep a run without a duration alive.
    let (deadlock, _) = stalls(&format!("{TWO_LOCKS}{irq}"));
    assert_eq!(deadlock.cycle.len(), 2);
}

#[test]
fn a_mutex_whose_holder_has_ended() {
    let (deadlock, waits) = stalls(
        r#"
[task.a]
program = [{ lock = "m" }, "exit"]
[task.b]
program = [{ run = "1ms" }, { lock = "m" }, { unlock = "m" }]
"#,
    );
    assert!(matches!(waits[..], [WaitFor::Mutex { owner: Some(TaskId(0)), .. }]), "{waits:?}");
    assert!(deadlock.cycle.is_empty());
}

#[test]
fn pipes_that_both_sides_read_first() {
    let (deadlock, waits) = stalls(
        r#"
[task.a]
program = [{ read = "x", bytes = 1 }, { write = "y", bytes = 1 }]
[task.b]
program = [{ run = "2ms" }, { read = "y", bytes = 1 }, { write = "x", bytes = 1 }]
"#,
    );
    assert_eq!((deadlock.at, deadlock.cycle), (Instant(2_000_000), vec![TaskId(0), TaskId(1)]));
    assert!(matches!(waits[..], [WaitFor::Data(_), WaitFor::Data(_)]), "{waits:?}");
}

#[test]
fn a_pipe_nobody_writes_any_more() {
    // The writer's last byte is gone at 1 ms: nobody is left who could write, so there is no cycle.
    let (deadlock, waits) = stalls(
        r#"
[task.reader]
program = [{ read = "p", bytes = 2 }]
[task.writer]
program = [{ run = "1ms" }, { write = "p", bytes = 1 }]
"#,
    );
    assert!(deadlock.cycle.is_empty());
    assert!(matches!(waits[..], [WaitFor::Data(_)]), "{waits:?}");
    assert_eq!(deadlock.at, Instant(0));
}

#[test]
fn a_full_pipe_nobody_empties() {
    let (deadlock, waits) = stalls(
        "pipes.p.capacity = 10\n[task.w]\nprogram = [{ write = \"p\", bytes = 11 }, { read = \"p\", bytes = 11 }]\n",
    );
    assert!(matches!(waits[..], [WaitFor::Space(_)]), "{waits:?}");
    // Only the writer itself would read.
    assert_eq!(deadlock.cycle, [TaskId(0)]);
}

#[test]
fn a_semaphore_posted_too_rarely() {
    let (deadlock, waits) = stalls(
        r#"
[task.waiter]
count = 2
program = [{ wait = "s" }]
[task.poster]
program = [{ run = "1ms" }, { post = "s" }]
"#,
    );
    assert!(matches!(waits[..], [WaitFor::Semaphore(_)]), "{waits:?}");
    assert!(deadlock.cycle.is_empty());
}

#[test]
fn a_barrier_short_of_a_task() {
    let (deadlock, waits) = stalls(
        "barriers.b.parties = 3\n[task.t]\ncount = 2\nprogram = [{ run = \"1ms\" }, { barrier = \"b\" }]\n",
    );
    assert!(
        matches!(waits[..], [WaitFor::Barrier { missing: 1, .. }, WaitFor::Barrier { missing: 1, .. }]),
        "{waits:?}"
    );
    // Who waits at a barrier has arrived, so none of the two waits for the other.
    assert!(deadlock.cycle.is_empty());
}

#[test]
fn a_child_that_never_exits() {
    let (deadlock, waits) = stalls(
        r#"
[task.parent]
program = [
    { fork = "child", program = [{ wait = "s" }] },
    "wait_child",
    { post = "s" },
]
"#,
    );
    assert!(matches!(waits[..], [WaitFor::Child, WaitFor::Semaphore(_)]), "{waits:?}");
    assert_eq!(deadlock.cycle, [TaskId(0), TaskId(1)]);
}

/// A parent sleeps in vfork for the exec or exit of a child, which waits for what the parent would do.
#[test]
fn a_vforked_child_that_waits_for_its_parent() {
    let (deadlock, waits) = stalls(
        r#"
[task.parent]
program = [
    { vfork = "child", program = [{ run = "3ms" }, { read = "p", bytes = 1 }, { exec = "sh" }] },
    { write = "p", bytes = 1 },
]
"#,
    );
    assert_eq!((deadlock.at, deadlock.cycle), (Instant(3_000_000), vec![TaskId(0), TaskId(1)]));
    assert!(matches!(waits[..], [WaitFor::Vfork(TaskId(1)), WaitFor::Data(_)]), "{waits:?}");
}

#[test]
fn a_vforked_child_that_execs_lets_its_parent_go() {
    let (simulation, end) = run(r#"
[task.parent]
program = [{ vfork = "child", program = [{ exec = "sh" }, { read = "p", bytes = 1 }] }, { write = "p", bytes = 1 }]
"#);
    assert_eq!((end, simulation.deadlock()), (End::AllExited, None));
}

/// Whoever could make an event ready waits for an event himself, on another instance; a hog goes on beside them.
#[test]
fn epoll_waits_that_only_each_other_could_end() {
    let text = r#"
run.duration = "100ms"
[task.a]
program = [{ epoll_wait = "x" }, { epoll_post = "y" }]
[task.b]
program = [{ run = "2ms" }, { epoll_wait = "y" }, { epoll_post = "x" }]
[task.hog]
program = [{ forever = [{ run = "1ms" }] }]
"#;
    let (simulation, end) = run(text);
    let deadlock = simulation.deadlock().expect("a deadlock");
    assert_eq!((end, deadlock.cycle), (End::Duration, vec![TaskId(0), TaskId(1)]));
    assert!(matches!(deadlock.tasks[0].doing, Doing::Waiting { what: WaitFor::Event(_), .. }));
    // With a timeout the first goes on, makes the event ready and both end.
    let timed = text.replace(r#"{ epoll_wait = "x" }"#, r#"{ epoll_wait = "x", timeout = "10ms" }"#);
    let (simulation, _) = run(&timed);
    assert_eq!(simulation.deadlock(), None);
    assert_eq!(simulation.unfinished().len(), 1, "the hog");
}

#[test]
fn who_waits_for_somebody_who_goes_on_is_not_stuck() {
    let (simulation, end) = run(r#"
run.duration = "100ms"
[task.reader]
program = [{ read = "p", bytes = 1 }]
[task.writer]
program = [{ sleep = "1s" }, { write = "p", bytes = 1 }]
[task.late]
start = "2s"
program = [{ run = "1ms" }]
"#);
    assert_eq!((end, simulation.deadlock()), (End::Duration, None));
    let doing: Vec<Doing> = simulation.unfinished().into_iter().map(|u| u.doing).collect();
    let [Doing::Waiting { since, what: WaitFor::Data(_), feeders }, Doing::Asleep { .. }, Doing::NotStarted] =
        &doing[..]
    else {
        panic!("{doing:?}")
    };
    assert_eq!((*since, feeders.as_slice()), (Instant(0), &[TaskId(1)][..]));
}
