//! The compact form of a capture: one gzip file of text with everything the comparison uses.
//!
//! ```text
//! cfsim-capture 1
//! @meta N        then N lines: meta.json, only the fields of Meta
//! @spec N        then N lines: spec.wl
//! @tunables N    then N lines: tunables.txt
//! @result N      then N lines: result.json, only the fields of RunResult
//! @trace N       then N lines, see below
//! ```
//! A trace line is a task, `t PID COMM`, numbered from 0 in order, or an event, `DT CPU CURRENT FLAGS KIND…`: DT the ns
//! since the event before (`123u` is 123 µs), CURRENT and other tasks by number, FLAGS ftrace's column, KIND one of
//! `s PREV STATE NEXT`, `w TASK CPU` (`n` for a first wake-up), `m TASK FROM TO`, `f PARENT CHILD`, `e`, `x TASK`,
//! `r TASK RUNTIME VRUNTIME`, `i STATE` or `i -`. No event of the readable kinds is dropped.
//!
//! The same capture gives the same bytes: the gzip header has no time and no name.

use super::compact_trace::{decode_trace, encode_trace};
use super::trace::{ReadStats, TraceLimits};
use super::{COMPACT_SUFFIX, Capture, CaptureError, Parts, Problem};
use flate2::bufread::GzDecoder;
use flate2::{Compression, GzBuilder};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

const MAGIC: &str = "cfsim-capture 1";
const SECTIONS: [&str; 5] = ["meta", "spec", "tunables", "result", "trace"];
/// Text of a compact capture after decompression, bytes.
const MAX_BYTES: u64 = 512 << 20;

/// Why a compact capture is refused.
#[derive(Debug, Error)]
pub enum CompactError {
    /// It cannot be read or decompressed.
    #[error("reading the compact capture: {0}")]
    Io(#[from] io::Error),
    /// More text than allowed.
    #[error("the capture is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// Not this format, or another version of it.
    #[error("the first line is not '{MAGIC}'")]
    Magic,
    /// A section that should start here does not, or ends early.
    #[error("line {line}: the section '@{section} LINES' is missing or cut short")]
    Section {
        /// Line number, from 1.
        line: usize,
        /// Which section.
        section: &'static str,
    },
    /// A trace line that cannot be understood.
    #[error("line {line} of the trace section is not valid")]
    Trace {
        /// Line number within the section, from 1.
        line: usize,
    },
}

/// Reads the capture at `dir` and writes its compact form into `out/KIND/KERNEL/NAME.capture.gz`; returns that path.
///
/// # Errors
/// [`CaptureError`] when the capture cannot be read or the file cannot be written.
pub fn compact(dir: &Path, out: &Path) -> Result<PathBuf, CaptureError> {
    let capture = Capture::load(dir)?;
    let folder = out.join(&capture.id.kind).join(&capture.id.kernel);
    let path = folder.join(format!("{}{COMPACT_SUFFIX}", capture.id.name));
    let write = || {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(&path, encode(&capture)?)?;
        Ok(())
    };
    write().map_err(|problem: Problem| CaptureError { path: path.clone(), problem })?;
    Ok(path)
}

/// The bytes of a capture's compact form.
///
/// # Errors
/// [`Problem::Json`] or [`Problem::Io`]; neither can come from a capture that was read.
pub fn encode(capture: &Capture) -> Result<Vec<u8>, Problem> {
    let mut text = format!("{MAGIC}\n");
    let sections = [
        serde_json::to_string(&capture.meta)?,
        capture.spec_text.clone(),
        capture.tunables_text.clone(),
        serde_json::to_string(&capture.result)?,
        encode_trace(&capture.trace),
    ];
    for (name, section) in SECTIONS.iter().zip(sections) {
        let lines = section.lines().count();
        text += &format!("@{name} {lines}\n");
        section.lines().for_each(|line| text.extend([line, "\n"]));
    }
    let mut gz = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    gz.write_all(text.as_bytes())?;
    Ok(gz.finish()?)
}

pub(super) fn decode(source: impl Read) -> Result<Parts, CompactError> {
    let mut text = String::new();
    GzDecoder::new(BufReader::new(source)).take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(CompactError::TooLarge);
    }
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(MAGIC) {
        return Err(CompactError::Magic);
    }
    let mut section = |name: &'static str| section(&mut lines, name);
    let [meta, spec, tunables, result] =
        [section("meta")?, section("spec")?, section("tunables")?, section("result")?];
    let trace = decode_trace(&section("trace")?, TraceLimits::default())?;
    let join = |lines: Vec<&str>| lines.iter().flat_map(|l| [l, "\n"]).collect::<String>();
    Ok(Parts {
        spec: join(spec),
        tunables: join(tunables),
        meta: join(meta),
        result: join(result),
        trace,
        stats: ReadStats::default(),
        domains: None,
        guest: None,
    })
}

