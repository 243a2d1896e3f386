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
//! * Blocking reads: [`io_sleeps`](KernelCompile::io_sleeps), [`io_sleep`](KernelCompile::io_sleep), and what
//!   [`PageCache::Cold`] adds. Nothing sleeps on writing.
//! * Helpers: from one second of one kernel build; order and constancy are assumptions.
//! * One link, after which [`tail`](KernelCompile::tail) stands for all that follows, as
//!   [`prepare`](KernelCompile::prepare) does for what comes first. Neither has a default: they belong to a configuration.
//! * All objects are ready to be built from the start. [`mix`](KernelCompile::mix) says what beside C files is built.

mod costs;
mod fields;
mod inputs;
#[cfg(test)]
mod jobs_tests;
mod jobserver;
mod make;
mod object;
mod programs;
mod results;
mod spec;
#[cfg(test)]
mod tests;

pub use inputs::{Headers, MAX_HEADERS, MAX_WEIGHT, Mix, PageCache};
pub(crate) use results::HEADLINES;
pub use spec::{HandOver, Helper, KernelCompile};

use crate::build::Builder;
use crate::model::{Headline, Model, Ran};
use jobserver::JobServer;
use make::Plan;
use object::ObjectWork;
use programs::ObjectIds;
use sim_core::machine::WorkKind;
use sim_core::program::{Objects, TaskSpec};
use sim_core::{GroupId, Instant, Nanos, TaskId};
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

impl KernelCompile {
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
        let directory = |i| {
            let path = format!("{}/dir#{i}", self.name);
            let archive = self.step_work(seed, self.archive.as_ref(), &format!("{path}/ar"));
            add(self.make_start_work(seed, &path), archive.unwrap_or_default())
        };
        let step = |who: &str, step| self.step_work(seed, step, &format!("{}/{who}", self.name));
        let steps = [step("prepare", self.prepare.as_ref()), step("tail", self.tail.as_ref())];
        let top = [self.make_start_work(seed, &self.name), self.link_work(seed)];
        let top = top.into_iter().chain(steps.into_iter().flatten());
        objects.chain((0..directories).map(directory)).chain(top).fold(Nanos::ZERO, add)
    }
}

impl Model for KernelCompile {
    /// Adds the objects the build's tasks share, and its one task that exists from the start: make. It counts one unit
    /// of work for each object file.
    fn build(&self, builder: &mut Builder) {
        let objects = &mut builder.objects;
        let ids = (0..self.objects).map(|k| self.object_ids(objects, k)).collect();
        // Sub-makes first, the make the user started last; a lone make is both.
        let makes = self.makes.get() as usize;
        let waiting = if makes == 1 { 1 } else { makes + 1 };
        let exec_done = (0..waiting).map(|i| objects.add_semaphore(&format!("{}/exec#{i}", self.name), 0));
        let exec_done = exec_done.collect();
        let server = || Arc::new(JobServer::new(objects, &self.name, self.jobs.get(), waiting));
        let server = (makes > 1).then(server);
        let plan = Arc::new(Plan { spec: self.clone(), seed: builder.seed, ids, server, exec_done });
        let working_set = self.working_set.map_or(0, |b| b.0);
        builder.kinds.push((TaskId::new(builder.tasks.len()), WorkKind { class: self.class, working_set }));
        builder.add_task(TaskSpec {
            name: "make".to_owned(),
            path: self.name.clone(),
            start: Instant::ZERO,
            nice: 0,
            policy: self.policy,
            affinity: None,
            group: GroupId::ROOT,
            program: programs::play(make::top(&plan)),
        });
    }

    fn results(&self, run: &Ran<'_>) -> Vec<(&'static Headline, f64)> {
        self.figures(run)
    }
}
