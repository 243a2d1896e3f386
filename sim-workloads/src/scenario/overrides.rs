//! Settings that override the file: `--set kernel.sched_wakeup_granularity_ns=15ms`.

use super::error::{ErrorKind, Problem};
use super::node::{Entry, Node, Origin, Value};

/// The most settings one scenario takes.
pub(super) const MAX_OVERRIDES: usize = 1_000;

/// Tables whose keys are names chosen in the file: a setting may change an entry, and must not invent one.
const NAMED: &[&str] =
    &["task", "group", "session", "workload", "pipes", "semaphores", "mutexes", "barriers", "job_servers"];

/// Puts setting `index` into the tree. Its value stays text until it is read, when the expected type is known.
pub(super) fn apply(root: &mut Node, index: usize, key: &str, value: &str) -> Result<(), Box<Problem>> {
    let origin = Origin::Override(index);
    let segments: Vec<&str> = key.split('.').collect();
    if segments.iter().any(|s| s.is_empty()) {
        let message = format!("'{key:.80}' is not a key: write names joined by dots, like kernel.hz");
        return Err(Problem::new(ErrorKind::BadValue, message).at(origin));
    }
    let named = segments.len() > 1 && NAMED.contains(&segments[0]);
    let mut node = root;
    for (depth, segment) in segments.iter().enumerate() {
        let invent = !(named && depth == 1);
        node = step(node, segment, &segments[..depth], invent, origin).map_err(|p| p.at(origin))?;
    }
    *node = Node { origin, value: Value::Raw(value.to_owned()) };
    Ok(())
}

/// The node under `segment`, created as an empty table if it may be.
fn step<'a>(
    node: &'a mut Node,
    segment: &str,
    before: &[&str],
    invent: bool,
    origin: Origin,
) -> Result<&'a mut Node, Box<Problem>> {
    match &mut node.value {
        Value::Table(entries) => {
            let position = match entries.iter().position(|e| e.key == segment) {
                Some(position) => position,
                None if invent => {
                    let node = Node { origin, value: Value::Table(Vec::new()) };
                    entries.push(Entry { key: segment.to_owned(), origin, node });
                    entries.len() - 1
                }
                None => {
                    let names: Vec<&str> = entries.iter().map(|e| e.key.as_str()).collect();
                    let what = before.first().map_or("table", |table| table);
                    return Err(Problem::unknown(what, segment, &names));
                }
            };
            Ok(&mut entries[position].node)
        }
        Value::Array(items) => {
            let length = items.len();
            let index = segment.parse::<usize>().ok().filter(|i| *i < length);
            index.map(|i| &mut items[i]).ok_or_else(|| {
                let message =
                    format!("'{segment}' is not an element of {}: it has {length}", before.join("."));
                Problem::new(ErrorKind::BadValue, message)
            })
        }
        _ => {
            let message = format!("{} is a value, it has no key '{segment}'", before.join("."));
            Err(Problem::new(ErrorKind::WrongType, message))
        }
    }
}
