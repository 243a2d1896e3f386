//! Shares of tasks, compared task by task. Tasks of one line of a spec are alike, and which of them shares a CPU with
//! whom is chance: the largest share of a line is held against the largest, and so on. Children are one sum per line.

use crate::capture::spec::{Spec, Task};
use crate::measure::{TaskMeasure, Timeline, measure};
use std::collections::BTreeMap;

/// A task's share and turn, %.
type Share = (f64, f64);

/// A task's share on both sides.
pub(super) struct TaskShare {
    /// The line's name, and the place among its tasks by share; `children` of it all together.
    pub(super) name: String,
    pub(super) measured_pct: f64,
    pub(super) simulated_pct: f64,
    /// One turn of the task (its mean over time) on the real kernel, % of the span.
    pub(super) turn_pct: f64,
}

/// All tasks of both sides.
pub(super) fn shares(spec: &Spec, real: &Timeline, simulated: &Timeline) -> Vec<TaskShare> {
    let (real, simulated) = (by_line(spec, real), by_line(spec, simulated));
    let mut results = Vec::new();
    for (line, measured) in &real {
        let none = Vec::new();
        let other = simulated.get(line).unwrap_or(&none);
        for (i, (measured_pct, turn_pct)) in measured.iter().copied().enumerate() {
            let simulated_pct = other.get(i).map_or(0.0, |s| s.0);
            let name = if line.1 { format!("{} children", line.0) } else { format!("{}#{i}", line.0) };
            results.push(TaskShare { name, measured_pct, simulated_pct, turn_pct });
        }
    }
    results
}

/// Shares by line, largest first; true are the children of its tasks.
fn by_line(spec: &Spec, timeline: &Timeline) -> BTreeMap<(String, bool), Vec<Share>> {
    let m = measure(timeline);
    let mut lines: BTreeMap<(String, bool), Vec<Share>> = BTreeMap::new();
    for task in m.tasks.iter().filter(|t| timeline.label(t.who).measured) {
        let line = line_of(spec, &timeline.label(task.who).name);
        let share = (m.share_pct(task), 100.0 * typical_turn(task) / m.span_ns.max(1) as f64);
        let of_line = lines.entry(line.clone()).or_default();
        match of_line.first_mut().filter(|_| line.1) {
            Some(sum) => *sum = (sum.0 + share.0, sum.1.max(share.1)),
            None => of_line.push(share),
        }
    }
    for shares in lines.values_mut() {
        shares.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
    lines
}

/// A task's line, and whether it is a child of one of its tasks: those are called `PARENT_N`.
fn line_of(spec: &Spec, name: &str) -> (String, bool) {
    if let Some(task) = spec.tasks.iter().find(|t| t.name == name) {
        return (base(task), false);
    }
    let parent = name.split_once('_').map_or(name, |(parent, _)| parent);
    let task = spec.tasks.iter().find(|t| t.name.starts_with(parent));
    (task.map_or_else(|| parent.to_owned(), base), true)
}

/// The name without the number within the line.
fn base(task: &Task) -> String {
    let number = task.instance.to_string();
    task.name.strip_suffix(&number).unwrap_or(&task.name).to_owned()
}

/// The mean turn weighted by time, ns: the turn a random moment of the task's CPU time falls into.
fn typical_turn(task: &TaskMeasure) -> f64 {
    let turns = || task.turns.iter().map(|ns| *ns as f64);
    let total: f64 = turns().sum();
    if total > 0.0 { turns().map(|t| t * t).sum::<f64>() / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spec::parse_spec;

    #[test]
    fn names_lead_to_lines() {
        let spec = parse_spec("task h count=2 : run 1ms\ntask make : jobs 2 4 { run 1ms }").unwrap();
        assert_eq!(line_of(&spec, "h1"), ("h".to_owned(), false));
        assert_eq!(line_of(&spec, "make"), ("make".to_owned(), false));
        assert_eq!(line_of(&spec, "make_3"), ("make".to_owned(), true));
    }
}
