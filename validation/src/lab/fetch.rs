//! Kernels of a distribution, taken from its packages without installing them.
//!
//! apt is given a folder of its own for everything it keeps, so that neither rights nor the system's state are touched, and
//! releases other than the system's own can be asked.

use super::LabError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Releases of Debian whose kernels are CFS kernels that the simulator is checked against: kernel, release.
const DEBIAN: [(&str, &str); 2] = [("5.10", "bullseye"), ("6.1", "bookworm")];
/// The package that depends on the newest kernel of a release: the build for virtual machines.
const LATEST: &str = "linux-image-cloud-amd64";
/// The mirror when the system names none.
const MIRROR: &str = "http://deb.debian.org/debian";
/// Debian's keys, by which packages are checked.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Gets kernel `version` (`5.10`, `6.1`) and puts its image into `into`.
///
/// # Errors
/// [`LabError::Fetch`] says what is missing, and how else to get a kernel.
pub fn fetch(version: &str, into: &Path, say: &dyn Fn(&str)) -> Result<PathBuf, LabError> {
    let release = DEBIAN.iter().find(|(kernel, _)| *kernel == version).map(|(_, release)| *release);
    let release = release
        .ok_or_else(|| failed(version, format!("no release of Debian with kernel {version} is known")))?;
    for tool in ["apt-get", "apt-cache", "dpkg-deb"] {
        let found = Command::new(tool).arg("--version").output();
        found.map_err(|e| failed(version, format!("{tool} cannot be started: {e}")))?;
    }
    if !Path::new(KEYRING).exists() {
        return Err(failed(version, format!("{KEYRING} is missing (package debian-archive-keyring)")));
    }
    let dir = tempfile::Builder::new()
        .prefix("cfsim-lab-")
        .tempdir()
        .map_err(LabError::io(std::env::temp_dir()))?;
    let apt = Apt::new(dir.path(), release)?;
    say(&format!("asking {} for kernels of {release}", apt.mirror));
    apt.run("apt-get", &["update", "-qq"]).map_err(|e| failed(version, e))?;
    let depends = apt.run("apt-cache", &["depends", LATEST]).map_err(|e| failed(version, e))?;
    let package = image_package(&depends)
        .ok_or_else(|| failed(version, format!("{LATEST} of {release} depends on no kernel")))?;
    say(&format!("downloading {package}"));
    apt.run("apt-get", &["download", "-qq", &package]).map_err(|e| failed(version, e))?;
    let tree = dir.path().join("tree");
    let deb = find(dir.path(), |name| name.ends_with(".deb"))
        .ok_or_else(|| failed(version, format!("{package} was not downloaded")))?;
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("-x").arg(&deb).arg(&tree);
    output(&mut unpack).map_err(|e| failed(version, e))?;
    let image = find(&tree.join("boot"), |name| name.starts_with("vmlinuz-"));
    let image = image.ok_or_else(|| failed(version, format!("{package} holds no /boot/vmlinuz-*")))?;
    std::fs::create_dir_all(into).map_err(LabError::io(into))?;
    let to = into.join(image.file_name().unwrap_or_default());
    std::fs::copy(&image, &to).map_err(LabError::io(&to))?;
    Ok(to)
}

/// Why there is no kernel, and how to get one.
fn failed(version: &str, why: impl std::fmt::Display) -> LabError {
    let known: Vec<&str> = DEBIAN.iter().map(|(kernel, _)| *kernel).collect();
    LabError::Fetch(format!(
        "kernel {version} cannot be fetched: {why}\n  cfsim lab fetch knows {} (Debian's builds, by apt). Any other x86 kernel image will do: \
         a build's arch/x86/boot/bzImage, /boot/vmlinuz-VERSION, or that file from a package (dpkg-deb -x PACKAGE.deb DIR; \
         rpm2cpio PACKAGE.rpm | cpio -id). It needs ftrace, cgroup v2 and a serial console built in",
        known.join(" and ")
    ))
}

