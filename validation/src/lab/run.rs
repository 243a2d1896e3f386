//! One plan on one real kernel, from the image to the capture.

use super::folder::{self, Origin};
use super::output::{Files, Progress};
use super::plan::Plan;
use super::qemu::{Boot, DEFAULT_QEMU, Qemu, SHARED_MIB};
use super::{LabError, guest, image, initramfs, program};
use serde::Deserialize;
use sim_core::kernel::PreemptModel;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The most of a console that is read, bytes.
const MAX_CONSOLE: u64 = 1 << 20;
/// How often a running guest is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// A guest that is done has so long to switch itself off.
const POWER_OFF: Duration = Duration::from_secs(5);

/// The tools, and how long a guest may take.
#[derive(Debug, Clone)]
pub struct Lab {
    /// QEMU's program.
    pub qemu: String,
    /// The C compiler's program.
    pub compiler: String,
    /// Time of the host after which a guest is killed.
    pub timeout: Duration,
    /// Seed of the emulator: on several CPUs another seed is another interleaving.
    pub seed: u32,
}

impl Default for Lab {
    fn default() -> Lab {
        let (qemu, compiler) = (DEFAULT_QEMU.to_owned(), guest::DEFAULT_COMPILER.to_owned());
        Lab { qemu, compiler, timeout: Duration::from_secs(600), seed: 1 }
    }
}

/// Where a capture goes: `folder` / `label` / `name`.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The folder of all captures.
    pub folder: &'a Path,
    /// What stands before the kernel's release in its folder's name, where two kernels may have the same.
    pub prefix: &'a str,
    /// Name of the scenario.
    pub name: &'a str,
}

/// What a guest left.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The capture's folder.
    pub capture: PathBuf,
    /// The kernel's version.
    pub kernel: String,
    /// QEMU's version.
    pub qemu: String,
    /// From one tick to the next, ns; 0 when the guest could not tell.
    pub tick_ns: u64,
    /// What the guest warned of.
    pub warnings: Vec<String>,
    /// How long it took on the host.
    pub took: Duration,
}

impl Lab {
    /// Boots `kernel`, runs the plan, and writes the capture. `say` is told what is being done.
    ///
    /// # Errors
    /// [`LabError`]: something is missing, the guest did not get to its end in time, or a setting did not take effect. Nothing
    /// is left behind then but an incomplete folder.
    pub fn run(
        &self,
        plan: &Plan,
        kernel: &Path,
        place: &Place<'_>,
        say: &dyn Fn(&str),
    ) -> Result<Ran, LabError> {
        let version = image::version(kernel)?;
        image::refuse_without_cfs(kernel, &version)?;
        let qemu = Qemu::find(&self.qemu, plan.cpus)?;
        let dir = tempfile::Builder::new()
            .prefix("cfsim-lab-")
            .tempdir()
            .map_err(LabError::io(std::env::temp_dir()))?;
        say("building the guest's driver");
        let driver = guest::build(&self.compiler, dir.path())?;
        let archive = initramfs::initramfs(&driver, program::program(plan).as_bytes())?;
        let path = dir.path().join("initramfs");
        std::fs::write(&path, archive).map_err(LabError::io(&path))?;
        say(&format!("booting {version}"));
        // Kernels that can choose obey; the settings read back tell.
        let preempt = plan.preempt.map(|p| format!("preempt={}", preempt_name(p)));
        let extra = preempt.as_deref();
        let boot = Boot { kernel, dir: dir.path(), cpus: plan.cpus, seed: self.seed, extra };
        let started = Instant::now();
        let mut guest = Guest::start(&qemu, &boot)?;
        let ended = guest.wait(self.timeout, dir, say)?;
        let console = guest.console();
        let progress = Progress::of(&console);
        let files = guest.files()?.filter(|_| progress.error.is_none());
        let files = files.ok_or_else(|| progress.failure(&console, &ended))?;
        files.check_settings()?;
        let lost = files.lost_events()?;
        if lost > 0 {
            return Err(LabError::Lost(lost));
        }
        let origin = Origin {
            kernel: kernel.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
            qemu: qemu.version.clone(),
            seed: self.seed,
        };
        let label = format!("{}{}", place.prefix, image::release(&version));
        let capture = folder::write(place.folder, &label, place.name, plan, &files, &origin)?;
        let (tick_ns, warnings) = (tick_ns(&files)?, progress.warnings);
        Ok(Ran { capture, kernel: version, qemu: qemu.version, tick_ns, warnings, took: started.elapsed() })
    }
}

