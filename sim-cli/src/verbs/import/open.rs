//! Opens a trace: text as it is, binary forms through what reads them.

use super::perf_data::PerfData;
use crate::failure::Failure;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

/// Beginnings of binary traces.
pub(super) const PERF_DATA: &[u8] = b"PERFILE2";
pub(super) const TRACE_DAT: &[u8] = b"\x17\x08\x44tracing";

/// How much is read to see whether a trace is binary.
const HEAD: u64 = 4 << 10;

/// The beginning of a file; `-` is standard input, of which the rest follows.
fn peek(file: &Path) -> Result<(Vec<u8>, Box<dyn Read>), Failure> {
    let failed = |source| Failure::Read { file: file.to_owned(), source };
    let mut source: Box<dyn Read> = match file.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(file).map_err(failed)?),
    };
    let mut head = Vec::new();
    source.by_ref().take(HEAD).read_to_end(&mut head).map_err(failed)?;
    Ok((head, source))
}

/// The text of a trace: that of the file, or what `trace-cmd report` or the reader of perf.data makes of it.
pub(super) fn open(file: &Path) -> Result<Box<dyn Read>, Failure> {
    let (head, rest) = peek(file)?;
    let binary = [(PERF_DATA, "perf.data"), (TRACE_DAT, "trace.dat")];
    let kind = binary.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
    if let Some(kind) = kind.filter(|_| !file.is_file()) {
        return Err(Failure::Usage(format!(
            "a {kind} file must be a file: it cannot be read from standard input or a pipe"
        )));
    }
    match kind {
        Some("perf.data") => {
            let failed = |source| Failure::Read { file: file.to_owned(), source };
            let opened = BufReader::new(File::open(file).map_err(failed)?);
            Ok(Box::new(PerfData::open(opened).map_err(failed)?))
        }
        Some(_) => Ok(Box::new(Report::start(file)?)),
        None => Ok(Box::new(Cursor::new(head).chain(rest))),
    }
}

/// `trace-cmd report` at work.
struct Report {
    child: Child,
    text: ChildStdout,
}

impl Report {
    fn start(file: &Path) -> Result<Report, Failure> {
        let missing = |e: io::Error| {
            Failure::Environment(format!(
                "{} is a trace.dat file, which trace-cmd reads, and trace-cmd cannot be run ({e}): install it, or write the text \
                 with `trace-cmd report -t` where it is",
                file.display()
            ))
        };
        let mut command = Command::new("trace-cmd");
        command
            .args(["report", "-t", "-i"])
            .arg(file)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(missing)?;
        let text = child.stdout.take().ok_or_else(|| missing(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Report { child, text })
    }
}

impl Read for Report {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            let status = self.child.wait()?;
            if !status.success() {
                return Err(io::Error::other(format!("trace-cmd report failed: {status}")));
            }
        }
        Ok(read)
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        // It may still write when nobody reads any more; what it says then does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
