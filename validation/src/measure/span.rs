//! Shares, turns, switches and latencies over the measured span.

use super::{EventKind, Timeline, Who};

/// One task's measures.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskMeasure {
    /// Who.
    pub who: Who,
    /// Time on the CPU, ns.
    pub cpu_ns: u64,
    /// Lengths of its turns in order, ns. The first may have begun before T0 and counts from there.
    pub turns: Vec<u64>,
    /// Switches away because it blocked or exited.
    pub voluntary: u64,
    /// Switches away while it was runnable.
    pub involuntary: u64,
    /// From each wake-up to the turn it led to, ns.
    pub wake_latencies: Vec<u64>,
}

/// The measures of a timeline.
#[derive(Debug, Clone, PartialEq)]
pub struct Measures {
    /// Length of the measured span, ns.
    pub span_ns: u64,
    /// Switches of all CPUs in the span, those of kernel threads and the idle task included.
    pub switches: u64,
    /// Every task that appears, in the timeline's order.
    pub tasks: Vec<TaskMeasure>,
}

impl Measures {
    /// A task's share of the span, 0 … 100 %.
    pub fn share_pct(&self, task: &TaskMeasure) -> f64 {
        if self.span_ns == 0 { 0.0 } else { 100.0 * task.cpu_ns as f64 / self.span_ns as f64 }
    }
}

/// Where a task is while the events are gone through.
#[derive(Clone, Copy)]
enum State {
    Away,
    Woken { at: u64 },
    Running { since: u64 },
}

/// Measures a timeline between T0 and the end of its measured span.
pub fn measure(timeline: &Timeline) -> Measures {
    let (start, end) = (timeline.t0_ns, timeline.end_ns());
    let blank = |i| TaskMeasure {
        who: Who(i),
        cpu_ns: 0,
        turns: Vec::new(),
        voluntary: 0,
        involuntary: 0,
        wake_latencies: Vec::new(),
    };
    let mut tasks: Vec<TaskMeasure> = (0..timeline.tasks.len() as u32).map(blank).collect();
    let mut states = vec![State::Away; tasks.len()];
    let mut switches = 0;
    for event in timeline.events.iter().take_while(|e| e.at_ns <= end) {
        let at = event.at_ns;
        match event.kind {
            // A re-pick is no switch.
            EventKind::Switch { prev, next, .. } if prev == next => {}
            EventKind::Switch { prev, prev_blocked, next } => {
                let in_span = at >= start;
                switches += u64::from(in_span);
                let (task, state) = (&mut tasks[prev.0 as usize], &mut states[prev.0 as usize]);
                if let (State::Running { since }, true) = (*state, in_span) {
                    let turn = at.saturating_sub(since.max(start));
                    task.cpu_ns += turn;
                    task.turns.push(turn);
                    *(if prev_blocked { &mut task.voluntary } else { &mut task.involuntary }) += 1;
                }
                *state = State::Away;
                let (task, state) = (&mut tasks[next.0 as usize], &mut states[next.0 as usize]);
                if let (State::Woken { at: woken }, true) = (*state, in_span) {
                    task.wake_latencies.push(at.saturating_sub(woken));
                }
                *state = State::Running { since: at };
            }
            EventKind::Wakeup { task, .. } => {
                let state = &mut states[task.0 as usize];
                if matches!(state, State::Away) {
                    *state = State::Woken { at };
                }
            }
            EventKind::Migrate { .. } | EventKind::Fork { .. } | EventKind::Exit { .. } => {}
        }
    }
    Measures { span_ns: end - start, switches, tasks }
}
