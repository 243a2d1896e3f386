//! From a trace to a scenario.

use super::clock::{TICK_TO_SWITCH_NS, Ticks};
use super::error::TraceError;
use super::event::Names;
use super::groups::GroupMap;
use super::reader::read;
use super::record::{Part, Recorder};
use super::spread::Spread;
use super::stats::{Form, Limits, Stats};
use super::summary::Summary;
use super::write::{Sleeps, Writer, time};
use crate::scenario::MAX_STEPS;
use crate::units::comment;
use std::fmt::Write;
use std::io::Read;

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which part of the trace.
    pub part: Part,
    /// How sleeps end that no task of the trace ends.
    pub sleeps: Sleeps,
    /// Which tasks belong to which cgroups.
    pub groups: GroupMap,
    /// How many CPUs the machine has; without it, as many as the trace shows.
    pub cpus: Option<u32>,
    /// The recorded kernel's profile.
    pub kernel: Option<String>,
    /// The recorded kernel's tick frequency; without it, as preemptions show it.
    pub hz: Option<u32>,
}

/// A scenario made of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The scenario, TOML.
    pub scenario: String,
    /// What was left out or assumed.
    pub notes: Vec<String>,
    /// What the trace holds.
    pub summary: Summary,
}

/// Says what a trace holds.
///
/// # Errors
/// [`TraceError`].
pub fn summarize(source: impl Read, limits: &Limits, part: Part) -> Result<Summary, TraceError> {
    let (recorder, stats, names) = follow(source, limits, Recorder::new(part, None))?;
    Ok(Summary::of(&recorder, stats, &names))
}

/// Turns a trace into a scenario. Deviates: D-210.
///
/// # Errors
/// [`TraceError`].
pub fn import(source: impl Read, limits: &Limits, options: &Options) -> Result<Imported, TraceError> {
    let (recorder, stats, names) = follow(source, limits, Recorder::new(options.part, Some(MAX_STEPS / 2)))?;
    let summary = Summary::of(&recorder, stats, &names);
    let shown = summary.cpus.last().map_or(1, |cpu| cpu + 1);
    let cpus = options.cpus.map_or(shown, |given| given.max(shown));
    let ticks = recorder.preemptions.ticks(options.hz);
    let mut writer = Writer::new(&recorder, &names, &options.groups, options.sleeps, cpus, ticks);
    let tasks = writer.tasks();
    if tasks.is_empty() {
        return Err(TraceError::NoTasks(summary.stats.used));
    }
    let notes = notes(&summary, &writer, ticks);
    let mut out = format!("# Imported from a recorded trace ({}).\n", summary.stats.form.name());
    for note in &notes {
        out += &comment(note);
    }
    out += "name = \"recorded workload\"\n\n[kernel]\n";
    if let Some(kernel) = &options.kernel {
        let _ = writeln!(out, "profile = \"{kernel}\"");
    }
    if let Some(hz) = options.hz.or(ticks.map(|t| t.hz)) {
        let _ = writeln!(out, "hz = {hz}");
    }
    let _ = write!(out, "\n[machine]\ncpus = {cpus}\n");
    if let Some(ticks) = ticks {
        let _ = writeln!(out, "tick_phase = \"{}\"", time(phase(&writer, ticks)));
    }
    out += "recorded_work = true\n\n[costs]\npreset = \"zero\"\n";
    let _ = writeln!(out, "tick_to_switch = \"{}\"", time(TICK_TO_SWITCH_NS));
    let median = |seen: &Spread| seen.percentile(50);
    let idle_exit = median(&recorder.idle_exits);
    let ipi = median(&recorder.kicks).map(|ns| ns.saturating_sub(idle_exit.unwrap_or(0)));
    for (cost, seen) in [("idle_exit", idle_exit), ("irq_exit", median(&recorder.preempting)), ("ipi", ipi)] {
        if let Some(ns) = seen {
            let _ = writeln!(out, "{cost} = \"{}\"", time(ns.min(MAX_DELAY_NS)));
        }
    }
    let _ = write!(out, "\n[run]\nwarmup = \"{}\"\n", time(writer.lead_ns));
    for group in &writer.used_groups {
        let _ = write!(out, "\n[group.\"{group}\"]\n");
        if let Some(weight) = options.groups.weight(group) {
            let _ = writeln!(out, "cpu.weight = {weight}");
        }
    }
    out += &tasks;
    Ok(Imported { scenario: out, notes, summary })
}

/// The largest delay of a machine that is believed.
const MAX_DELAY_NS: u64 = 1_000_000;

/// The ticks' phase in simulated time.
fn phase(writer: &Writer<'_>, ticks: Ticks) -> u64 {
    let from = writer.recorder.from.unwrap_or(0) % ticks.period();
    (ticks.tick_ns() + ticks.period() - from + writer.lead_ns) % ticks.period()
}

fn follow(
    source: impl Read,
    limits: &Limits,
    mut recorder: Recorder,
) -> Result<(Recorder, Stats, Names), TraceError> {
    let (stats, names) = read(source, limits, &mut recorder)?;
    if recorder.from.is_none() {
        let from_ns = recorder.begins.unwrap_or(0);
        return Err(TraceError::EmptyPart { from_ns, to_ns: recorder.latest });
    }
    recorder.end();
    Ok((recorder, stats, names))
}

/// What was left out or assumed.
fn notes(summary: &Summary, writer: &Writer<'_>, ticks: Option<Ticks>) -> Vec<String> {
    let (stats, odd, written) = (&summary.stats, &summary.odd, &writer.written);
    let mut notes = vec![format!(
        "{} tasks; {} waits end by another task, {} by a timer or an interrupt (or nothing says by whom)",
        written.tasks, written.woken, written.timers
    )];
    let counted = [
        (stats.gaps, "gaps where events were lost: what a CPU did in one is missing"),
        (stats.overwritten, "events had been overwritten before the trace was read"),
        (stats.unsorted, "events came after a later one and were put in order"),
        (stats.late, "events came far too late for that and are left out"),
        (stats.malformed + stats.incomplete, "lines cannot be read"),
        (stats.long, "lines are too long and were passed over"),
        (odd.missing_wakeups, "tasks went on though nothing in the trace woke them: a timer does"),
        (odd.missing_switches, "switches are missing: tasks stopped at the last event before"),
        (odd.spurious_wakeups, "wake-ups of tasks that did not wait are left out"),
        (written.realtime, "times a task had a real-time priority: it has nice -20 here"),
        (written.deep, "children of long chains of forks start by themselves"),
    ];
    notes.extend(counted.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    if ticks.is_none() {
        notes.push(
            "no preemption shows when ticks came: they come at any time (machine.tick_phase)".to_owned(),
        );
    }
    if stats.form == Form::Perf || stats.form == Form::TraceCmd {
        notes.push(
            "the trace may not tell interrupts from tasks: who woke whom is inferred where it does not"
                .to_owned(),
        );
    }
    notes
}
