//! One decision answered otherwise.

use super::watch::{Kind, Record};
use super::words::{Book, exact};
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::{Balance, Decision, Pick, Place, Select, TickPreempt, WakeupPreempt};
use sim_core::{CpuId, EntityId, Nanos};
use std::fmt;
use std::str::FromStr;

/// What to do instead, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Preempt(bool),
    Pick(String),
    /// vruntime relative to min_vruntime, ns.
    Place(i64),
    Cpu(u32),
    Stay,
}

const WISHES: &str = "no-preempt, preempt, 'pick NAME', 'place OFFSET' (vruntime from min_vruntime, like -12ms), 'cpu N', stay";

impl FromStr for Wish {
    type Err = String;

    fn from_str(text: &str) -> Result<Wish, String> {
        let (verb, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        let rest = rest.trim();
        match (verb, rest) {
            ("no-preempt", "") => Ok(Wish::Preempt(false)),
            ("preempt", "") => Ok(Wish::Preempt(true)),
            ("stay", "") => Ok(Wish::Stay),
            ("pick", name) if !name.is_empty() => Ok(Wish::Pick(name.to_owned())),
            ("cpu", n) if !n.is_empty() => {
                n.parse().map(Wish::Cpu).map_err(|_| format!("'{n}' is no CPU number"))
            }
            ("place", offset) if !offset.is_empty() => {
                let magnitude = offset.trim_start_matches(['-', '+']);
                let Nanos(ns) =
                    magnitude.parse().map_err(|e: sim_core::time::ParseNanosError| e.to_string())?;
                // A parsed duration is at most 2^63 - 1 ns.
                let ns = i64::try_from(ns).map_err(|e| e.to_string())?;
                Ok(Wish::Place(if offset.starts_with('-') { -ns } else { ns }))
            }
            _ => Err(format!("'{text}' is nothing that can be done instead: allowed are {WISHES}")),
        }
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wish::Preempt(true) => f.write_str("preempt"),
            Wish::Preempt(false) => f.write_str("no-preempt"),
            Wish::Pick(name) => write!(f, "pick {name}"),
            Wish::Place(offset) if *offset < 0 => {
                write!(f, "place {} before min_vruntime", exact(offset.unsigned_abs()))
            }
            Wish::Place(offset) => write!(f, "place {} after min_vruntime", exact(offset.unsigned_abs())),
            Wish::Cpu(cpu) => write!(f, "cpu {cpu}"),
            Wish::Stay => f.write_str("stay"),
        }
    }
}

/// The answer to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Preempt(bool),
    Pick(EntityId),
    Place(i64),
    Cpu(CpuId),
    Stay,
}

/// The kernel as it is, but for one decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Once {
    kind: Kind,
    /// Decisions of the kind still to come before the one to change; none when it is over.
    before: Option<u64>,
    answer: Answer,
}

impl Once {
    /// The answer `wish` means for a decision, or why it makes no sense there. `allowed` tells whether an entity may be
    /// picked, or a CPU used.
    pub(super) fn new(
        record: &Record,
        wish: &Wish,
        book: &Book,
        may_pick: impl Fn(&Pick, EntityId) -> bool,
        may_use: impl Fn(&Select, CpuId) -> bool,
    ) -> Result<Once, String> {
        let number = record.number;
        let same =
            |same: bool| if same { Err(format!("decision {number} went that way already")) } else { Ok(()) };
        let answer = match (&record.decision, wish) {
            (Decision::WakeupPreempt(d), Wish::Preempt(p)) => {
                same(d.preempt == *p).map(|()| Answer::Preempt(*p))
            }
            (Decision::TickPreempt(d), Wish::Preempt(p)) => {
                same(d.preempt == *p).map(|()| Answer::Preempt(*p))
            }
            (Decision::Place(d), Wish::Place(offset)) => {
                same(d.after == d.min_vruntime.wrapping_add_signed(*offset)).map(|()| Answer::Place(*offset))
            }
            (Decision::Pick(d), Wish::Pick(name)) => {
                let entities = book.find(name).into_iter().filter_map(|t| book.entity_of(t));
                let candidates: Vec<EntityId> = entities.collect();
                match candidates.iter().find(|e| may_pick(d, **e)) {
                    Some(entity) => same(d.chosen == *entity).map(|()| Answer::Pick(*entity)),
                    None if candidates.is_empty() => Err(format!("no task is called '{name}'")),
                    None => Err(format!("'{name}' is not runnable there at decision {number}")),
                }
            }
            (Decision::Select(d), Wish::Cpu(cpu)) if may_use(d, CpuId(*cpu)) => {
                same(d.chosen.0 == *cpu).map(|()| Answer::Cpu(CpuId(*cpu)))
            }
            (Decision::Select(d), Wish::Cpu(cpu)) => {
                Err(format!("{} may not use CPU {cpu}", book.task(d.task)))
            }
            (Decision::Balance(_), Wish::Stay) => Ok(Answer::Stay),
            (decision, _) => {
                Err(format!("decision {number} can be answered by {} instead", sensible(decision)))
            }
        }?;
        let kind = Kind::of(&record.decision);
        match record.of_kind {
            Some(before) => Ok(Once { kind, before: Some(before), answer }),
            None => Err(format!(
                "decision {number} cannot go otherwise: any task takes the CPU from the idle task"
            )),
        }
    }

    /// The answer, if it is now the turn of the decision to change.
    fn turn(&mut self, kind: Kind) -> Option<Answer> {
        if self.kind != kind {
            return None;
        }
        match self.before? {
            0 => {
                self.before = None;
                Some(self.answer)
            }
            n => {
                self.before = Some(n - 1);
                None
            }
        }
    }
}

fn sensible(decision: &Decision) -> &'static str {
    match decision {
        Decision::Place(_) => "'place OFFSET'",
        Decision::WakeupPreempt(_) | Decision::TickPreempt(_) => "'preempt' or 'no-preempt'",
        Decision::Pick(_) => "'pick NAME'",
        Decision::Select(_) => "'cpu N'",
        Decision::Balance(_) => "'stay'",
        Decision::BalanceAttempt(_) => "nothing",
    }
}

impl Hooks for Once {
    fn place(&mut self, d: &Place) -> u64 {
        match self.turn(Kind::Place) {
            Some(Answer::Place(offset)) => d.min_vruntime.wrapping_add_signed(offset),
            _ => d.after,
        }
    }
    fn wakeup_preempt(&mut self, d: &WakeupPreempt, _curr_ran: u64) -> bool {
        match self.turn(Kind::WakeupPreempt) {
            Some(Answer::Preempt(preempt)) => preempt,
            _ => d.preempt,
        }
    }
    fn tick_preempt(&mut self, d: &TickPreempt) -> bool {
        match self.turn(Kind::TickPreempt) {
            Some(Answer::Preempt(preempt)) => preempt,
            _ => d.preempt,
        }
    }
    fn pick(&mut self, d: &Pick) -> EntityId {
        match self.turn(Kind::Pick) {
            Some(Answer::Pick(entity)) => entity,
            _ => d.chosen,
        }
    }
    fn select(&mut self, d: &Select) -> CpuId {
        match self.turn(Kind::Select) {
            Some(Answer::Cpu(cpu)) => cpu,
            _ => d.chosen,
        }
    }
    fn balance(&mut self, d: &Balance) -> bool {
        match self.turn(Kind::Balance) {
            Some(Answer::Stay) => false,
            _ => d.pull,
        }
    }
}
