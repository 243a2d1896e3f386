//! Bytes to lines: what a file is packed in is taken off, and no line, however long, is held in memory beyond a limit.

use super::error::TraceError;
use crate::unpack::{Unpacked, unpack};
use flate2::bufread::ZlibDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// What the text of a trace is packed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Wrapping {
    /// Nothing.
    #[default]
    Plain,
    /// A web page as systrace and atrace write it: lines of a JavaScript string, or of a script element.
    Html,
    /// zlib behind `TRACE:`, as atrace sends it from a device.
    Atrace,
}

/// Files that are something else, by how they begin.
const OTHERS: &[(&[u8], &str)] = &[
    (b"PERFILE2", "a perf.data file, which is read from an unpacked file"),
    (
        b"2ELIFREP",
        "a perf.data file of another byte order: write it out with perf script where it was recorded",
    ),
    (b"\x17\x08\x44tracing", "a trace.dat file: write it out with trace-cmd report"),
    (b"\xfd7zXZ\0", "compressed with xz: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd: unpack it first"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\x7fELF", "a program"),
];

/// A trace's text, unpacked.
pub(super) struct Source<'a> {
    text: Box<dyn BufRead + 'a>,
    pub(super) wrapping: Wrapping,
    /// What it was packed with beside that.
    pub(super) packing: Option<&'static str>,
}

impl<'a> Source<'a> {
    /// Recognises what the bytes are packed in.
    pub(super) fn open(source: impl Read + 'a) -> Result<Source<'a>, TraceError> {
        let Unpacked { head, rest, packing } = unpack(source, HEAD)?;
        Source::unpacked(rest, &head, packing)
    }

    fn unpacked(
        source: impl BufRead + 'a,
        head: &[u8],
        packing: Option<&'static str>,
    ) -> Result<Source<'a>, TraceError> {
        if let Some((_, what)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            return Err(TraceError::NotATrace(what));
        }
        if head.get(257..262) == Some(b"ustar") {
            return Err(TraceError::NotATrace(
                "a tar archive: unpack it first (machines are read from archives of /sys)",
            ));
        }
        let text = String::from_utf8_lossy(head);
        if let Some(what) = other_output(&text) {
            return Err(TraceError::NotATrace(what));
        }
        if let Some(skip) = zlib_at(head) {
            let mut source = BufReader::new(source);
            io::copy(&mut source.by_ref().take(skip as u64), &mut io::sink())?;
            let text = Box::new(BufReader::new(ZlibDecoder::new(source)));
            return Ok(Source { text, wrapping: Wrapping::Atrace, packing });
        }
        let start = text.trim_start().to_ascii_lowercase();
        let html = ["<!doctype html", "<html", "<!--"].iter().any(|tag| start.starts_with(tag));
        let wrapping = if html { Wrapping::Html } else { Wrapping::Plain };
        Ok(Source { text: Box::new(source), wrapping, packing })
    }

    /// Reads the next line, of which at most `limit` bytes are kept, without its end. `None` at the end of the text.
    pub(super) fn line(&mut self, limit: usize, line: &mut Vec<u8>) -> io::Result<Option<Taken>> {
        line.clear();
        let mut bytes = 0;
        loop {
            let available = match self.text.fill_buf() {
                Ok(available) => available,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            let end = available.iter().position(|b| *b == b'\n');
            let taken = end.map_or(available.len(), |at| at + 1);
            let wanted = (limit + 1).saturating_sub(line.len()).min(end.unwrap_or(taken));
            line.extend_from_slice(&available[..wanted]);
            self.text.consume(taken);
            bytes += taken as u64;
            if end.is_some() || taken == 0 {
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                let long = line.len() > limit;
                return Ok((bytes > 0).then_some(Taken { bytes, long }));
            }
        }
    }
}

/// How much a line took.
pub(super) struct Taken {
    pub(super) bytes: u64,
    /// It was longer than the limit: what was kept is not all of it.
    pub(super) long: bool,
}

/// How much of a file is looked at to recognise it.
const HEAD: usize = 4096;

/// Where zlib data begins behind `TRACE:` and the end of its line, if it does.
fn zlib_at(head: &[u8]) -> Option<usize> {
    let at = head.windows(6).take(1024).position(|w| w == b"TRACE:")? + 6;
    let skip = head[at..].iter().take_while(|b| b"\r\n".contains(b)).count();
    (skip > 0 && head.get(at + skip) == Some(&0x78)).then_some(at + skip)
}

/// Output of other tools that holds no events, or not all that is needed.
fn other_output(text: &str) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().all(|word| text.contains(word));
    if has(&["wait time", "sch delay", "run time"]) {
        return Some(
            "output of perf sched timehist: it tells how long tasks ran and waited, not who was current and in what state tasks \
             left; write the events out with perf sched script",
        );
    }
    if has(&["Runtime ms", "Switches", "Maximum delay"]) || has(&["Runtime ms", "Switches", "Max delay"]) {
        return Some(
            "output of perf sched latency, which holds no events: write them out with perf sched script",
        );
    }
    None
}

/// Takes a line out of a web page: the backslashes at its end, and those before quotation marks.
pub(super) fn unwrap_html(line: &str) -> std::borrow::Cow<'_, str> {
    let line = line.strip_suffix('\\').map_or(line, |l| l.strip_suffix("\\n").unwrap_or(l));
    if line.contains('\\') { line.replace("\\\"", "\"").replace("\\\\", "\\").into() } else { line.into() }
}
