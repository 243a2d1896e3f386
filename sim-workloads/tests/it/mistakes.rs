//! Every kind of mistake, with its place and its message.

use super::{parse, with_program};
use proptest::prelude::*;
use sim_workloads::scenario::{Document, Scenario};

const HOG: &str = "[run]\nduration = \"1s\"\n[task.hog]\nprogram = [{ run = \"1ms\" }]\n";

/// Asserts the one-line form of the error.
#[track_caller]
fn fails(text: &str, expected: &str) {
    let shown = &text[..text.len().min(300)];
    let error = parse(text).expect_err(shown);
    assert_eq!(error.to_string(), format!("test.toml:{expected}"), "{shown}");
}

#[test]
fn toml_and_top_level() {
    fails("x = ", "1:5: not valid TOML: string values must be quoted, expected literal string");
    fails("a = 1\na = 2", "2:1: not valid TOML: duplicate key");
    fails("", "1:1: there is nothing to run: add a [task.NAME] or a [workload.NAME] table");
    fails(
        "[kernal]\nhz = 250",
        "1:2: unknown key 'kernal': allowed are name, seed, kernel, machine, costs, uncertain, run, group, session, at, pipes, \
         semaphores, mutexes, barriers, job_servers, task, workload (did you mean 'kernel'?)",
    );
    fails("seed = \"x\"", "1:8: found the text \"x\", expected a whole number from 0 to 9223372036854775807");
    fails("seed = -1", "1:8: found the number -1, expected a whole number from 0 to 9223372036854775807");
    fails(
        "seed = 99999999999999999999",
        "1:8: 99999999999999999999 is beyond whole numbers, which go up to 9223372036854775807",
    );
    fails("name = 1979-05-27", "1:8: found a date, expected a string");
    let models = "kernel_compile, netperf, gzip, pigz, hackbench, cyclictest, dbench, open_loop, perf_bench_sched_messaging, \
                  perf_bench_sched_pipe, schbench, stress_ng, tbench, thread_pool";
    fails("[workload.make]", &format!("1:11: unknown key 'make': allowed are {models}"));
    fails("workload = 3", "1:12: found the number 3, expected a table of workloads");
}

#[test]
fn kernel_machine_costs_and_run() {
    let all = "allowed are profile, hz, preempt, skew_tick, irq_time_accounting, steal_time_accounting, \
               sched_autogroup_enabled, rules, features, sched_tunable_scaling, rewrite_tunable_scaling, sched_latency_ns, sched_min_granularity_ns, \
               sched_idle_min_granularity_ns, sched_wakeup_granularity_ns, sched_migration_cost_ns, \
               sched_nr_migrate, sched_child_runs_first";
    let costs: Vec<&str> = sim_core::machine::Costs::TABLE.iter().map(|cost| cost.name).collect();
    let cases = [
        ("kernel.latency_ns = \"1ms\"", format!("1:8: unknown key 'latency_ns': {all}")),
        (
            "kernel.sched_latncy_ns = \"1ms\"",
            format!("1:8: unknown key 'sched_latncy_ns': {all} (did you mean 'sched_latency_ns'?)"),
        ),
        (
            "kernel.sched_latency_ns = 24000000",
            "1:27: '24000000' has no unit: write 24000000ns, 24000000us, 24000000ms or 24000000s".into(),
        ),
        (
            "kernel.sched_latency_ns = true",
            "1:27: found true, expected a duration with a unit, like \"250us\" or \"1.5ms\"".into(),
        ),
        (
            "kernel.sched_latency_ns = \"24 msec\"",
            "1:27: 'msec' is not a unit of time: allowed are ns, us, ms, s, min".into(),
        ),
        (
            "kernel.sched_latency_ns = \"5s\"",
            "1:27: 5 s is too long for a tunable: at most 4294967295ns".into(),
        ),
        (
            "kernel.sched_tunable_scaling = 3",
            "1:32: found the number 3, expected a whole number from 0 to 2".into(),
        ),
        ("kernel.hz = 200", "1:13: hz is 200: allowed are 100, 250, 300, 1000".into()),
        ("kernel.preempt = \"rt\"", "1:18: unknown value 'rt': allowed are none, voluntary, full".into()),
        ("kernel.preempt = 1", "1:18: found the number 1, expected one of none, voluntary, full".into()),
        ("kernel.profile = 6.1", "1:18: found the number 6.1, expected a string".into()),
        (
            "kernel.features = [\"A\", \"no_last\"]",
            "1:25: \"no_last\" is not a feature: write its name in capitals, like NO_LAST_BUDDY".into(),
        ),
        ("machine.cpus = 0", "1:16: found the number 0, expected a whole number from 1 to 4096".into()),
        ("machine.cores = 4", "1:9: unknown key 'cores': allowed are preset, cpus, topology, offline, isolcpus, partitions, capacity, without, tick_phase, recorded_work, interference, host, nic, idle, frequency, smt, cache, ipc".into()),
        ("costs.preset = \"bare\"", "1:16: unknown value 'bare': allowed are zero, bare-metal, guest".into()),
        (
            "costs.swtich = \"1us\"",
            format!("1:7: unknown key 'swtich': allowed are preset, {}", costs.join(", ")),
        ),
        (
            "run.duration = \"400000000s\"",
            "1:16: '400000000s' is too long: at most 366 days are allowed".into(),
        ),
        ("run.duration = \"0s\"", "1:16: duration is 0 ns: nothing would run".into()),
        (
            "run = { duration = \"1s\", warmup = \"1s\" }",
            "1:35: the warm-up of 1 s leaves nothing of the duration of 1 s".into(),
        ),
    ];
    for (line, expected) in cases {
        let rest = HOG.replace("[run]\nduration = \"1s\"\n", "");
        fails(&format!("{line}\n{rest}"), &expected);
    }
}

