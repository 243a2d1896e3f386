//! What one decision changes to the end of the run.

use super::words::{Book, exact};
use crate::text;
use serde::Serialize;
use sim_core::engine::TaskInfo;
use sim_core::observe::{Decision, Event, Metrics, Observer, TaskMetrics};
use sim_core::{Instant, TaskId};

/// Switches and wake-ups kept on each side to find where the runs part.
const MAX_TAPE: usize = 20_000;
/// Most rows of the table.
const MAX_ROWS: usize = 40;

/// Records switches and wake-ups from one decision on.
#[derive(Debug, Default)]
pub(super) struct Tape {
    /// Decisions still to come before recording starts.
    before: u64,
    pub(super) events: Vec<(Instant, Event)>,
}

impl Tape {
    pub(super) fn from_decision(number: u64) -> Tape {
        Tape { before: number, events: Vec::new() }
    }
}

impl Observer for Tape {
    const DECISIONS: bool = true;

    fn event(&mut self, at: Instant, event: &Event) {
        let told = matches!(event, Event::Switch { .. } | Event::Wakeup { .. } | Event::Migrate { .. });
        if self.before == 0 && told && self.events.len() < MAX_TAPE {
            self.events.push((at, *event));
        }
    }
    fn decision(&mut self, _at: Instant, _decision: &Decision) {
        self.before = self.before.saturating_sub(1);
    }
}

/// One run.
pub(super) struct Side<'a> {
    pub(super) tasks: &'a [TaskInfo],
    pub(super) metrics: &'a Metrics,
    pub(super) tape: &'a Tape,
    pub(super) end: Instant,
}

/// The difference one answer makes.
#[derive(Debug, Serialize)]
pub(super) struct Effect {
    pub(super) instead: String,
    /// Whether no switch, wake-up or migration differs.
    pub(super) same_schedule: bool,
    pub(super) divergence: Option<Divergence>,
    pub(super) end_ns: [u64; 2],
    pub(super) context_switches: [u64; 2],
    /// Tasks for which a figure differs.
    pub(super) tasks: Vec<TaskEffect>,
}

/// The first event that differs.
#[derive(Debug, Serialize)]
pub(super) struct Divergence {
    pub(super) as_is: Option<String>,
    pub(super) instead: Option<String>,
}

/// A task's figures as it is and instead.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(super) struct TaskEffect {
    task: String,
    cpu_time_ns: [u64; 2],
    completion_ns: [Option<u64>; 2],
    latency_after_wakeup_mean_ns: [u64; 2],
    latency_after_wakeup_max_ns: [u64; 2],
    voluntary_switches: [u64; 2],
    involuntary_switches: [u64; 2],
    work: [u64; 2],
}

pub(super) fn effect(instead: &str, book: &Book, as_is: &Side<'_>, other: &Side<'_>) -> Effect {
    let tasks = 0..as_is.tasks.len().min(other.tasks.len());
    let tasks = tasks.map(|i| task_effect(i, book, as_is, other)).filter(TaskEffect::differs);
    let divergence = divergence(book, as_is.tape, other.tape);
    Effect {
        instead: instead.to_owned(),
        same_schedule: divergence.is_none(),
        divergence,
        end_ns: [as_is.end.0, other.end.0],
        context_switches: [as_is.metrics.context_switches(), other.metrics.context_switches()],
        tasks: tasks.collect(),
    }
}

fn task_effect(i: usize, book: &Book, as_is: &Side<'_>, other: &Side<'_>) -> TaskEffect {
    let both = |f: fn(&TaskMetrics) -> u64| [as_is, other].map(|s| f(&s.metrics.tasks()[i]));
    TaskEffect {
        task: book.task(TaskId::new(i)),
        cpu_time_ns: both(|m| m.cpu_time.0),
        completion_ns: [as_is, other].map(|s| s.tasks[i].end.map(|at| at.0)),
        latency_after_wakeup_mean_ns: both(|m| m.latency_after_wakeup.mean().0),
        latency_after_wakeup_max_ns: both(|m| m.latency_after_wakeup.max().0),
        voluntary_switches: both(|m| m.voluntary),
        involuntary_switches: both(|m| m.involuntary),
        work: both(|m| m.work),
    }
}

