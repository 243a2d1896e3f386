//! What is counted of a trace's decisions.

use serde::Serialize;
use std::fmt::Write;

/// What was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Who runs next.
    NextTask,
    /// Whether a woken task preempts the running one.
    Preemption,
    /// Whether a tick ends the running task's turn.
    Tick,
    /// The CPU of a woken task.
    WakePlacement,
    /// The CPU of a new task.
    ForkPlacement,
    /// The task that balancing moves to a CPU.
    BalanceMove,
}

impl Kind {
    /// All kinds, as reported.
    pub const ALL: [Kind; 6] = [
        Kind::NextTask,
        Kind::Preemption,
        Kind::Tick,
        Kind::WakePlacement,
        Kind::ForkPlacement,
        Kind::BalanceMove,
    ];

    const fn name(self) -> &'static str {
        match self {
            Kind::NextTask => "next task",
            Kind::Preemption => "preempted by a wake-up",
            Kind::Tick => "preempted by a tick",
            Kind::WakePlacement => "CPU of a wakee",
            Kind::ForkPlacement => "CPU of a new task",
            Kind::BalanceMove => "task moved by balancing",
        }
    }
}

/// One decision of the trace beside the model's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    /// Whether there were two or more candidates.
    pub(super) choice: bool,
    /// Whether its inputs are known and its margin is wide enough.
    pub(super) decidable: bool,
    /// Whether the model decided alike.
    pub(super) right: bool,
    /// Whether "the CPU it was on before" would have been right.
    pub(super) previous_cpu: bool,
    /// Whether "first come, first served" would have been right.
    pub(super) first_come: bool,
    /// Whether the task left its previous CPU.
    pub(super) left: bool,
}

/// How many choices of the next task, and of preemption by a wake-up, must be right, percent. Fixed before the first comparison.
pub const RIGHT_PERCENT: u64 = 97;
/// How many errors of "previous CPU" the placement of wakees must remove, percent.
pub const ERRORS_GONE_PERCENT: u64 = 50;
/// How many placements of wakees that left their CPU must be right, percent.
pub const LEFT_PERCENT: u64 = 80;

/// Decisions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Decisions seen.
    pub asked: u64,
    /// Of them, those that the model made alike.
    pub asked_right: u64,
    /// Decisions with two or more candidates.
    pub choices: u64,
    /// Choices left out: margin too small, or inputs not known.
    pub undecidable: u64,
    /// Choices that can be judged and that the model made alike.
    pub right: u64,
    /// Of the same, those that "the CPU it was on before" gets right; for a running task, that it goes on.
    pub previous_cpu: u64,
    /// Of the same, those that "first come, first served" gets right.
    pub first_come: u64,
    /// Of the same, those where the task left its previous CPU.
    pub left: u64,
    /// Of those, the ones that the model made alike.
    pub left_right: u64,
}

impl Tally {
    /// Choices that can be judged.
    pub const fn decidable(&self) -> u64 {
        self.choices - self.undecidable
    }

    pub(super) fn count(&mut self, a: Answer) {
        self.asked += 1;
        self.asked_right += u64::from(a.right);
        if !a.choice {
            return;
        }
        self.choices += 1;
        if !a.decidable {
            self.undecidable += 1;
            return;
        }
        self.right += u64::from(a.right);
        self.previous_cpu += u64::from(a.previous_cpu);
        self.first_come += u64::from(a.first_come);
        self.left += u64::from(a.left);
        self.left_right += u64::from(a.left && a.right);
    }

    /// Takes back that the model's answer to the last question was right.
    pub(super) fn was_wrong(&mut self, counted: Answer) {
        self.asked_right -= u64::from(counted.right);
        if counted.choice && counted.decidable {
            self.right -= u64::from(counted.right);
            self.first_come -= u64::from(counted.first_come);
            self.previous_cpu -= u64::from(counted.previous_cpu);
        }
    }

    fn add(&mut self, o: &Tally) {
        self.asked += o.asked;
        self.asked_right += o.asked_right;
        self.choices += o.choices;
        self.undecidable += o.undecidable;
        self.right += o.right;
        self.previous_cpu += o.previous_cpu;
        self.first_come += o.first_come;
        self.left += o.left;
        self.left_right += o.left_right;
    }
}

/// A judged decision that the model made otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Miss {
    /// What was decided.
    pub kind: Kind,
    /// When, ns of the trace's clock.
    pub at_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// What the trace shows, what the model would have done and why.
    pub what: String,
}

/// At most so many misses are kept.
const MOST_MISSES: usize = 1000;

/// A trace's decisions beside the model's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Next tasks.
    pub next_task: Tally,
    /// Verdicts on wake-ups.
    pub preemption: Tally,
    /// Verdicts of ticks.
    pub tick: Tally,
    /// CPUs of woken tasks.
    pub wake_placement: Tally,
    /// CPUs of new tasks.
    pub fork_placement: Tally,
    /// Tasks moved by balancing.
    pub balance_move: Tally,
    /// Events that did not fit the model's state.
    pub misfits: u64,
    /// What the model decided otherwise, the first 1,000.
    pub misses: Vec<Miss>,
}

