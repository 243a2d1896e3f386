//! perf.data with scheduling tracepoints, read as the text that `perf script` would write, with the context it leaves out.

mod formats;

use formats::{Format, formats};
use linux_perf_data::linux_perf_event_reader::{Endianness, EventRecord, SampleRecord};
use linux_perf_data::{Feature, PerfFile, PerfFileReader, PerfFileRecord, PerfRecordIter};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{self, Read, Seek};

/// A perf.data file as text, made as it is read.
pub(super) struct PerfData<R: Read> {
    file: PerfFile,
    records: PerfRecordIter<R>,
    formats: BTreeMap<u16, Format>,
    big_endian: bool,
    line: String,
    at: usize,
}

fn invalid(e: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("perf.data: {e}"))
}

impl<R: Read + Seek> PerfData<R> {
    /// Reads the head of the file.
    pub(super) fn open(file: R) -> io::Result<PerfData<R>> {
        let PerfFileReader { perf_file: file, record_iter: records } =
            PerfFileReader::parse_file(file).map_err(invalid)?;
        let big_endian = file.endian() == Endianness::BigEndian;
        let tracing = file.feature_section_data(Feature::TRACING_DATA);
        let tracing = tracing.ok_or_else(|| {
            invalid("no tracepoints in it: record sched:sched_switch and others with perf record -e or perf sched record")
        })?;
        let formats =
            formats(tracing).ok_or_else(|| invalid("the formats of its tracepoints are cut off"))?;
        Ok(PerfData { file, records, formats, big_endian, line: String::new(), at: 0 })
    }
}

impl<R: Read> PerfData<R> {
    /// Makes the next line; false at the end.
    fn advance(&mut self) -> io::Result<bool> {
        self.line.clear();
        self.at = 0;
        let Some(record) = self.records.next_record(&mut self.file).map_err(invalid)? else {
            return Ok(false);
        };
        let PerfFileRecord::EventRecord { record, .. } = record else { return Ok(true) };
        let cpu = record.common_data().ok().and_then(|common| common.cpu);
        match record.parse().map_err(invalid)? {
            EventRecord::Sample(sample) => {
                // Records of events that are no tracepoints make no line.
                let _ = sample_line(&sample, &self.formats, self.big_endian, &mut self.line);
            }
            EventRecord::Lost(lost) => {
                let cpu = cpu.map_or(String::new(), |cpu| cpu.to_string());
                let _ = writeln!(self.line, "CPU:{cpu} [LOST {} EVENTS]", lost.count);
            }
            _ => {}
        }
        Ok(true)
    }
}

/// `comm-tid [cpu] flags seconds: event: fields`.
fn sample_line(
    sample: &SampleRecord<'_>,
    formats: &BTreeMap<u16, Format>,
    big_endian: bool,
    line: &mut String,
) -> Option<()> {
    let raw = sample.raw?;
    let raw = raw.as_slice();
    let id = <[u8; 2]>::try_from(raw.get(..2)?).ok()?;
    let id = if big_endian { u16::from_be_bytes(id) } else { u16::from_le_bytes(id) };
    let format = formats.get(&id)?;
    let (cpu, ns, tid) = (sample.cpu?, sample.timestamp?, u32::try_from(sample.tid?).ok()?);
    let flags = flags(*raw.get(2)?, *raw.get(3)?);
    let mut text = String::new();
    format.write(&raw, big_endian, &mut text)?;
    let (s, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    // The sample does not name the task; events do.
    writeln!(line, "<...>-{tid} [{cpu:03}] {flags} {s}.{ns:09}: {}: {text}", format.name()).ok()
}

/// `common_flags` and `common_preempt_count` as ftrace prints them.
///
/// Mirrors: `trace_print_lat_fmt()`: interrupts off 1, need_resched 4, hard interrupt 8, softirq 16.
fn flags(bits: u8, preempt: u8) -> String {
    let has = |bit: u8| bits & bit != 0;
    let irqs = if has(1) { 'd' } else { '.' };
    let resched = if has(4) { 'N' } else { '.' };
    let context = match (has(8), has(16)) {
        (true, true) => 'H',
        (true, false) => 'h',
        (false, true) => 's',
        (false, false) => '.',
    };
    let depth = match preempt & 15 {
        0 => '.',
        depth => char::from_digit(u32::from(depth), 16).unwrap_or('.'),
    };
    [irqs, resched, context, depth].iter().collect()
}

impl<R: Read> Read for PerfData<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.line.len() {
            if !self.advance()? {
                return Ok(0);
            }
        }
        let left = &self.line.as_bytes()[self.at..];
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_workloads::recorded::{Form, Limits, Part, summarize};

    /// Recorded with `perf record -e sched:sched_switch,sched:sched_wakeup,… -a`, a fifth of a second.
    const RECORDED: &[u8] = include_bytes!("../../../../tests/data/sched.perf.data");

    #[test]
    fn a_recorded_file_says_what_perf_script_says_of_it() {
        let data = PerfData::open(io::Cursor::new(RECORDED)).expect("it is a perf.data file");
        let summary = summarize(data, &Limits::default(), Part::default()).expect("it has events");
        let script = include_bytes!("../../../../tests/data/sched.perf-script.txt").as_slice();
        let script = summarize(script, &Limits::default(), Part::default()).expect("it has events");
        assert_eq!(summary.stats.form, Form::Ftrace);
        assert_eq!((summary.stats.malformed, summary.stats.incomplete), (0, 0));
        assert_eq!(summary.stats.events, script.stats.events);
        assert_eq!((summary.switches, &summary.cpus), (script.switches, &script.cpus));
        // Stamps of perf script are microseconds.
        let of = |s: &sim_workloads::recorded::Summary| {
            s.tasks.iter().map(|t| (t.pid, (t.voluntary, t.involuntary))).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(of(&summary), of(&script));
    }

    #[test]
    fn what_is_cut_off_or_no_such_file_is_refused() {
        for end in (0..RECORDED.len()).step_by(997) {
            if let Ok(data) = PerfData::open(io::Cursor::new(&RECORDED[..end])) {
                let _ = summarize(data, &Limits::default(), Part::default());
            }
        }
        assert!(PerfData::open(io::Cursor::new(b"PERFILE2".as_slice())).is_err());
    }
}
