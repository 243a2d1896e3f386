//! From threads to a scenario: our own TOML, so that what was imported can be read and changed.

use super::event::{Event, Placed};
use super::json::{self, Entry, Value};
use super::names::Names;
use super::program::Writer;
use super::task::{self, Thread};
use super::{Place, RtAppError};
use crate::units::comment;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What is known to rt-app and not modelled, by the name to waive it by, and what a waiver means.
pub const WAIVABLE: &[(&str, &str)] = &[
    ("mem", "writes to memory take no time"),
    ("memrun", "work on memory takes no time"),
    ("iorun", "writes to a device take no time"),
    ("policy", "real-time and deadline threads run as SCHED_OTHER, nice 0"),
    ("membind", "memory is on every node"),
    ("uclamp", "utilisation is not clamped"),
];

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What may be left out, by names of [`WAIVABLE`].
    pub waive: Vec<String>,
    /// How many CPUs the machine has; without it, as many as the file names.
    pub cpus: Option<u32>,
}

/// A scenario made of rt-app files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The scenario, TOML.
    pub scenario: String,
    /// What was left out or assumed.
    pub notes: Vec<String>,
}

/// The most threads that start.
const MAX_THREADS: u64 = 10_000;
/// For how long a file without end runs.
const DURATION_S: f64 = 10.0;

/// Everything read.
pub(super) struct Workload {
    pub(super) threads: Vec<Thread>,
    /// Where a file's part begins among the threads, to name the file in mistakes.
    files: Vec<(usize, String)>,
    duration_s: Option<f64>,
    notes: Vec<String>,
}

/// Imports a workload that may come in several files, each a name and its text.
///
/// # Errors
/// What cannot be read, and what is not modelled and not waived, with its place.
pub fn import(files: &[(&str, &str)], options: &Options) -> Result<Imported, RtAppError> {
    let mut workload =
        Workload { threads: Vec::new(), files: Vec::new(), duration_s: None, notes: Vec::new() };
    for (name, text) in files {
        workload.files.push((workload.threads.len(), (*name).to_owned()));
        let in_file = |e: RtAppError| RtAppError { file: Some((*name).to_owned()), ..e };
        workload.read(&json::parse(text).map_err(in_file)?).map_err(in_file)?;
    }
    if workload.threads.is_empty() {
        let place = Place { line: 1, column: 1 };
        let first = files.first().map(|(name, _)| (*name).to_owned());
        return Err(RtAppError {
            file: first,
            ..place.error("no threads: a workload has them under 'tasks'; one that comes in parts is read from all of them: \
                         cfsim import rt-app FILE FILE…")
        });
    }
    workload.scenario(options)
}

impl Workload {
    fn read(&mut self, entries: &[Entry]) -> Result<(), RtAppError> {
        for entry in entries {
            match (entry.key.as_str(), &entry.node.value) {
                ("tasks" | "threads", Value::Object(threads)) => {
                    for entry in threads {
                        let thread = task::thread(entry, &mut self.notes)?;
                        self.threads.push(thread);
                    }
                }
                ("tasks" | "threads", other) => {
                    return Err(entry
                        .node
                        .place
                        .error(format!("'tasks' is {}, not an object", other.describe())));
                }
                ("global", Value::Object(fields)) => self.read_global(fields)?,
                ("resources", _) => {}
                (key, _) => self.notes.push(format!(
                    "{}:{}: the unknown key '{key:.60}' is left out",
                    entry.place.line, entry.place.column
                )),
            }
        }
        Ok(())
    }

    fn read_global(&mut self, fields: &[Entry]) -> Result<(), RtAppError> {
        const QUIET: &[&str] = &[
            "logdir",
            "log_basename",
            "log_size",
            "logstats",
            "ftrace",
            "gnuplot",
            "lock_pages",
            "frag",
            "pi_enabled",
            "io_device",
            "mem_buffer_size",
            "cumulative_slack",
            "calibration",
            "default_policy",
            "duration",
        ];
        for field in fields {
            match (field.key.as_str(), &field.node.value) {
                ("duration", Value::Number(s)) if s.total_cmp(&-1.0).is_eq() => {}
                ("duration", Value::Number(s)) if (0.001..=86_400.0).contains(s) => {
                    self.duration_s = Some(*s)
                }
                ("duration", other) => {
                    let message =
                        format!("'duration' is {}: it takes -1 or seconds up to 86400", other.describe());
                    return Err(field.node.place.error(message));
                }
                ("default_policy", Value::Text(policy))
                    if task::policy(policy).is_some_and(|p| p.is_some()) =>
                {
                    let policy = task::policy(policy).flatten();
                    self.threads.iter_mut().for_each(|t| t.settings.policy = t.settings.policy.or(policy));
                }
                ("default_policy", Value::Text(policy)) => {
                    let place = field.node.place;
                    let not_modelled = ("policy", format!("default_policy {policy:.40}"), place);
                    self.threads.iter_mut().filter(|t| t.settings.policy.is_none()).for_each(|t| {
                        t.settings.not_modelled.push(not_modelled.clone());
                    });
                }
                (key, _) if QUIET.contains(&key) => {}
                (key, _) => self.notes.push(format!(
                    "{}:{}: the unknown key '{key:.60}' of 'global' is left out",
                    field.place.line, field.place.column
                )),
            }
        }
        Ok(())
    }

