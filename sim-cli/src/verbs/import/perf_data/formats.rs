//! The formats of tracepoints, which perf.data holds as the kernel prints them.

use std::collections::BTreeMap;
use std::fmt::Write;
use tracepoint_decode::{PerfByteReader, PerfEventFormat};

/// A tracepoint.
pub(super) struct Format(PerfEventFormat);

/// Reads bytes one after the other.
struct Bytes<'a> {
    left: &'a [u8],
    big_endian: bool,
}

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.left.split_at_checked(n)?;
        self.left = left;
        Some(taken)
    }

    fn number(&mut self, bytes: usize) -> Option<usize> {
        let taken = self.take(bytes)?;
        let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
        let n = if self.big_endian { taken.iter().fold(0, add) } else { taken.iter().rev().fold(0, add) };
        usize::try_from(n).ok()
    }

    /// Text up to a zero byte.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.left.iter().position(|b| *b == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// A block with its size before it.
    fn block(&mut self) -> Option<&'a [u8]> {
        let size = self.number(8)?;
        self.take(size)
    }
}

/// The scheduling events among the formats of a section with tracing data, by number.
///
/// Mirrors: `tracing_data_get()` of perf: magic, version, byte order, size of long, size of a page; two headers, formats of
/// ftrace's own events, and formats by system.
pub(super) fn formats(section: &[u8]) -> Option<BTreeMap<u16, Format>> {
    let mut bytes = Bytes { left: section, big_endian: false };
    (bytes.take(3)? == b"\x17\x08\x44" && bytes.take(7)? == b"tracing").then_some(())?;
    bytes.text()?;
    bytes.big_endian = bytes.number(1)? == 1;
    let long_is_64_bits = bytes.number(1)? == 8;
    bytes.number(4)?;
    for _ in ["header_page", "header_event"] {
        bytes.text()?;
        bytes.block()?;
    }
    for _ in 0..bytes.number(4)? {
        bytes.block()?;
    }
    let mut formats = BTreeMap::new();
    for _ in 0..bytes.number(4)? {
        let system = String::from_utf8_lossy(bytes.text()?);
        for _ in 0..bytes.number(4)? {
            let text = String::from_utf8_lossy(bytes.block()?);
            let format = PerfEventFormat::parse(long_is_64_bits, &system, &text);
            if let Some(format) = format.filter(|f| f.name().starts_with("sched_") || f.name() == "cpu_idle")
            {
                let id = u16::try_from(format.id()).ok();
                formats.extend(id.map(|id| (id, Format(format))));
            }
        }
    }
    Some(formats)
}

impl Format {
    pub(super) fn name(&self) -> &str {
        self.0.name()
    }

    /// Writes the fields of an event as `name=value`.
    pub(super) fn write(&self, raw: &[u8], big_endian: bool, out: &mut String) -> Option<()> {
        let reader = PerfByteReader::new(big_endian);
        for field in self.0.fields().iter().skip(self.0.common_field_count()) {
            let bytes = field.get_field_bytes(raw, reader)?;
            let space = if out.is_empty() { "" } else { " " };
            let _ = write!(out, "{space}{}=", printed(self.name(), field.name()));
            if field.field().contains("char ") {
                let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
                let text = String::from_utf8_lossy(&bytes[..end]);
                out.extend(text.chars().map(|c| if c.is_control() { '?' } else { c }));
            } else {
                let _ = write!(out, "{}", integer(bytes, big_endian, field.signed().unwrap_or(false))?);
            }
        }
        Some(())
    }
}

/// A field as the event's own text names it.
fn printed<'a>(event: &str, field: &'a str) -> &'a str {
    match (event, field) {
        ("sched_process_fork", "parent_comm") => "comm",
        ("sched_process_fork", "parent_pid") => "pid",
        _ => field,
    }
}

/// An integer of up to eight bytes.
fn integer(bytes: &[u8], big_endian: bool, signed: bool) -> Option<i128> {
    if bytes.is_empty() || bytes.len() > 8 {
        return None;
    }
    let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
    let n = if big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) };
    let unused = 64 - 8 * bytes.len() as u32;
    Some(if signed { i128::from(((n << unused) as i64) >> unused) } else { i128::from(n) })
}