#[test]
fn tasks() {
    let cases = [
        ("count = 0", "5:9: found the number 0, expected a whole number from 1 to 100000"),
        ("nice = 20", "5:8: found the number 20, expected a whole number from -20 to 19"),
        ("policy = \"fifo\"", "5:10: unknown value 'fifo': allowed are normal, batch, idle"),
        ("cpus = \"0-\"", "5:8: '0-' is not a list of CPUs: write numbers and ranges below 4096, like 0-3,8"),
        ("start = 5", "5:9: '5' has no unit: write 5ns, 5us, 5ms or 5s"),
        ("group = \"/a\"", "5:9: there is no group '/a': add [group.\"/a\"]"),
        (
            "name = \"x\"",
            "5:1: unknown key 'name': allowed are count, nice, policy, cpus, start, group, session, \
             timer_slack, class, working_set, process, program",
        ),
    ];
    for (line, expected) in cases {
        fails(&format!("{HOG}{line}"), expected);
    }
    fails("[task.t]\nnice = 1", "1:1: the key 'program' is missing");
    fails("[task.'a b']", "1:7: \"a b\" is not a name: write 1 to 64 letters, digits or _ - . + : @");
    fails(
        &format!("{HOG}cpus = \"0-4\"\n[machine]\ncpus = 4"),
        "5:8: CPUs 0-4 go beyond the machine, which has CPUs 0-3",
    );
    fails(
        &HOG.replace("[{ run = \"1ms\" }]", "[{ forever = [\"yield\"] }]").replace("duration = \"1s\"", ""),
        "4:11: task 'hog' runs forever: give run.duration, like duration = \"10s\"",
    );
}