    fn file_of(&self, thread: usize) -> Option<String> {
        self.files.iter().rev().find(|(first, _)| *first <= thread).map(|(_, name)| name.clone())
    }

    /// Refuses what is not modelled, unless it is waived.
    fn refuse(&mut self, waive: &[String]) -> Result<(), RtAppError> {
        let mut waived: BTreeMap<&'static str, u64> = BTreeMap::new();
        for (i, thread) in self.threads.iter().enumerate() {
            let settings = thread.all_settings().flat_map(|s| &s.not_modelled);
            let settings = settings.map(|(name, what, place)| (*name, what.as_str(), *place));
            let events = thread.events().filter_map(|e| match e.event {
                Event::NotModelled(name) => Some((name, e.key.as_str(), e.place)),
                _ => None,
            });
            for (name, what, place) in settings.chain(events) {
                if !waive.iter().any(|w| w == name) {
                    let message = format!("{what} is not modelled; --waive {name} leaves it out");
                    return Err(RtAppError { file: self.file_of(i), ..place.error(message) });
                }
                *waived.entry(name).or_default() += 1;
            }
        }
        for (name, times) in waived {
            let means = WAIVABLE.iter().find(|(n, _)| *n == name).map_or("", |(_, means)| means);
            self.notes.push(format!("waived, {times} times: {name}: {means}"));
        }
        Ok(())
    }

    fn scenario(mut self, options: &Options) -> Result<Imported, RtAppError> {
        self.refuse(&options.waive)?;
        let started: u64 = self.threads.iter().map(|t| u64::from(t.instances)).sum();
        if started > MAX_THREADS {
            let place = self.threads[0].place;
            return Err(place.error(format!("{started} threads start: at most {MAX_THREADS} are read")));
        }
        let cpus = self.cpus(options)?;
        let mut names = Names::default();
        let mut tasks = String::new();
        let mut writer = Writer::new(&self.threads, cpus, &mut names);
        for (i, thread) in self.threads.iter().enumerate().filter(|(_, t)| t.instances > 0) {
            let in_file = |e: RtAppError| RtAppError { file: self.file_of(i), ..e };
            tasks += &writer.task(thread).map_err(in_file)?;
        }
        let (tables, endless) = (writer.barriers() + &writer.groups(), writer.endless);
        self.notes.extend(writer.notes);
        let seconds = self.duration_s.unwrap_or(DURATION_S);
        if self.duration_s.is_none() && endless {
            self.notes
                .push(format!("the workload has no end: it is cut off after {DURATION_S} s (--duration)"));
        }
        let mut out = String::from(
            "# Imported from an rt-app workload: times there are microseconds of work and of sleep.\n",
        );
        for note in &self.notes {
            out += &comment(note);
        }
        let _ = write!(out, "name = \"rt-app workload\"\n\n[machine]\ncpus = {cpus}\n");
        if self.duration_s.is_some() || endless {
            let _ = write!(out, "\n[run]\nduration = \"{}us\"\n", (seconds * 1e6).round() as u64);
        }
        out += &tables;
        out += &tasks;
        Ok(Imported { scenario: out, notes: self.notes })
    }

    /// How many CPUs the machine has, which the file does not say.
    fn cpus(&mut self, options: &Options) -> Result<u32, RtAppError> {
        let named = self.threads.iter().flat_map(|t| t.all_settings().filter_map(|s| s.cpus.as_ref()));
        let needed = named.filter_map(|mask| mask.iter().last()).map(|cpu| cpu.0 + 1).max();
        match (options.cpus, needed) {
            (Some(given), Some(needed)) if given < needed => {
                let message = format!("CPU {} is named: a machine of {given} CPUs has none such", needed - 1);
                Err(self.threads[0].place.error(message))
            }
            (Some(given), _) => Ok(given),
            (None, needed) => {
                let cpus = needed.unwrap_or(1);
                self.notes
                    .push(format!("the file does not say how many CPUs there are: {cpus} here (--cpus)"));
                Ok(cpus)
            }
        }
    }
}

/// Whether an event is modelled; those that are not have been waived by now.
pub(super) fn is_known(event: &Placed) -> bool {
    !matches!(event.event, Event::NotModelled(_))
}
