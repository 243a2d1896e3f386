//! Captures of real kernels: one experiment each, read from the lab's folder or from the compact form kept here.

pub mod clock;
pub mod compact;
mod compact_trace;
pub mod error;
pub mod layout;
pub mod meta;
pub mod result;
pub mod schedstat;
pub mod spec;
pub mod trace;
pub mod tunables;

pub use clock::{TICK_NS, TraceClock};
pub use error::{CaptureError, Problem};

use layout::Layout;
use meta::Meta;
use result::RunResult;
use schedstat::parse_guest;
use spec::{Spec, parse_spec};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use trace::{ReadStats, Trace, TraceLimits, read_trace};
use tunables::{Tunables, parse_tunables};

/// The largest `meta.json`, `result.json` or `spec.wl` accepted, bytes. A result lists at most 8192 tasks.
const MAX_TEXT: u64 = 4 << 20;

/// Ending of a file in the compact form.
pub const COMPACT_SUFFIX: &str = ".capture.gz";

/// Which capture: `i-hogs/6.1/h2_n0_0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CaptureId {
    /// Kind of experiment, as the folder is called.
    pub kind: String,
    /// Kernel, as the folder is called.
    pub kernel: String,
    /// Name of the experiment.
    pub name: String,
}

impl CaptureId {
    /// From the last three parts of a path; parts that are not there are empty.
    pub fn from_path(path: &Path) -> CaptureId {
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let mut parts = absolute.components().rev().filter_map(|c| match c {
            std::path::Component::Normal(s) => Some(s.to_string_lossy().into_owned()),
            _ => None,
        });
        let name = parts.next().unwrap_or_default();
        let name = name.strip_suffix(COMPACT_SUFFIX).unwrap_or(&name).to_owned();
        CaptureId { name, kernel: parts.next().unwrap_or_default(), kind: parts.next().unwrap_or_default() }
    }
}

impl std::fmt::Display for CaptureId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.kind, self.kernel, self.name)
    }
}

/// One experiment on a real kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Which one.
    pub id: CaptureId,
    /// The workload as written.
    pub spec_text: String,
    /// The workload.
    pub spec: Spec,
    /// The settings as read back.
    pub tunables_text: String,
    /// The settings.
    pub tunables: Tunables,
    /// Kernel and machine.
    pub meta: Meta,
    /// Figures per task.
    pub result: RunResult,
    /// What the scheduler did.
    pub trace: Trace,
    /// What the reader of the trace passed over.
    pub trace_stats: ReadStats,
    /// T0 and the ticks on the trace's clock.
    pub clock: TraceClock,
}

/// The texts and the trace of a capture, before they are understood.
struct Parts {
    spec: String,
    tunables: String,
    meta: String,
    result: String,
    trace: Trace,
    stats: ReadStats,
    /// `_boot/domains.txt` beside a lab folder.
    domains: Option<String>,
    /// `guest.txt` of a lab folder.
    guest: Option<String>,
}

impl Capture {
    /// Reads a capture: the lab's folder (`spec.wl`, `tunables.txt`, `meta.json`, `result.json`, `trace.txt.gz` or
    /// `trace.txt`), or a file in the compact form.
    ///
    /// # Errors
    /// [`CaptureError`] names the file and what is wrong with it.
    pub fn load(path: &Path) -> Result<Capture, CaptureError> {
        let parts = if path.is_dir() { folder(path)? } else { compact_file(path)? };
        let at = |file: &str| if path.is_dir() { path.join(file) } else { path.to_path_buf() };
        Capture::from_parts(CaptureId::from_path(path), parts)
            .map_err(|(file, problem)| CaptureError { path: at(file), problem })
    }

    /// Reads the compact form of a capture from memory or a stream.
    ///
    /// # Errors
    /// [`Problem`] says what is wrong with the part it is in.
    pub fn read_compact(id: CaptureId, source: impl Read) -> Result<Capture, Problem> {
        Capture::from_parts(id, compact::decode(source)?).map_err(|(_, problem)| problem)
    }

