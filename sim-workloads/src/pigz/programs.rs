//! The three kinds of threads.

use super::{BLOCK, Pigz};
use crate::build::Builder;
use crate::dist::Dist;
use crate::model::{Batches, batches};
use sim_core::program::{Action, ChildSpec, Program, ProgramContext, Work};
use sim_core::rng::{self, Stream};
use sim_core::{Nanos, SemId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all threads know.
struct Plan {
    spec: Pigz,
    seed: u64,
    /// Free input buffers.
    buffers: SemId,
    /// Queued blocks, and one for each thread at the end.
    jobs: SemId,
    /// By block: it is compressed. As many as blocks can be on their way; they are used again in turn.
    done: Vec<SemId>,
    /// The next block that a compressing thread takes.
    next: AtomicU64,
}

impl Plan {
    fn times(&self, path: &str) -> Stream {
        rng::stream(self.seed, path, "run")
    }

    /// CPU time for a block, from that for 32 KiB.
    fn work(&self, work: &Dist, block: u64, times: &mut Stream) -> Nanos {
        let whole = u128::from(work.sample(times).0);
        Nanos(
            u64::try_from(whole * u128::from(self.spec.bytes(block)) / u128::from(BLOCK)).unwrap_or(u64::MAX),
        )
    }

    fn done(&self, block: u64) -> SemId {
        self.done[(block % self.done.len() as u64) as usize]
    }
}

pub(super) fn main(spec: &Pigz, builder: &mut Builder) -> Box<dyn Program> {
    let objects = &mut builder.objects;
    let depth = spec.depth();
    let buffers = objects.add_semaphore(&format!("{}/buffers", spec.name), depth.into());
    let jobs = objects.add_semaphore(&format!("{}/jobs", spec.name), 0);
    let done = (0..depth).map(|i| objects.add_semaphore(&format!("{}/done#{i}", spec.name), 0)).collect();
    let plan = Plan { spec: spec.clone(), seed: builder.seed, buffers, jobs, done, next: AtomicU64::new(0) };
    let plan = Arc::new(plan);
    let times = plan.times(&spec.name);
    batches(Main { plan, times, forked: false, block: 0, waited: false })
}

/// Starts the others, then reads.
struct Main {
    plan: Arc<Plan>,
    times: Stream,
    forked: bool,
    block: u64,
    waited: bool,
}

impl Main {
    fn thread(&self, name: &str, path: String, program: Box<dyn Program>) -> Action {
        Action::Thread(Box::new(ChildSpec { name: name.to_owned(), path, program }))
    }

    fn fork(&mut self, out: &mut VecDeque<Action>) {
        let name = &self.plan.spec.name;
        for i in 0..self.plan.spec.processes {
            let path = format!("{name}/compress#{i}");
            let program = batches(Compress {
                plan: Arc::clone(&self.plan),
                times: self.plan.times(&path),
                waited: false,
            });
            out.push_back(self.thread("compress", path, program));
        }
        let path = format!("{name}/write");
        let program =
            batches(Writer { plan: Arc::clone(&self.plan), times: self.plan.times(&path), block: 0 });
        out.push_back(self.thread("write", path, program));
    }
}

impl Batches for Main {
    fn more(&mut self, _: &ProgramContext, out: &mut VecDeque<Action>) {
        let plan = Arc::clone(&self.plan);
        if !std::mem::replace(&mut self.forked, true) {
            return self.fork(out);
        }
        if self.block < plan.spec.blocks() {
            let read = plan.work(&plan.spec.read, self.block, &mut self.times);
            self.block += 1;
            out.extend([
                Action::SemWait(plan.buffers),
                Action::KernelRun(read),
                Action::SemPost { sem: plan.jobs, n: 1 },
            ]);
        } else if !std::mem::replace(&mut self.waited, true) {
            out.extend([Action::SemPost { sem: plan.jobs, n: plan.spec.processes }, Action::WaitChildren]);
        } else {
            out.push_back(Action::Exit);
        }
    }
}

/// Takes the oldest block that is queued.
struct Compress {
    plan: Arc<Plan>,
    times: Stream,
    waited: bool,
}

impl Batches for Compress {
    fn more(&mut self, _: &ProgramContext, out: &mut VecDeque<Action>) {
        if !std::mem::replace(&mut self.waited, true) {
            return out.push_back(Action::SemWait(self.plan.jobs));
        }
        self.waited = false;
        let block = self.plan.next.fetch_add(1, Ordering::Relaxed);
        if block >= self.plan.spec.blocks() {
            return out.push_back(Action::Exit);
        }
        let work = self.plan.work(&self.plan.spec.block_work, block, &mut self.times);
        out.push_back(Action::Run(Work::Capacity(work)));
        out.push_back(Action::SemPost { sem: self.plan.done(block), n: 1 });
    }
}

/// Writes blocks in order.
struct Writer {
    plan: Arc<Plan>,
    times: Stream,
    block: u64,
}

impl Batches for Writer {
    fn more(&mut self, _: &ProgramContext, out: &mut VecDeque<Action>) {
        let (plan, block) = (Arc::clone(&self.plan), self.block);
        if block == plan.spec.blocks() {
            return out.push_back(Action::Exit);
        }
        self.block += 1;
        let write = plan.work(&plan.spec.write, block, &mut self.times);
        out.extend([Action::SemWait(plan.done(block)), Action::KernelRun(write)]);
        out.extend([Action::Count(plan.spec.bytes(block)), Action::SemPost { sem: plan.buffers, n: 1 }]);
    }
}
