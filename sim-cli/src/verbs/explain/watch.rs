//! Numbers the decisions of a run and keeps those that were asked for.

use super::words::Book;
use sim_core::kernel::KernelConfig;
use sim_core::observe::{Decision, Event, Observer, SwitchKind};
use sim_core::{CpuId, EntityId, Instant, TaskId};

/// Most entries of a story.
pub(super) const MAX_ENTRIES: usize = 2_000;

/// A kind of decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Place,
    WakeupPreempt,
    TickPreempt,
    Pick,
    Select,
    Balance,
    BalanceAttempt,
}

impl Kind {
    pub(super) const fn of(decision: &Decision) -> Kind {
        match decision {
            Decision::Place(_) => Kind::Place,
            Decision::WakeupPreempt(_) => Kind::WakeupPreempt,
            Decision::TickPreempt(_) => Kind::TickPreempt,
            Decision::Pick(_) => Kind::Pick,
            Decision::Select(_) => Kind::Select,
            Decision::Balance(_) => Kind::Balance,
            Decision::BalanceAttempt(_) => Kind::BalanceAttempt,
        }
    }
}

/// A decision with its place in the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    /// Order of occurrence, from 1.
    pub(super) number: u64,
    pub(super) at: Instant,
    /// The kernel's configuration then, by its number among those of the run.
    pub(super) config: usize,
    /// Its number among those of its kind that can be answered otherwise, from 0; that the idle task gives way cannot.
    pub(super) of_kind: Option<u64>,
    pub(super) decision: Decision,
}

/// Part of a story.
#[derive(Debug, Clone)]
pub(super) enum Entry {
    Decision(Box<Record>),
    Switch { at: Instant, cpu: u32, prev: Option<TaskId>, kind: SwitchKind, next: Option<TaskId> },
}

/// What is to be kept.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// The last decision about each task.
    Last,
    /// The decision with this number.
    Number(u64),
    /// Everything about the tasks with this name or path, in a span of time.
    Task { name: String, from: Instant, to: Instant },
}

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    NotStarted,
    Asleep,
    Waiting,
    Running,
    Ended,
}

/// A task's standing, since when, and on which CPU.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stand {
    pub(super) standing: Standing,
    pub(super) since: Instant,
    pub(super) cpu: CpuId,
}

/// Watches a run.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) book: Book,
    wanted: Wanted,
    /// The kernel's configurations, in order; each holds until the next.
    pub(super) configs: Vec<KernelConfig>,
    /// Decisions so far.
    pub(super) count: u64,
    of_kind: [u64; 6],
    pub(super) kept: Vec<Entry>,
    /// Entries beyond [`MAX_ENTRIES`].
    pub(super) dropped: u64,
    pub(super) last: Vec<Option<Record>>,
    pub(super) standing: Vec<Stand>,
    /// How tasks stood at the decision with the wanted number.
    pub(super) snapshot: Vec<Stand>,
    /// Tasks the story is about.
    mine: Vec<bool>,
}

impl Watch {
    pub(super) fn new(wanted: Wanted) -> Watch {
        Watch {
            book: Book::default(),
            wanted,
            configs: Vec::new(),
            count: 0,
            of_kind: [0; 6],
            kept: Vec::new(),
            dropped: 0,
            last: Vec::new(),
            standing: Vec::new(),
            snapshot: Vec::new(),
            mine: Vec::new(),
        }
    }

    /// Whether no task bore the name asked for.
    pub(super) fn nobody(&self) -> bool {
        !self.mine.iter().any(|mine| *mine)
    }

    fn is_mine(&self, task: Option<TaskId>) -> bool {
        task.is_some_and(|t| self.mine.get(t.index()).is_some_and(|mine| *mine))
    }

    fn keep(&mut self, entry: Entry) {
        if self.kept.len() < MAX_ENTRIES { self.kept.push(entry) } else { self.dropped += 1 }
    }

    fn in_span(&self, at: Instant) -> bool {
        matches!(&self.wanted, Wanted::Task { from, to, .. } if (*from..=*to).contains(&at))
    }