impl Report {
    /// The decisions of a kind.
    pub const fn of(&self, kind: Kind) -> &Tally {
        match kind {
            Kind::NextTask => &self.next_task,
            Kind::Preemption => &self.preemption,
            Kind::Tick => &self.tick,
            Kind::WakePlacement => &self.wake_placement,
            Kind::ForkPlacement => &self.fork_placement,
            Kind::BalanceMove => &self.balance_move,
        }
    }

    pub(super) const fn of_mut(&mut self, kind: Kind) -> &mut Tally {
        match kind {
            Kind::NextTask => &mut self.next_task,
            Kind::Preemption => &mut self.preemption,
            Kind::Tick => &mut self.tick,
            Kind::WakePlacement => &mut self.wake_placement,
            Kind::ForkPlacement => &mut self.fork_placement,
            Kind::BalanceMove => &mut self.balance_move,
        }
    }

    /// Counts a decision; `what` describes it, for a miss.
    pub(super) fn count(
        &mut self,
        kind: Kind,
        a: Answer,
        at_ns: u64,
        cpu: u32,
        what: impl FnOnce() -> String,
    ) {
        self.of_mut(kind).count(a);
        self.missed(kind, a, at_ns, cpu, what);
    }

    /// Keeps a decision as a miss, if it is one.
    pub(super) fn missed(
        &mut self,
        kind: Kind,
        a: Answer,
        at_ns: u64,
        cpu: u32,
        what: impl FnOnce() -> String,
    ) {
        if a.choice && a.decidable && !a.right && self.misses.len() < MOST_MISSES {
            self.misses.push(Miss { kind, at_ns, cpu, what: what() });
        }
    }

    /// Adds another trace's counts; its misses are left out.
    pub fn add(&mut self, o: &Report) {
        for kind in Kind::ALL {
            self.of_mut(kind).add(o.of(kind));
        }
        self.misfits += o.misfits;
    }

    /// The bars that are missed: next task and preemption by 97 % of what can be judged; of wake placements, half of the
    /// errors of "previous CPU" gone, and 80 % right where the wakee left it.
    pub fn missed_bars(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for kind in [Kind::NextTask, Kind::Preemption] {
            let t = self.of(kind);
            if t.right * 100 < t.decidable() * RIGHT_PERCENT {
                missed.push(format!(
                    "{}: {} of {} right, {RIGHT_PERCENT} % needed",
                    kind.name(),
                    t.right,
                    t.decidable()
                ));
            }
        }
        let t = &self.wake_placement;
        let (errors, naive) = (t.decidable() - t.right, t.decidable() - t.previous_cpu);
        if errors * 100 > naive * (100 - ERRORS_GONE_PERCENT) {
            missed.push(format!("CPU of a wakee: {errors} errors, at most half of {naive} allowed"));
        }
        if t.left_right * 100 < t.left * LEFT_PERCENT {
            missed.push(format!(
                "CPU of a wakee that left its CPU: {} of {} right, {LEFT_PERCENT} % needed",
                t.left_right, t.left
            ));
        }
        missed
    }

    /// A table for people, with the first `misses` misses.
    pub fn to_text(&self, misses: usize) -> String {
        let mut text = format!(
            "{:<24} {:>7} {:>8} {:>11} {:>7} {:>8} {:>13} {:>11}\n",
            "decision", "seen", "choices", "undecidable", "judged", "right", "previous CPU", "first come"
        );
        // Writing to a String cannot fail.
        for kind in Kind::ALL {
            let t = self.of(kind);
            let (of, placed) = (t.decidable(), matches!(kind, Kind::WakePlacement | Kind::ForkPlacement));
            let queued = matches!(kind, Kind::NextTask | Kind::BalanceMove | Kind::Preemption | Kind::Tick);
            let _ = writeln!(
                text,
                "{:<24} {:>7} {:>8} {:>11} {:>7} {:>8} {:>13} {:>11}",
                kind.name(),
                t.asked,
                t.choices,
                t.undecidable,
                of,
                share(t.right, of),
                if placed { share(t.previous_cpu, of) } else { "-".to_owned() },
                if queued { share(t.first_come, of) } else { "-".to_owned() },
            );
        }
        let t = &self.wake_placement;
        let _ = writeln!(
            text,
            "\nwakees that left their CPU: {} of {} right ({})\nerrors of \"previous CPU\": {}, of the model: {}\nevents that did not fit: {}",
            t.left_right,
            t.left,
            share(t.left_right, t.left),
            t.decidable() - t.previous_cpu,
            t.decidable() - t.right,
            self.misfits
        );
        for m in self.misses.iter().take(misses) {
            let _ = writeln!(
                text,
                "{:>13.6} CPU {:<3} {}: {}",
                m.at_ns as f64 / 1e9,
                m.cpu,
                m.kind.name(),
                m.what
            );
        }
        text
    }
}

fn share(part: u64, of: u64) -> String {
    if of == 0 { "-".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / of as f64) }
}
