//! Why the lab cannot do what it is asked.

use super::initramfs::MAX_NAME;
use std::path::PathBuf;
use thiserror::Error;

/// Why a scenario did not run on a real kernel.
#[derive(Debug, Error)]
pub enum LabError {
    /// QEMU is not there.
    #[error(
        "{program} cannot be started: {problem}\n  cfsim lab needs QEMU for x86-64: install it (Debian, Ubuntu: qemu-system-x86; \
         Fedora: qemu-system-x86-core), or name it with --qemu or CFSIM_QEMU"
    )]
    NoQemu {
        /// What was tried.
        program: String,
        /// Why it failed.
        problem: String,
    },
    /// It says no version, or one that cannot do what is needed.
    #[error(
        "{program} is QEMU {found}: with several CPUs, counting instructions needs QEMU 10 or later (7.2 hangs); \
         use --smp 1, or name a newer one with --qemu or CFSIM_QEMU"
    )]
    OldQemu {
        /// The program.
        program: String,
        /// Its version.
        found: String,
    },
    /// No C compiler, or it cannot link statically.
    #[error(
        "the guest's driver cannot be built with {program}: {problem}\n  cfsim lab needs a C compiler for x86-64 with a static C library: \
         install gcc and libc6-dev (Debian, Ubuntu) or gcc and glibc-static (Fedora), or name a compiler with --cc or CC"
    )]
    NoCompiler {
        /// What was tried.
        program: String,
        /// Why it failed.
        problem: String,
    },
    /// Not a kernel image.
    #[error(
        "{}: {problem}\n  --kernel takes an x86 kernel image: arch/x86/boot/bzImage of a build, or /boot/vmlinuz-VERSION; \
         `cfsim lab fetch 6.1` gets a distribution's", path.display()
    )]
    Kernel {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A file or folder of the lab's own.
    #[error("{}: {problem}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What went wrong.
        problem: std::io::Error,
    },
    /// A name that does not go into an initramfs.
    #[error("the initramfs cannot hold '{0:.60}': names have at most {MAX_NAME} bytes, files 1 GiB")]
    Pack(String),
    /// The guest did not get to its end.
    #[error("the guest {what}{}", tail(console))]
    Guest {
        /// What became of it.
        what: String,
        /// The end of its console.
        console: String,
    },
    /// What the guest left cannot be read.
    #[error("the guest's output: {0}")]
    Output(String),
    /// A setting did not take effect.
    #[error("kernel.sched_{name} = {wanted}: this kernel {found}")]
    Setting {
        /// The tunable, or `features`.
        name: String,
        /// What was to be written.
        wanted: String,
        /// What became of it.
        found: String,
    },
    /// The buffer of the trace was full.
    #[error("the trace lost {0} events: shorten run.duration (--duration)")]
    Lost(u64),
    /// A package cannot be had.
    #[error("{0}")]
    Fetch(String),
}

fn tail(console: &str) -> String {
    if console.is_empty() {
        "; its console is empty".to_owned()
    } else {
        format!("; the end of its console:\n{console}")
    }
}

impl LabError {
    /// A problem with a file.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> LabError {
        let path = path.into();
        |problem| LabError::Io { path, problem }
    }
}