#[test]
fn steps() {
    let actions = "run, run_cpu, kernel, sleep, io, sleep_until, period, write, read, post, wait, lock, unlock, barrier, take_token, \
                   put_token, epoll_post, epoll_wait, cond_wait, signal, broadcast, timer, fork, vfork, exec, nice, policy, affinity, move_to_group, \
                   timer_slack, count, repeat, until, for, forever";
    let cases = [
        ("[]", "4:11: found a list of 0, expected a list of one or more steps".to_owned()),
        ("3", "4:11: found the number 3, expected a list of one or more steps".into()),
        ("[3]", "4:12: found the number 3, expected a step, like { run = \"1ms\" } or \"yield\"".into()),
        (
            "[\"yeild\"]",
            "4:12: unknown value 'yeild': allowed are yield, exit, wait_child, wait_children (did you mean 'yield'?)"
                .into(),
        ),
        ("[\"run\"]", "4:12: the step 'run' needs a value: write { run = ... }".into()),
        ("[{ yield = true }]", "4:14: 'yield' takes no value: write \"yield\" without braces".into()),
        (
            "[{ runn = \"1ms\" }]",
            format!(
                "4:14: unknown key 'runn': allowed are {actions}, bytes, n, timeout, stay, mutex, every, missed, program, do (did you mean 'run'?)"
            ),
        ),
        ("[{}]", format!("4:12: a step needs an action: one of {actions}")),
        ("[{ n = 2 }]", format!("4:12: a step needs an action: one of {actions}")),
        (
            "[{ run = \"1ms\", sleep = \"1ms\" }]",
            "4:12: a step is one action, found 'run' and 'sleep': write two steps".into(),
        ),
        ("[{ run = \"1ms\", n = 2 }]", "4:12: 'run' takes no 'n': it belongs to post".into()),
        ("[{ wait = \"s\", timeout = \"1ms\" }]", "4:12: 'wait' takes no 'timeout': it belongs to epoll_wait".into()),
        ("[{ run = \"1ms\", do = [\"exit\"] }]", "4:12: 'run' takes no 'do': it belongs to repeat, until and for".into()),
        ("[{ write = \"p\" }]", "4:12: 'write' needs the key 'bytes'".into()),
        ("[{ fork = \"c\" }]", "4:12: 'fork' needs the key 'program'".into()),
        ("[{ repeat = 2 }]", "4:12: 'repeat' needs the key 'do'".into()),
        (
            "[{ repeat = 0, do = [\"yield\"] }]",
            "4:23: found the number 0, expected a whole number from 1 to 1000000000000".into(),
        ),
        ("[{ for = \"0ms\", do = [\"yield\"] }]", "4:12: 'for' is 0 ns: allowed is 1ns and more".into()),
        ("[{ period = \"0ms\" }]", "4:12: 'period' is 0 ns: allowed is 1ns and more".into()),
        (
            "[{ read = \"p\", bytes = 0 }]",
            "4:34: found the number 0, expected a size from 1 byte to 1 TiB, like 512 or \"64KiB\"".into(),
        ),
        (
            "[{ read = \"p\", bytes = \"64kb\" }]",
            "4:34: found the text \"64kb\", expected a size from 1 byte to 1 TiB, like 512 or \"64KiB\"".into(),
        ),
        (
            "[{ lock = \"a/b\" }]",
            "4:21: \"a/b\" is not a name: write 1 to 64 letters, digits or _ - . + : @ %".into(),
        ),
        ("[\"exit\", \"yield\"]", "4:20: this step is never reached: the one before it does not go on".into()),
        (
            "[{ forever = [{ until = \"1s\", do = [\"yield\"] }] }]",
            "4:12: this loop could turn without doing anything: add a step outside of 'until'".into(),
        ),
    ];
    for (program, expected) in cases {
        fails(&with_program(program), &expected);
    }
}

