//! Groups, sessions and changes while running: what scenarios say, and what runs do.

use super::parse;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_core::{Control, GroupId, Instant, Nanos, TaskId};
use sim_workloads::build::NewGroup;
use sim_workloads::scenario::{Document, ErrorKind};

const HOG: &str = "program = [{ forever = [{ run = \"10ms\" }] }]";

fn shares(weight: u64) -> u64 {
    weight << 10
}

/// Parents that are not written down exist with the default weight.
#[test]
fn groups_are_created_with_their_parents() {
    let text = format!(
        "[run]\nduration = \"1s\"\n[group.\"/a/b\"]\ncpu.weight = 200\n[group.\"/c\"]\ncpu.idle = 1\n\
         [group.\"/d\"]\ncpu.weight.nice = 5\n[group.\"/e\"]\ncpu.shares = 512\n[session.7]\nnice = 19\n\
         [task.t]\ngroup = \"/a/b\"\n{HOG}\n[task.u]\nsession = 7\n{HOG}\n[task.v]\ngroup = \"/a\"\ntimer_slack = \"1ns\"\n{HOG}"
    );
    let built = parse(&text).unwrap_or_else(|e| panic!("{}", e.render(false))).build(1);
    let root = GroupId::ROOT;
    let group = |parent, shares, idle| NewGroup { parent, shares, idle };
    assert_eq!(
        built.groups,
        [
            group(root, shares(1024), false),
            group(GroupId(1), shares(2048), false),
            group(root, shares(1024), true),
            group(root, shares(335), false),
            group(root, shares(512), false),
            group(root, shares(15), false),
        ]
    );
    let groups: Vec<u32> = built.tasks.iter().map(|t| t.group.0).collect();
    assert_eq!(groups, [2, 0, 1]);
    assert_eq!(built.sessions, [(TaskId(1), GroupId(6))]);
    assert_eq!(built.timer_slack, [(TaskId(2), Nanos(1))]);
}

