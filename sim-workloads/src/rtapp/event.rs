//! Events of a thread: which key is which, and what each becomes.

use super::json::{Entry, Node, Value};
use super::{Place, RtAppError};

/// What a thread does in one event. Times in µs, as rt-app has them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Event {
    Run(f64),
    Runtime(f64),
    Sleep(f64),
    Timer {
        reference: String,
        period: f64,
        absolute: bool,
    },
    Lock(String),
    Unlock(String),
    Wait {
        condition: String,
        mutex: String,
    },
    Sync {
        condition: String,
        mutex: String,
    },
    Signal(String),
    Broadcast(String),
    /// Without a name, that of the thread.
    Suspend(Option<String>),
    Resume(String),
    Barrier(String),
    SemPost(String),
    SemWait(String),
    Yield,
    Fork(String),
    /// Known to rt-app, not modelled: the name to waive it by.
    NotModelled(&'static str),
}

/// An event and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Placed {
    pub(super) event: Event,
    pub(super) key: String,
    pub(super) place: Place,
}

/// Events by the beginning of their key. A longer beginning stands before a shorter one that it begins with.
const PREFIXES: &[&str] = &[
    "sem_post", "sem_wait", "suspend", "signal", "sleep", "sync", "runtime", "run", "resume", "timer",
    "lock", "unlock", "wait", "broad", "barrier", "memrun", "mem", "iorun", "yield", "fork",
];

/// Keys that begin like an event and are none.
const NOT_EVENTS: &[&str] = &["lock_order", "lock_pages", "mem_buffer_size"];

/// The event that a key names by its beginning, if it names one.
pub(super) fn prefix(key: &str) -> Option<&'static str> {
    if NOT_EVENTS.contains(&key) {
        return None;
    }
    PREFIXES.iter().copied().find(|p| key.starts_with(p))
}

/// The longest time of one event: an hour, in µs.
const MAX_US: f64 = 3.6e9;

/// Reads an event.
pub(super) fn event(entry: &Entry, prefix: &'static str) -> Result<Placed, RtAppError> {
    let event = match prefix {
        "run" => Event::Run(time(entry, &entry.node)?),
        "runtime" => Event::Runtime(time(entry, &entry.node)?),
        "sleep" => Event::Sleep(time(entry, &entry.node)?),
        "timer" => timer(entry)?,
        "lock" => Event::Lock(name(entry)?),
        "unlock" => Event::Unlock(name(entry)?),
        "wait" => {
            let (condition, mutex) = with_mutex(entry)?;
            Event::Wait { condition, mutex }
        }
        "sync" => {
            let (condition, mutex) = with_mutex(entry)?;
            Event::Sync { condition, mutex }
        }
        "signal" => Event::Signal(name(entry)?),
        "broad" => Event::Broadcast(name(entry)?),
        "suspend" => match &entry.node.value {
            Value::Missing | Value::Null => Event::Suspend(None),
            Value::Text(text) if text.is_empty() => Event::Suspend(None),
            _ => Event::Suspend(Some(name(entry)?)),
        },
        "resume" => Event::Resume(name(entry)?),
        "barrier" => Event::Barrier(name(entry)?),
        "sem_post" => Event::SemPost(name(entry)?),
        "sem_wait" => Event::SemWait(name(entry)?),
        "yield" => Event::Yield,
        "fork" => Event::Fork(name(entry)?),
        "memrun" => Event::NotModelled("memrun"),
        "mem" => Event::NotModelled("mem"),
        _ => Event::NotModelled("iorun"),
    };
    Ok(Placed { event, key: entry.key.clone(), place: entry.place })
}

fn wrong(entry: &Entry, expected: &str) -> RtAppError {
    let found = entry.node.value.describe();
    entry.node.place.error(format!("'{:.60}' is {found}: it takes {expected}", entry.key))
}

/// A time in µs.
pub(super) fn time(entry: &Entry, node: &Node) -> Result<f64, RtAppError> {
    match node.value {
        Value::Number(us) if (0.0..=MAX_US).contains(&us) => Ok(us),
        _ => Err(wrong(entry, "a time in microseconds, 0 to 3600000000")),
    }
}

/// A name: a text, or an object that holds it under `ref`.
fn name(entry: &Entry) -> Result<String, RtAppError> {
    match &entry.node.value {
        Value::Text(text) if !text.is_empty() => Ok(text.clone()),
        Value::Object(fields) => match field(fields, "ref") {
            Some(Value::Text(text)) if !text.is_empty() => Ok(text.clone()),
            _ => Err(wrong(entry, "a name, or an object with 'ref'")),
        },
        _ => Err(wrong(entry, "a name")),
    }
}

fn field<'a>(fields: &'a [Entry], key: &str) -> Option<&'a Value> {
    fields.iter().find(|e| e.key == key).map(|e| &e.node.value)
}

fn with_mutex(entry: &Entry) -> Result<(String, String), RtAppError> {
    let expected = "an object with 'ref' and 'mutex'";
    let Value::Object(fields) = &entry.node.value else { return Err(wrong(entry, expected)) };
    match (field(fields, "ref"), field(fields, "mutex")) {
        (Some(Value::Text(condition)), Some(Value::Text(mutex))) => Ok((condition.clone(), mutex.clone())),
        _ => Err(wrong(entry, expected)),
    }
}

fn timer(entry: &Entry) -> Result<Event, RtAppError> {
    let expected = "an object with 'ref', 'period' and perhaps 'mode', relative or absolute";
    let Value::Object(fields) = &entry.node.value else { return Err(wrong(entry, expected)) };
    let Some(period) = fields.iter().find(|e| e.key == "period") else { return Err(wrong(entry, expected)) };
    let period = time(period, &period.node)?;
    let Some(Value::Text(reference)) = field(fields, "ref") else { return Err(wrong(entry, expected)) };
    let absolute = match field(fields, "mode") {
        None => false,
        Some(Value::Text(mode)) if mode == "relative" => false,
        Some(Value::Text(mode)) if mode == "absolute" => true,
        Some(_) => return Err(wrong(entry, expected)),
    };
    Ok(Event::Timer { reference: reference.clone(), period, absolute })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_name_events_by_their_beginning() {
        for (key, expected) in [
            ("run", Some("run")),
            ("run0", Some("run")),
            ("run_fast", Some("run")),
            ("runtime", Some("runtime")),
            ("runtime2", Some("runtime")),
            ("memrun", Some("memrun")),
            ("mem1", Some("mem")),
            ("lock1", Some("lock")),
            ("lock_order", None),
            ("unlock", Some("unlock")),
            ("sem_wait", Some("sem_wait")),
            ("wait12", Some("wait")),
            ("loop", None),
            ("loops", None),
            ("log_size", None),
            ("priority", None),
            ("suspend1", Some("suspend")),
        ] {
            assert_eq!(prefix(key), expected, "{key}");
        }
    }
}