fn section<'a>(
    lines: &mut impl Iterator<Item = (usize, &'a str)>,
    section: &'static str,
) -> Result<Vec<&'a str>, CompactError> {
    let Some((i, head)) = lines.next() else { return Err(CompactError::Section { line: 0, section }) };
    let count = head
        .strip_prefix('@')
        .and_then(|h| h.strip_prefix(section))
        .and_then(|n| n.trim().parse::<usize>().ok());
    let missing = CompactError::Section { line: i + 1, section };
    let Some(count) = count else { return Err(missing) };
    let body: Vec<&str> = lines.take(count).map(|(_, line)| line).collect();
    if body.len() == count { Ok(body) } else { Err(missing) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::find_captures;
    use proptest::prelude::*;

    fn kept() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
    }

    #[test]
    fn kept_captures_load_and_encode_to_the_same_text() {
        let paths = find_captures(&kept()).unwrap();
        assert!(paths.len() >= 100, "{}", paths.len());
        for path in paths {
            let capture = Capture::load(&path).unwrap();
            let again = decode(&encode(&capture).unwrap()[..]).unwrap();
            assert_eq!(Capture::from_parts(capture.id.clone(), again).unwrap(), capture);
            assert!(capture.meta.profile().is_ok() && capture.clock.tick_phase_ns.is_some(), "{path:?}");
            // Tasks with a start after a busy T0 are woken at most a few wake-ups after their timer; on several CPUs the
            // emulator's turns come in between.
            let allowed = if capture.meta.smp == 1 { 40_000 } else { 500_000 };
            assert!(capture.clock.spread_ns < allowed, "{path:?}: {}", capture.clock.spread_ns);
        }
    }

    #[test]
    fn same_bytes_every_time() {
        let path = find_captures(&kept()).unwrap().remove(0);
        let capture = Capture::load(&path).unwrap();
        assert_eq!(encode(&capture).unwrap(), encode(&capture).unwrap());
        assert_eq!(encode(&capture).unwrap()[4..8], [0; 4]);
    }

    #[test]
    fn refuses_what_is_not_a_capture() {
        let gz = |text: &str| {
            let mut gz = GzBuilder::new().write(Vec::new(), Compression::fast());
            gz.write_all(text.as_bytes()).unwrap();
            decode(&gz.finish().unwrap()[..]).err().unwrap()
        };
        assert!(matches!(gz("other\n"), CompactError::Magic));
        assert!(matches!(
            gz("cfsim-capture 1\n@spec 0\n"),
            CompactError::Section { line: 2, section: "meta" }
        ));
        assert!(matches!(gz("cfsim-capture 1\n@meta 9\n{}\n"), CompactError::Section { line: 2, .. }));
        assert!(matches!(decode(&b"plain"[..]), Err(CompactError::Io(_))));
        let head = "cfsim-capture 1\n@meta 0\n@spec 0\n@tunables 0\n@result 0\n";
        assert!(matches!(
            gz(&format!("{head}@trace 2\nt 1 a\n5 0 1 d... s 0 R 0\n")),
            CompactError::Trace { line: 2 }
        ));
    }

    proptest! {
        #[test]
        fn never_panics(lines in proptest::collection::vec("(t 1 a|[0-9]{1,25}u? 0 0 d\\.\\.\\. (s 0 R 0|i -|w 0 0|r 0 1 2)|.{0,9})", 0..8)) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let _ = decode_trace(&lines, TraceLimits::default());
        }
    }
}