/// core.md §15.8 and §9.5 through a scenario: what runs is what was written.
#[test]
fn shares_of_groups_and_sessions_in_a_run() {
    let share_of_first = |text: &str| {
        let document =
            Document::parse(text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let resolved = document.resolve().unwrap();
        let builder = document.scenario.build(1);
        let mut sim = builder.simulation(resolved.config, Metrics::new(Nanos::ZERO), NoHooks);
        sim.run().unwrap();
        let times: Vec<u64> = (0..2).map(|t| sim.kernel().task_runtime(TaskId(t), sim.now()).0).collect();
        times[0] as f64 / (times[0] + times[1]) as f64
    };
    let head = |profile: &str| format!("[kernel]\nprofile = \"{profile}\"\n[run]\nduration = \"10s\"\n");
    let weights = format!(
        "{}[group.\"/a\"]\n[group.\"/b\"]\ncpu.weight = 50\n[task.x]\ngroup = \"/a\"\n{HOG}\n[task.y]\ngroup = \"/b\"\n{HOG}",
        head("5.10-debian")
    );
    assert!((share_of_first(&weights) - 2.0 / 3.0).abs() < 0.003);
    let changed = format!("{weights}\n[[at]]\ntime = \"0s\"\ngroup.\"/b\".cpu.weight = 300");
    assert!((share_of_first(&changed) - 0.25).abs() < 0.003);
    let sessions = |profile| {
        format!(
            "{}[session.1]\n[session.2]\nnice = 5\n[task.x]\nsession = 1\n{HOG}\n[task.y]\nsession = 2\n{HOG}",
            head(profile)
        )
    };
    assert!((share_of_first(&sessions("6.1")) - 1024.0 / 1359.0).abs() < 0.003);
    assert!((share_of_first(&sessions("6.1-debian")) - 0.5).abs() < 0.003);
}

#[test]
fn changes_become_a_timeline_in_order() {
    let text = format!(
        "[run]\nduration = \"5s\"\n[group.\"/a\"]\n[task.one]\n{HOG}\n[task.two]\ncount = 2\n{HOG}\n\
         [[at]]\ntime = \"2s\"\nset = {{ sched_wakeup_granularity_ns = \"15ms\", features = [\"NO_LAST_BUDDY\"], sched_tunable_scaling = 1 }}\n\
         hotplug = true\ngroup.\"/a\".cpu.weight = 50\ntask.two = {{ nice = 5, policy = \"batch\", group = \"/a\", cpus = \"0\" }}\n\
         [[at]]\ntime = \"1s\"\nset.sched_autogroup_enabled = false"
    );
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let timeline: Vec<String> =
        scenario.build(1).timeline.iter().map(|(at, c)| format!("{} {c:?}", at.0 / 1_000_000)).collect();
    assert_eq!(
        timeline,
        [
            "2000 Tunable(WakeupGranularity, 15000000)",
            "2000 Scaling(Log)",
            "2000 Feature(LastBuddy, false)",
            "2000 Hotplug",
            "2000 GroupShares(Group1, 524288)",
            "2000 Nice(Task1, 5)",
            "2000 Policy(Task1, Batch)",
            "2000 Affinity(Task1, {0})",
            "2000 Attach(Task1, Group1)",
            "2000 Nice(Task2, 5)",
            "2000 Policy(Task2, Batch)",
            "2000 Affinity(Task2, {0})",
            "2000 Attach(Task2, Group1)",
            "1000 Autogroup(false)",
        ]
    );
    let at_two = |c: &(Instant, Control)| c.0 == Instant(2_000_000_000);
    assert_eq!(scenario.build(1).timeline.iter().filter(|c| at_two(c)).count(), 13);
}

/// Every mistake names its place and what is allowed.
#[test]
fn mistakes() {
    let cases = [
        ("[group.\"/a\"]\ncpu.max = \"20000 100000\"", "cpu.max is not modelled yet", ErrorKind::BadValue),
        ("[group.\"/a\"]\ncpu.weight = 0", "a weight from 1 to 10000", ErrorKind::BadValue),
        ("[group.\"/a\"]\ncpu.weight.nice = 20", "from -20 to 19", ErrorKind::BadValue),
        ("[group.\"/a\"]\ncpu.weight.mice = 1", "'mice'", ErrorKind::UnknownName),
        ("[group.\"/a\"]\ncpu.shares = 1", "from 2 to 262144", ErrorKind::BadValue),
        ("[group.\"/a\"]\ncpu.wait = 1", "'wait'", ErrorKind::UnknownName),
        ("[group.\"/a\"]\ncpu.idle = 2", "true or false, 1 or 0", ErrorKind::BadValue),
        (
            "[group.\"/a\"]\ncpu = { idle = true, weight = 3 }",
            "weight of an idle group is fixed",
            ErrorKind::BadValue,
        ),
        ("[group.\"/a\"]\ncpu = { shares = 3, weight = 3 }", "one weight", ErrorKind::BadValue),
        ("[group.a]", "starts with '/'", ErrorKind::BadValue),
        ("[group.\"/a/../b\"]", "write it out", ErrorKind::BadValue),
        ("[group.\"/a//b\"]", "is not a name", ErrorKind::BadValue),
        ("[group.\"/\"]", "the root group", ErrorKind::Inconsistent),
        ("[session.3]", "no task is in session '3'", ErrorKind::Inconsistent),
        ("[[at]]\ntime = \"1s\"\nset.hz = 250", "hz cannot change", ErrorKind::Inconsistent),
        ("[[at]]\ntime = \"1s\"\ntask.hug.nice = 1", "'hug'", ErrorKind::UnknownName),
        ("[[at]]\ntime = \"1s\"\ntask.hog.group = \"/x\"", "no group '/x'", ErrorKind::UnknownName),
        ("[[at]]\ntime = \"1s\"\ntask.hog.cpus = \"1\"", "CPUs 0", ErrorKind::Inconsistent),
        ("[[at]]\nset.hz = 250", "'time' is missing", ErrorKind::MissingKey),
    ];
    for (lines, message, kind) in cases {
        let text = format!("[run]\nduration = \"5s\"\n[task.hog]\n{HOG}\n{lines}\n");
        let error = parse(&text).expect_err(lines);
        assert!(error.to_string().contains(message), "{lines}: {error}");
        assert_eq!(error.kind, kind, "{lines}: {error}");
        assert!(error.render(false).contains("test.toml:"), "{error}");
    }
}

/// What only the profile can tell.
#[test]
fn mistakes_by_kernel() {
    let cases = [
        ("5.10", "[group.\"/a\"]\ncpu.idle = true", "no cpu.idle"),
        ("5.10", "[group.\"/a\"]\n[[at]]\ntime = \"1s\"\ngroup.\"/a\".cpu.idle = true", "no cpu.idle"),
        ("5.10", "[[at]]\ntime = \"1s\"\nset.sched_latency_ns = \"1us\"", "100000..=1000000000"),
        ("5.10", "[[at]]\ntime = \"1s\"\nset.sched_idle_min_granularity_ns = \"1us\"", "has no"),
        ("6.1", "[[at]]\ntime = \"1s\"\nset.features = [\"LB_BIAS\"]", "LB_BIAS"),
    ];
    for (profile, lines, message) in cases {
        let text = format!(
            "[kernel]\nprofile = \"{profile}\"\n[run]\nduration = \"5s\"\n[task.hog]\n{HOG}\n{lines}\n"
        );
        let document =
            Document::parse(&text, "test.toml", &[]).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let error = document.resolve().expect_err(lines);
        assert!(error.to_string().contains(message), "{lines}: {error}");
    }
}
