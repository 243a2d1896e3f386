//! The delays of a capture as text.

use super::{Delay, Path, delays, kernel_threads};
use crate::capture::Capture;
use std::fmt::Write;

const PATHS: [(Path, &str); 18] = [
    (Path::TickToSwitch, "tick -> switch (from expiry + w)"),
    (Path::TickAndWakeToSwitch, "tick -> switch, with wake-ups"),
    (Path::HardIrqWakeToSwitch, "preempting wake in irq -> switch"),
    (Path::SoftIrqWakeToSwitch, "preempting wake in softirq -> switch"),
    (Path::TaskWakeToSwitch, "preempting wake by task -> switch"),
    (Path::IdleWakeToSwitch, "wake on idle CPU -> switch"),
    (Path::NextWakeInIrq, "wake -> next wake in one irq"),
    (Path::TickToSoftIrqWake, "tick -> wake in its softirq"),
    (Path::SleepWake, "sleep: wake - block - length"),
    (Path::PipeTurn, "switch-in -> pipe wake, less run"),
    (Path::WakeToBlock, "wake -> block in read"),
    (Path::RunAndSleep, "switch-in -> sleep, less run"),
    (Path::Start, "switch-in at start -> first clock"),
    (Path::Finish, "last clock -> gone"),
    (Path::ForkCycle, "fork -> next fork"),
    (Path::ForkChild, "child's switch-in -> first clock"),
    (Path::WakeClockLag, "preempting wake: stamp -> clock"),
    (Path::RunOvershoot, "CPU time over run, per iteration"),
];

/// `n  min  median  max` of durations in ns, printed in µs; `None` when there is none.
pub fn row(mut ns: Vec<i64>) -> Option<String> {
    ns.sort_unstable();
    let us = |i: usize| ns[i] as f64 / 1000.0;
    let last = ns.len().checked_sub(1)?;
    Some(format!("{:6} {:11.3} {:11.3} {:11.3}", ns.len(), us(0), us(last / 2), us(last)))
}

/// The table of one capture: delays, then kernel threads.
pub fn render(capture: &Capture) -> String {
    let all = delays(capture);
    let of = |path: Path| all.iter().filter(|d: &&Delay| d.path == path).map(|d| d.ns).collect();
    let mut text = format!(
        "{}\n{:38} {:>6} {:>11} {:>11} {:>11}\n",
        capture.id, "  delay, us", "n", "min", "median", "max"
    );
    for (path, name) in PATHS {
        if let Some(row) = row(of(path)) {
            // Writing into a String cannot fail.
            let _ = writeln!(text, "  {name:36} {row}");
        }
    }
    for (comm, thread) in kernel_threads(capture) {
        let between: Vec<i64> = thread.wakes.windows(2).map(|w| (w[1] - w[0]) as i64).collect();
        let turns: Vec<i64> = thread.turns.iter().map(|t| *t as i64).collect();
        let first =
            thread.wakes.first().map_or("never".into(), |w| format!("T0 + {:.3} ms", *w as f64 / 1e6));
        let _ = writeln!(text, "  {comm}: {} wake-ups, first {first}", thread.wakes.len());
        for (name, values) in [("between wake-ups", between), ("turn", turns)] {
            if let Some(row) = row(values) {
                let _ = writeln!(text, "    {name:34} {row}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_show_count_and_order() {
        assert_eq!(row(vec![]), None);
        let fields: Vec<_> =
            row(vec![3_000, -1_000, 2_500]).unwrap().split_whitespace().map(str::to_owned).collect();
        assert_eq!(fields, ["3", "-1.000", "2.500", "3.000"]);
    }
}
