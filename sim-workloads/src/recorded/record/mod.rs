//! Follows a trace: which thread was where, doing what.

mod heads;
mod turns;
mod wakes;

pub(super) use heads::real_time;

use crate::recorded::clock::Preemptions;
use crate::recorded::error::TraceError;
use crate::recorded::event::{Event, Kind, NameIx, Names, Task};
use crate::recorded::reader::Sink;
use crate::recorded::spread::Spread;
use crate::recorded::thread::{Origin, State, Step, Thread, ThreadIx};
use crate::recorded::wakers::Wakers;
use std::collections::BTreeMap;

/// Which part of a trace, ns from its first event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Part {
    /// From then on.
    pub from_ns: u64,
    /// Up to then.
    pub to_ns: Option<u64>,
}

/// What does not fit together in a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Oddities {
    /// Tasks that ran though they waited and nothing woke them: the wake-up is not in the trace.
    pub missing_wakeups: u64,
    /// Tasks that left a CPU they had not been given, or were given two: switches are not in the trace.
    pub missing_switches: u64,
    /// Wake-ups of tasks that were not waiting.
    pub spurious_wakeups: u64,
}

/// One CPU of the trace.
#[derive(Debug, Clone, Copy, Default)]
struct Cpu {
    /// Who has it, if that is known.
    curr: Option<ThreadIx>,
    /// The last switch, the beginning, or the end of a gap: who has it has had it since.
    switched: u64,
    /// The last event.
    last: u64,
    seen: bool,
    /// The first and the last wake-up of an interrupt.
    interrupt: Option<(u64, u64)>,
}

/// Follows the threads of a trace.
pub(super) struct Recorder {
    part: Part,
    /// The most steps kept, or `None` to keep none.
    max_steps: Option<usize>,
    steps: usize,
    /// The first event of the trace, and of the part.
    pub(super) begins: Option<u64>,
    pub(super) from: Option<u64>,
    /// The last event of the trace, and of the part.
    pub(super) latest: u64,
    pub(super) to: u64,
    pub(super) threads: Vec<Thread>,
    by_pid: BTreeMap<u32, ThreadIx>,
    cpus: BTreeMap<u32, Cpu>,
    /// Tasks that wait for their first turn, and where.
    fresh: Vec<(ThreadIx, u32)>,
    pub(super) wakers: Wakers,
    pub(super) odd: Oddities,
    /// From wake-ups to turns.
    pub(super) waits: Spread,
    /// From wake-ups on idle CPUs, and from those that preempt, to the switch.
    pub(super) idle_exits: Spread,
    pub(super) preempting: Spread,
    /// From wake-ups by another CPU's tasks on idle CPUs to the switch.
    pub(super) kicks: Spread,
    pub(super) preemptions: Preemptions,
    /// Switches between tasks, the idle task among them.
    pub(super) switches: u64,
    /// Whether `sched_waking` tells of wake-ups.
    waking: bool,
}

impl Recorder {
    pub(super) fn new(part: Part, max_steps: Option<usize>) -> Recorder {
        Recorder {
            part,
            max_steps,
            steps: 0,
            begins: None,
            from: None,
            latest: 0,
            to: 0,
            threads: Vec::new(),
            by_pid: BTreeMap::new(),
            cpus: BTreeMap::new(),
            fresh: Vec::new(),
            wakers: Wakers::default(),
            odd: Oddities::default(),
            waits: Spread::default(),
            idle_exits: Spread::default(),
            preempting: Spread::default(),
            kicks: Spread::default(),
            preemptions: Preemptions::default(),
            switches: 0,
            waking: false,
        }
    }

