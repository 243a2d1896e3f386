//! Events as the reader hands them on: numbers, and names by number.

use super::flags;
use super::payload::Wake;
use super::state::Left;
use std::collections::BTreeMap;

/// In what context the CPU was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Context {
    /// A task's own.
    Task,
    /// A softirq: raised by the task itself, or by an interrupt.
    Softirq,
    /// An interrupt: whoever is current has nothing to do with it.
    Interrupt,
    /// The trace does not say.
    Unknown,
}

impl Context {
    /// From the flags column.
    pub(super) fn of(column: Option<&str>) -> Context {
        use flags::Context as Shown;
        match column.and_then(flags::context) {
            None => Context::Unknown,
            Some(Shown::Task) => Context::Task,
            Some(Shown::SoftIrq) => Context::Softirq,
            Some(Shown::HardIrq | Shown::HardInSoftIrq | Shown::Nmi) => Context::Interrupt,
        }
    }
}

/// A number of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameIx(u32);

/// A task as an event names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Task {
    /// Its thread's number; 0 is a CPU's idle task.
    pub pid: u32,
    /// Its name.
    pub comm: NameIx,
    /// Its priority, where it is shown.
    pub prio: Option<i16>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The CPU goes from one task to another.
    Switch {
        /// Who leaves.
        prev: Task,
        /// What becomes of it.
        left: Left,
        /// Who comes.
        next: Task,
    },
    /// A task is woken.
    Wake {
        /// By which event.
        wake: Wake,
        /// Who.
        task: Task,
        /// The CPU on whose queue it is put, where that is shown.
        target: Option<u32>,
    },
    /// A task moves to another CPU's queue.
    Migrate,
    /// A task makes another.
    Fork {
        /// The parent.
        parent: Task,
        /// The child.
        child: Task,
    },
    /// The current task execs.
    Exec,
    /// A task begins to exit.
    Exit(Task),
    /// Events of this CPU are missing here.
    Lost,
    /// `cpu_idle`, `sched_stat_runtime`, and events of other kinds: they show that the trace goes on.
    Other,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// When, ns of the trace's clock.
    pub at_ns: u64,
    /// On which CPU.
    pub cpu: u32,
    /// The task current there.
    pub current: Task,
    /// In what context.
    pub context: Context,
    /// What happened.
    pub kind: Kind,
}

/// All names of tasks, each once.
#[derive(Debug)]
pub(super) struct Names {
    known: BTreeMap<Box<str>, NameIx>,
    all: Vec<Box<str>>,
}

impl Default for Names {
    fn default() -> Names {
        Names { known: BTreeMap::new(), all: vec!["unnamed".into()] }
    }
}

impl NameIx {
    /// No name: the trace does not know it.
    pub(super) const UNKNOWN: NameIx = NameIx(0);
}

/// What tools print for the name of a task they do not know: `<...>`, `<unknown>`, or perf's `:PID`.
fn is_placeholder(comm: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    comm == "<...>" || comm == "<unknown>" || comm.strip_prefix(':').is_some_and(number)
}

impl Names {
    pub(super) fn get(&mut self, comm: &str) -> NameIx {
        if is_placeholder(comm) {
            return NameIx::UNKNOWN;
        }
        if let Some(ix) = self.known.get(comm) {
            return *ix;
        }
        let ix = NameIx(self.all.len() as u32);
        self.known.insert(comm.into(), ix);
        self.all.push(comm.into());
        ix
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The name behind a number.
    pub(super) fn text(&self, ix: NameIx) -> &str {
        self.all.get(ix.0 as usize).map_or("", |name| name)
    }
}
