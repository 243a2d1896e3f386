//! A decision in words: what was decided, on what numbers, and what would have changed it.

mod balance;
mod pick;
mod place;
mod placement;
mod tick;
mod wakeup;

use super::limits;
use super::words::Words;
use sim_core::kernel::Policy;
use sim_core::kernel::tunables::{Tunable, Tunables};
use sim_core::kernel::weight::{FIXEDPOINT_SHIFT, LoadWeight};
use sim_core::observe::Decision;
use sim_core::{EntityId, TaskId};

/// One decision in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// What was decided and why.
    pub(super) why: String,
    /// What would have changed it, if anything simple would.
    pub(super) otherwise: Option<String>,
}

impl Words<'_> {
    pub(super) fn sentence(&self, decision: &Decision) -> Sentence {
        let (why, otherwise) = match decision {
            Decision::Place(d) => self.place(d),
            Decision::WakeupPreempt(d) => self.wakeup_preempt(d),
            Decision::TickPreempt(d) => self.tick_preempt(d),
            Decision::Pick(d) => self.pick(d),
            Decision::Select(d) => self.select(d),
            Decision::Balance(d) => self.balance(d),
            Decision::BalanceAttempt(d) => (balance::attempt(d), None),
        };
        Sentence { why, otherwise }
    }

    fn task(&self, task: TaskId) -> String {
        self.book.task(task)
    }
    fn entity(&self, entity: EntityId) -> String {
        self.book.entity(entity)
    }

    /// Whether "its vruntime" is a group's.
    fn is_group(&self, entity: EntityId) -> bool {
        self.book.task_of(entity).is_none()
    }

    fn load_of(&self, entity: EntityId, weight: u64) -> LoadWeight {
        limits::load_of(weight, !self.is_group(entity))
    }

    /// A weight as its owner set it: `nice 5`, `SCHED_IDLE`, `weight 512` for a group.
    fn weight(&self, entity: EntityId, weight: u64) -> String {
        let of = |nice, policy| LoadWeight::of_task(nice, policy).weight == weight;
        let nice = (-20..=19).find(|nice| of(*nice, Policy::Normal));
        match nice {
            Some(nice) if !self.is_group(entity) => format!("nice {nice}"),
            None if !self.is_group(entity) && of(0, Policy::Idle) => "SCHED_IDLE".to_owned(),
            _ => format!("weight {}", weight >> FIXEDPOINT_SHIFT),
        }
    }

    /// The values of tunables with which a decision turns out otherwise, joined by `or`.
    fn reaches(&self, tunables: &[Tunable], nr: u32, decided: impl Fn(&Tunables) -> bool) -> Vec<String> {
        let reach = |tunable: &Tunable| {
            let low = limits::lowest(self.kernel, *tunable, nr);
            limits::reach(self.kernel, *tunable, low, &decided).map(|reach| reach.of(*tunable))
        };
        tunables.iter().filter_map(reach).collect()
    }
}

fn runnable(tasks: u32) -> String {
    format!("{tasks} runnable task{}", if tasks == 1 { "" } else { "s" })
}

/// Alternatives as half a sentence; none where there are none.
fn or(alternatives: &[String]) -> Option<String> {
    (!alternatives.is_empty()).then(|| alternatives.join(" or "))
}
