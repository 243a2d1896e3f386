//! Streaming reader of ftrace text, plain or gzip.

use super::line::{Line, parse_line};
use super::{Interner, Trace};
use flate2::bufread::MultiGzDecoder;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};
use thiserror::Error;

/// What a trace may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// Text after decompression, bytes.
    pub bytes: u64,
    /// One line, bytes.
    pub line: usize,
    /// Events kept.
    pub events: usize,
}

impl Default for TraceLimits {
    /// 1 GiB of text, lines of 4 KiB, 20 million events: far above any capture, and still within a machine's memory.
    fn default() -> TraceLimits {
        TraceLimits { bytes: 1 << 30, line: 4096, events: 20_000_000 }
    }
}

/// What the reader passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadStats {
    /// Lines in all, comments included.
    pub lines: u64,
    /// Well-formed events of kinds that are not used.
    pub unknown: u64,
    /// Lines that are not ftrace text.
    pub malformed: u64,
    /// Number of the first malformed line, from 1.
    pub first_malformed: Option<u64>,
    /// The priority with which events last show each pid. The compact form leaves priorities out.
    pub prios: BTreeMap<u32, u32>,
    /// Where the numbers of events and lines begin to lie further apart: event, line.
    steps: Vec<(usize, u64)>,
}

impl ReadStats {
    /// The line, from 1, of an event, from 0.
    pub fn line_of(&self, event: usize) -> u64 {
        let after = self.steps.partition_point(|(e, _)| *e <= event);
        let (from, line) = after.checked_sub(1).map_or((0, 1), |i| self.steps[i]);
        line + (event - from) as u64
    }

    /// Notes that the event read next is on the present line.
    fn event(&mut self, index: usize) {
        if self.line_of(index) != self.lines {
            self.steps.push((index, self.lines));
        }
    }
}

/// Why a trace is refused.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The text cannot be read or decompressed.
    #[error("reading the trace: {0}")]
    Io(#[from] io::Error),
    /// More text than [`TraceLimits::bytes`].
    #[error("the trace is larger than {0} bytes")]
    TooLarge(u64),
    /// A line longer than [`TraceLimits::line`].
    #[error("line {line} is longer than {max} bytes")]
    LongLine {
        /// Its number, from 1.
        line: u64,
        /// Bytes allowed.
        max: usize,
    },
    /// More events than [`TraceLimits::events`].
    #[error("the trace has more than {0} events")]
    TooManyEvents(usize),
    /// Not one event that can be used.
    #[error(
        "the trace has no scheduler event ({malformed} lines are not ftrace text, the first is line {first})"
    )]
    Empty {
        /// Malformed lines.
        malformed: u64,
        /// The first of them; 0 when there is none.
        first: u64,
    },
}

/// Reads a whole trace; gzip is recognised by its magic bytes. Malformed lines are counted, not fatal.
///
/// # Errors
/// [`TraceError`] when reading fails, a limit is exceeded or there is no event at all.
pub fn read_trace(source: impl Read, limits: TraceLimits) -> Result<(Trace, ReadStats), TraceError> {
    let mut source = BufReader::new(source);
    if source.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        read_text(BufReader::new(MultiGzDecoder::new(source)), limits)
    } else {
        read_text(source, limits)
    }
}

fn read_text(mut text: impl BufRead, limits: TraceLimits) -> Result<(Trace, ReadStats), TraceError> {
    let (mut names, mut events, mut stats) = (Interner::default(), Vec::new(), ReadStats::default());
    let (mut bytes, mut raw) = (0, Vec::new());
    loop {
        raw.clear();
        let n = text.by_ref().take(limits.line as u64 + 2).read_until(b'\n', &mut raw)?;
        if n == 0 {
            break;
        }
        stats.lines += 1;
        bytes += n as u64;
        if bytes > limits.bytes {
            return Err(TraceError::TooLarge(limits.bytes));
        }
        if raw.last() == Some(&b'\n') {
            raw.pop();
        }
        if raw.len() > limits.line {
            return Err(TraceError::LongLine { line: stats.lines, max: limits.line });
        }
        // A comm is any bytes; what is not UTF-8 becomes replacement characters, the same every time.
        let line = String::from_utf8_lossy(&raw);
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        match parse_line(&line, &mut names) {
            Line::Event(_) if events.len() >= limits.events => {
                return Err(TraceError::TooManyEvents(limits.events));
            }
            Line::Event(event) => {
                stats.event(events.len());
                events.push(event);
            }
            Line::Unknown => stats.unknown += 1,
            Line::Malformed => {
                stats.malformed += 1;
                stats.first_malformed.get_or_insert(stats.lines);
            }
        }
    }
    if events.is_empty() {
        return Err(TraceError::Empty {
            malformed: stats.malformed,
            first: stats.first_malformed.unwrap_or(0),
        });
    }
    stats.prios = std::mem::take(&mut names.prios);
    Ok((Trace { tasks: names.into_tasks(), events }, stats))
}