impl TaskEffect {
    fn differs(&self) -> bool {
        let differ = |pair: &[u64; 2]| pair[0] != pair[1];
        self.completion_ns[0] != self.completion_ns[1]
            || [
                &self.cpu_time_ns,
                &self.latency_after_wakeup_mean_ns,
                &self.latency_after_wakeup_max_ns,
                &self.voluntary_switches,
                &self.involuntary_switches,
                &self.work,
            ]
            .into_iter()
            .any(differ)
    }
}

fn divergence(book: &Book, as_is: &Tape, other: &Tape) -> Option<Divergence> {
    let longer = as_is.events.len().max(other.events.len());
    let i = (0..longer).find(|i| as_is.events.get(*i) != other.events.get(*i))?;
    let told = |tape: &Tape| tape.events.get(i).map(|(at, event)| event_text(book, *at, event));
    Some(Divergence { as_is: told(as_is), instead: told(other) })
}

fn event_text(book: &Book, at: Instant, event: &Event) -> String {
    let what = match *event {
        Event::Switch { cpu, prev, next, .. } => {
            format!("CPU {} switches from {} to {}", cpu.0, book.optional(prev), book.optional(next))
        }
        Event::Wakeup { task, cpu, curr, resched_after, .. } => format!(
            "{} is woken on CPU {}, {} {} rescheduled",
            book.task(task),
            cpu.0,
            book.optional(curr),
            if resched_after { "is to be" } else { "is not" }
        ),
        Event::Migrate { task, from, to, .. } => {
            format!("{} moves from CPU {} to CPU {}", book.task(task), from.0, to.0)
        }
        _ => String::new(),
    };
    format!("{at}: {what}")
}

impl Effect {
    pub(super) fn text(&self) -> String {
        let mut out = format!("\nInstead: {}\n", self.instead);
        let Some(divergence) = &self.divergence else {
            return out + "  nothing changes: every switch, wake-up and migration stays the same\n";
        };
        let nothing = || "nothing more happens".to_owned();
        out += "First difference:\n";
        out += &format!("  as it is  {}\n", divergence.as_is.clone().unwrap_or_else(nothing));
        out += &format!("  instead   {}\n", divergence.instead.clone().unwrap_or_else(nothing));
        let ns = |v: u64| text::duration(v as f64);
        let pair = |[a, b]: [u64; 2], show: &dyn Fn(u64) -> String| match (show(a), show(b)) {
            _ if a == b => show(a),
            // Too little for the digits shown.
            (x, y) if x == y => format!("{x} {}{}", if b > a { "+" } else { "-" }, exact(a.abs_diff(b))),
            (x, y) => format!("{x} -> {y}"),
        };
        let [a, b] = self.end_ns;
        out += &format!("The run ends at {}; ", pair([a, b], &ns));
        out += &format!("context switches {}\n", pair(self.context_switches, &|v| v.to_string()));
        if self.tasks.is_empty() {
            return out + "No figure of a task differs.\n";
        }
        let rows = self.tasks.iter().take(MAX_ROWS).map(|t| {
            let completion = match t.completion_ns {
                [Some(a), Some(b)] => pair([a, b], &ns),
                [a, b] if a == b => "-".to_owned(),
                [a, b] => [a, b].map(|v| v.map_or_else(|| "-".to_owned(), ns)).join(" -> "),
            };
            let count = |p| pair(p, &|v: u64| v.to_string());
            vec![
                t.task.clone(),
                pair(t.cpu_time_ns, &ns),
                completion,
                pair(t.latency_after_wakeup_mean_ns, &ns),
                pair(t.latency_after_wakeup_max_ns, &ns),
                count(t.voluntary_switches),
                count(t.involuntary_switches),
                count(t.work),
            ]
        });
        let head =
            ["task", "CPU time", "completion", "mean latency", "max", "voluntary", "involuntary", "work"];
        out += "\n";
        out += &text::table(&head, rows);
        match self.tasks.len().saturating_sub(MAX_ROWS) {
            0 => out,
            more => out + &format!("and {more} more tasks\n"),
        }
    }
}