#[test]
fn distributions() {
    let cases = [
        (
            "{}",
            "4:20: a distribution is exactly one of uniform, exponential, lognormal, pareto, normal, empirical, with optional min and max",
        ),
        (
            "{ min = \"1ms\" }",
            "4:20: a distribution is exactly one of uniform, exponential, lognormal, pareto, normal, empirical, with optional min and max",
        ),
        ("{ uniform = [\"1ms\"] }", "4:32: found a list of 1, expected a list of 2 values"),
        (
            "{ uniform = [\"2ms\", \"1ms\"] }",
            "4:20: uniform = [2 ms, 1 ms]: the first must not be longer than the second",
        ),
        (
            "{ exponental = \"1ms\" }",
            "4:22: unknown key 'exponental': allowed are uniform, exponential, lognormal, pareto, normal, empirical, min, max (did you mean 'exponential'?)",
        ),
        ("{ exponential = 1 }", "4:36: '1' has no unit: write 1ns, 1us, 1ms or 1s"),
        ("{ exponential = \"1ms\", min = \"2ms\", max = \"1ms\" }", "4:20: min 2 ms is longer than max 1 ms"),
        ("{ lognormal = { median = \"1ms\" } }", "4:34: the key 'sigma' is missing"),
        ("{ lognormal = { median = \"1ms\", sigma = nan } }", "4:20: sigma is NaN: allowed is 0 to 10"),
        ("{ pareto = { scale = \"1ms\", shape = 0 } }", "4:20: shape is 0: allowed is 0.1 to 100"),
        (
            "{ normal = { mean = \"1ms\", sd = \"1ms\" } }",
            "4:20: a normal distribution can be negative: give a min, like min = \"0ns\"",
        ),
        ("{ empirical = [] }", "4:20: empirical has 0 values: allowed are 1 to 10000"),
        (
            "[]",
            "4:20: found a list, expected a duration with a unit, like \"1.5ms\", or a distribution, like { exponential = \"1ms\" }",
        ),
    ];
    for (dist, expected) in cases {
        fails(&with_program(&format!("[{{ run = {dist} }}]")), expected);
    }
}

#[test]
fn objects() {
    let cases = [
        ("[{ write = \"p\", bytes = 1 }]", "4:12: the pipe 'p' is written but never read"),
        ("[{ read = \"p\", bytes = 1 }]", "4:12: the pipe 'p' is read but never written"),
        (
            "[{ fork = \"c\", program = [{ wait = \"s\" }] }]",
            "4:37: the semaphore 's' is waited for but never posted",
        ),
        ("[{ lock = \"m\" }, { unlock = \"n\" }]", "4:12: the mutex 'm' is locked but never unlocked"),
        ("[{ unlock = \"m\" }]", "4:12: the mutex 'm' is unlocked but never locked"),
        ("[{ barrier = \"b\" }]", "4:12: the barrier 'b' is not declared: add [barriers.b] with parties"),
        (
            "[{ take_token = \"j\" }]",
            "4:12: the job server 'j' is not declared: add [job_servers.j] with tokens",
        ),
    ];
    for (program, expected) in cases {
        fails(&with_program(program), expected);
    }
    fails(&format!("{HOG}[pipes.p]"), "5:1: no task uses the pipe 'p'");
    fails(
        &format!("{HOG}[pipes.'p%']"),
        "5:1: \"p%\" is not a name: write 1 to 64 letters, digits or _ - . + : @",
    );
    fails(
        &format!("{}[barriers.gate]\nparties = 1", with_program("[{ barrier = \"gates\" }]")),
        "4:12: the barrier 'gates' is not declared: add [barriers.gates] with parties (did you mean 'gate'?)",
    );
    // Instances name different pipes: the second reader finds no writer.
    let text = "[task.w]\nprogram = [{ write = \"p0\", bytes = 1 }]\n[task.r]\ncount = 2\nprogram = [{ read = \"p%\", bytes = 1 }]";
    fails(text, "5:12: the pipe 'p1' is read but never written");
}

