//! make and its job server.

use super::KernelCompile;
use super::object::ObjectWork;
use super::programs::{ObjectIds, run, shell, vfork};
use sim_core::program::Action;
use sim_core::{PipeId, SemId};
use std::collections::VecDeque;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

/// The whole build: what every make of it needs.
#[derive(Debug)]
pub(super) struct Plan {
    pub spec: KernelCompile,
    pub seed: u64,
    /// By object.
    pub ids: Vec<ObjectIds>,
    /// One byte for each job that may run: used when several makes share the jobs.
    pub tokens: PipeId,
    /// By make, the top one last: its wait for its child's exec.
    pub exec_done: Vec<SemId>,
}

impl Plan {
    /// The draws of object `k`.
    pub(super) fn object(&self, k: u32) -> ObjectWork {
        ObjectWork::draw(&self.spec, self.seed, k)
    }
    fn objects_of(&self, make: u32) -> Range<u32> {
        let (n, makes) = (u64::from(self.spec.objects), u64::from(self.spec.makes.get()));
        let upto = |i: u64| (n * i / makes) as u32;
        upto(u64::from(make))..upto(u64::from(make) + 1)
    }
}

/// Where a make gets the right to run one more job.
#[derive(Debug)]
enum Slots {
    /// Of the jobs it may run, so many are free. A lone make never waits for a token: with all jobs running it waits
    /// for a child, whose job it then reuses.
    Own(u32),
    /// From the pipe all makes share. A job gives its token back itself when it ends; GNU make does that when it reaps
    /// the job, and reads tokens and reaps children in one wait, which is not an action here.
    Shared,
}

/// One make working through its objects: what it does until the last job has been started.
#[derive(Debug)]
struct Jobs {
    plan: Arc<Plan>,
    make: u32,
    objects: Range<u32>,
    slots: Slots,
    ready: VecDeque<Action>,
}

impl Jobs {
    fn new(plan: &Arc<Plan>, make: u32, slots: Slots) -> Jobs {
        Jobs { plan: Arc::clone(plan), make, objects: plan.objects_of(make), slots, ready: VecDeque::new() }
    }
    fn prepare(&mut self, k: u32) {
        let plan = &self.plan;
        let object = plan.object(k);
        let path = format!("{}/sh", object.path);
        let give_back = match &mut self.slots {
            Slots::Own(0) => {
                self.ready.push_back(Action::WaitChild);
                None
            }
            Slots::Own(free) => {
                *free -= 1;
                None
            }
            Slots::Shared => {
                self.ready.push_back(Action::PipeRead { pipe: plan.tokens, bytes: 1 });
                Some(Action::PipeWrite { pipe: plan.tokens, bytes: 1 })
            }
        };
        self.ready.push_back(run(object.make));
        let body = shell(&plan.spec, object, plan.ids[k as usize]).chain(give_back);
        self.ready.extend(vfork(plan.exec_done[self.make as usize], "sh", path, body));
    }
}

impl Iterator for Jobs {
    type Item = Action;
    fn next(&mut self) -> Option<Action> {
        if self.ready.is_empty() {
            let k = self.objects.next()?;
            self.prepare(k);
        }
        self.ready.pop_front()
    }
}

/// The make the user starts: all jobs, or one more make for each directory, and the link when all is done.
pub(super) fn top(plan: &Arc<Plan>) -> impl Iterator<Item = Action> + Send + use<> {
    let spec = &plan.spec;
    let makes = spec.makes.get();
    let jobs: Box<dyn Iterator<Item = Action> + Send> = if makes == 1 {
        Box::new(Jobs::new(plan, 0, Slots::Own(spec.jobs.get())))
    } else {
        let plan = Arc::clone(plan);
        Box::new((0..makes).flat_map(move |make| {
            let path = format!("{}/dir#{make}", plan.spec.name);
            vfork(plan.exec_done[makes as usize], "make", path, directory(&plan, make))
        }))
    };
    let exec_done = plan.exec_done[if makes == 1 { 0 } else { makes as usize }];
    let link = vfork(exec_done, "ld", format!("{}/ld", spec.name), once(run(spec.link_work(plan.seed))));
    let start = run(spec.make_start_work(plan.seed, &spec.name));
    once(start).chain(jobs).chain([Action::WaitChildren]).chain(link).chain([Action::WaitChild])
}

/// The make of one directory.
fn directory(plan: &Arc<Plan>, make: u32) -> impl Iterator<Item = Action> + Send + use<> {
    let path = format!("{}/dir#{make}", plan.spec.name);
    let start = run(plan.spec.make_start_work(plan.seed, &path));
    once(start).chain(Jobs::new(plan, make, Slots::Shared)).chain([Action::WaitChildren])
}
