//! Where T0 and the ticks lie on the trace's clock.
//!
//! The trace clock and CLOCK_MONOTONIC run at the same rate but apart by a constant. The tasks of a spec sleep until T0
//! (plus their `start`) with an absolute timer, so the first hard-interrupt wake-up of each is stamped at
//! `T0 + start + w`, where `w ≥ 0` is the path from the timer's expiry to the trace point, longer by what else that
//! interrupt wakes before it. The least `stamp − start` over the tasks is taken as T0. It is late by the least `w`,
//! which the trace cannot tell (the captures bound it to 1–2 µs, see [`crate::delays`]). Ticks are timers too: on this
//! clock a tick's expiry plus the same `w` lies on the grid. Delays counted from the grid are therefore from expiry + w.

use super::result::RunResult;
use super::spec::Spec;
use super::trace::{Context, Trace, TraceKind};
use thiserror::Error;

/// The tick of the captured kernels: Debian builds with `CONFIG_HZ=250`.
pub const TICK_NS: u64 = 4_000_000;

/// T0 and the tick grid, ns of the trace clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceClock {
    /// T0.
    pub t0_ns: u64,
    /// What to add to CLOCK_MONOTONIC to get the trace clock.
    pub offset_ns: i64,
    /// A tick's time modulo [`TICK_NS`]; `None` when the driver saw no tick.
    pub tick_phase_ns: Option<u64>,
    /// How far apart the tasks' own estimates of T0 lie: a check of the method.
    pub spread_ns: u64,
}

/// Why T0 cannot be found.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ClockError {
    /// No task of the spec is woken by a timer in the trace.
    #[error("the trace shows no timer wake-up of a task of the spec")]
    NoStart,
    /// The result names no task, or not those of the spec.
    #[error("result.json has {found} tasks of the driver, the spec has {expected}")]
    Tasks {
        /// In the result.
        found: usize,
        /// In the spec.
        expected: usize,
    },
}

impl TraceClock {
    /// Finds T0 and the ticks (see the module's head).
    ///
    /// # Errors
    /// [`ClockError`] when the result does not fit the spec, or no start shows in the trace.
    pub fn find(spec: &Spec, result: &RunResult, trace: &Trace) -> Result<TraceClock, ClockError> {
        // The driver forks in the spec's order; pids grow with it, and names may repeat.
        let mut pids: Vec<u32> = result.top_level().map(|t| t.pid).collect();
        pids.sort_unstable();
        if pids.len() != spec.tasks.len() {
            return Err(ClockError::Tasks { found: pids.len(), expected: spec.tasks.len() });
        }
        let first_wake = |pid: u32| {
            trace.events.iter().find_map(|e| match e.kind {
                TraceKind::Wakeup { task, new: false, .. } if trace.pid(task) == pid => {
                    matches!(e.flags.context(), Context::HardIrq | Context::HardInSoftIrq).then_some(e.at_ns)
                }
                _ => None,
            })
        };
        let estimates: Vec<u64> = pids
            .iter()
            .zip(&spec.tasks)
            .filter_map(|(pid, task)| first_wake(*pid)?.checked_sub(task.start))
            .collect();
        let (t0, last) = estimates.iter().min().zip(estimates.iter().max()).ok_or(ClockError::NoStart)?;
        let offset_ns = (*t0 as i64).wrapping_sub(result.t0_ns);
        let seen = Some(result.tick_seen_at_ns).filter(|t| *t > 0);
        Ok(TraceClock {
            t0_ns: *t0,
            offset_ns,
            tick_phase_ns: seen.map(|t| t.wrapping_add(offset_ns).rem_euclid(TICK_NS as i64) as u64),
            spread_ns: last - t0,
        })
    }

    /// How long after the last tick a point of the trace clock lies, ns.
    pub fn since_tick(&self, at_ns: u64) -> Option<u64> {
        let phase = self.tick_phase_ns?;
        Some((at_ns % TICK_NS + TICK_NS - phase) % TICK_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spec::parse_spec;
    use crate::capture::trace::{TraceLimits, read_trace};

    fn result(tasks: &[(&str, u32)]) -> RunResult {
        let task = |(name, pid): &(&str, u32)| {
            format!(
                r#"{{"name":"{name}","pid":{pid},"ppid":1,"nice":0,"start_ns":0,"end_ns":0,"iters":0,"cpu_ns":0,"run_ns":0,"wait_ns":0,
                "timeslices":0,"nvcsw":0,"nivcsw":0,"blocked_ns":0,"blocked_n":0,"blocked_max_ns":0,"late_ns":0,"late_n":0,"late_max_ns":0}}"#
            )
        };
        let tasks: Vec<_> = tasks.iter().map(task).collect();
        let json = format!(
            r#"{{"t0_ns":9093000000,"tick_seen_at_ns":9032000000,"elapsed_ns":1,"loops_per_us":1.5,"tasks":[{}]}}"#,
            tasks.join(",")
        );
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn takes_t0_from_the_earliest_timer_wakeup_less_its_start() {
        let spec = parse_spec("task b start=3ms : yield\ntask a : yield").unwrap();
        let text = "\
            wl-1 [000] d..2. 8.9: sched_wakeup: comm=a pid=12 prio=120 target_cpu=000\n\
            <idle>-0 [000] dNh4. 9.001010: sched_wakeup: comm=a pid=12 prio=120 target_cpu=000\n\
            a-12 [000] dNh4. 9.004009: sched_wakeup: comm=b pid=11 prio=120 target_cpu=000\n";
        // A wake-up from a task's context is no start.
        let (trace, _) = read_trace(text.as_bytes(), TraceLimits::default()).unwrap();
        let clock = TraceClock::find(&spec, &result(&[("a", 12), ("b", 11)]), &trace).unwrap();
        assert_eq!((clock.t0_ns, clock.spread_ns), (9_001_009_000, 1_000));
        assert_eq!(clock.offset_ns, 9_001_009_000 - 9_093_000_000);
        // The tick was seen 61 ms before T0: 15 ticks and 1 ms.
        assert_eq!(clock.since_tick(9_001_009_000), Some(1_000_000));
        assert_eq!(clock.since_tick(9_000_009_000), Some(0));
        let short = TraceClock::find(&spec, &result(&[("a", 12)]), &trace);
        assert_eq!(short, Err(ClockError::Tasks { found: 1, expected: 2 }));
    }
}
