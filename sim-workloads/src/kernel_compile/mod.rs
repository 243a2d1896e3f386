//! The kernel compile: `make -jN` and what it starts.
//!
//! ```text
//! make ── sh ─┬─ gcc ─┬─ cc1 ══╗ assembler text, in pieces of 4 KiB through a pipe,
//!   │         │       └─ as ◄══╝ or in one go through a file
//!   │         └─ fixdep, mv, objdump, …   one after another
//!   ├─ sh …   at most N at a time
//!   └─ ld     when every object is done
//! ```
//!
//! make and the gcc driver start children as vfork(2) does: they sleep until the child has called exec, so that every
//! such start costs them a wake-up. Shells fork. A parent that waits is woken by its child's exit. The sequences are
//! those of a real `make -j2` traced under Linux 6.1 (table in `validation/workloads/README.md`), with two differences
//! that kernel builds show and that trace does not: the shell runs further commands after gcc and therefore forks it,
//! and cc1 and as may run side by side (`-pipe`).
//!
//! # What is measured and what is assumed
//!
//! Every default says where it comes from; the figures are in `validation/workloads/README.md`. Assumptions:
//!
//! * Compiling user-space C files at `-O2` stands for compiling kernel files. Scale with
//!   [`work_scale`](KernelCompile::work_scale).
//! * cc1 and as have the linear relations to each other that the measured files have; they do not vary beside that.
//! * The CPU times contain what the kernel does for fork, exec, page faults and exit. A machine model that charges fork
//!   and exec besides counts them twice.
//! * Blocking reads: [`io_sleeps`](KernelCompile::io_sleeps) and [`io_sleep`](KernelCompile::io_sleep). 0 sleeps is a
//!   warm page cache; a cold one is tens of sleeps of the disk's latency. Nothing sleeps on writing.
//! * Helpers: from one second of one kernel build; order and constancy are assumptions.
//! * One link. A kernel also links each directory, and the whole more than once.
//! * Every object is compiled from C; all are ready to be built from the start.
//! * With several makes, a job gives its job-server token back itself (GNU make does it when it reaps the job), and no
//!   make has a token of its own: N jobs in all, as with GNU make.

mod costs;
mod fields;
mod make;
mod object;
mod programs;
#[cfg(test)]
mod tests;

use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Headline, Model, Ran};
use crate::schema::{Names, PlainName, is_default};
use crate::units::{Bytes, Whole, whole};
use fields::{default_io_sleeps, default_name, helpers, name, non_zero, one, unscaled, work_scale};
use make::Plan;
use object::ObjectWork;
use programs::ObjectIds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sim_core::kernel::Policy;
use sim_core::machine::{WorkClass, WorkKind};
use sim_core::program::{Objects, TaskSpec};
use sim_core::{GroupId, Instant, Nanos, TaskId};
use std::num::NonZeroU32;
use std::sync::Arc;

/// The most jobs of one build.
pub const MAX_JOBS: u32 = 4096;
/// The most object files of one build.
pub const MAX_OBJECTS: u32 = 100_000;
/// The most makes of one build.
pub const MAX_MAKES: u32 = 1000;
/// The most helpers of one recipe.
pub const MAX_HELPERS: usize = 100;
/// The most sleeps of one cc1.
pub const MAX_IO_SLEEPS: u32 = 1000;
/// The range of [`KernelCompile::work_scale`].
pub const WORK_SCALE: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// Parameters of a kernel compile: the table `[workload.kernel_compile]`.
///
/// Paths of the tasks: `make`; `make/obj#17/sh`, `…/gcc`, `…/cc1`, `…/as` and `…/helper#0` for each object; `make/ld`;
/// `make/dir#3` for each further make. Draws are keyed by them, so an object asks for the same whatever the number of
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
    /// divide the objects evenly and compete for the job server's N tokens.
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
            class: WorkClass::default(),
            working_set: None,
        }
    }

    fn object_ids(&self, objects: &mut Objects, k: u32) -> ObjectIds {
        let path = format!("{}/obj#{k}", self.name);
        let exec_done = objects.add_semaphore(&format!("{path}/exec"), 0);
        let pipe = (self.hand_over == HandOver::Pipe)
            .then(|| objects.add_pipe(&format!("{path}/asm"), Objects::PIPE_CAPACITY, 0));
        ObjectIds { exec_done, pipe }
    }

    /// CPU time the whole build asks for under `seed`: the sum of all draws. It does not depend on `jobs`.
    pub fn work(&self, seed: u64) -> Nanos {
        let add = |a: Nanos, b: Nanos| Nanos(a.0.saturating_add(b.0));
        let objects = (0..self.objects).map(|k| ObjectWork::draw(self, seed, k).total());
        let directories = if self.makes.get() == 1 { 0 } else { self.makes.get() };
        let starts = (0..directories).map(|i| self.make_start_work(seed, &format!("{}/dir#{i}", self.name)));
        let top = [self.make_start_work(seed, &self.name), self.link_work(seed)];
        objects.chain(starts).chain(top).fold(Nanos::ZERO, add)
    }
}

impl Model for KernelCompile {
    /// Adds the objects the build's tasks share, and its one task that exists from the start: make. It counts one unit
    /// of work for each object file.
    fn build(&self, builder: &mut Builder) {
        let objects = &mut builder.objects;
        let ids = (0..self.objects).map(|k| self.object_ids(objects, k)).collect();
        // Sub-makes first, the make the user started last; a lone make is both.
        let waiting = if self.makes.get() == 1 { 1 } else { self.makes.get() + 1 };
        let exec_done = (0..waiting).map(|i| objects.add_semaphore(&format!("{}/exec#{i}", self.name), 0));
        let exec_done = exec_done.collect();
        let jobs = u64::from(self.jobs.get());
        let tokens =
            objects.add_pipe(&format!("{}/jobserver", self.name), Objects::PIPE_CAPACITY.max(jobs), jobs);
        let plan = Arc::new(Plan { spec: self.clone(), seed: builder.seed, ids, tokens, exec_done });
        let working_set = self.working_set.map_or(0, |b| b.0);
        builder.kinds.push((TaskId::new(builder.tasks.len()), WorkKind { class: self.class, working_set }));
        builder.add_task(TaskSpec {
            name: "make".to_owned(),
            path: self.name.clone(),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program: programs::play(make::top(&plan)),
        });
    }

    fn results(&self, _: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        Vec::new()
    }
}
