use super::*;
use crate::capture::clock::TraceClock;
use crate::capture::trace::{TraceLimits, read_trace};
use crate::capture::{Capture, find_captures};

/// A kept capture with another trace and workload: pids 11, 12 are its two tasks, ticks lie at whole multiples of 4 ms.
fn capture(spec: &str, trace: &str) -> Capture {
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("kernels/ii-sleeper/6.1/s1_wg04_mg3.capture.gz");
    let mut c = Capture::load(&find_captures(&kept).unwrap()[0]).unwrap();
    c.spec = crate::capture::spec::parse_spec(spec).unwrap();
    for (task, pid) in c.result.tasks.iter_mut().zip([11, 12]) {
        (task.pid, task.iters) = (pid, 0);
    }
    c.trace = read_trace(trace.as_bytes(), TraceLimits::default()).unwrap().0;
    c.clock = TraceClock { t0_ns: 0, offset_ns: 0, tick_phase_ns: Some(0), spread_ns: 0 };
    c
}

fn switch(at: &str, prev: (&str, u32), state: &str, next: (&str, u32)) -> String {
    let ((p, pp), (n, np)) = (prev, next);
    format!(
        "{p}-{pp} [000] d..2. {at}: sched_switch: prev_comm={p} prev_pid={pp} prev_prio=120 prev_state={state} ==> next_comm={n} next_pid={np} next_prio=120\n"
    )
}

fn wake(at: &str, current: (&str, u32), flags: &str, task: (&str, u32)) -> String {
    format!(
        "{}-{} [000] {flags} {at}: sched_wakeup: comm={} pid={} prio=120 target_cpu=000\n",
        current.0, current.1, task.0, task.1
    )
}

fn found(c: &Capture) -> Vec<(Path, i64)> {
    delays(c)
        .iter()
        .filter(|d| !matches!(d.path, Path::Start | Path::Finish))
        .map(|d| (d.path, d.ns))
        .collect()
}

const H: (&str, u32) = ("hog", 11);
const S: (&str, u32) = ("slp", 12);
const K: (&str, u32) = ("kworker/0:1", 5);
const IDLE: (&str, u32) = ("swapper/0", 0);

#[test]
fn tells_ticks_from_wakeups_and_sleeps() {
    let c = capture(
        "task hog : for 1s { run 10ms }\ntask slp : loop 9 { run 1ms sleep 3ms }",
        &[
            wake("0.000000", IDLE, "dNh4.", S),
            wake("0.000002", IDLE, "dNh4.", H),
            switch("0.000006", IDLE, "R", H),
            switch("0.004003", H, "R", S),
            switch("0.005011", S, "S", H),
            wake("0.008010", H, "dNh3.", S),
            switch("0.008013", H, "R", S),
            switch("0.009021", S, "S", H),
            wake("0.012004", H, "dNs4.", K),
            switch("0.012006", H, "R", K),
        ]
        .concat(),
    );
    assert_eq!(
        found(&c),
        [
            (Path::NextWakeInIrq, 2_000),
            (Path::IdleWakeToSwitch, 4_000),
            (Path::TickToSwitch, 3_000),
            (Path::SleepWake, -1_000),
            (Path::HardIrqWakeToSwitch, 3_000),
            (Path::RunAndSleep, 8_000),
            (Path::TickToSoftIrqWake, 4_000),
            (Path::SoftIrqWakeToSwitch, 2_000),
        ]
    );
    let threads = kernel_threads(&c);
    assert_eq!(threads.keys().collect::<Vec<_>>(), ["kworker/0:1"]);
    assert_eq!(threads["kworker/0:1"].wakes, [12_004_000]);
}

#[test]
fn times_a_pipe_turn_less_its_run() {
    let c = capture(
        "task hog : loop 9 { run 20us write a read b }\ntask slp : loop 9 { read a run 20us write b }",
        &[
            switch("0.001000", H, "S", S),
            switch("0.001050", S, "S", H),
            wake("0.001077", H, "d..4.", S),
            switch("0.001081", H, "S", S),
            wake("0.001109", S, "dN.4.", H),
            switch("0.001112", S, "R", H),
        ]
        .concat(),
    );
    assert_eq!(
        found(&c),
        [
            (Path::PipeTurn, 7_000),
            (Path::WakeToBlock, 4_000),
            (Path::PipeTurn, 8_000),
            (Path::TaskWakeToSwitch, 3_000)
        ]
    );
}
