//! Other files in TOML, read with the care scenarios are read with: mistakes have a place, and names a suggestion.

use super::MAX_BYTES;
use super::de::NodeReader;
use super::error::{ErrorKind, Problem, ScenarioError, Source};
use super::node::{self, Node, Segment, Value};
use serde::de::DeserializeOwned;

/// A file read into a value, with its text for mistakes that are found later.
#[derive(Debug, Clone)]
pub struct TomlFile<T> {
    /// What the file says.
    pub value: T,
    root: Node,
    source: Source,
}

impl<T: DeserializeOwned> TomlFile<T> {
    /// Reads a file of at most [`MAX_BYTES`]. `file` names it in errors.
    ///
    /// # Errors
    /// When the text is not TOML, or not what `T` expects.
    pub fn parse(text: &str, file: &str) -> Result<TomlFile<T>, ScenarioError> {
        let source = Source { file: file.to_owned(), text: text.to_owned(), overrides: Vec::new() };
        let read = || -> Result<(Node, T), Box<Problem>> {
            check_size(text)?;
            let root = node::parse(text)?;
            let value = T::deserialize(NodeReader(&root)).map_err(|mistake| mistake.0)?;
            Ok((root, value))
        };
        match read() {
            Ok((root, value)) => Ok(TomlFile { value, root, source }),
            Err(problem) => Err(problem.locate(&source)),
        }
    }

    /// A mistake in the value at `path`; list elements are addressed by their index.
    pub fn error_at(&self, path: &[&str], message: impl Into<String>) -> ScenarioError {
        error_at(&self.root, &self.source, path, message.into())
    }
}

/// Whether the file has one of these keys at the top; a file that is not TOML has none.
pub fn has_top_key(text: &str, keys: &[&str]) -> bool {
    let root = check_size(text).and_then(|()| node::parse(text));
    let Ok(Node { value: Value::Table(entries), .. }) = root else { return false };
    entries.iter().any(|entry| keys.contains(&entry.key.as_str()))
}

pub(super) fn check_size(text: &str) -> Result<(), Box<Problem>> {
    let message = if text.len() > MAX_BYTES {
        format!("the file has {} bytes: at most {MAX_BYTES} are allowed", text.len())
    } else if text.len() > MAX_VALUES && values(text) > MAX_VALUES {
        format!("the file may hold more than {MAX_VALUES} values: a program as text is one")
    } else {
        return Ok(());
    };
    Err(Problem::new(ErrorKind::Limit, message))
}

/// The most values of a file. Values take far more memory than text does.
const MAX_VALUES: usize = 1 << 20;

/// No fewer than the values in a text: every one follows one of these, or is the first of the file.
fn values(text: &str) -> usize {
    text.bytes().filter(|b| b",=[{".contains(b)).count()
}

pub(super) fn error_at(root: &Node, source: &Source, path: &[&str], message: String) -> ScenarioError {
    let segments: Vec<Segment> = path.iter().map(|key| Segment::from(*key)).collect();
    Problem::new(ErrorKind::BadValue, message).at(node::find(root, &segments)).locate(source)
}
