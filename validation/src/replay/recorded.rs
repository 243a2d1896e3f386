//! A recorded trace with what is known of the machine it was recorded on.

use super::schedule::{At, Measures, What, measure};
use crate::capture::layout::Layout;
use crate::capture::meta::Meta;
use crate::capture::trace::{Trace, TraceEvent, TraceKind, TraceLimits, read_trace};
use crate::capture::tunables::{Tunables, parse_tunables};
use crate::capture::{CaptureError, CaptureId, Problem, read_limited};
use std::path::{Path, PathBuf};

/// A trace, and the kernel and machine it was recorded on. What the tasks were meant to do is not looked at.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// Kind, kernel and name.
    pub id: CaptureId,
    /// Kernel and machine.
    pub meta: Meta,
    /// The settings as read back.
    pub tunables: Tunables,
    /// The trace as it is in the file.
    pub bytes: Vec<u8>,
    trace: Trace,
    /// Whether tasks are in groups.
    pub groups: bool,
}

/// The largest trace file that is replayed, bytes.
const MAX_TRACE: u64 = 64 << 20;

/// The folder's files that hold a trace, either of them.
const TRACES: [&str; 2] = ["trace.txt.gz", "trace.txt"];

impl Recorded {
    /// Reads `trace.txt.gz` or `trace.txt`, `meta.json` and `tunables.txt` of a folder, and `../_boot/domains.txt` where there
    /// are several CPUs.
    ///
    /// # Errors
    /// [`CaptureError`] names the file and what is wrong with it.
    pub fn load(dir: &Path) -> Result<Recorded, CaptureError> {
        let at = |path: PathBuf| move |problem: Problem| CaptureError { path, problem };
        let text = |path: PathBuf| read_limited(&path).map_err(at(path));
        let meta_path = dir.join("meta.json");
        let parse = |text: String| Ok(serde_json::from_str::<Meta>(&text)?);
        let mut meta = parse(text(meta_path.clone())?).map_err(at(meta_path))?;
        if meta.smp > 1 {
            let domains = dir.join("../_boot/domains.txt");
            let layout = Layout::parse(&text(domains.clone())?, meta.smp);
            meta.layout = Some(layout.map_err(|e| at(domains)(e.into()))?);
        }
        let tunables_path = dir.join("tunables.txt");
        let tunables =
            parse_tunables(&text(tunables_path.clone())?).map_err(|e| at(tunables_path)(e.into()))?;
        let path = trace_of(dir).unwrap_or_else(|| dir.join(TRACES[0]));
        let read = || -> Result<_, Problem> {
            let mut bytes = Vec::new();
            let file = std::fs::File::open(&path)?;
            if file.metadata()?.len() > MAX_TRACE {
                return Err(Problem::TooLarge(MAX_TRACE));
            }
            std::io::Read::read_to_end(&mut std::io::Read::take(file, MAX_TRACE), &mut bytes)?;
            let (trace, _) = read_trace(bytes.as_slice(), TraceLimits::default())?;
            Ok((bytes, trace))
        };
        let (bytes, trace) = read().map_err(at(path.clone()))?;
        let id = CaptureId::from_path(dir);
        let groups = read_limited(&dir.join("spec.wl"))
            .is_ok_and(|spec| spec.lines().any(|l| l.starts_with("group ")));
        Ok(Recorded { id, meta, tunables, bytes, trace, groups })
    }

    /// The captured kernels' tick frequency.
    pub(super) fn hz(&self) -> u32 {
        (1_000_000_000 / crate::capture::TICK_NS) as u32
    }

    /// What was recorded.
    pub(super) fn measures(&self) -> Measures {
        let pid = |task| self.trace.pid(task);
        let events: Vec<At> = self
            .trace
            .events
            .iter()
            .filter_map(|e| {
                let what = match e.kind {
                    TraceKind::Switch { prev, next, .. } => What::Switch { prev: pid(prev), next: pid(next) },
                    TraceKind::Wakeup { task, .. } => What::Wake { task: pid(task) },
                    _ => return None,
                };
                Some(At { ns: e.at_ns, cpu: e.cpu, what })
            })
            .collect();
        // As the import has it: what idle CPUs do begins nothing.
        let first = self
            .trace
            .events
            .iter()
            .find(|e| !matches!(e.kind, TraceKind::Idle(_) | TraceKind::StatRuntime { .. }));
        let ends = |e: Option<&TraceEvent>| e.map_or(0, |e| e.at_ns);
        measure(&events, ends(first), ends(self.trace.events.last()))
    }
}

fn trace_of(dir: &Path) -> Option<PathBuf> {
    TRACES.iter().map(|name| dir.join(name)).find(|path| path.is_file())
}

/// Every folder at or below a path that holds a trace and says of what kernel, sorted. Symbolic links are not followed, and
/// nothing deeper than six folders is looked at.
///
/// # Errors
/// [`CaptureError`] when a folder cannot be listed.
pub fn find_recorded(root: &Path) -> Result<Vec<PathBuf>, CaptureError> {
    let mut found = Vec::new();
    search(root, 6, &mut found).map_err(|e| CaptureError { path: root.to_path_buf(), problem: e.into() })?;
    found.sort();
    Ok(found)
}

fn search(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if dir.join("meta.json").is_file() && trace_of(dir).is_some() {
        found.push(dir.to_path_buf());
        return Ok(());
    }
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() && depth > 0 {
            search(&entry.path(), depth - 1, found)?;
        }
    }
    Ok(())
}
