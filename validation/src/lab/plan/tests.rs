//! Scenarios compiled, and those refused.

use super::*;
use crate::lab::program::program;

fn compile(text: &str) -> Result<Plan, Refusal> {
    let scenario = Scenario::parse(text, "test", &[]).unwrap();
    Plan::compile(&scenario, None)
}

const PAIR: &str = r#"
name = "pair"
seed = 4
[kernel]
profile = "6.1"
sched_latency_ns = "24ms"
features = ["NO_LAST_BUDDY"]
[machine]
cpus = 1
[run]
duration = "2s"
[group."/a/b".cpu]
weight = 50
[task.ping]
count = 2
group = "/a/b"
program = [{ forever = [{ run = "20us" }, { write = "p%", bytes = 3 }, { read = "p%", bytes = 1 }, { post = "s%" }, { wait = "s%" }, { count = 2 }] }]
[task.late]
nice = 5
policy = "batch"
start = "3ms"
cpus = "0"
program = [{ until = "1s", do = [{ sleep = { uniform = ["1ms", "2ms"] } }, { fork = "kid", program = [{ run_cpu = "1ms" }, "exit"] }, "wait_children"] }, "exit"]
"#;

#[test]
fn a_scenario_becomes_a_workload_of_the_captures_language() {
    let plan = compile(PAIR).unwrap();
    let expected = "\
seed 4
slack 1ns
lead 50ms
phase 1ms
limit 2s
chunk 50us
clock cpu
group a
group b parent=a weight=50
task ping0 group=a/b : loop 18446744073709551615 { run 20us write p0 3 read p0 1 post s0 1 wait s0 count count }
task ping1 group=a/b : loop 18446744073709551615 { run 20us write p1 3 read p1 1 post s1 1 wait s1 count count }
task late nice=5 cpu=0 start=3ms policy=batch : for 997ms { sleep 1ms..2ms fork { run 1ms } joinall }
";
    assert_eq!(plan.spec_text, expected);
    assert_eq!(plan.set, ["latency_ns=24000000", "features=NO_LAST_BUDDY"]);
    assert_eq!((plan.cpus, plan.hz, plan.preempt), (1, None, None));
    assert_eq!(plan.notes, ["kernel.profile = 6.1 has no effect: the profile is that of the kernel booted"]);
}

#[test]
fn the_driver_gets_flat_tables() {
    let text = program(&compile(PAIR).unwrap());
    for line in [
        "limit 2000000000",
        "buffer_kb 131072",
        "trace_forks 0",
        "set latency_ns 24000000",
        "set features NO_LAST_BUDDY",
        "group a 0",
        "group a/b 50",
        "object p",
        "task ping0 0 0 0 0 a/b 0 8",
        "task late 5 3 3000000 1 - 16 21",
        "node loop 18446744073709551615 0 0 8",
        "node write 3 0 0 3",
        "node read 1 0 0 4",
        "node post 1 0 1 5",
        "node wait 1 0 3 14",
        "node for 997000000 0 0 21",
        "node sleep 1000000 2000000 0 18",
        "node fork 0 0 0 20",
        "node joinall 0 0 0 21",
    ] {
        assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
    }
}

/// What is refused, with its place and a word of the reason.
#[test]
fn what_the_guest_cannot_do_is_refused_by_name_and_place() {
    let task = |steps: &str| format!("[run]\nduration = \"1s\"\n[task.t]\nprogram = [{steps}]\n");
    let hog = "[run]\nduration = \"1s\"\n[task.t]\nprogram = [{ run = \"1ms\" }]\n";
    let cases: &[(String, &str, &str)] = &[
        (
            task(r#"{ run = "1ms" }, { lock = "m" }, { unlock = "m" }"#),
            "task.t.program.1",
            "no step 'lock' here: allowed are run",
        ),
        (
            task(r#"{ repeat = 2, do = [{ run = { exponential = "1ms" } }] }"#),
            "task.t.program.0.do.0.run",
            "uniform",
        ),
        (
            task(r#"{ write = "p", bytes = "1MiB" }, { read = "p", bytes = "1MiB" }"#),
            "task.t.program.0",
            "65536",
        ),
        (task(r#"{ nice = 5 }"#), "task.t.program.0", "no step 'nice'"),
        (task(r#"{ vfork = "c", program = ["exit"] }"#), "task.t.program.0", "vfork"),
        (hog.replace("[task.t]", "[task.t]\ncount = 1000"), "task.t", "512"),
        (task(r#"{ count = 1000000 }"#), "task.t", "65535"),
        (task(r#"{ count = 100 }"#), "task.t.program.0", "64"),
        (
            format!("{}[semaphores.s]\nvalue = 1\n", task(r#"{ wait = "s" }, { post = "s" }"#)),
            "semaphores.s.value",
            "start at 0",
        ),
        (
            format!(
                "{}[pipes.p]\ncapacity = 4096\n",
                task(r#"{ write = "p", bytes = 1 }, { read = "p", bytes = 1 }"#)
            ),
            "pipes.p.capacity",
            "65536",
        ),
        (format!("{hog}[group.\"/a\".cpu]\nshares = 512\n"), "group./a.cpu.shares", "cgroup v2"),
        (format!("{hog}[group.\"/a\".cpu]\nidle = true\n"), "group./a.cpu.idle", "cpu.idle"),
        (
            format!("{hog}[kernel]\nsched_autogroup_enabled = true\n"),
            "kernel.sched_autogroup_enabled",
            "noautogroup",
        ),
        (format!("{hog}[machine]\ncpus = 100\n"), "machine", "1 to 16"),
        (format!("{hog}[machine]\ntopology = \"1x1x2x2\"\n"), "machine.topology", "--smp"),
        (hog.replace("1s", "100s"), "run.duration", "60 s"),
        (hog.replace("task.t", "task.much-too-long-a-name"), "task.much-too-long-a-name", "15"),
        (
            format!("{hog}[task.t1]\nprogram = [{{ run = \"1ms\" }}]\n[task.t2]\nprogram = []\n")
                .replace("program = []", "program = [\"yield\"]")
                .replace("[task.t]\n", "[task.t]\ncount = 3\n"),
            "task.t1",
            "rename",
        ),
    ];
    for (text, at, why) in cases {
        let refusal = compile(text).unwrap_err();
        assert_eq!(refusal.at.join("."), *at, "{text}\n{refusal}");
        assert!(refusal.what.contains(why), "'{why}' is not in '{}'", refusal.what);
    }
}

/// A group with groups below it may hold no tasks in cgroup v2.
#[test]
fn tasks_inside_the_tree_are_refused() {
    let text = "[run]\nduration = \"1s\"\n[group.\"/a/b\".cpu]\nweight = 5\n[task.t]\ngroup = \"/a\"\nprogram = [{ run = \"1ms\" }]\n";
    assert_eq!(compile(text).unwrap_err().at, ["task", "t", "group"]);
}
