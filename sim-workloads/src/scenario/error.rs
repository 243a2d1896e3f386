//! What is wrong with a scenario, and where.

use super::node::Origin;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt;
use thiserror::Error;

/// A mistake in a scenario: what was found, what is allowed, and where.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{place}: {message}{}", .help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default())]
pub struct ScenarioError {
    /// The sort of mistake.
    pub kind: ErrorKind,
    /// Where it is.
    pub place: Box<Place>,
    /// What was found and what is allowed.
    pub message: String,
    /// What to do about it, such as the name that was probably meant.
    pub help: Option<String>,
}

/// The sorts of mistakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Not TOML.
    Syntax,
    /// A key or a name nobody knows.
    UnknownName,
    /// A key that must be there is not.
    MissingKey,
    /// A value of the wrong type.
    WrongType,
    /// A value of the right type that is not allowed.
    BadValue,
    /// Larger or deeper than scenarios may be.
    Limit,
    /// Parts that contradict each other.
    Inconsistent,
}

/// Where a mistake is.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In the file.
    File {
        /// Name of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The line's text, cut to a readable length, and the byte range of the mistake in it.
        excerpt: (String, std::ops::Range<usize>),
    },
    /// In a setting that overrides the file (`--set key=value`).
    Override {
        /// Its key.
        key: String,
        /// Its value.
        value: String,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File { file, line, column, .. } => write!(f, "{file}:{line}:{column}"),
            Place::Override { key, value } => write!(f, "--set {key}={value}"),
        }
    }
}

impl ScenarioError {
    /// The mistake with its line and a caret under it, over several lines, in colour if `styled`.
    pub fn render(&self, styled: bool) -> String {
        let setting;
        let snippet = match &*self.place {
            Place::File { file, line, excerpt: (text, span), .. } => Snippet::source(text.as_str())
                .path(file.as_str())
                .line_start(*line)
                .annotation(AnnotationKind::Primary.span(span.clone())),
            Place::Override { key, value } => {
                setting = format!("--set {key}={value}");
                let start = "--set ".len();
                Snippet::source(setting.as_str())
                    .annotation(AnnotationKind::Primary.span(start..setting.len()))
            }
        };
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// The texts an [`Origin`] points into.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) file: String,
    pub(super) text: String,
    pub(super) overrides: Vec<(String, String)>,
}

/// Most names an error lists.
const LISTED: usize = 50;

/// Longest part of a line that an error carries, in bytes.
const EXCERPT: usize = 200;

impl Source {
    pub(super) fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::File { start, end } => self.file_place(start, end),
            Origin::Override(i) => {
                let (key, value) = &self.overrides[i];
                Place::Override { key: key.clone(), value: cut(value, EXCERPT).to_owned() }
            }
        }
    }

    fn file_place(&self, start: usize, end: usize) -> Place {
        let start = floor_boundary(&self.text, start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line = self.text[..start].matches('\n').count() + 1;
        let column = self.text[line_start..start].chars().count() + 1;
        let rest = self.text[line_start..].lines().next().unwrap_or_default();
        let offset = start - line_start;
        // Very long lines: keep what is around the mistake.
        let from = if offset > EXCERPT { floor_boundary(rest, offset - EXCERPT / 2) } else { 0 };
        let text = cut(&rest[from.min(rest.len())..], EXCERPT).to_owned();
        let a = (offset - from).min(text.len());
        let b = floor_boundary(&text, end.saturating_sub(line_start + from)).max(a);
        Place::File { file: self.file.clone(), line, column, excerpt: (text, a..b) }
    }
}

/// At most `max` bytes from the front of `text`.
fn cut(text: &str, max: usize) -> &str {
    &text[..floor_boundary(text, max)]
}

/// The largest character boundary that is not beyond `i`.
fn floor_boundary(text: &str, i: usize) -> usize {
    let i = i.min(text.len());
    (0..=i).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// A mistake before its place is known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Problem {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Where, once the innermost value that contains it is known.
    pub(super) at: Option<Origin>,
}

impl Problem {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem { kind, message: message.into(), help: None, at: None })
    }

    /// A name that is none of `allowed`, with the nearest one as a suggestion.
    pub(super) fn unknown(what: &str, found: &str, allowed: &[&str]) -> Box<Problem> {
        let list = match allowed {
            [] => "there is none".to_owned(),
            names if names.len() > LISTED => {
                format!("allowed are {} and {} more", names[..LISTED].join(", "), names.len() - LISTED)
            }
            names => format!("allowed are {}", names.join(", ")),
        };
        let message = format!("unknown {what} '{}': {list}", cut(found, 80));
        let mut problem = Problem::new(ErrorKind::UnknownName, message);
        problem.help = nearest(found, allowed).map(|name| format!("did you mean '{name}'?"));
        problem
    }

    /// Sets the place unless an inner value has set it.
    pub(super) fn at(mut self: Box<Self>, origin: Origin) -> Box<Self> {
        self.at.get_or_insert(origin);
        self
    }

    pub(super) fn locate(self, source: &Source) -> ScenarioError {
        let place = Box::new(source.place(self.at.unwrap_or(Origin::File { start: 0, end: 0 })));
        ScenarioError { kind: self.kind, place, message: self.message, help: self.help }
    }
}

/// The allowed name closest to `found`, if one is close enough to be a slip of the pen.
fn nearest<'a>(found: &str, allowed: &[&'a str]) -> Option<&'a str> {
    if found.len() > 80 {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(found, name);
    let (d, name) = allowed.iter().map(|name| (distance(name), *name)).min()?;
    (d <= (name.len() / 3).max(1) && d < name.len()).then_some(name)
}
