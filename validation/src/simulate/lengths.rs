//! How long the runs of a captured machine of several CPUs really were. A `run` ends when the task sees its CPU clock past
//! its length, and each path beside it costs what the emulator makes of it on that CPU: children of one parent, or pipe pairs
//! of one line, use up to a seventh more CPU time than others. The captures say themselves how much each task used; runs are
//! made longer or shorter by what a first simulation differs from that, as the lab's notes on trust ask for.

use crate::capture::Capture;
use crate::capture::spec::Step;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// Runs, forks and CPU time, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Used {
    pub(super) runs: u64,
    pub(super) forks: u64,
    pub(super) cpu_ns: u64,
}

/// What tasks used in a simulation, by name, noted when their bodies are done.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<BTreeMap<String, Used>>);

impl Ledger {
    pub(super) fn note(&self, name: &str, used: Used) {
        if let Ok(mut all) = self.0.lock() {
            all.insert(name.to_owned(), used);
        }
    }
}

/// What a task takes beside what all have in common, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Correction {
    /// By how much each of its `run`s is longer than asked for.
    pub(super) run: i64,
    /// After each fork, of a task that does nothing but fork.
    pub(super) after_fork: u64,
}

/// By task name.
pub(super) type Corrections = BTreeMap<String, Correction>;

/// What the simulation must add to each task.
pub(super) fn corrections(capture: &Capture, simulated: &Ledger) -> Corrections {
    let Ok(simulated) = simulated.0.lock() else { return Corrections::new() };
    let mut corrections = Corrections::new();
    for task in &capture.result.tasks {
        let Some(ours) = simulated.get(&task.name) else { continue };
        let mean = |cpu_ns: u64, of: u64| cpu_ns.checked_div(of).map(u64::cast_signed);
        let measured = task.cpu_ns.max(0).cast_unsigned();
        let top = capture.spec.tasks.iter().find(|t| t.name == task.name);
        let runs = match top {
            Some(spec) => runs_per_count(&spec.body).map(|n| n * task.iters.max(0).cast_unsigned()),
            // A child does all of its body.
            None => Some(ours.runs),
        };
        let run = runs.and_then(|n| Some(mean(measured, n)? - mean(ours.cpu_ns, ours.runs)?));
        let only_forks = ours.runs == 0 && ours.forks > 0;
        let after_fork = measured.saturating_sub(ours.cpu_ns).checked_div(ours.forks).filter(|_| only_forks);
        if run.is_some() || after_fork.is_some() {
            let (run, after_fork) = (run.unwrap_or(0), after_fork.unwrap_or(0));
            corrections.insert(task.name.clone(), Correction { run, after_fork });
        }
    }
    corrections
}

/// Runs for each `count`, where both stand in one block only.
fn runs_per_count(body: &[Step]) -> Option<u64> {
    let runs = body.iter().filter(|s| matches!(s, Step::Run(_))).count() as u64;
    let counts = body.iter().filter(|s| matches!(s, Step::Count)).count();
    let mut inner = body.iter().filter_map(|s| match s {
        Step::Loop(_, b) | Step::For(_, b) => Some(b),
        _ => None,
    });
    match (runs, counts, inner.next()) {
        (0, 0, Some(block)) if inner.next().is_none() => runs_per_count(block),
        (_, 1, None) => Some(runs),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spec::parse_spec;

    #[test]
    fn runs_are_counted_in_one_block() {
        let of = |body: &str| runs_per_count(&parse_spec(&format!("task a : {body}")).unwrap().tasks[0].body);
        assert_eq!(of("for 1s { run 5ms count sleep 1ms }"), Some(1));
        assert_eq!(of("loop 3 { run 1ms sleep 1ms run 2ms count }"), Some(2));
        assert_eq!(of("loop 3 { fork { run 1ms } run 1ms join count }"), Some(1));
        assert_eq!(of("loop 3 { run 1ms count } loop 2 { run 1ms count }"), None);
        assert_eq!(of("loop 3 { run 1ms }"), None);
    }
}
