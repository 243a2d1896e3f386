//! Writes what was recorded as a scenario. Deviates: D-214.

use super::clock::{TICK_TO_SWITCH_NS, Ticks};
use super::event::Names;
use super::groups::GroupMap;
use super::record::{Recorder, real_time};
use super::thread::{Block, Origin, Step, Thread, ThreadIx};
use super::wakers::{Waker, bound_to, is_kernel_thread};
use crate::units::MAX_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Simulated time before the trace begins, in which tasks that were there before go to where the trace finds them, beside what
/// they run in it.
const LEAD_NS: u64 = 10_000_000;

/// From a wake-up to the switch where the trace shows none: an assumption.
const WAKE_PATH_NS: u64 = 2_000;

/// Softirqs run behind the tick's own work, and before the switch.
const BEHIND_THE_TICK_NS: u64 = TICK_TO_SWITCH_NS / 2;

/// A wake-up so long after a tick is one of the tick's own interrupt: timers of the wheel expire with ticks.
const OF_THE_TICK_NS: u64 = 8_000;

/// Deepest chain of forks written within each other; children below it start by themselves.
const MAX_FORKS: usize = 40;

/// How sleeps end that no task of the trace ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sleeps {
    /// When they did: at that time, whatever the task did before.
    #[default]
    Absolute,
    /// As long after they begin as they did.
    Relative,
}

/// What was left out or assumed, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    /// Sleeps that another task ends, and that a timer or an interrupt ends.
    pub(super) woken: u64,
    pub(super) timers: u64,
    /// Tasks of real-time or deadline priority.
    pub(super) realtime: u64,
    /// Children that start by themselves.
    pub(super) deep: u64,
    pub(super) tasks: u64,
}

