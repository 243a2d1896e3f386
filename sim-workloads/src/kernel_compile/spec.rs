//! Parameters of a kernel compile.

use super::fields::{default_io_sleeps, default_name, helpers, name, non_zero, one, unscaled, work_scale};
use super::{Headers, Mix, PageCache};
use super::{MAX_HELPERS, MAX_IO_SLEEPS, MAX_JOBS, MAX_MAKES, MAX_OBJECTS, WORK_SCALE, costs};
use crate::dist::Dist;
use crate::schema::{Names, PlainName, is_default};
use crate::units::{Bytes, Whole, whole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::kernel::Policy;
use sim_core::machine::WorkClass;
use std::num::NonZeroU32;

/// Parameters of a kernel compile: the table `[workload.kernel_compile]`.
///
/// Paths of the tasks: `make`; `make/prepare`; `make/obj#17/sh`, `…/gcc`, `…/cc1`, `…/as` and `…/helper#0` for each
/// object; `make/ld`; `make/tail`; `make/dir#3` and `make/dir#3/ar` for each further make. Draws are keyed by them, so an object asks for the same whatever the number of
/// jobs, makes or objects.
///
/// `jobs` and `objects` must be given. CPU times are those of the machine they were measured on, times `work_scale`,
/// and become work at capacity 1024.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelCompile {
    /// Name of the build, first part of the paths of its tasks: `make` unless given.
    #[serde(default = "default_name", deserialize_with = "name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// N of `make -jN`: 1 to [`MAX_JOBS`].
    #[serde(deserialize_with = "non_zero::<_, { MAX_JOBS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_JOBS as i64 }>")]
    pub jobs: NonZeroU32,
    /// Number of object files: 1 to [`MAX_OBJECTS`].
    #[serde(deserialize_with = "whole::<_, _, 1, { MAX_OBJECTS as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_OBJECTS as i64 }>")]
    pub objects: u32,
    /// How many makes share the jobs, as a recursive build's directories do: 1 to [`MAX_MAKES`]. With one (the
    /// default) the make the user started runs all jobs. With more it starts that many makes, all at once, which
    /// divide the objects evenly and compete for the job server's tokens.
    #[serde(default = "one", deserialize_with = "non_zero::<_, { MAX_MAKES as i64 }>")]
    #[schemars(with = "Whole<u32, 1, { MAX_MAKES as i64 }>")]
    pub makes: NonZeroU32,
    /// How cc1's output reaches as.
    #[serde(default)]
    #[schemars(with = "Names<HandOver>")]
    pub hand_over: HandOver,
    /// Factor on all CPU times, 0.001 to 1000: 2 for a machine half as fast, or for files twice as long to compile.
    #[serde(default = "unscaled", deserialize_with = "work_scale")]
    #[schemars(range(min = *WORK_SCALE.start(), max = *WORK_SCALE.end()))]
    pub work_scale: f64,
    /// CPU time of cc1. Default (measured): log-normal, median 364 ms, sigma 0.890.
    #[serde(default = "costs::cc1")]
    pub cc1: Dist,
    /// CPU time of the gcc driver. Default (measured): log-normal, median 2.418 ms, sigma 0.163.
    #[serde(default = "costs::gcc")]
    pub gcc: Dist,
    /// CPU time of the shell of one recipe. Default (measured): 893 µs.
    #[serde(default = "costs::sh")]
    pub sh: Dist,
    /// CPU time of each make before its first job. Default (measured, on a trivial makefile): 1.505 ms.
    #[serde(default = "costs::make_start")]
    pub make_start: Dist,
    /// CPU time of make for one job. Default (measured, on a trivial makefile): 136 µs.
    #[serde(default = "costs::make_job")]
    pub make_job: Dist,
    /// CPU time of ld beside that for each object. Default (measured): 4.974 ms.
    #[serde(default = "costs::link_start")]
    pub link_start: Dist,
    /// CPU time of ld for each object: drawn once per build. Default (measured): 317.6 µs.
    #[serde(default = "costs::link_object")]
    pub link_object: Dist,
    /// What the shell runs after gcc. Default: fixdep, mv, objdump, grep, recordmcount, cat, rm, with mean CPU times
    /// from `perf sched latency` of a kernel build. At most [`MAX_HELPERS`].
    #[serde(default = "costs::helpers", deserialize_with = "helpers")]
    #[schemars(length(max = MAX_HELPERS))]
    pub helpers: Vec<Helper>,
    /// How often each cc1 sleeps for input that is not cached, 0 to [`MAX_IO_SLEEPS`]. Default (assumption): 2.
    #[serde(default = "default_io_sleeps", deserialize_with = "whole::<_, _, 0, { MAX_IO_SLEEPS as i64 }>")]
    #[schemars(with = "Whole<u32, 0, { MAX_IO_SLEEPS as i64 }>")]
    pub io_sleeps: u32,
    /// How long each such sleep is; `work_scale` does not apply. Default (assumption): exponential, mean 300 µs.
    #[serde(default = "costs::io_sleep")]
    pub io_sleep: Dist,
    /// What the page cache holds when the build starts; see [`PageCache`].
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "Names<PageCache>")]
    pub page_cache: PageCache,
    /// The header files a compiler reads; unless given, reading them is part of cc1's work and never waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Of which kinds the jobs are; unless given, all compile C.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// CPU time of what make runs before the first object (configuration, generated headers, its own tools): one
    /// process after the other. Nothing unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Dist>,
    /// CPU time of what make runs after the link (symbol table, section checks, compressing the image): one process
    /// after the other. Nothing unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<Dist>,
    /// CPU time of ar at the end of each directory, where several makes share the jobs. Nothing unless given; a real
    /// ar of six objects took 5.14 ms (traced).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<Dist>,
    /// Policy of all its tasks: normal unless given.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "Names<Policy>")]
    pub policy: Policy,
    /// What limits the speed of all its tasks: compute or memory.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(with = "Names<WorkClass>")]
    pub class: WorkClass,
    /// What each of its tasks uses again and again, for caches; nothing unless given.
    #[serde(default, rename(serialize = "working_set_bytes"), skip_serializing_if = "Option::is_none")]
    pub working_set: Option<Bytes>,
}

