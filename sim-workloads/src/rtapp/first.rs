//! The first generation of rt-app's grammar, up to 2014: `exec` µs of work in every `period`.

use super::event::{self, Event, Placed};
use super::json::{Entry, Value};
use super::task::{self, Phase, Settings, Thread, Turns};
use super::{Place, RtAppError};

/// Which grammar a message speaks of.
const WHICH: &str = "this is rt-app's first grammar (exec and period, up to 2014)";

/// Reads a thread that has `exec`. Its resources cannot be read: what they do between each other has changed since.
pub(super) fn thread(
    mut thread: Thread,
    fields: &[Entry],
    notes: &mut Vec<String>,
) -> Result<Thread, RtAppError> {
    let (mut exec, mut period, mut sleeps) = (0.0, None, true);
    for field in fields {
        match field.key.as_str() {
            "exec" => exec = event::time(field, &field.node)?,
            "period" => period = Some(event::time(field, &field.node)?),
            "delay" => thread.delay_us = event::time(field, &field.node)?,
            "loop" | "loops" => thread.turns = task::turns(field)?,
            "cpus" => thread.settings.cpus = Some(task::cpus(field)?),
            "priority" => thread.settings.nice = Some(task::whole(field, -20, 99)? as i8),
            "policy" => policy(field, &mut thread.settings)?,
            "sleep" => sleeps = field.node.value != Value::Bool(false),
            "deadline" => {}
            "resources" | "lock_order" if is_empty(&field.node.value) => {}
            "resources" | "lock_order" => {
                let message = format!("{WHICH}: '{}' in it is not read", field.key);
                return Err(field.place.error(message));
            }
            key => notes.push(format!(
                "{}:{}: {WHICH}: the key '{key:.60}' is left out",
                field.place.line, field.place.column
            )),
        }
    }
    let place = thread.place;
    let placed = |event, key: &str| Placed { event, key: key.to_owned(), place };
    let mut events = vec![placed(Event::Run(exec), "exec")];
    if let Some(period) = period.filter(|_| sleeps) {
        events
            .push(placed(Event::Timer { reference: "unique".to_owned(), period, absolute: true }, "period"));
    }
    thread.phases.push(phase(place, events));
    Ok(thread)
}

/// For a short time that grammar had phases, which no later version reads.
pub(super) fn in_phase(place: Place) -> RtAppError {
    place.error(format!("{WHICH}: 'exec' in phases is not read"))
}

fn phase(place: Place, events: Vec<Placed>) -> Phase {
    Phase { place, turns: Turns::Times(1), settings: Settings::default(), events }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => false,
    }
}

fn policy(field: &Entry, settings: &mut Settings) -> Result<(), RtAppError> {
    let Value::Text(text) = &field.node.value else {
        return Err(field.node.place.error("'policy' takes the name of a policy"));
    };
    match task::policy(text) {
        Some(Some(policy)) => settings.policy = Some(policy),
        _ => settings.not_modelled.push(("policy", format!("policy {text:.40}"), field.place)),
    }
    Ok(())
}