    fn from_parts(id: CaptureId, parts: Parts) -> Result<Capture, (&'static str, Problem)> {
        let spec = parse_spec(&parts.spec).map_err(|e| ("spec.wl", e.into()))?;
        let tunables = parse_tunables(&parts.tunables).map_err(|e| ("tunables.txt", e.into()))?;
        let mut meta: Meta = serde_json::from_str(&parts.meta).map_err(|e| ("meta.json", e.into()))?;
        let mut result: RunResult =
            serde_json::from_str(&parts.result).map_err(|e| ("result.json", e.into()))?;
        let clock = TraceClock::find(&spec, &result, &parts.trace).map_err(|e| ("trace.txt", e.into()))?;
        if meta.smp > 1 {
            add_boot_files(&parts, &mut meta, &mut result)?;
        }
        let (spec_text, tunables_text) = (parts.spec, parts.tunables);
        let (trace, trace_stats) = (parts.trace, parts.stats);
        Ok(Capture { id, spec_text, spec, tunables_text, tunables, meta, result, trace, trace_stats, clock })
    }
}

/// What the lab's folders keep elsewhere for a machine with several CPUs; the compact form has it in place.
fn add_boot_files(
    parts: &Parts,
    meta: &mut Meta,
    result: &mut RunResult,
) -> Result<(), (&'static str, Problem)> {
    if let Some(text) = &parts.domains {
        meta.layout = Some(Layout::parse(text, meta.smp).map_err(|e| ("../_boot/domains.txt", e.into()))?);
    }
    if let Some(text) = &parts.guest {
        result.balance = parse_guest(text).map_err(|e| ("guest.txt", e.into()))?;
    }
    Ok(())
}

fn folder(dir: &Path) -> Result<Parts, CaptureError> {
    let text = |name: &str| {
        let path = dir.join(name);
        read_limited(&path).map_err(|problem| CaptureError { path, problem })
    };
    let text_if_there = |path: PathBuf| match path.exists() {
        true => read_limited(&path).map(Some).map_err(|problem| CaptureError { path, problem }),
        false => Ok(None),
    };
    let gz = dir.join("trace.txt.gz");
    let path = if gz.exists() { gz } else { dir.join("trace.txt") };
    let read = || Ok(read_trace(File::open(&path)?, TraceLimits::default())?);
    let (trace, stats) = read().map_err(|problem: Problem| CaptureError { path: path.clone(), problem })?;
    Ok(Parts {
        spec: text("spec.wl")?,
        tunables: text("tunables.txt")?,
        meta: text("meta.json")?,
        result: text("result.json")?,
        trace,
        stats,
        domains: text_if_there(dir.join("../_boot/domains.txt"))?,
        guest: text_if_there(dir.join("guest.txt"))?,
    })
}

fn compact_file(path: &Path) -> Result<Parts, CaptureError> {
    let read = || Ok(compact::decode(File::open(path)?)?);
    read().map_err(|problem: Problem| CaptureError { path: path.to_path_buf(), problem })
}

pub(crate) fn read_limited(path: &Path) -> Result<String, Problem> {
    let mut text = String::new();
    File::open(path)?.take(MAX_TEXT + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_TEXT { Err(Problem::TooLarge(MAX_TEXT)) } else { Ok(text) }
}

/// Every capture at or below a path, sorted: the lab's folders and files in the compact form. Symbolic links are not
/// followed, and nothing deeper than six folders is looked at.
///
/// # Errors
/// [`CaptureError`] when a folder cannot be listed.
pub fn find_captures(root: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let mut found = Vec::new();
    search(root, 6, &mut found).map_err(|e| CaptureError { path: root.to_path_buf(), problem: e.into() })?;
    found.sort();
    Ok(found)
}

fn search(path: &Path, depth: u32, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if path.is_file() {
        if path.to_string_lossy().ends_with(COMPACT_SUFFIX) {
            found.push(path.to_path_buf());
        }
        return Ok(());
    }
    if path.join("spec.wl").is_file() {
        found.push(path.to_path_buf());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if !entry.file_type()?.is_symlink() {
            search(&entry.path(), depth - 1, found)?;
        }
    }
    Ok(())
}
