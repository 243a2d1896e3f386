//! What programs ask for.

use super::{brief, parse, trace, with_program};
use sim_core::program::Action;

/// Every action and every loop.
pub(crate) const ALL: &str = r#"
name = "everything"
[run]
duration = "10s"
[pipes.p]
capacity = "4KiB"
[semaphores.s]
value = 1
[mutexes.m]
[barriers.b]
parties = 2
[job_servers.j]
tokens = 3
[machine]
cpus = 2
[group."/g"]
[task.all]
count = 2
program = [
    { run = "1ms" }, { run_cpu = "2ms" }, { kernel = "3us" }, { sleep = "4ms" }, { period = "5ms" },
    { write = "p", bytes = "2KiB" }, { read = "p", bytes = 7 }, { post = "s", n = 2 }, { post = "s" }, { wait = "s" },
    { lock = "m" }, { unlock = "m" }, { barrier = "b" }, { take_token = "j" }, { put_token = "j" },
    { fork = "child%", program = [{ run = "1us" }, { fork = "grandchild", program = ["yield"] }] },
    "wait_child", "wait_children", { exec = "new" }, "yield", { nice = -3 }, { policy = "idle" },
    { affinity = "0-1" }, { count = 9 }, { move_to_group = "/g" }, { timer_slack = "1us" },
    { epoll_post = "e" }, { epoll_wait = "e" }, { epoll_wait = "e", timeout = "5ms" }, { vfork = "spawned", program = [{ exec = "sh" }] },
    { repeat = 2, do = [{ count = 1 }] },
    { until = "1ns", do = ["yield"] },
    { for = "2ms", do = [{ run = "1ms" }] },
    "exit",
]
"#;

#[test]
fn all_of_them() {
    let mut built = parse(ALL).unwrap().build(1);
    let paths: Vec<_> = built.tasks.iter().map(|t| t.path.as_str()).collect();
    assert_eq!(paths, ["all#0", "all#1"]);
    let objects = &built.objects;
    let pipes: Vec<_> = objects.pipes.iter().map(|p| (p.name.as_str(), p.capacity, p.filled)).collect();
    assert_eq!(pipes, [("p", 4096, 0), ("j", 65536, 3)]);
    assert_eq!((objects.semaphores[0].value, objects.mutexes.len(), objects.barriers[0].parties), (1, 1, 2));
    let actions = brief(built.tasks[1].program.as_mut(), 100);
    let expected = [
        "Run(Capacity(1000000ns))",
        "Run(CpuTime(2000000ns))",
        "KernelRun(3000ns)",
        "Sleep(4000000ns)",
        "SleepUntil(@12003000ns)",
        "PipeWrite { pipe: Pipe0, bytes: 2048 }",
        "PipeRead { pipe: Pipe0, bytes: 7 }",
        "SemPost { sem: Sem0, n: 2 }",
        "SemPost { sem: Sem0, n: 1 }",
        "SemWait(Sem0)",
        "Lock(Mutex0)",
        "Unlock(Mutex0)",
        "Barrier(Barrier0)",
        "PipeRead { pipe: Pipe1, bytes: 1 }",
        "PipeWrite { pipe: Pipe1, bytes: 1 }",
        "Fork(ChildSpec { path: \"all#1/child1#0\", .. })",
        "WaitChild",
        "WaitChildren",
        "Exec { name: \"new\" }",
        "Yield",
        "SetNice(-3)",
        "SetPolicy(Idle)",
        "SetAffinity({0-1})",
        "Count(9)",
        "MoveToGroup(Group1)",
        "SetTimerSlack(1000ns)",
        "EpollPost(Epoll0)",
        "EpollWait { epoll: Epoll0, timeout: None }",
        "EpollWait { epoll: Epoll0, timeout: Some(5000000ns) }",
        "Vfork(ChildSpec { path: \"all#1/spawned#0\", .. })",
        "Count(1)",
        "Count(1)",
        "Run(Capacity(1000000ns))",
        "Run(Capacity(1000000ns))",
        "Exit",
    ];
    assert_eq!(actions, expected);
}

