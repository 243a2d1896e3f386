//! A guest's output as a capture's folder, as [`crate::capture::Capture::load`] reads it.

use super::LabError;
use super::output::Files;
use super::plan::Plan;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where a capture comes from, beside what the guest says itself.
#[derive(Debug, Clone)]
pub struct Origin {
    /// File name of the kernel image.
    pub kernel: String,
    /// QEMU's version.
    pub qemu: String,
    /// Seed of the emulator.
    pub seed: u32,
}

/// Writes `folder` / `label` / `name`, and beside it `_boot` with how the CPUs hang together.
///
/// # Errors
/// [`LabError::Output`] when the guest left a file out, [`LabError::Io`] when one cannot be written.
pub fn write(
    folder: &Path,
    label: &str,
    name: &str,
    plan: &Plan,
    files: &Files,
    origin: &Origin,
) -> Result<PathBuf, LabError> {
    let above = folder.join(label);
    let (dir, boot) = (above.join(file_name(name)), above.join("_boot"));
    for dir in [&dir, &boot] {
        std::fs::create_dir_all(dir).map_err(LabError::io(dir))?;
    }
    let write = |path: PathBuf, bytes: &[u8]| std::fs::write(&path, bytes).map_err(LabError::io(path));
    write(boot.join("domains.txt"), files.bytes("domains.txt")?)?;
    write(dir.join("spec.wl"), plan.spec_text.as_bytes())?;
    for file in ["tunables.txt", "result.json"] {
        write(dir.join(file), files.bytes(file)?)?;
    }
    let part = |file: &str| Ok::<_, LabError>(format!("== {file}\n{}", files.text(file)?));
    let guest = part("schedstat.before")? + &part("schedstat.after")? + &part("applied")?;
    write(dir.join("guest.txt"), guest.as_bytes())?;
    write(dir.join("meta.json"), meta(plan, files, origin)?.as_bytes())?;
    let path = dir.join("trace.txt.gz");
    let trace = files.bytes("trace.txt")?;
    let pack = || {
        let mut packed = GzEncoder::new(File::create(&path)?, Compression::default());
        packed.write_all(trace)?;
        packed.finish().map(|_| ())
    };
    pack().map_err(LabError::io(&path))?;
    Ok(dir)
}

fn meta(plan: &Plan, files: &Files, origin: &Origin) -> Result<String, LabError> {
    let meta = json!({
        "kernel": origin.kernel,
        "version": files.text("version")?.trim(),
        "mode": "icount",
        "qemu": origin.qemu,
        "smp": plan.cpus,
        "seed": origin.seed,
        "set": plan.set,
        "rules": plan.rules,
        "cmdline": files.text("cmdline")?.trim(),
    });
    Ok(format!("{meta:#}\n"))
}

/// A scenario's name as the name of a folder.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '-' };
    let name: String = name.chars().take(64).map(plain).collect();
    let name = name.trim_start_matches(['.', '_']);
    if name.is_empty() { "scenario".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("two hogs"), "two-hogs");
        assert_eq!(file_name("../../etc"), "-..-etc");
        assert_eq!(file_name("_boot"), "boot");
        assert_eq!(file_name(""), "scenario");
    }
}