/// What the driver saw of the kernel's tick.
fn tick_ns(files: &Files) -> Result<u64, LabError> {
    #[derive(Deserialize)]
    struct Tick {
        tick_ns: u64,
    }
    let text = files.text("result.json")?;
    let tick: Tick =
        serde_json::from_str(&text).map_err(|e| LabError::Output(format!("result.json: {e}")))?;
    Ok(tick.tick_ns)
}

/// A preemption model as kernels call it, as an argument (`preempt=`) and in debugfs.
pub fn preempt_name(preempt: PreemptModel) -> &'static str {
    match preempt {
        PreemptModel::None => "none",
        PreemptModel::Voluntary => "voluntary",
        PreemptModel::Full => "full",
    }
}

/// A running guest; killed when dropped.
struct Guest {
    child: Child,
    console: File,
    shared: File,
    complaints: File,
}

impl Guest {
    fn start(qemu: &Qemu, boot: &Boot<'_>) -> Result<Guest, LabError> {
        let create = |name: &str| {
            let path = boot.dir.join(name);
            let mut options = File::options();
            options.read(true).write(true).create(true).truncate(true).open(&path).map_err(LabError::io(path))
        };
        let (console, shared, complaints) = (create("console")?, create("shared")?, create("complaints")?);
        shared.set_len(SHARED_MIB << 20).map_err(LabError::io(boot.dir.join("shared")))?;
        let stderr = complaints.try_clone().map_err(LabError::io(boot.dir.join("complaints")))?;
        let mut command = qemu.command(boot);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).spawn();
        let child =
            child.map_err(|e| LabError::NoQemu { program: qemu.program.clone(), problem: e.to_string() })?;
        Ok(Guest { child, console, shared, complaints })
    }

    /// Waits for the guest's end, and says how it ended.
    fn wait(
        &mut self,
        timeout: Duration,
        dir: tempfile::TempDir,
        say: &dyn Fn(&str),
    ) -> Result<String, LabError> {
        let (started, mut done, mut dir, mut stage) = (Instant::now(), None, Some(dir), None);
        loop {
            let ended = self.child.try_wait().map_err(LabError::io("qemu"))?;
            if let Some(status) = ended {
                let said = self.complaint();
                return Ok(if status.success() {
                    format!("ended{said}")
                } else {
                    format!("ended with {status}{said}")
                });
            }
            let progress = Progress::of(&self.console());
            if progress.stage.is_some() {
                // All files are open by now: whatever ends this program, none stays behind.
                dir.take();
            }
            if progress.stage != stage {
                stage.clone_from(&progress.stage);
                say(&format!("the guest is at '{}'", stage.as_deref().unwrap_or_default()));
            }
            let since_done = progress.is_done().then(|| *done.get_or_insert_with(Instant::now));
            if since_done.is_some_and(|at| at.elapsed() > POWER_OFF) {
                return Ok("was done".to_owned());
            }
            if started.elapsed() > timeout {
                self.stop();
                return Ok(format!("was stopped after {} s (--timeout)", timeout.as_secs()));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What QEMU said itself, its warnings about processor features left out.
    fn complaint(&mut self) -> String {
        let text = read_text(&mut self.complaints);
        let lines: Vec<&str> = text.lines().filter(|l| !l.contains("warning:")).take(3).collect();
        if lines.is_empty() { String::new() } else { format!(" ({})", lines.join("; ")) }
    }

    fn console(&mut self) -> String {
        read_text(&mut self.console)
    }

    fn files(&mut self) -> Result<Option<Files>, LabError> {
        self.shared.seek(SeekFrom::Start(0)).map_err(LabError::io("shared"))?;
        Files::read(&self.shared, SHARED_MIB << 20)
    }

    fn stop(&mut self) {
        // Neither can fail for a child that is ours and not waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A file's text from its start, as far as it can be read.
fn read_text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MAX_CONSOLE).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
