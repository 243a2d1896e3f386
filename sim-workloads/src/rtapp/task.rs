//! Threads and their phases: properties and events.

use super::event::{self, Event, Placed};
use super::json::{Entry, Node, Value};
use super::{Place, RtAppError};
use sim_core::CpuMask;
use sim_core::cpumask::MAX_CPUS;
use sim_core::kernel::Policy;

/// How often a thread or a phase goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    Forever,
    Times(u64),
}

/// What may be set for a thread and anew for each of its phases.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Settings {
    pub(super) policy: Option<Policy>,
    pub(super) nice: Option<i8>,
    pub(super) cpus: Option<CpuMask>,
    /// The task group; empty is none.
    pub(super) group: Option<String>,
    /// What is known and not modelled: the name to waive it by, and where.
    pub(super) not_modelled: Vec<(&'static str, String, Place)>,
}

/// A phase of a thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    pub(super) place: Place,
    pub(super) turns: Turns,
    pub(super) settings: Settings,
    pub(super) events: Vec<Placed>,
}

/// A thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Thread {
    pub(super) name: String,
    pub(super) place: Place,
    /// How many start; 0 exists for `fork` only.
    pub(super) instances: u32,
    pub(super) delay_us: f64,
    pub(super) turns: Turns,
    pub(super) settings: Settings,
    pub(super) phases: Vec<Phase>,
}

/// Keys that belong to SCHED_DEADLINE, or set a slice that CFS does not have.
const DEADLINE_KEYS: &[&str] = &["dl-runtime", "dl-period", "dl-deadline", "period", "deadline"];
const UCLAMP_KEYS: &[&str] = &["util_min", "util_max"];

/// Reads a thread. `notes` hear of what is left out.
pub(super) fn thread(entry: &Entry, notes: &mut Vec<String>) -> Result<Thread, RtAppError> {
    let Value::Object(fields) = &entry.node.value else {
        let found = entry.node.value.describe();
        return Err(entry.node.place.error(format!("thread '{:.60}' is {found}, not an object", entry.key)));
    };
    let mut thread = Thread {
        name: entry.key.clone(),
        place: entry.place,
        instances: 1,
        delay_us: 0.0,
        turns: Turns::Forever,
        settings: Settings::default(),
        phases: Vec::new(),
    };
    if fields.iter().any(|f| f.key == "exec") {
        return super::first::thread(thread, fields, notes);
    }
    let mut events = Vec::new();
    let mut phases: Option<Place> = None;
    for field in fields {
        match field.key.as_str() {
            "instance" => thread.instances = whole(field, 0, 10_000)? as u32,
            "delay" => thread.delay_us = event::time(field, &field.node)?,
            "loop" => thread.turns = turns(field)?,
            "phases" => {
                phases = Some(field.place);
                read_phases(field, &mut thread.phases, notes)?;
            }
            _ => events.extend(setting_or_event(field, &mut thread.settings, notes)?),
        }
    }
    match (phases, events.first()) {
        (Some(_), Some(first)) => {
            let message = format!("'{}' stands beside 'phases': events belong into the phases", first.key);
            Err(first.place.error(message))
        }
        (Some(_), None) => Ok(thread),
        (None, _) => {
            let (turns, settings) = (Turns::Times(1), Settings::default());
            thread.phases.push(Phase { place: entry.place, turns, settings, events });
            Ok(thread)
        }
    }
}

fn read_phases(field: &Entry, phases: &mut Vec<Phase>, notes: &mut Vec<String>) -> Result<(), RtAppError> {
    let Value::Object(list) = &field.node.value else {
        return Err(field
            .node
            .place
            .error(format!("'phases' is {}, not an object", field.node.value.describe())));
    };
    for entry in list {
        let Value::Object(fields) = &entry.node.value else {
            let found = entry.node.value.describe();
            return Err(entry
                .node
                .place
                .error(format!("phase '{:.60}' is {found}, not an object", entry.key)));
        };
        if let Some(exec) = fields.iter().find(|f| f.key == "exec") {
            return Err(super::first::in_phase(exec.place));
        }
        let (mut turns_of, mut settings, mut events) = (Turns::Times(1), Settings::default(), Vec::new());
        for field in fields {
            match field.key.as_str() {
                "loop" => turns_of = turns(field)?,
                _ => events.extend(setting_or_event(field, &mut settings, notes)?),
            }
        }
        phases.push(Phase { place: entry.place, turns: turns_of, settings, events });
    }
    Ok(())
}

