//! `machine.preset`: a machine by name fills in what the scenario does not say of `[machine]` and `[costs]`.

use super::error::{ErrorKind, Problem};
use super::node::{self, Entry, Node, Value};
use crate::machines::MachineModel;

/// The tables that a machine fills in.
const TABLES: [&str; 3] = ["machine", "costs", UNCERTAIN];
/// The ranges of its values, of those that it fills in.
const UNCERTAIN: &str = "uncertain";
/// Two ways to say which CPUs there are: with either, the machine's own and what goes with it are left out.
const SHAPES: [&str; 2] = ["cpus", "topology"];
const GOES_WITH_SHAPE: [&str; 3] = ["topology", "capacity", "offline"];

/// Fills in the machine that `machine.preset` names, if it names one. A mistake in what comes of it stands at the name.
pub(super) fn expand(root: &mut Node) -> Result<(), Box<Problem>> {
    let Some(named) = get(root, "machine").and_then(|machine| get(machine, "preset")) else { return Ok(()) };
    let (Value::String(name) | Value::Raw(name)) = &named.value else { return Ok(()) };
    let origin = named.origin;
    let model = MachineModel::by_name(name)
        .map_err(|e| Problem::new(ErrorKind::UnknownName, e.to_string()).at(origin))?;
    let mut model = node::parse_at(&model.text, origin)?;
    if let Some(machine) = get(root, "machine")
        && SHAPES.iter().any(|key| get(machine, key).is_some())
    {
        remove(&mut model, "machine", &GOES_WITH_SHAPE);
    }
    keep_ranges(&mut model, |key| find(root, key).is_none());
    let Value::Table(entries) = model.value else { return Ok(()) };
    let (tables, _): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| TABLES.contains(&entry.key.as_str()));
    fill(root, tables);
    Ok(())
}

fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Value::Table(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
}

fn find<'a>(root: &'a Node, key: &str) -> Option<&'a Node> {
    key.split('.').try_fold(root, |node, part| get(node, part))
}

fn keep_ranges(model: &mut Node, keep: impl Fn(&str) -> bool) {
    let Value::Table(entries) = &mut model.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == UNCERTAIN) {
        if let Value::Table(ranges) = &mut entry.node.value {
            ranges.retain(|range| keep(&range.key));
        }
    }
}

fn remove(root: &mut Node, table: &str, keys: &[&str]) {
    let Value::Table(entries) = &mut root.value else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key == table) {
        if let Value::Table(inner) = &mut entry.node.value {
            inner.retain(|e| !keys.contains(&e.key.as_str()));
        }
    }
}

/// Adds entries that a table does not have, and goes on inside tables that both have.
fn fill(node: &mut Node, entries: Vec<Entry>) {
    let Value::Table(own) = &mut node.value else { return };
    for entry in entries {
        match own.iter_mut().find(|e| e.key == entry.key) {
            None => own.push(entry),
            Some(present) => {
                if let Value::Table(inner) = entry.node.value {
                    fill(&mut present.node, inner);
                }
            }
        }
    }
}
