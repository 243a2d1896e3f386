//! The laboratory: what it says where something is missing, stand-ins for its tools, and a real guest where there is one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::cfsim;
use assert_cmd::Command;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that looks like a kernel image of this version.
fn kernel(dir: &Path, version: &str) -> PathBuf {
    let mut bytes = vec![0; 0x300];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes[0x20e] = 0x80;
    bytes[0x280..0x280 + version.len()].copy_from_slice(version.as_bytes());
    let path = dir.join("bzImage");
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A program, written by another process: a file this one has open for writing could not be started.
fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    let write = "printf '#!/bin/sh\n%s\n' \"$2\" > \"$1\" && chmod 755 \"$1\"";
    let done = std::process::Command::new("sh").args(["-c", write, "sh"]).arg(&path).arg(text).status();
    assert!(done.unwrap().success());
    path
}

/// Stand-ins for tools in a folder, and an empty folder for temporary files.
struct Bench {
    dir: tempfile::TempDir,
    temporary: tempfile::TempDir,
    kernel: PathBuf,
}

impl Bench {
    fn new(version: &str) -> Bench {
        let (dir, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kernel = kernel(dir.path(), version);
        Bench { dir, temporary, kernel }
    }

    /// A QEMU that tells a version and then does as told.
    fn qemu(&self, version: &str, then: &str) -> PathBuf {
        let text = format!(
            "if [ \"$1\" = --version ]; then echo 'QEMU emulator version {version}'; exit; fi\n{then}"
        );
        script(self.dir.path(), "qemu", &text)
    }

    /// A compiler that makes an empty program.
    fn compiler(&self) -> PathBuf {
        script(
            self.dir.path(),
            "cc",
            "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && : > \"$2\"; shift; done; true",
        )
    }

    fn run(&self, qemu: &Path, compiler: &Path, more: &[&str]) -> Command {
        let mut command =
            cfsim(&["lab", "run", "../../../scenarios/two-hogs.toml", "--duration", "1s", "--kernel"]);
        command.arg(&self.kernel).arg("--qemu").arg(qemu).arg("--cc").arg(compiler).args(more);
        command.env("TMPDIR", self.temporary.path());
        command
    }

    /// The call fails with exit code 1, says these words, and leaves no temporary files.
    fn fails(&self, qemu: &Path, compiler: &Path, more: &[&str], words: &[&str]) {
        let assert = self.run(qemu, compiler, more).assert().code(1).stdout("");
        let stderr = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        for word in words {
            assert!(stderr.contains(word), "{word:?} is not said:\n{stderr}");
        }
        assert_eq!(
            std::fs::read_dir(self.temporary.path()).unwrap().count(),
            0,
            "temporary files stay behind"
        );
    }
}

#[test]
fn missing_tools_are_named_with_where_to_get_them() {
    let bench = Bench::new("6.1.0-test");
    let none = Path::new("/nonexistent/tool");
    bench.fails(none, none, &[], &["/nonexistent/tool cannot be started", "qemu-system-x86", "CFSIM_QEMU"]);
    let old = bench.qemu("9.0.0", "exit 0");
    bench.fails(&old, none, &[], &["built with /nonexistent/tool", "libc6-dev"]);
    bench.fails(&old, none, &["--smp", "2"], &["is QEMU 9.0.0", "10 or later", "--smp 1"]);
    let broken = script(bench.dir.path(), "cc", "echo 'cannot find -lc' >&2; exit 1");
    bench.fails(&old, &broken, &[], &["cannot find -lc"]);
    let eevdf = Bench::new("6.12.1");
    eevdf.fails(none, none, &[], &["6.12", "EEVDF"]);
}

#[test]
fn a_guest_that_fails_is_told_from_its_console() {
    let bench = Bench::new("6.1.0-test");
    let cc = bench.compiler();
    let ended = bench.qemu("10.0.0", "echo 'could not load kernel' >&2; exit 1");
    bench.fails(&ended, &cc, &[], &["before its first process started", "could not load kernel"]);
    let console = "for a; do case $a in file:*) console=${a#file:};; esac; done";
    let gave_up = format!(
        "{console}; echo 'cfsim-lab: up' > $console; echo 'cfsim-lab: error: there is no plan' >> $console"
    );
    bench.fails(&bench.qemu("10.0.0", &gave_up), &cc, &[], &["the guest gave up: there is no plan"]);
    let hangs = format!("{console}; echo 'cfsim-lab: run' > $console; exec sleep 600");
    bench.fails(
        &bench.qemu("10.0.0", &hangs),
        &cc,
        &["--timeout", "1"],
        &["was stopped after 1 s (--timeout) after 'run'"],
    );
}

/// Said past the tests' capture of output, so that nobody takes a pass for a boot.
fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "a_real_kernel_runs_a_scenario: skipped, no guest was booted: {why}");
}

/// On a real kernel, where QEMU, a compiler and a kernel are: CFSIM_LAB_KERNEL names its image.
#[test]
fn a_real_kernel_runs_a_scenario() {
    let Some(kernel) = std::env::var_os("CFSIM_LAB_KERNEL") else {
        skipped("CFSIM_LAB_KERNEL names no kernel image");
        return;
    };
    let program = std::env::var("CFSIM_QEMU").unwrap_or_else(|_| "qemu-system-x86_64".to_owned());
    for tool in [program.as_str(), "cc"] {
        if std::process::Command::new(tool).arg("--version").output().is_err() {
            skipped(&format!("{tool} cannot be started"));
            return;
        }
    }
    let mut command = cfsim(&[
        "lab",
        "run",
        "../../../scenarios/two-hogs.toml",
        "--duration",
        "200ms",
        "--format",
        "json",
        "--kernel",
    ]);
    let output = command.arg(kernel).assert().success().get_output().stdout.clone();
    let report: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
    let share = |side: &str| report[side]["tasks"]["hog0"]["share_pct"].as_f64().expect("a share");
    // Two hogs share a CPU, up to a turn of 16 ms in 200.
    assert!((40.0..60.0).contains(&share("measured")), "{report:#}");
    assert!((share("measured") - share("predicted")).abs() < 10.0, "{report:#}");
}