/// Reads what threads and phases have in common; an event is given back.
fn setting_or_event(
    field: &Entry,
    settings: &mut Settings,
    notes: &mut Vec<String>,
) -> Result<Option<Placed>, RtAppError> {
    let not_modelled = |name: &'static str| (name, field.key.clone(), field.place);
    match field.key.as_str() {
        "policy" => set_policy(field, settings)?,
        "priority" => settings.nice = Some(whole(field, -20, 99)? as i8),
        "cpus" => settings.cpus = Some(cpus(field)?),
        "taskgroup" => settings.group = Some(group(field)?),
        "nodes_membind" => settings.not_modelled.push(not_modelled("membind")),
        key if UCLAMP_KEYS.contains(&key) => settings.not_modelled.push(not_modelled("uclamp")),
        key if DEADLINE_KEYS.contains(&key) => {
            notes.push(format!("{}: '{key}' is left out: CFS has no slices of tasks' own", at(field.place)));
        }
        key => {
            if let Some(prefix) = event::prefix(key) {
                return event::event(field, prefix).map(Some);
            }
            notes.push(format!("{}: the unknown key '{key:.60}' is left out", at(field.place)));
        }
    }
    Ok(None)
}

fn at(place: Place) -> String {
    format!("{}:{}", place.line, place.column)
}

fn set_policy(field: &Entry, settings: &mut Settings) -> Result<(), RtAppError> {
    let Value::Text(text) = &field.node.value else { return Err(wrong(field, "the name of a policy")) };
    match policy(text) {
        Some(Some(policy)) => settings.policy = Some(policy),
        Some(None) => {
            settings.not_modelled.push(("policy", format!("policy {text}"), field.place));
        }
        None => return Err(wrong(field, "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, or a real-time policy")),
    }
    Ok(())
}

/// A policy by rt-app's name; `Some(None)` for one that is not CFS's.
pub(super) fn policy(text: &str) -> Option<Option<Policy>> {
    match text {
        "SCHED_OTHER" | "SCHED_NORMAL" => Some(Some(Policy::Normal)),
        "SCHED_BATCH" => Some(Some(Policy::Batch)),
        "SCHED_IDLE" => Some(Some(Policy::Idle)),
        "SCHED_FIFO" | "SCHED_RR" | "SCHED_DEADLINE" => Some(None),
        _ => None,
    }
}

fn wrong(field: &Entry, expected: &str) -> RtAppError {
    let found = field.node.value.describe();
    field.node.place.error(format!("'{:.60}' is {found}: it takes {expected}", field.key))
}

/// A whole number between two bounds.
pub(super) fn whole(field: &Entry, low: i64, high: i64) -> Result<i64, RtAppError> {
    match field.node.value {
        Value::Number(x) if x.fract() == 0.0 && (low as f64..=high as f64).contains(&x) => Ok(x as i64),
        _ => Err(wrong(field, &format!("a whole number from {low} to {high}"))),
    }
}

/// The most turns.
const MAX_TURNS: i64 = 1_000_000_000;

pub(super) fn turns(field: &Entry) -> Result<Turns, RtAppError> {
    match whole(field, -1, MAX_TURNS)? {
        -1 => Ok(Turns::Forever),
        n => Ok(Turns::Times(n as u64)),
    }
}

/// A list of CPU numbers.
pub(super) fn cpus(field: &Entry) -> Result<CpuMask, RtAppError> {
    let expected = "a list of CPU numbers";
    let Value::List(items) = &field.node.value else { return Err(wrong(field, expected)) };
    let number = |item: &Node| match item.value {
        Value::Number(x) if x.fract() == 0.0 && (0.0..f64::from(MAX_CPUS)).contains(&x) => Ok(x as u32),
        _ => Err(wrong(field, expected)),
    };
    let mut numbers: Vec<u32> = items.iter().map(number).collect::<Result<_, _>>()?;
    if numbers.is_empty() {
        return Err(wrong(field, "a list with at least one CPU"));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let list = numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    list.parse::<CpuMask>().map_err(|e| field.node.place.error(e.to_string()))
}

fn group(field: &Entry) -> Result<String, RtAppError> {
    match &field.node.value {
        Value::Text(path) if path.is_empty() || path.starts_with('/') => Ok(path.clone()),
        _ => Err(wrong(field, "the path of a group, like \"/tg1/tg11\"")),
    }
}

impl Thread {
    /// All events in the order of the file.
    pub(super) fn events(&self) -> impl Iterator<Item = &Placed> {
        self.phases.iter().flat_map(|phase| &phase.events)
    }

    /// All settings: its own and those of its phases.
    pub(super) fn all_settings(&self) -> impl Iterator<Item = &Settings> {
        std::iter::once(&self.settings).chain(self.phases.iter().map(|phase| &phase.settings))
    }

    /// Whether one of its events forks.
    pub(super) fn forks(&self) -> bool {
        self.events().any(|e| matches!(e.event, Event::Fork(_)))
    }
}
