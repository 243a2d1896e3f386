//! make, from its start to the end of the build.

use super::KernelCompile;
use super::jobserver::{self, JobServer};
use super::object::ObjectWork;
use super::programs::{ObjectIds, run, shell, vfork};
use sim_core::program::Action;
use sim_core::{Nanos, SemId};
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
    /// Where several makes share the jobs.
    pub server: Option<Arc<JobServer>>,
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
    /// The number of the make the user started.
    fn top(&self) -> usize {
        self.exec_done.len() - 1
    }
    /// What the make of this number does to run a step of the build and wait for its end.
    fn step(
        &self,
        make: usize,
        name: &str,
        path: String,
        work: Nanos,
    ) -> impl Iterator<Item = Action> + use<> {
        vfork(self.exec_done[make], name, path, once(run(work))).into_iter().chain([Action::WaitChild])
    }
    /// As [`step`](Plan::step), if there is such a step.
    fn optional_step(&self, make: usize, name: &str, path: String, work: Option<Nanos>) -> Vec<Action> {
        work.into_iter().flat_map(|work| self.step(make, name, path.clone(), work)).collect()
    }
    /// What the make of this number does to start object `k`, whose shell ends with `last`.
    fn start(&self, make: usize, k: u32, last: impl Iterator<Item = Action> + Send + 'static) -> [Action; 3] {
        let object = self.object(k);
        let (job, path) = (run(object.make), format!("{}/sh", object.path));
        let body = shell(&self.spec, object, self.ids[k as usize]).chain(last);
        let [fork, wait] = vfork(self.exec_done[make], "sh", path, body);
        [job, fork, wait]
    }
}

/// The jobs of a lone make: what it does until the last has been started. It never waits for a token: with all jobs
/// running it waits for a child, whose job it then reuses.
#[derive(Debug)]
struct LoneJobs {
    plan: Arc<Plan>,
    objects: Range<u32>,
    /// Of the jobs it may run, so many are free.
    free: u32,
    ready: VecDeque<Action>,
}

impl Iterator for LoneJobs {
    type Item = Action;
    fn next(&mut self) -> Option<Action> {
        if self.ready.is_empty() {
            let k = self.objects.next()?;
            if self.free == 0 {
                self.ready.push_back(Action::WaitChild);
            }
            self.free = self.free.saturating_sub(1);
            self.ready.extend(self.plan.start(self.plan.top(), k, std::iter::empty()));
        }
        self.ready.pop_front()
    }
}

/// The make the user starts: what comes before the objects, all jobs, or one more make for each directory, the link when
/// all is done, and what comes after it.
pub(super) fn top(plan: &Arc<Plan>) -> impl Iterator<Item = Action> + Send + use<> {
    let (spec, top) = (&plan.spec, plan.top());
    let optional = |name: &str, step| {
        let path = format!("{}/{name}", spec.name);
        let work = spec.step_work(plan.seed, step, &path);
        plan.optional_step(top, name, path, work)
    };
    let jobs: Box<dyn Iterator<Item = Action> + Send> = match &plan.server {
        None => {
            let (plan, objects, free) = (Arc::clone(plan), 0..spec.objects, spec.jobs.get());
            Box::new(LoneJobs { plan, objects, free, ready: VecDeque::new() })
        }
        Some(server) => {
            let plan = Arc::clone(plan);
            let start = move |make| directory(&plan, make);
            Box::new(jobserver::Jobs::new(server, top, 0..spec.makes.get(), start))
        }
    };
    let link = plan.step(top, "ld", format!("{}/ld", spec.name), spec.link_work(plan.seed));
    let start = run(spec.make_start_work(plan.seed, &spec.name));
    let prepare = optional("prepare", spec.prepare.as_ref());
    let tail = optional("tail", spec.tail.as_ref());
    once(start).chain(prepare).chain(jobs).chain([Action::WaitChildren]).chain(link).chain(tail)
}

/// What the top make does to start the make of one directory.
fn directory(plan: &Arc<Plan>, make: u32) -> Vec<Action> {
    let Some(server) = &plan.server else { return Vec::new() };
    let (path, number) = (format!("{}/dir#{make}", plan.spec.name), make as usize);
    let start = run(plan.spec.make_start_work(plan.seed, &path));
    let of_directory = Arc::clone(plan);
    let to_end = Arc::clone(server);
    let job = move |k| of_directory.start(number, k, to_end.end_of_job(number)).into();
    let jobs = jobserver::Jobs::new(server, number, plan.objects_of(make), job);
    let ar = format!("{path}/ar");
    let archive = plan.spec.step_work(plan.seed, plan.spec.archive.as_ref(), &ar);
    let archive = plan.optional_step(number, "ar", ar, archive);
    let body = once(start).chain(jobs).chain(archive).chain(server.end_of_job(plan.top()));
    vfork(plan.exec_done[plan.top()], "make", path, body).into()
}