/// The kernel's package in `apt-cache depends`: `  Depends: linux-image-6.1.0-57-cloud-amd64`.
fn image_package(depends: &str) -> Option<String> {
    let names = depends.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
    let mut images = names.filter(|name| name.starts_with("linux-image-"));
    // A name is given to apt as an argument.
    let plain = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    images.find(plain).map(str::to_owned)
}

/// The mirrors the system's own sources name, in either form of sources.list.
fn mirror(sources: &str) -> Option<String> {
    let words = sources.lines().filter(|l| !l.trim_start().starts_with('#')).flat_map(str::split_whitespace);
    let mut all = words.filter(|w| w.starts_with("http://") || w.starts_with("https://"));
    all.find(|w| w.trim_end_matches('/').ends_with("/debian")).map(|w| w.trim_end_matches('/').to_owned())
}

fn system_sources() -> String {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let more = std::fs::read_dir("/etc/apt/sources.list.d")
        .map(|list| list.filter_map(|e| e.ok().map(|e| e.path())));
    files.extend(more.into_iter().flatten());
    files.sort();
    files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect::<Vec<_>>().join("\n")
}

/// The first file of a folder, by name, that is wanted.
fn find(dir: &Path, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(dir).ok()?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    all.sort();
    all.into_iter().find(|path| path.file_name().is_some_and(|name| wanted(&name.to_string_lossy())))
}

/// apt with a folder of its own.
struct Apt<'a> {
    dir: &'a Path,
    mirror: String,
}

impl Apt<'_> {
    fn new<'a>(dir: &'a Path, release: &str) -> Result<Apt<'a>, LabError> {
        for folder in ["state/lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(dir.join(folder)).map_err(LabError::io(dir))?;
        }
        let mirror = mirror(&system_sources()).unwrap_or_else(|| MIRROR.to_owned());
        let at = dir.display();
        let files = [
            ("sources.list", format!("deb [signed-by={KEYRING}] {mirror} {release} main\n")),
            ("state/status", String::new()),
            (
                "apt.conf",
                format!(
                    "Dir::State \"{at}/state\";\nDir::State::status \"{at}/state/status\";\nDir::Cache \"{at}/cache\";\n\
                     Dir::Etc::sourcelist \"{at}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\nAcquire::Languages \"none\";\n\
                     APT::Architecture \"amd64\";\nAPT::Sandbox::User \"\";\n"
                ),
            ),
        ];
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::write(&path, text).map_err(LabError::io(path))?;
        }
        Ok(Apt { dir, mirror })
    }

    fn run(&self, tool: &str, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(tool);
        command.args(args).env("APT_CONFIG", self.dir.join("apt.conf")).current_dir(self.dir);
        output(&mut command)
    }
}

/// Standard output of a command that succeeds, or what it complained of.
fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("{name}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|l| !l.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("{name}: {first:.200}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_kernels_package() {
        let text = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-57-cloud-amd64\n  Conflicts: x\n";
        assert_eq!(image_package(text).as_deref(), Some("linux-image-6.1.0-57-cloud-amd64"));
        assert_eq!(image_package("  Depends: linux-image-6.1;reboot\n"), None);
        assert_eq!(image_package(""), None);
    }

    #[test]
    fn takes_the_systems_mirror() {
        let old = "# deb http://old/debian x\ndeb http://security.example/debian-security x\ndeb [a=b] https://m.example/debian/ bookworm main";
        assert_eq!(mirror(old).as_deref(), Some("https://m.example/debian"));
        assert_eq!(
            mirror("Types: deb\nURIs: http://m.example/debian\n").as_deref(),
            Some("http://m.example/debian")
        );
        assert_eq!(mirror("deb http://archive.ubuntu.com/ubuntu noble main"), None);
    }

    #[test]
    fn explains_what_it_does_not_know() {
        let said = fetch("4.4", Path::new("x"), &|_| ()).unwrap_err().to_string();
        assert!(
            said.starts_with("kernel 4.4 cannot be fetched: no release of Debian")
                && said.contains("5.10 and 6.1")
        );
    }
}