/// What is serialised, and hashed, is what the scenario means, not how it is written.
#[test]
fn equal_scenarios_serialise_alike() {
    let json = |text: &str| serde_json::to_string(&parse(text).expect("valid")).expect("serialisable");
    let other = ALL.replace("\"1ms\"", "\"1000us\"").replace("\"4KiB\"", "4096").replace("count = 2\n", "");
    let other = other.replace("[task.all]", "[task.all]\n# twice\nnice = 0\ncount = 2");
    assert_eq!(json(ALL), json(&other));
    assert_ne!(json(ALL), json(&ALL.replace("\"1ms\"", "\"1001us\"")));
}

#[test]
fn children_are_numbered_by_name() {
    let text = with_program(
        r#"[{ repeat = 2, do = [{ fork = "a", program = [{ fork = "b", program = ["yield"] }] }] },
            { fork = "b", program = ["yield"] }, { fork = "a", program = ["yield"] }]"#,
    );
    let mut built = parse(&text).unwrap().build(1);
    let mut children = Vec::new();
    for (_, action) in trace(built.tasks[0].program.as_mut(), 100) {
        let Action::Fork(mut child) = action else { continue };
        children.push(child.path);
        for (_, action) in trace(child.program.as_mut(), 100) {
            let Action::Fork(grandchild) = action else { continue };
            children.push(grandchild.path);
        }
    }
    assert_eq!(children, ["t#0/a#0", "t#0/a#0/b#0", "t#0/a#1", "t#0/a#1/b#0", "t#0/b#0", "t#0/a#2"]);
}

/// The times at which `count` steps were asked for.
fn counts(program: &str) -> Vec<u64> {
    let mut built = parse(&with_program(program)).expect(program).build(1);
    let trace = trace(built.tasks[0].program.as_mut(), 1000);
    trace.into_iter().filter(|(_, a)| matches!(a, Action::Count(_))).map(|(t, _)| t / 1000).collect()
}

#[test]
fn loops_look_at_the_clock_before_each_turn() {
    assert_eq!(counts(r#"[{ until = "5us", do = [{ run = "2us" }, { count = 1 }] }]"#), [2, 4, 6]);
    assert_eq!(counts(r#"[{ run = "9us" }, { until = "5us", do = [{ count = 1 }] }, { count = 1 }]"#), [9]);
    assert_eq!(
        counts(r#"[{ run = "9us" }, { for = "4us", do = [{ run = "2us" }, { count = 1 }] }]"#),
        [11, 13]
    );
    let nested = r#"[{ repeat = 2, do = [{ for = "2us", do = [{ run = "1us" }, { count = 1 }] }, { sleep = "1us" }] }]"#;
    assert_eq!(counts(nested), [1, 2, 4, 5]);
    assert_eq!(
        counts(r#"[{ repeat = 2, do = [{ until = "1us", do = [{ run = "1us" }] }, { count = 1 }] }]"#),
        [1, 1]
    );
}

#[test]
fn a_period_counts_from_the_first_time_and_catches_up() {
    let program = r#"[{ run = "3us" }, { period = "10us" }, { count = 1 }, { run = "25us" }, { repeat = 3, do = [
        { period = "10us" }, { count = 1 }, { run = "1us" } ] }]"#;
    // Two steps, two timers: the one in the loop starts at 38 us.
    assert_eq!(counts(program), [13, 48, 58, 68]);
    let late = r#"[{ repeat = 4, do = [{ period = "10us" }, { count = 1 }, { run = "12us" }] }]"#;
    assert_eq!(counts(late), [10, 22, 34, 46]);
    let once = r#"[{ repeat = 1, do = [{ period = "10us" }, { run = "25us" }] }, { count = 1 }]"#;
    assert_eq!(counts(once), [35]);
}