    fn stands(&mut self, task: TaskId, standing: Standing, since: Instant, cpu: CpuId) {
        self.standing[task.index()] = Stand { standing, since, cpu };
    }

    /// The tasks a decision is about. A pick is about who gets the CPU, who was fairer, and who had it; a tick is also
    /// about the task that waits next.
    fn about(&self, decision: &Decision) -> [Option<TaskId>; 3] {
        let task = |e: EntityId| self.book.task_of(e);
        match decision {
            Decision::Place(d) => [d.task, None, None],
            Decision::WakeupPreempt(d) => [Some(d.wakee), d.curr, None],
            Decision::TickPreempt(d) => [Some(d.curr), d.left.and_then(task), None],
            Decision::Pick(d) => [task(d.chosen), task(d.left), d.curr.and_then(task)],
            Decision::Select(d) => [Some(d.task), None, None],
            Decision::Balance(d) => [Some(d.task), None, None],
            Decision::BalanceAttempt(_) => [None, None, None],
        }
    }

    /// A decision's number among its kind, if hooks are asked about it.
    fn number_of_kind(&mut self, decision: &Decision) -> Option<u64> {
        let told_only = match decision {
            Decision::WakeupPreempt(d) => d.curr.is_none(),
            Decision::BalanceAttempt(_) => true,
            _ => false,
        };
        if told_only {
            return None;
        }
        let counter = &mut self.of_kind[Kind::of(decision) as usize];
        *counter += 1;
        Some(*counter - 1)
    }
}

impl Observer for Watch {
    const DECISIONS: bool = true;

    fn identity(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        self.book.name(task, name, path, nice);
        if self.mine.len() <= task.index() {
            self.mine.resize(task.index() + 1, false);
        }
        if let Wanted::Task { name: wanted, .. } = &self.wanted {
            self.mine[task.index()] |= name == wanted || path == wanted;
        }
    }

    fn configured(&mut self, _at: Instant, kernel: &KernelConfig) {
        self.configs.push(kernel.clone());
    }

    fn event(&mut self, at: Instant, event: &Event) {
        match *event {
            Event::Fork { .. } => {
                self.standing.push(Stand { standing: Standing::NotStarted, since: at, cpu: CpuId(0) });
                self.last.push(None);
            }
            Event::Wakeup { task, cpu, .. } if self.standing[task.index()].standing != Standing::Running => {
                self.stands(task, Standing::Waiting, at, cpu);
            }
            Event::Migrate { task, to, .. } => self.standing[task.index()].cpu = to,
            Event::Switch { cpu, prev, kind, next } => {
                if let Some(p) = prev {
                    let now = match kind {
                        SwitchKind::Blocked => Standing::Asleep,
                        SwitchKind::Exited => Standing::Ended,
                        _ => Standing::Waiting,
                    };
                    self.stands(p, now, at, cpu);
                }
                next.into_iter().for_each(|n| self.stands(n, Standing::Running, at, cpu));
                if self.in_span(at) && (self.is_mine(prev) || self.is_mine(next)) {
                    self.keep(Entry::Switch { at, cpu: cpu.0, prev, kind, next });
                }
            }
            _ => {}
        }
    }

    fn decision(&mut self, at: Instant, decision: &Decision) {
        if let Decision::Place(d) = decision {
            self.book.place(d.entity, d.task);
        }
        self.count += 1;
        let of_kind = self.number_of_kind(decision);
        let config = self.configs.len().saturating_sub(1);
        let record = Record { number: self.count, at, config, of_kind, decision: *decision };
        let about = self.about(decision);
        match self.wanted {
            Wanted::Last => {
                for task in about.into_iter().flatten() {
                    if let Some(last) = self.last.get_mut(task.index()) {
                        *last = Some(record);
                    }
                }
            }
            Wanted::Number(number) if number == record.number => {
                self.keep(Entry::Decision(Box::new(record)));
                self.snapshot.clone_from(&self.standing);
            }
            Wanted::Number(_) => {}
            Wanted::Task { .. } => {
                if self.in_span(at) && about.into_iter().any(|t| self.is_mine(t)) {
                    self.keep(Entry::Decision(Box::new(record)));
                }
            }
        }
    }
}
