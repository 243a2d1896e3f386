//! The answer as text and as JSON.

use super::effect::Effect;
use super::sentence::Sentence;
use super::state::State;
use super::watch::{Entry, Record, Watch};
use super::words::{Book, Words};
use crate::header::Header;
use crate::load::Loaded;
use crate::output::Report;
use serde::Serialize;
use sim_core::observe::{Decision, SwitchKind};
use sim_core::{Instant, TaskId};

/// An answer of `cfsim explain`.
#[derive(Debug, Serialize)]
pub(super) struct ExplainReport {
    #[serde(flatten)]
    header: Header,
    /// Who the numbers of tasks and entities in the records are.
    tasks: Vec<TaskRow>,
    /// The same for entities of groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    groups: Vec<GroupRow>,
    /// Decisions of the run.
    decisions: u64,
    #[serde(flatten)]
    pub(super) part: Part,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) effect: Option<Effect>,
}

/// Names behind the ids of a record.
#[derive(Debug, Serialize)]
struct TaskRow {
    task: u32,
    entity: Option<u32>,
    name: String,
    path: String,
    nice: i8,
}

#[derive(Debug, Serialize)]
struct GroupRow {
    entity: u32,
    group: String,
}

/// What was asked for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Nothing,
    State(State),
    Story(Vec<Told>),
    Decision(Vec<Told>),
}

/// A decision or a switch in words.
#[derive(Debug, Serialize)]
pub(super) struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    at_ns: u64,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    otherwise: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Decision>,
}

impl ExplainReport {
    pub(super) fn new(loaded: &Loaded, watch: &Watch) -> ExplainReport {
        let row = |(i, t): (usize, &super::words::Named)| TaskRow {
            task: i as u32,
            entity: watch.book.entity_of(TaskId::new(i)).map(|e| e.0),
            name: t.name.clone(),
            path: t.path.clone(),
            nice: t.nice,
        };
        ExplainReport {
            // Everything counts here, the warm-up too.
            header: Header { warmup_ns: 0, ..Header::new("explain", loaded, 1) },
            groups: watch
                .book
                .groups
                .iter()
                .map(|(entity, group)| GroupRow { entity: entity.0, group: group.clone() })
                .collect(),
            tasks: watch.book.tasks.iter().enumerate().map(row).collect(),
            decisions: watch.count,
            part: Part::Nothing,
            effect: None,
        }
    }

    pub(super) fn note(&mut self, note: String) {
        self.header.notes.push(note);
    }
}

/// A decision in one sentence or two.
pub(super) fn said(watch: &Watch, record: &Record) -> String {
    let sentence = sentence(watch, record);
    match sentence.otherwise {
        Some(otherwise) => format!("{}; {otherwise}", sentence.why),
        None => sentence.why,
    }
}

fn sentence(watch: &Watch, record: &Record) -> Sentence {
    let Some(kernel) = watch.configs.get(record.config) else {
        unreachable!("the configuration is told before any decision")
    };
    Words { book: &watch.book, kernel }.sentence(&record.decision)
}

/// All that was kept, in words.
pub(super) fn entries(watch: &Watch) -> Vec<Told> {
    let told = |entry: &Entry| match entry {
        Entry::Decision(record) => {
            let sentence = sentence(watch, record);
            Told {
                number: Some(record.number),
                at_ns: record.at.0,
                text: sentence.why,
                otherwise: sentence.otherwise,
                record: Some(record.decision),
            }
        }
        Entry::Switch { at, cpu, prev, kind, next } => Told {
            number: None,
            at_ns: at.0,
            text: switch(&watch.book, *cpu, *prev, *kind, *next),
            otherwise: None,
            record: None,
        },
    };
    watch.kept.iter().map(told).collect()
}

fn switch(book: &Book, cpu: u32, prev: Option<TaskId>, kind: SwitchKind, next: Option<TaskId>) -> String {
    let how = match kind {
        SwitchKind::Blocked => "blocks",
        SwitchKind::Preempted => "is preempted",
        SwitchKind::Yielded => "yields",
        SwitchKind::Exited => "has ended",
        SwitchKind::FromIdle => "leaves",
    };
    format!("CPU {cpu}: {} {how}, {} runs", book.optional(prev), book.optional(next))
}

impl Report for ExplainReport {
    fn text(&self) -> String {
        let mut out = format!(
            "{}: kernel {}, seed {}\n{}\n",
            self.header.scenario,
            self.header.kernel,
            self.header.seed,
            self.header.notes_text()
        );
        match &self.part {
            Part::Nothing => {}
            Part::State(state) => out += &state.text(),
            Part::Story(told) | Part::Decision(told) => told.iter().for_each(|t| out += &t.line()),
        }
        self.effect.iter().for_each(|e| out += &e.text());
        out
    }
}

impl Told {
    fn line(&self) -> String {
        let number = self.number.map_or_else(String::new, |n| format!("#{n}"));
        let at = Instant(self.at_ns).to_string();
        let mut line = format!("{at:>16} {number:>7}  {}\n", self.text);
        if let Some(otherwise) = &self.otherwise {
            line += &format!("{:26}({otherwise})\n", "");
        }
        line
    }
}
