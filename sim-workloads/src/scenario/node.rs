//! The scenario as a tree of values that remember where they were written.

use super::error::{ErrorKind, Problem};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Deepest nesting of tables and lists: a loop in a program takes two levels, so programs nest about 30 deep.
pub(super) const MAX_DEPTH: usize = 64;

/// Where a value was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// Byte range of the file.
    File { start: usize, end: usize },
    /// One of the settings that override the file.
    Override(usize),
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) origin: Origin,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    String(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    Datetime,
    Array(Vec<Node>),
    Table(Vec<Entry>),
    /// The text of an override: its type is the one expected where it is read.
    Raw(String),
}

/// One key of a table. Tables keep the order of the file, which is the order of creation of tasks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) origin: Origin,
    pub(super) node: Node,
}

type Result<T> = std::result::Result<T, Box<Problem>>;

/// Parses a TOML document.
pub(super) fn parse(text: &str) -> Result<Node> {
    let table = DeTable::parse(text).map_err(|e| {
        let span = e.span().unwrap_or_default();
        let message = format!("not valid TOML: {}", e.message().trim());
        Problem::new(ErrorKind::Syntax, message).at(Origin::File { start: span.start, end: span.end })
    })?;
    let origin = Origin::File { start: 0, end: 0 };
    Ok(Node { origin, value: table_value(table.get_ref(), 1, None)? })
}

/// Parses a document of the program's own, all of whose values stand at `origin`.
pub(super) fn parse_at(text: &str, origin: Origin) -> Result<Node> {
    let table = DeTable::parse(text).map_err(|e| {
        Problem::new(ErrorKind::Syntax, format!("not valid TOML: {}", e.message().trim())).at(origin)
    })?;
    Ok(Node { origin, value: table_value(table.get_ref(), 1, Some(origin))? })
}

/// Parses the text of override `index` as a TOML value, if it is one.
pub(super) fn parse_override(text: &str, index: usize) -> Result<Option<Value>> {
    let document = format!("value = {text}");
    let Ok(table) = DeTable::parse(&document) else { return Ok(None) };
    let only = table.get_ref().iter().next().filter(|_| table.get_ref().len() == 1);
    only.map(|(_, v)| node(v, 1, Some(Origin::Override(index))).map(|n| n.value)).transpose()
}

/// Converts one value. `origin` replaces the span when the text is not the file.
fn node(value: &Spanned<DeValue<'_>>, depth: usize, origin: Option<Origin>) -> Result<Node> {
    let at = origin.unwrap_or(Origin::File { start: value.span().start, end: value.span().end });
    let converted = match value.get_ref() {
        _ if depth > MAX_DEPTH => {
            let message = format!("nested more than {MAX_DEPTH} deep");
            return Err(Problem::new(ErrorKind::Limit, message).at(at));
        }
        DeValue::String(s) => Value::String(s.to_string()),
        DeValue::Integer(i) => {
            let parsed = i64::from_str_radix(i.as_str(), i.radix());
            let too_large = |_| {
                Problem::new(
                    ErrorKind::BadValue,
                    format!("{i} is beyond whole numbers, which go up to {}", i64::MAX),
                )
                .at(at)
            };
            Value::Integer(parsed.map_err(too_large)?)
        }
        DeValue::Float(x) => {
            let bad = |_| Problem::new(ErrorKind::BadValue, format!("{} is not a number", x.as_str())).at(at);
            Value::Float(x.as_str().parse().map_err(bad)?)
        }
        DeValue::Boolean(b) => Value::Bool(*b),
        DeValue::Datetime(_) => Value::Datetime,
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| node(item, depth + 1, origin)).collect::<Result<_>>()?)
        }
        DeValue::Table(table) => table_value(table, depth + 1, origin)?,
    };
    Ok(Node { origin: at, value: converted })
}

fn table_value(table: &DeTable<'_>, depth: usize, origin: Option<Origin>) -> Result<Value> {
    // The parser sorts keys by name: put them back into the order they were written in.
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let at = origin.unwrap_or(Origin::File { start: key.span().start, end: key.span().end });
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        Ok(Entry { key: key.to_string(), origin: at, node: node(value, depth, origin)? })
    };
    Ok(Value::Table(entries.into_iter().map(entry).collect::<Result<_>>()?))
}

/// One step of the way to a value: a key of a table, or an index of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

impl From<&str> for Segment {
    fn from(key: &str) -> Segment {
        Segment::Key(key.to_owned())
    }
}
impl From<usize> for Segment {
    fn from(index: usize) -> Segment {
        Segment::Index(index)
    }
}

/// The origin of the value at `path`, or of the deepest value on the way that was written down.
pub(super) fn find(root: &Node, path: &[Segment]) -> Origin {
    let mut node = root;
    let mut origin = root.origin;
    for segment in path {
        let next = match (&node.value, segment) {
            (Value::Table(entries), Segment::Key(key)) => {
                entries.iter().find(|e| e.key == *key).map(|e| &e.node)
            }
            (Value::Array(items), Segment::Index(i)) => items.get(*i),
            (Value::Array(items), Segment::Key(i)) => i.parse().ok().and_then(|i: usize| items.get(i)),
            _ => None,
        };
        let Some(next) = next else { break };
        node = next;
        origin = node.origin;
    }
    origin
}