/// How cc1's output reaches as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandOver {
    /// `gcc -pipe`: side by side, through a pipe of 64 KiB. The default, because the build to be explained is one of
    /// Linux 4.9: logs of 4.15 x86 builds show `-pipe` (github.com/cloudfoundry/bosh-deployment/issues/354).
    #[default]
    Pipe,
    /// One after the other, through a file. Logs of 5.1 and 6.6 x86 builds
    /// (github.com/AdnanHodzic/displaylink-debian/issues/261, github.com/microsoft/WSL/issues/13086) show no `-pipe`.
    File,
}

/// A command the shell of a recipe runs after gcc.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Helper {
    /// Name of the program.
    #[serde(deserialize_with = "name")]
    #[schemars(with = "PlainName")]
    pub name: String,
    /// Its CPU time.
    pub work: Dist,
}

impl KernelCompile {
    /// A build with the default costs.
    pub fn new(jobs: NonZeroU32, objects: u32) -> KernelCompile {
        KernelCompile {
            name: default_name(),
            jobs,
            objects,
            makes: one(),
            hand_over: HandOver::default(),
            work_scale: unscaled(),
            cc1: costs::cc1(),
            gcc: costs::gcc(),
            sh: costs::sh(),
            make_start: costs::make_start(),
            make_job: costs::make_job(),
            link_start: costs::link_start(),
            link_object: costs::link_object(),
            helpers: costs::helpers(),
            io_sleeps: default_io_sleeps(),
            io_sleep: costs::io_sleep(),
            page_cache: PageCache::default(),
            headers: None,
            mix: None,
            prepare: None,
            tail: None,
            archive: None,
            policy: Policy::default(),
            class: WorkClass::default(),
            working_set: None,
        }
    }
}
