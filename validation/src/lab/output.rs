//! What a guest leaves: its console, and files in the memory it shares.
//!
//! The memory starts with `CFSIMLAB` and the length of what follows; then files, each a head line `NAME LENGTH` of `HEAD`
//! bytes and its bytes (`validation/lab/system.c`).

use super::LabError;
use std::collections::BTreeMap;
use std::io::Read;

/// Bytes of a file's head line.
const HEAD: usize = 64;
/// The most files.
const MAX_FILES: usize = 64;
const MAGIC: &[u8] = b"CFSIMLAB";
/// Lines of a console that are shown.
const TAIL: usize = 8;

/// The files of a guest by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Files(BTreeMap<String, Vec<u8>>);

impl Files {
    /// Reads the shared memory; `None` when the guest did not get to its end. No more than `limit` bytes are taken.
    ///
    /// # Errors
    /// [`LabError::Output`] when what is there is not of this form.
    pub fn read(mut source: impl Read, limit: u64) -> Result<Option<Files>, LabError> {
        let bad = |what: String| LabError::Output(what);
        let mut start = [0; 16];
        source.read_exact(&mut start).map_err(|e| bad(e.to_string()))?;
        let (magic, length) = start.split_at(8);
        if magic != MAGIC {
            return Ok(None);
        }
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        if length > limit {
            return Err(bad(format!("{length} bytes; allowed are {limit}")));
        }
        let mut rest = source.take(length);
        let mut files = BTreeMap::new();
        while rest.limit() > 0 {
            let (name, data) = read_file(&mut rest)?;
            files.insert(name, data);
            if files.len() > MAX_FILES {
                return Err(bad(format!("more than {MAX_FILES} files")));
            }
        }
        Ok(Some(Files(files)))
    }

    /// A file's bytes.
    ///
    /// # Errors
    /// [`LabError::Output`] when it is not there.
    pub fn bytes(&self, name: &str) -> Result<&[u8], LabError> {
        let file = self.0.get(name);
        file.map(Vec::as_slice).ok_or_else(|| LabError::Output(format!("there is no '{name}'")))
    }

    /// A file as text.
    ///
    /// # Errors
    /// As [`Files::bytes`].
    pub fn text(&self, name: &str) -> Result<String, LabError> {
        self.bytes(name).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// How many events the trace lost, by the buffers' own counts.
    ///
    /// # Errors
    /// As [`Files::bytes`].
    pub fn lost_events(&self) -> Result<u64, LabError> {
        let text = self.text("trace_stats")?;
        let count = |line: &str, key: &str| {
            let number = line.split_once(key)?.1.split_whitespace().next()?;
            number.parse::<u64>().ok()
        };
        let lost = |line: &str| {
            ["overrun: ", "dropped events: "].iter().filter_map(|key| count(line, key)).sum::<u64>()
        };
        Ok(text.lines().map(lost).sum())
    }

    /// Refuses settings that did not take effect: lines `NAME VALUE READ`.
    ///
    /// # Errors
    /// [`LabError::Setting`].
    pub fn check_settings(&self) -> Result<(), LabError> {
        let (applied, tunables) = (self.text("applied")?, self.text("tunables.txt")?);
        let words: Vec<&str> =
            tunables.lines().filter(|l| l.contains("features:")).flat_map(str::split_whitespace).collect();
        for line in applied.lines() {
            let mut parts = line.split_whitespace();
            let (Some(name), Some(wanted), Some(read)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let kept = if name == "features" { words.contains(&wanted) } else { read == wanted };
            if !kept {
                let found = match read {
                    "missing" => "has no such setting".to_owned(),
                    "refused" => "refuses that".to_owned(),
                    "written" => "has no such feature".to_owned(),
                    other => format!("keeps {other}"),
                };
                return Err(LabError::Setting { name: name.to_owned(), wanted: wanted.to_owned(), found });
            }
        }
        Ok(())
    }
}

fn read_file(source: &mut impl Read) -> Result<(String, Vec<u8>), LabError> {
    let bad = |what: String| LabError::Output(what);
    let mut head = [0; HEAD];
    source.read_exact(&mut head).map_err(|e| bad(e.to_string()))?;
    let head = String::from_utf8_lossy(&head);
    let mut words = head.split_whitespace();
    let parsed = words.next().zip(words.next().and_then(|n| n.parse::<u64>().ok()));
    let (name, size) =
        parsed.ok_or_else(|| bad(format!("'{}' is no file's head", head.trim().escape_default())))?;
    let mut data = Vec::new();
    source.take(size).read_to_end(&mut data).map_err(|e| bad(e.to_string()))?;
    if data.len() as u64 != size {
        return Err(bad(format!("'{name}' ends early")));
    }
    Ok((name.to_owned(), data))
}

/// What a console says of how far the guest is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The last stage the driver named: `up`, `run`, `ran`, `done`.
    pub stage: Option<String>,
    /// What the driver gave up for.
    pub error: Option<String>,
    /// What the driver warned of.
    pub warnings: Vec<String>,
    /// The kernel's own last words.
    pub panic: Option<String>,
}

impl Progress {
    /// Reads a console.
    pub fn of(console: &str) -> Progress {
        let mut progress = Progress::default();
        for line in console.lines().map(str::trim_end) {
            if let Some((_, said)) = line.split_once("cfsim-lab: ") {
                match said.split_once(": ") {
                    Some(("error", what)) => progress.error = Some(what.to_owned()),
                    Some(("warning", what)) => progress.warnings.push(what.to_owned()),
                    _ => progress.stage = Some(said.to_owned()),
                }
            } else if let Some((_, what)) = line.split_once("Kernel panic - not syncing: ") {
                progress.panic = Some(what.to_owned());
            }
        }
        progress
    }

    /// Whether the driver is done.
    pub fn is_done(&self) -> bool {
        self.stage.as_deref() == Some("done")
    }

    /// Why there is no output.
    pub fn failure(&self, console: &str, ended: &str) -> LabError {
        let what = match (&self.error, &self.panic, &self.stage) {
            (Some(error), ..) => format!("gave up: {error}"),
            (_, Some(panic), _) => format!("crashed: {panic}"),
            (_, _, Some(stage)) => format!("{ended} after '{stage}'"),
            (_, _, None) => {
                format!("{ended} before its first process started: is its serial console built in?")
            }
        };
        LabError::Guest { what, console: tail(console) }
    }
}

/// The last lines of a console, without control characters.
fn tail(console: &str) -> String {
    let lines: Vec<&str> = console.lines().filter(|l| !l.trim().is_empty()).collect();
    let from = lines.len().saturating_sub(TAIL);
    let plain = |line: &&str| line.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    lines[from..].iter().map(plain).map(|l| format!("  {l}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
