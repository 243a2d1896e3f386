//! Models of benchmarks against what can be worked out: rates, utilisation, queueing theory, sums of costs.

use sim_core::End;
use sim_core::kernel::hooks::NoHooks;
use sim_core::observe::Metrics;
use sim_workloads::model::Ran;
use sim_workloads::scenario::Document;
use std::collections::BTreeMap;

/// What the models' real programs would print, by name.
type Printed = BTreeMap<&'static str, f64>;

fn run(text: &str, settings: &[(&str, &str)]) -> Printed {
    let settings: Vec<_> = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let document =
        Document::parse(text, "bench.toml", &settings).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let resolved = document.resolve().unwrap_or_else(|e| panic!("{}", e.render(false)));
    let (warmup, seed) = (resolved.warmup, resolved.seed);
    let mut simulation =
        document.scenario.build(seed).simulation(resolved.config, Metrics::new(warmup), NoHooks);
    let outcome = simulation.run().unwrap();
    assert!(!matches!(outcome.end, End::Stalled(_)), "{:?}", outcome.end);
    let ran = Ran::new(simulation.tasks(), &simulation.observer, warmup, outcome.at);
    document.scenario.workload.models().flat_map(|m| m.results(&ran)).map(|(h, v)| (h.name, v)).collect()
}

macro_rules! scenario {
    ($name:literal) => {
        include_str!(concat!("../../../scenarios/", $name, ".toml"))
    };
}

/// A scenario without costs.
fn free(cpus: u32, duration: &str, table: &str) -> String {
    format!(
        "machine.cpus = {cpus}\ncosts.preset = \"zero\"\n[run]\nduration = \"{duration}\"\nwarmup = \"1s\"\n{table}"
    )
}

/// Within so many percent.
fn near(value: f64, expected: f64, percent: f64) {
    assert!((value / expected - 1.0).abs() * 100.0 <= percent, "{value}, not {expected}");
}

/// Two switches, two wake-ups and four calls make an operation on one CPU.
#[test]
fn a_pipe_operation_is_the_sum_of_its_costs() {
    let us =
        |settings: &[(&str, &str)]| run(scenario!("sched-pipe"), settings)["perf_bench_sched_pipe_us_per_op"];
    let (entry, exit, pipe, wakeup) = (0.150, 0.150, 0.400, 0.700);
    let calls = 4.0 * (entry + pipe + exit) + 2.0 * wakeup;
    // A thousandth: the ticks.
    near(us(&[]), calls + 2.0 * 1.5, 1.0);
    near(us(&[("workload.perf_bench_sched_pipe.threaded", "true")]), calls + 2.0 * 1.3, 1.0);
}

#[test]
fn hogs_do_what_the_cpus_can() {
    let text = free(2, "20s", "[workload.stress_ng]\ncpu = 5\nbogo_op = \"2ms\"");
    let hogs = run(&text, &[]);
    near(hogs["stress_ng_bogo_ops_per_second"], 2.0 / 0.002, 0.5);
    near(hogs["stress_ng_bogo_ops_per_cpu_second"], 500.0, 0.5);
    // Three that want half a CPU get it on three. Six on two CPUs would want three, but rest as long as they have been busy,
    // waits included: less than two is used.
    for slice in ["-64", "20", "0"] {
        let half = |cpus, workers| {
            let table =
                format!("[workload.stress_ng]\ncpu = {workers}\ncpu_load = 50\ncpu_load_slice = {slice}");
            run(&free(cpus, "60s", &table), &[])["stress_ng_bogo_ops_per_second"]
        };
        near(half(3, 3), 1500.0, 5.0);
        assert!((1000.0..2000.0).contains(&half(2, 6)), "{slice}");
    }
    let text = free(1, "9s", "[workload.stress_ng]\ncpu_ops = 100").replace("warmup = \"1s\"", "");
    near(run(&text, &[])["stress_ng_bogo_ops"], 100.0, 0.0);
}

