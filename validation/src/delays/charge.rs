//! What the kernel charged to the ns, against the stamps of the trace: where a preempting wake-up sampled its clock.

use super::{Delay, Path};
use crate::capture::Capture;
use crate::capture::trace::TraceKind;

/// A wake-up this long before a switch did not cause it.
const CAUSES_NS: u64 = 20_000;

/// A turn on the CPU whose charges are summed.
#[derive(Clone, Copy)]
struct Turn {
    pid: u32,
    since: u64,
    charged: u64,
    /// It began with a preempting wake-up, so that its own charge begins before its stamp.
    from_wakeup: bool,
}

/// The lag of preempting wake-ups in a capture that traces `sched_stat_runtime`; none otherwise.
pub(super) fn wake_clock_lags(capture: &Capture) -> Vec<Delay> {
    let trace = &capture.trace;
    let mut found = Vec::new();
    let mut turn: Option<Turn> = None;
    let mut woken: Option<u64> = None;
    for event in &trace.events {
        match &event.kind {
            TraceKind::StatRuntime { task, runtime_ns, .. } => {
                if let Some(t) = turn.as_mut().filter(|t| t.pid == trace.pid(*task)) {
                    t.charged += runtime_ns;
                }
            }
            TraceKind::Wakeup { .. } if event.flags.need_resched() && woken.is_none() => {
                woken = Some(event.at_ns)
            }
            TraceKind::Switch { prev, prev_state, next } => {
                let caused =
                    woken.take().filter(|at| event.at_ns - at < CAUSES_NS && prev_state.starts_with('R'));
                if let (Some(at), Some(t)) =
                    (caused, turn.filter(|t| t.pid == trace.pid(*prev) && t.charged > 0))
                {
                    let path = (event.at_ns - at) as i64;
                    let short = (event.at_ns - t.since) as i64 - t.charged as i64;
                    if !t.from_wakeup {
                        found.push(Delay { path: Path::WakeClockLag, at_ns: at, ns: path - short });
                    }
                }
                let pid = trace.pid(*next);
                turn = (pid != 0).then_some(Turn {
                    pid,
                    since: event.at_ns,
                    charged: 0,
                    from_wakeup: caused.is_some(),
                });
            }
            _ => {}
        }
    }
    found
}