    /// The CPUs seen.
    pub(super) fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        self.cpus.keys().copied()
    }

    /// Ends the trace: who runs has run until its last event.
    pub(super) fn end(&mut self) {
        let running: Vec<ThreadIx> = self.cpus.values().filter_map(|c| c.curr).collect();
        running.into_iter().for_each(|thread| self.run_until(thread, self.to));
    }

    fn thread(&mut self, ix: ThreadIx) -> &mut Thread {
        &mut self.threads[ix.0 as usize]
    }

    fn push(&mut self, ix: ThreadIx, step: Step) -> Result<(), TraceError> {
        let Some(max) = self.max_steps else { return Ok(()) };
        self.steps += 1;
        if self.steps > max {
            return Err(TraceError::TooManySteps(max));
        }
        self.thread(ix).steps.push(step);
        Ok(())
    }

    fn create(&mut self, pid: u32, comm: NameIx, origin: Origin, state: State) -> ThreadIx {
        let turn = self.by_pid.get(&pid).map_or(0, |old| self.threads[old.0 as usize].turn + 1);
        let ix = ThreadIx(self.threads.len() as u32);
        self.threads.push(Thread::new(pid, comm, turn, origin, state));
        self.by_pid.insert(pid, ix);
        ix
    }

    /// The thread of that number, which may be seen for the first time.
    fn known(&mut self, task: Task) -> ThreadIx {
        match self.by_pid.get(&task.pid).copied() {
            Some(ix) if self.threads[ix.0 as usize].state != State::Dead => {
                if task.comm != NameIx::UNKNOWN {
                    self.thread(ix).comm = task.comm;
                }
                ix
            }
            _ => {
                let first = self.by_pid.contains_key(&task.pid);
                let origin = if first { Origin::At(self.to) } else { Origin::Before };
                self.create(task.pid, task.comm, origin, State::Unknown)
            }
        }
    }

    /// Credits a running thread up to now.
    fn run_until(&mut self, ix: ThreadIx, at: u64) {
        let keep = self.max_steps.is_some();
        let thread = self.thread(ix);
        let State::Running { cpu, since } = thread.state else { return };
        let ns = at.saturating_sub(since);
        thread.state = State::Running { cpu, since: since.max(at) };
        thread.counts.cpu_ns += ns;
        match thread.steps.last_mut() {
            _ if ns == 0 || !keep => {}
            Some(Step::Run(run)) => *run += ns,
            _ => {
                thread.steps.push(Step::Run(ns));
                self.steps += 1;
            }
        }
    }

    fn note_prio(&mut self, ix: ThreadIx, prio: Option<i16>) -> Result<(), TraceError> {
        let Some(prio) = prio else { return Ok(()) };
        match self.thread(ix).prio {
            Some((_, now)) if now == prio => {}
            Some((first, _)) => {
                self.thread(ix).prio = Some((first, prio));
                self.push(ix, Step::Prio(prio))?;
            }
            None => self.thread(ix).prio = Some((prio, prio)),
        }
        Ok(())
    }
}

impl Sink for Recorder {
    fn event(&mut self, event: &Event, _: &Names) -> Result<(), TraceError> {
        let at = event.at_ns;
        // What is not about tasks may carry stamps of its own, and does not begin anything.
        if self.begins.is_none() && matches!(event.kind, Kind::Other | Kind::Lost) {
            return Ok(());
        }
        let since = at - *self.begins.get_or_insert(at);
        self.latest = at;
        if since < self.part.from_ns || self.part.to_ns.is_some_and(|to| since > to) {
            return Ok(());
        }
        if event.kind == Kind::Lost {
            self.lost(event.cpu);
            return Ok(());
        }
        let from = *self.from.get_or_insert(at);
        self.to = self.to.max(at);
        let here = self.cpus.entry(event.cpu).or_insert(Cpu { switched: from, last: from, ..Cpu::default() });
        if !here.seen {
            here.seen = true;
            // After a gap; a CPU's first event tells of it from the beginning.
            if here.last > from {
                here.switched = at;
            }
        }
        match event.kind {
            Kind::Switch { prev, left, next } => self.switch(event, prev, left, next)?,
            Kind::Wake { wake, task, target } => self.wake(event, wake, task, target)?,
            Kind::Fork { parent, child } => self.fork(event, parent, child)?,
            Kind::Exec if event.current.pid != 0 => {
                let ix = self.known(event.current);
                self.ensure_running(ix, event.cpu)?;
                self.run_until(ix, at);
                self.push(ix, Step::Exec(event.current.comm))?;
            }
            Kind::Exec | Kind::Exit(_) | Kind::Migrate | Kind::Lost | Kind::Other => {}
        }
        if let Some(here) = self.cpus.get_mut(&event.cpu) {
            here.last = at;
        }
        Ok(())
    }
}