/// Alone, a thread wakes when its slack is over; a fair thread that sleeps preempts hogs, unless wakeups may not.
#[test]
fn cyclic_threads_wake_late_by_slack_and_path() {
    let idle = run("machine.cpus = 4\n[run]\nduration = \"5s\"\n[workload.cyclictest]\nthreads = 3", &[]);
    // 50 us of slack; interrupt, wake-up, idle exit, switch, return.
    for name in ["cyclictest_min_us", "cyclictest_avg_us", "cyclictest_max_us"] {
        assert!((50.0..60.0).contains(&idle[name]), "{name} {}", idle[name]);
    }
    let beside = |settings: &[(&str, &str)]| run(scenario!("cyclictest"), settings);
    let (default, rare) = (beside(&[]), beside(&[("kernel.sched_wakeup_granularity_ns", "15ms")]));
    assert!(default["cyclictest_avg_us"] < 150.0, "{}", default["cyclictest_avg_us"]);
    assert!(rare["cyclictest_avg_us"] > 4.0 * default["cyclictest_avg_us"], "{}", rare["cyclictest_avg_us"]);
}

#[test]
fn cyclictest_ends_after_its_loops() {
    let text = "machine.cpus = 1\n[workload.cyclictest]\nthreads = 2\nloops = 10";
    assert!(run(text, &[])["cyclictest_max_us"] > 0.0);
}

/// M/M/k: the mean time a request spends by Erlang's formula.
fn erlang_c_response(rate: f64, service: f64, k: u32) -> f64 {
    let a = rate * service;
    let mut term = 1.0;
    let mut below = 0.0;
    for n in 0..k {
        below += term;
        term *= a / f64::from(n + 1);
    }
    let rho = a / f64::from(k);
    let waits = (term / (1.0 - rho)) / (below + term / (1.0 - rho));
    service + waits * service / (f64::from(k) - a)
}

/// One CPU more than workers, so that none waits for a CPU.
#[test]
fn a_service_follows_queueing_theory() {
    for (workers, load, seconds) in [(1, 0.5, 60), (1, 0.8, 120), (4, 0.8, 60)] {
        let rate = load * f64::from(workers) * 2000.0;
        let table = format!("[workload.open_loop]\nrate = {rate:.1}\nworkers = {workers}");
        let served = run(&free(workers + 1, &format!("{seconds}s"), &table), &[]);
        let expected = erlang_c_response(rate, 500e-6, workers) * 1e6;
        // The spread of the mean of so many correlated requests.
        near(served["open_loop_latency_mean_us"], expected, 5.0);
        near(served["open_loop_wait_mean_us"], expected - 500.0, 10.0);
        near(served["open_loop_requests_per_second"], rate, 1.0);
    }
}

/// More comes than can be served: the queue stays full, the rest is dropped.
#[test]
fn an_overloaded_service_drops() {
    let table = "[workload.open_loop]\nrate = 4000.0\nworkers = 1\nqueue = 100\nservice = \"500us\"";
    let served = run(&free(2, "20s", table), &[]);
    near(served["open_loop_requests_per_second"], 2000.0, 1.0);
    near(served["open_loop_drops_per_second"], 2000.0, 3.0);
    // A hundred before it, and its own service.
    near(served["open_loop_latency_p50_us"], 101.0 * 500.0, 2.0);
    let ends =
        run(&free(2, "20s", "[workload.open_loop]\nruntime = \"5s\"").replace("duration = \"20s\"", ""), &[]);
    near(ends["open_loop_requests_per_second"], 1000.0, 5.0);
}