/// Writes tasks.
pub(super) struct Writer<'a> {
    pub(super) recorder: &'a Recorder,
    pub(super) names: &'a Names,
    pub(super) groups: &'a GroupMap,
    pub(super) sleeps: Sleeps,
    /// How many CPUs the machine has.
    pub(super) cpus: u32,
    /// The recorded kernel's ticks.
    pub(super) ticks: Option<Ticks>,
    /// From a wake-up to the switch to the woken task.
    pub(super) wake_path_ns: u64,
    /// Simulated time before the trace begins.
    pub(super) lead_ns: u64,
    pub(super) written: Written,
    /// Groups that tasks are in.
    pub(super) used_groups: BTreeSet<String>,
    /// Children to be written by themselves.
    later: Vec<ThreadIx>,
    kernel_threads: BTreeMap<ThreadIx, bool>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        recorder: &'a Recorder,
        names: &'a Names,
        groups: &'a GroupMap,
        sleeps: Sleeps,
        cpus: u32,
        ticks: Option<Ticks>,
    ) -> Writer<'a> {
        let heads: u64 = recorder.threads.iter().map(head).sum();
        let wake_path_ns = recorder.preempting.percentile(50).unwrap_or(WAKE_PATH_NS);
        let lead_ns = LEAD_NS + heads.next_multiple_of(LEAD_NS);
        let kernel = |(i, t): (usize, &Thread)| (ThreadIx(i as u32), is_kernel_thread(names.text(t.comm)));
        let kernel_threads = recorder.threads.iter().enumerate().map(kernel).collect();
        let (written, used_groups, later) = (Written::default(), BTreeSet::new(), Vec::new());
        Writer {
            recorder,
            names,
            groups,
            sleeps,
            cpus,
            ticks,
            wake_path_ns,
            lead_ns,
            written,
            used_groups,
            later,
            kernel_threads,
        }
    }

    /// The tables of all tasks, those that ran when the trace begins first.
    pub(super) fn tasks(&mut self) -> String {
        let mut out = String::new();
        for (i, thread) in self.recorder.threads.iter().enumerate() {
            if thread.origin != Origin::Forked && !thread.steps.is_empty() {
                out += &self.task(ThreadIx(i as u32));
            }
        }
        while let Some(ix) = self.later.pop() {
            out += &self.task(ix);
        }
        out
    }

    fn thread(&self, ix: ThreadIx) -> &'a Thread {
        &self.recorder.threads[ix.0 as usize]
    }

    /// A thread's name in the scenario: its own and its number, in the letters of names.
    pub(super) fn name(&self, ix: ThreadIx) -> String {
        let thread = self.thread(ix);
        let comm = plain(self.names.text(thread.comm));
        let number = number(thread);
        let room = MAX_NAME - number.len() - 1;
        format!("{comm:.room$}-{number}")
    }

    fn since_start(&self, at: u64) -> u64 {
        at.saturating_sub(self.recorder.from.unwrap_or(at)) + self.lead_ns
    }

    fn task(&mut self, ix: ThreadIx) -> String {
        let thread = self.thread(ix);
        let mut out = format!("\n[task.\"{}\"]\n", self.name(ix));
        let comm = self.names.text(thread.comm);
        let nice = self.nice(thread.prio.map(|(first, _)| first));
        if let Some(nice) = nice.filter(|nice| *nice != 0) {
            let _ = writeln!(out, "nice = {nice}");
        }
        let bound = bound_to(comm).filter(|cpu| *cpu < self.cpus);
        // Where a task was last matters to where it wakes: it begins there, then may go anywhere.
        let begins = thread.first_cpu.filter(|_| bound.is_none() && self.cpus > 1);
        if let Some(cpu) = bound.or(begins) {
            let _ = writeln!(out, "cpus = \"{cpu}\"");
        }
        if let Some(group) = self.groups.of(thread.pid, comm) {
            let _ = writeln!(out, "group = \"{group}\"");
            self.used_groups.insert(group.to_owned());
        }
        if let Origin::At(at) = thread.origin {
            let _ = writeln!(out, "start = \"{}\"", time(self.since_start(at)));
        }
        out += "program = '''\n";
        if begins.is_some() {
            let _ = writeln!(out, "affinity 0-{}", self.cpus - 1);
        }
        if head(thread) > 0 {
            let _ = writeln!(out, "run {}", time(head(thread)));
        }
        if thread.origin == Origin::Before && !matches!(thread.steps.first(), Some(Step::Block { .. })) {
            let _ = writeln!(out, "sleep_until {}", time(self.lead_ns));
        }
        self.steps(ix, 0, &mut out);
        out += "'''\n";
        out
    }

    /// A nice value from a priority; what is above all of them comes nearest with −20.
    fn nice(&mut self, prio: Option<i16>) -> Option<i8> {
        let prio = prio?;
        if !(100..=139).contains(&prio) {
            self.written.realtime += 1;
            return Some(-20);
        }
        Some((prio - 120) as i8)
    }

    fn caused(&self, wakee: ThreadIx, waker: Waker) -> bool {
        let kernel_thread = self.kernel_threads.get(&wakee).copied().unwrap_or(false);
        self.recorder.wakers.caused(wakee, waker, kernel_thread)
    }

    fn steps(&mut self, ix: ThreadIx, depth: usize, out: &mut String) {
        self.written.tasks += 1;
        let at = "  ".repeat(depth);
        let thread = self.thread(ix);
        let (mut empty, mut run, mut woke) = (true, 0, false);
        for step in &thread.steps {
            // What lies between two runs may turn out to be nothing.
            if let Step::Run(ns) = step {
                run += ns;
            }
            if !self.says(ix, step) {
                continue;
            }
            self.run(std::mem::take(&mut run), woke, &at, out);
            self.step(ix, *step, depth, &at, out);
            (empty, woke) = (false, matches!(step, Step::Wake { .. } | Step::Answer { .. }));
        }
        self.run(run, woke, &at, out);
        if run == 0 && empty {
            let _ = writeln!(out, "{at}exit");
        }
    }

    /// A run. After a wake-up a task is in the kernel for as long as it takes to give way; what is hardly longer is all of the
    /// same system call.
    fn run(&self, ns: u64, woke: bool, at: &str, out: &mut String) {
        let (in_kernel, rest) = match self.wake_path_ns {
            path if woke && ns > 2 * path => (path, ns - path),
            _ => (0, ns),
        };
        if in_kernel > 0 {
            let _ = writeln!(out, "{at}kernel {}", time(in_kernel));
        }
        if rest > 0 {
            let _ = writeln!(out, "{at}run {}", time(rest));
        }
    }

    /// Whether a step is one in the program beside runs, which are summed up.
    fn says(&self, ix: ThreadIx, step: &Step) -> bool {
        match *step {
            Step::Run(_) | Step::Block { end: Block::Forever, .. } => false,
            Step::Wake { wakee, context } => self.caused(wakee, Waker { thread: ix, context }),
            Step::Answer { to: other } | Step::Await { from: other } => {
                self.recorder.wakers.answer(ix, other)
            }
            _ => true,
        }
    }

    fn step(&mut self, ix: ThreadIx, step: Step, depth: usize, at: &str, out: &mut String) {
        let _ = match step {
            Step::Run(_) => Ok(()),
            Step::Block { since, end } => return self.block(ix, since, end, at, out),
            Step::Wake { wakee, .. } => writeln!(out, "{at}post {} stay", self.pair(ix, wakee)),
            Step::Answer { to } => writeln!(out, "{at}post {} stay", self.pair(ix, to)),
            Step::Await { from } => writeln!(out, "{at}wait {}", self.pair(from, ix)),
            Step::Fork(child) => return self.fork(child, depth, at, out),
            Step::Prio(prio) => self.nice(Some(prio)).map_or(Ok(()), |nice| writeln!(out, "{at}nice {nice}")),
            Step::Exec(comm) => writeln!(out, "{at}exec {:.MAX_NAME$}", plain(self.names.text(comm))),
        };
    }

    fn block(&mut self, ix: ThreadIx, since: u64, end: Block, at: &str, out: &mut String) {
        let until = match end {
            Block::By(_, waker) if self.caused(ix, waker) => {
                self.written.woken += 1;
                let _ = writeln!(out, "{at}wait {}", self.pair(waker.thread, ix));
                return;
            }
            Block::By(until, _) | Block::Until(until) => until,
            Block::Forever => return,
        };
        self.written.timers += 1;
        let until = self.with_tick(until);
        let _ = match self.sleeps {
            Sleeps::Absolute => writeln!(out, "{at}sleep_until {}", time(self.since_start(until))),
            Sleeps::Relative => writeln!(out, "{at}sleep {}", time(until.saturating_sub(since))),
        };
    }

    /// When a wake-up happened; those of a tick's interrupt come behind the tick's own work and before its switch.
    fn with_tick(&self, at: u64) -> u64 {
        let Some(ticks) = self.ticks else { return at };
        let after = (at + ticks.period() - ticks.tick_ns()) % ticks.period();
        if after <= OF_THE_TICK_NS { at - after + BEHIND_THE_TICK_NS } else { at }
    }

    fn fork(&mut self, child: ThreadIx, depth: usize, at: &str, out: &mut String) {
        if depth >= MAX_FORKS {
            self.written.deep += 1;
            self.later.push(child);
            return;
        }
        let _ = writeln!(out, "{at}fork {} {{", self.name(child));
        self.steps(child, depth + 1, out);
        let _ = writeln!(out, "{at}}}");
    }

    /// The semaphore by which one thread wakes another.
    fn pair(&self, waker: ThreadIx, wakee: ThreadIx) -> String {
        format!("{}:{}", number(self.thread(waker)), number(self.thread(wakee)))
    }
}

/// How long a task runs before the trace begins.
fn head(thread: &Thread) -> u64 {
    real_time(thread.head_ns, thread.prio.map(|(first, _)| first))
}

fn number(thread: &Thread) -> String {
    match thread.turn {
        0 => thread.pid.to_string(),
        turn => format!("{}.{turn}", thread.pid),
    }
}

/// A comm in the letters of names.
fn plain(comm: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_-.+:@".contains(c) { c } else { '.' };
    let name: String = comm.chars().map(plain).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// A duration in the largest unit that keeps it whole.
pub(super) fn time(ns: u64) -> String {
    match ns {
        0 => "0ns".to_owned(),
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ if ns.is_multiple_of(1_000) => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}
