//! Writes what was recorded as a scenario. Deviates: D-214.

use super::clock::Ticks;
use super::event::Names;
use super::groups::GroupMap;
use super::record::{Recorder, real_time};
use super::thread::{Origin, Step, Thread, ThreadIx};
use super::wakers::{Waker, bound_to, is_kernel_thread};
use crate::units::MAX_NAME;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Simulated time before the trace begins, in which tasks that were there before go to where the trace finds them, beside what
/// they run in it.
const LEAD_NS: u64 = 10_000_000;

/// From a wake-up to the switch where the trace shows none: an assumption.
const WAKE_PATH_NS: u64 = 2_000;

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
    pub(super) later: Vec<ThreadIx>,
    /// Which threads have been written.
    pub(super) reached: Vec<bool>,
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
            reached: vec![false; recorder.threads.len()],
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
        // Whose parents do nothing that is written, as where lines are damaged, start by themselves.
        for (i, thread) in self.recorder.threads.iter().enumerate() {
            if !self.reached[i] && !thread.steps.is_empty() {
                out += &self.task(ThreadIx(i as u32));
            }
        }
        out
    }

    pub(super) fn thread(&self, ix: ThreadIx) -> &'a Thread {
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

    pub(super) fn since_start(&self, at: u64) -> u64 {
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
    pub(super) fn nice(&mut self, prio: Option<i16>) -> Option<i8> {
        let prio = prio?;
        if !(100..=139).contains(&prio) {
            self.written.realtime += 1;
            return Some(-20);
        }
        Some((prio - 120) as i8)
    }

    pub(super) fn caused(&self, wakee: ThreadIx, waker: Waker) -> bool {
        let kernel_thread = self.kernel_threads.get(&wakee).copied().unwrap_or(false);
        self.recorder.wakers.caused(wakee, waker, kernel_thread)
    }
}

/// How long a task runs before the trace begins.
fn head(thread: &Thread) -> u64 {
    real_time(thread.head_ns, thread.prio.map(|(first, _)| first))
}

pub(super) fn number(thread: &Thread) -> String {
    match thread.turn {
        0 => thread.pid.to_string(),
        turn => format!("{}.{turn}", thread.pid),
    }
}

/// A comm in the letters of names.
pub(super) fn plain(comm: &str) -> String {
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