#[test]
fn a_database_is_limited_by_cpus_or_by_its_lock() {
    let tps = |cpus, table: &str| {
        let table = format!("[workload.thread_pool]\nclients = 32\nthread_pool_size = 16\n{table}");
        run(&free(cpus, "10s", &table), &[])["thread_pool_tps"]
    };
    // One lock held 100 us: 10,000 a second at most, however many CPUs.
    near(tps(8, "locks = 1\nwork = \"10us\"\nlock_hold = \"100us\""), 10_000.0, 3.0);
    // CPUs by work, where nobody meets at a lock.
    near(tps(4, "locks = 10000\nwork = \"900us\"\nlock_hold = \"100us\""), 4_000.0, 2.0);
    // A pool that waits for its log: threads by time.
    near(
        tps(8, "locks = 10000\nwork = \"50us\"\nlock_hold = \"0us\"\nlog_flush = \"2ms\""),
        16.0 / 0.00205,
        5.0,
    );
    let run = run("machine.cpus = 2\n[workload.thread_pool]\ntime = \"1s\"", &[]);
    // Closed: as many as clients are under way.
    near(run["thread_pool_latency_avg_ms"] / 1e3 * run["thread_pool_tps"], 16.0, 2.0);
}

#[test]
fn clients_that_do_not_meet_add_up() {
    let mb = |clients: &str| {
        let settings =
            [("workload.tbench.clients", clients), ("machine.topology", "1x1x8x1"), ("run.duration", "2s")];
        run(scenario!("tbench"), &settings)["tbench_mb_per_second"]
    };
    near(mb("4"), 4.0 * mb("1"), 2.0);
    let text = free(4, "2s", "[workload.tbench]\nclients = 2\ntimelimit = \"1500ms\"")
        .replace("duration = \"2s\"", "");
    assert!(run(&text, &[])["tbench_max_latency_ms"] > 0.0);
}

#[test]
fn messaging_is_hackbench() {
    let of = |table: &str| run(&format!("machine.cpus = 2\n{table}"), &[]);
    let perf = of("[workload.perf_bench_sched_messaging]\ngroup = 1\nnr_loops = 20\npipe = true");
    let hackbench = of("[workload.hackbench]\ngroups = 1\nloops = 20\npipe = true");
    near(perf["perf_bench_sched_messaging_s"], hackbench["hackbench_time"], 0.0);
}

/// An operation is its work, 5 us, and 100 ns for each KiB: 27 reads and 9 writes of 15,000 bytes in a hundred.
#[test]
fn dbench_without_a_disk_is_the_kernels_work() {
    let text = free(2, "3s", "[workload.dbench]\nclients = 1\ntimelimit = \"0s\"");
    let mb = run(&text, &[])["dbench_mb_per_second"];
    let bytes = 0.36 * 15_000.0;
    near(mb, bytes / (5e-6 + bytes / 1024.0 * 100e-9) / 1e6, 2.0);
    // Twelve in a thousand wait 10 ms.
    let table = "[workload.dbench]\nclients = 1\ntimelimit = \"0s\"\nflush = \"10ms\"";
    let waits = run(&free(2, "20s", table), &[])["dbench_mb_per_second"];
    near(waits, bytes / (5e-6 + bytes / 1024.0 * 100e-9 + 0.012 * 10e-3) / 1e6, 5.0);
}

/// Workers that fit on the CPUs wait for nothing but the way from the wake-up to the CPU.
#[test]
fn schbench_on_idle_cpus_waits_for_the_path_alone() {
    let table = "[workload.schbench]\nmessage_threads = 1\nthreads = 4\nruntime = \"5s\"";
    let text = format!("machine.cpus = 8\n{table}");
    let printed = run(&text, &[]);
    // Four wake-ups one after the other at most, each 1.6 us of call and wake-up; idle exit, interrupt and switch.
    assert!(printed["schbench_wakeup_max_us"] < 15.0, "{printed:?}");
    // A think and a message thread that sleeps 10 to 12.5 ms for whoever comes first.
    let loop_ms = 4.0 / printed["schbench_rps"] * 1e3;
    assert!((20.0..25.0).contains(&loop_ms), "{loop_ms}");
    near(printed["schbench_request_p50_us"], 10_000.0, 1.0);
    let by_rate = run(&format!("{text}\nrps = 100"), &[]);
    near(by_rate["schbench_rps"], 100.0, 2.0);
}

