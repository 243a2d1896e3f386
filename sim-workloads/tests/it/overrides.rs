//! Settings that override the file.

use sim_core::kernel::tunables::Tunable;
use sim_workloads::scenario::{Scenario, ScenarioError};

const TEXT: &str = r#"
[kernel]
profile = "6.1"
[run]
duration = "1s"
[task.hog]
nice = 1
program = [{ run = "1ms" }, { sleep = "2ms" }]
[task.other]
program = ["yield"]
"#;

fn set(settings: &[(&str, &str)]) -> Result<Scenario, ScenarioError> {
    let settings: Vec<_> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Scenario::parse(TEXT, "test.toml", &settings)
}

#[test]
fn replace_and_create() {
    let scenario = set(&[
        ("kernel.profile", "5.10"),
        ("kernel.sched_wakeup_granularity_ns", "15ms"),
        ("kernel.sched_nr_migrate", "8"),
        ("kernel.features", "NO_LAST_BUDDY,WAKEUP_PREEMPTION"),
        ("kernel.skew_tick", "true"),
        ("machine.cpus", "4"),
        ("costs.preset", "zero"),
        ("costs.wakeup", "2us"),
        ("task.hog.nice", "5"),
        ("task.hog.policy", "batch"),
        ("task.hog.nice", "-5"),
        ("task.hog.cpus", "0,2"),
        ("task.hog.program.0.run", "{ exponential = \"3ms\" }"),
        ("task.hog.program.1.sleep", "4ms"),
    ])
    .unwrap();
    assert_eq!(scenario.kernel.profile.as_deref(), Some("5.10"));
    assert_eq!(scenario.kernel.tunables[&Tunable::WakeupGranularity], 15_000_000);
    assert_eq!(scenario.kernel.tunables[&Tunable::NrMigrate], 8);
    assert_eq!(scenario.kernel.features, ["NO_LAST_BUDDY", "WAKEUP_PREEMPTION"]);
    assert_eq!(scenario.kernel.skew_tick, Some(true));
    assert_eq!(scenario.machine.cpus, Some(4));
    assert_eq!(scenario.tasks[0].nice, -5, "the last one wins");
    let json = serde_json::to_string(&(&scenario.kernel, &scenario.costs)).unwrap();
    assert_eq!(
        json,
        r#"[{"profile":"5.10","skew_tick":true,"features":["NO_LAST_BUDDY","WAKEUP_PREEMPTION"],"sched_wakeup_granularity_ns":15000000,"sched_nr_migrate":8},{"preset":"zero","wakeup_ns":2000}]"#
    );
    let json = serde_json::to_string(&scenario.tasks[0]).unwrap();
    assert_eq!(
        json,
        r#"{"name":"hog","count":1,"nice":-5,"policy":"batch","cpus":"0,2","start_ns":0,"group":"/","program":[{"run":{"exponential_mean_ns":3000000}},{"sleep":{"constant_ns":4000000}}]}"#
    );
}

#[test]
fn quoted_and_bare_texts_are_the_same() {
    for value in ["5.10", "\"5.10\"", "'5.10'", "v5.10"] {
        assert_eq!(
            set(&[("kernel.profile", value)]).unwrap().kernel.profile.as_deref(),
            Some("5.10"),
            "{value}"
        );
    }
    let list = set(&[("kernel.features", "[\"A\", \"NO_B\"]")]).unwrap();
    assert_eq!(list.kernel.features, ["A", "NO_B"]);
}

#[test]
fn mistakes_name_the_setting() {
    let cases = [
        (
            "kernel.hz",
            "25o",
            "--set kernel.hz=25o: found the text \"25o\", expected a whole number from 1 to 10000",
        ),
        (
            "kernel.sched_latency_ns",
            "15",
            "--set kernel.sched_latency_ns=15: '15' has no unit: write 15ns, 15us, 15ms or 15s",
        ),
        (
            "machine.cpu",
            "4",
            "--set machine.cpu=4: unknown key 'cpu': allowed are preset, cpus, topology, offline, isolcpus, partitions, capacity, without, tick_phase, recorded_work, interference, host, nic, idle, frequency, smt, cache, ipc (did you mean 'cpus'?)",
        ),
        (
            "task.hgo.nice",
            "1",
            "--set task.hgo.nice=1: unknown task 'hgo': allowed are hog, other (did you mean 'hog'?)",
        ),
        (
            "workload.kernel_compile.jobs",
            "16",
            "--set workload.kernel_compile.jobs=16: unknown workload 'kernel_compile': there is none",
        ),
        (
            "task.hog.program.7.run",
            "1ms",
            "--set task.hog.program.7.run=1ms: '7' is not an element of task.hog.program: it has 2",
        ),
        ("kernel.profile.x", "1", "--set kernel.profile.x=1: kernel.profile is a value, it has no key 'x'"),
        (
            "kernel..hz",
            "1",
            "--set kernel..hz=1: 'kernel..hz' is not a key: write names joined by dots, like kernel.hz",
        ),
        ("", "1", "--set =1: '' is not a key: write names joined by dots, like kernel.hz"),
        (
            "seed",
            "1\nx = 2",
            "--set seed=1\nx = 2: found the text \"1\\nx = 2\", expected a whole number from 0 to 9223372036854775807",
        ),
    ];
    for (key, value, expected) in cases {
        let error = set(&[(key, value)]).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(error.render(false).contains("--set "));
    }
}