#[test]
fn sizes() {
    let large = " ".repeat((32 << 20) + 1);
    fails(&large, "1:1: the file has 33554433 bytes: at most 33554432 are allowed");
    let values = format!("x = [{}]", "1,".repeat(1 << 20));
    fails(&values, "1:1: the file may hold more than 1048576 values: a program as text is one");
    let nest = |n: usize| format!("{}\"yield\"{}", "{ repeat = 2, do = [".repeat(n), "] }".repeat(n));
    assert!(parse(&with_program(&format!("[{}]", nest(29)))).is_ok());
    let error = parse(&with_program(&format!("[{}]", nest(31)))).unwrap_err();
    assert!(error.message.contains("nested more than 64 deep"), "{error}");
    for deep in ["[".repeat(400_000), "{a=".repeat(300_000), format!("x = {}", "[".repeat(400_000))] {
        assert!(parse(&deep).is_err());
    }
    let steps = "\"yield\",".repeat(510_000);
    fails(
        &format!("[task.a]\nprogram = [{steps}]\n[task.b]\nprogram = [{steps}]"),
        "1:2: the scenario has 1020000 steps: at most 1000000 are allowed",
    );
    fails(
        "[task.a]\ncount = 60000\nprogram = [\"yield\"]\n[task.b]\ncount = 60000\nprogram = [\"yield\"]",
        "1:2: the scenario has 120000 tasks: at most 100000 are allowed",
    );
    let expanded =
        format!("[task.a]\ncount = 100000\nprogram = [{{ exec = \"x%\" }}{}]", ",\"yield\"".repeat(12));
    fails(&expanded, "1:2: the scenario has 1300000 steps in all instances: at most 1200000 are allowed");
    let many = HOG.replace("program", "count = 100000\nprogram");
    let changes = "[[at]]\ntime = \"1ms\"\ntask.hog = { nice = 1, policy = \"batch\" }\n".repeat(6);
    fails(&format!("{changes}{many}"), "1:1: 1200000 changes of single tasks: at most 1000000 are allowed");
}

#[test]
fn long_lists_and_long_lines_are_cut() {
    let tasks: String = (0..5000).map(|i| format!("[task.t{i}]\nprogram = [\"yield\"]\n")).collect();
    let setting = [("task.x.nice".to_owned(), "1".to_owned())];
    let error = Scenario::parse(&tasks, "test.toml", &setting).unwrap_err();
    assert!(error.message.ends_with("t48, t49 and 4950 more"), "{error}");
    let long = with_program(&format!("[{}{{ runn = \"é\" }}]", "\"yield\", ".repeat(1000)));
    let error = parse(&long).unwrap_err();
    assert!(error.to_string().starts_with("test.toml:4:9014: unknown key 'runn'"), "{error}");
    let text = error.render(false);
    assert!(text.contains("{ runn = \"é\" }]") && text.len() < 1000, "{text}");
}

#[test]
fn rendered_with_a_caret() {
    let error =
        parse(&with_program("[{ runn = \"1ms\" }]").replace("[task.t]", "# ütf\n[task.t]")).unwrap_err();
    let text = error.render(false);
    assert!(text.contains("--> test.toml:5:14"), "{text}");
    assert!(text.contains("5 | program = [{ runn = \"1ms\" }]"), "{text}");
    assert!(text.contains("^^^^"), "{text}");
    assert!(text.contains("help: did you mean 'run'?"), "{text}");
}

#[test]
fn mistakes_found_later_have_a_place_too() {
    let text = format!("{HOG}[kernel]\nprofile = \"v9.9\"");
    let document = Document::parse(&text, "test.toml", &[]).unwrap();
    assert_eq!(document.scenario.kernel.profile.as_deref(), Some("9.9"));
    let error = document.error_at(&["kernel", "profile"], "no profile 9.9");
    assert_eq!(error.to_string(), "test.toml:6:11: no profile 9.9");
    let error = document.error_at(&["kernel", "hz"], "no HZ");
    assert_eq!(error.to_string(), "test.toml:5:1: no HZ");
}

proptest! {
    /// Whatever bytes come, the answer is a scenario or an error, and errors render.
    #[test]
    fn never_panics_on_text(text in "\\PC{0,200}", key in "[a-z.0-9]{0,30}", value in "\\PC{0,30}") {
        if let Err(error) = Scenario::parse(&text, "f", &[(key, value)]) {
            error.render(false);
        }
    }

    /// Damaged scenarios: a good one with a stretch cut out or replaced.
    #[test]
    fn never_panics_on_damage(at in 0usize..900, cut in 0usize..20, put in "[\\[\\]{}=\", a-z0-9%é\n]{0,6}") {
        let mut text = super::actions::ALL.to_owned();
        let boundary = |i: usize| (0..=i.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let (from, to) = (boundary(at), boundary(at + cut));
        text.replace_range(from..to, &put);
        match parse(&text) {
            Ok(scenario) => drop(scenario.build(1)),
            Err(error) => drop(error.render(false)),
        }
    }
}
