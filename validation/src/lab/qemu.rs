//! QEMU: which one, and with which arguments.

use super::LabError;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// The program tried when none is named.
pub const DEFAULT_QEMU: &str = "qemu-system-x86_64";
/// Memory of the guest, MiB: kernel, trace buffers and tasks.
const MEMORY_MIB: u32 = 1024;
/// Memory shared with the guest for its output, MiB; a power of two. Its file has no more blocks than are written.
pub const SHARED_MIB: u64 = 512;
/// Virtual time that one CPU gets before the next, µs, as in the captures of several CPUs.
const SLICE_US: u32 = 20;
/// The first version seen to count instructions with several CPUs: 7.2 hangs, those between are untried.
const SEVERAL_CPUS_FROM: u32 = 10;

/// Arguments of the kernel: a console, one place for everything, nothing at random, and nothing that runs beside the workload.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet loglevel=4 panic=-1 nokaslr norandmaps noautogroup audit=0 apparmor=0 mitigations=off \
    nowatchdog tsc=reliable tsc_early_khz=1000000 no_timer_check random.trust_cpu=on cgroup_no_v1=all numa_balancing=disable \
    cryptomgr.notests";

/// A QEMU that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qemu {
    /// The program.
    pub program: String,
    /// Its version, like `10.0.2`.
    pub version: String,
}

/// What a guest is started with.
#[derive(Debug, Clone, Copy)]
pub struct Boot<'a> {
    /// The kernel image.
    pub kernel: &'a Path,
    /// The folder with `initramfs`, for `console` and `shared`.
    pub dir: &'a Path,
    /// Number of CPUs.
    pub cpus: u32,
    /// Seed of the emulator.
    pub seed: u32,
    /// A further argument of the kernel.
    pub extra: Option<&'a str>,
}

impl Qemu {
    /// Asks `program` for its version, and whether it can run a guest with so many CPUs.
    ///
    /// # Errors
    /// [`LabError::NoQemu`], [`LabError::OldQemu`].
    pub fn find(program: &str, cpus: u32) -> Result<Qemu, LabError> {
        let none = |problem: String| LabError::NoQemu { program: program.to_owned(), problem };
        let output = Command::new(program).arg("--version").output().map_err(|e| none(e.to_string()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = parse_version(&said).ok_or_else(|| none("--version names no QEMU".to_owned()))?;
        let major = version.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        if cpus > 1 && major < SEVERAL_CPUS_FROM {
            return Err(LabError::OldQemu { program: program.to_owned(), found: version });
        }
        Ok(Qemu { program: program.to_owned(), version })
    }

    /// The command that boots a guest.
    pub fn command(&self, boot: &Boot<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments(boot));
        command
    }
}

/// `QEMU emulator version 7.2.22 (Debian …)`.
fn parse_version(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("QEMU emulator version ")?;
    let word = rest.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

/// The kernel's arguments.
pub fn kernel_arguments(extra: Option<&str>) -> String {
    let mut words: Vec<&str> = KERNEL_ARGUMENTS.split_whitespace().collect();
    words.extend(extra);
    words.join(" ")
}

/// `prefix` and a path, which QEMU's option syntax wants with doubled commas.
fn option(prefix: &str, path: &Path) -> OsString {
    let mut option = OsString::from(prefix);
    option.push(path.to_string_lossy().replace(',', ",,"));
    option
}

/// The arguments of QEMU: one thread executes all CPUs in turn, an instruction takes 1 ns of virtual time, the guest's clocks
/// are all virtual, and idle time is skipped.
pub fn arguments(boot: &Boot<'_>) -> Vec<OsString> {
    let cpus = boot.cpus;
    let mut all: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| all.extend(words.iter().map(OsString::from));
    add(&["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-M", "pc"]);
    // Caches as the calibrated machine's: one last-level cache for all CPUs.
    add(&["-cpu", "Skylake-Client-v3,vendor=GenuineIntel", "-m", &MEMORY_MIB.to_string()]);
    add(&["-smp", &format!("{cpus},sockets=1,cores={cpus},threads=1")]);
    add(&["-accel", "tcg,thread=single", "-icount", "shift=0,align=off,sleep=off"]);
    add(&["-rtc", "base=2024-01-01T00:00:00,clock=vm", "-seed", &boot.seed.to_string()]);
    if cpus > 1 {
        // A timer that does nothing else bounds how long one CPU runs before the next.
        add(&[
            "-netdev",
            "hubport,hubid=0,id=n0",
            "-object",
            &format!("filter-buffer,id=f0,netdev=n0,interval={SLICE_US}"),
        ]);
    }
    add(&["-device", "ivshmem-plain,memdev=shared", "-append", &kernel_arguments(boot.extra)]);
    let shared = format!("memory-backend-file,id=shared,share=on,size={SHARED_MIB}M,mem-path=");
    all.push("-object".into());
    all.push(option(&shared, &boot.dir.join("shared")));
    all.push("-serial".into());
    all.push(option("file:", &boot.dir.join("console")));
    all.push("-kernel".into());
    all.push(boot.kernel.into());
    all.push("-initrd".into());
    all.push(boot.dir.join("initramfs").into());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cpus: u32) -> String {
        let boot = Boot {
            kernel: Path::new("k/bzImage"),
            dir: Path::new("d,e"),
            cpus,
            seed: 3,
            extra: Some("preempt=full"),
        };
        arguments(&boot).iter().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn counts_instructions_and_takes_nothing_from_the_host() {
        let one = line(1);
        for part in [
            "-icount shift=0,align=off,sleep=off",
            "-accel tcg,thread=single",
            "-smp 1,sockets=1,cores=1,threads=1",
            "-seed 3",
            "mem-path=d,,e/shared",
            "-serial file:d,,e/console",
            "-kernel k/bzImage -initrd d,e/initramfs",
            "clock=vm",
            "preempt=full",
            "noautogroup",
        ] {
            assert!(one.contains(part), "{part} is not in {one}");
        }
        assert!(!one.contains("kvm") && !one.contains("filter-buffer"));
        assert!(line(4).contains("interval=20"));
    }

    #[test]
    fn reads_versions() {
        assert_eq!(
            parse_version("QEMU emulator version 7.2.22 (Debian 1:7.2)\nCopyright").as_deref(),
            Some("7.2.22")
        );
        assert_eq!(parse_version("QEMU emulator version \n"), None);
        assert_eq!(parse_version("busybox"), None);
    }

    #[test]
    fn says_what_is_missing() {
        let error = Qemu::find("/nonexistent/qemu", 1).unwrap_err().to_string();
        assert!(
            error.contains("/nonexistent/qemu")
                && error.contains("qemu-system-x86")
                && error.contains("--qemu")
        );
    }
}