/// A think ends by the clock, also while its thread waits for a CPU.
#[test]
fn schbench_thinks_by_the_clock() {
    let table =
        "[workload.schbench]\nmessage_threads = 1\nthreads = 4\nruntime = \"10s\"\ncputime = \"50ms\"";
    let one = run(&free(1, "20s", table).replace("duration = \"20s\"", ""), &[]);
    // Four that need 50 ms of CPU time each, and the message thread's 10 to 12.5 ms, would make fewer than 20 a second.
    assert!(one["schbench_rps"] > 40.0, "{one:?}");
}

/// Every scenario of a model is valid and gives its headline.
#[test]
fn scenarios_of_models_print_their_headlines() {
    let short = [("run.duration", "1500ms")];
    let first = [
        (scenario!("stress-ng"), "stress_ng_bogo_ops_per_second", &[("run.warmup", "0s")][..]),
        (scenario!("open-loop"), "open_loop_latency_p99_us", &short),
        (scenario!("thread-pool"), "thread_pool_tps", &short),
        (scenario!("dbench"), "dbench_mb_per_second", &short),
        (scenario!("sched-messaging"), "perf_bench_sched_messaging_s", &[]),
        (
            scenario!("kernel-build"),
            "kernel_compile_builds_per_hour",
            &[("workload.kernel_compile.objects", "30")],
        ),
    ];
    for (text, headline, settings) in first {
        let printed = run(text, settings);
        assert!(printed[headline] > 0.0, "{headline}");
    }
}

#[test]
fn mistakes_are_named() {
    let cases = [
        ("schbench", "message_threads = 0", "1 to 10000"),
        ("schbench", "cputime = 5", "unit"),
        ("schbench", "workers = 5", "workers"),
        ("cyclictest", "threads = 10001", "1 to 10000"),
        ("cyclictest", "policy = \"fifo\"", "fifo"),
        ("stress_ng", "cpu_load = 101", "1 to 100"),
        ("stress_ng", "cpu_load_slice = 1000001", "-1000000 to 1000000"),
        ("open_loop", "rate = 0.0", "0.001 to 10000000"),
        ("open_loop", "rate = nan", "0.001 to 10000000"),
        ("open_loop", "arrivals = \"bursts\"", "bursts"),
        ("open_loop", "queue = 0", "1 to 1000000"),
        ("perf_bench_sched_pipe", "loop = 0", "1 to 1000000000"),
        ("tbench", "load = { reads = 51 }", "0 to 50"),
        ("tbench", "name = \"a/b\"", "a/b"),
        ("dbench", "flushes_per_thousand = 1001", "0 to 1000"),
        ("thread_pool", "locks = 0", "1 to 10000"),
    ];
    for (model, line, expected) in cases {
        let text = format!("[workload.{model}]\n{line}");
        let error = super::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{model} {line}: {error}");
    }
}

/// Extremes neither hang nor overflow.
#[test]
fn extremes_end() {
    let tables = [
        "[workload.schbench]\nruntime = \"0s\"\ncputime = \"0s\"\nsleeptime = \"0s\"\nthreads = 1",
        "[workload.cyclictest]\ninterval = \"0s\"\ndistance = \"0s\"\nthreads = 2",
        "[workload.cyclictest]\ninterval = \"366000min\"\ndistance = \"366000min\"\nthreads = 3",
        "[workload.stress_ng]\nbogo_op = \"0s\"\ncpu_load = 1",
        "[workload.dbench]\noperation = \"0s\"\ncopy_kib = \"0s\"",
        "[workload.thread_pool]\nwork = \"0s\"\nlock_hold = \"0s\"",
        "[workload.tbench]\nclient_work = \"0s\"\nserver_work = \"0s\"",
        "[workload.open_loop]\nrate = 10000000.0\nservice = \"0s\"\nqueue = 1",
    ];
    for table in tables {
        let _ = run(&format!("machine.cpus = 2\n[run]\nduration = \"5ms\"\n{table}"), &[]);
    }
}
