//! Plans become programs.

use super::{Life, Plan};
use crate::support::{run, script, task};
use sim_core::program::{Action, ChildSpec, Objects, TaskSpec};
use sim_core::{CpuId, CpuMask, Instant, Nanos};
use std::collections::BTreeMap;

pub(super) struct Builder {
    pub(super) objects: Objects,
    pub(super) tasks: Vec<TaskSpec>,
    pub(super) asked: BTreeMap<String, u64>,
    pub(super) pieces: u64,
}

/// The CPUs of the machine among these four bits; its first CPU if none is.
fn mask(bits: u8, cpus: u32) -> CpuMask {
    let mut m = CpuMask::default();
    (0..cpus).filter(|c| bits & (1 << c) != 0).for_each(|c| m.insert(CpuId(c)));
    if m.is_empty() { CpuMask::one(CpuId(0)) } else { m }
}

impl Builder {
    /// The same work in pieces.
    fn work(&self, us: u64) -> Vec<Action> {
        let (ns, n) = (us * 1000 + 7, self.pieces);
        (0..n).map(|i| run(ns / n + if i == 0 { ns % n } else { 0 })).collect()
    }

    fn note(&mut self, path: &str, actions: &[Action]) {
        let ns = |a: &Action| if let Action::Run(sim_core::program::Work::Capacity(d)) = a { d.0 } else { 0 };
        self.asked.insert(path.to_owned(), actions.iter().map(ns).sum());
    }

    fn add(&mut self, path: String, plan: &Plan, cpus: u32, actions: Vec<Action>) {
        self.note(&path, &actions);
        let mut t = task(&path, plan.nice, script(actions));
        t.policy = plan.policy;
        t.affinity = Some(mask(plan.cpus, cpus));
        t.start = Instant(plan.start * 1000);
        self.tasks.push(t);
    }

    pub(super) fn plan(&mut self, i: usize, plan: &Plan, cpus: u32) {
        let name = format!("p{i}");
        let each = |b: &Builder, steps: Vec<(u64, Option<Action>)>| -> Vec<Action> {
            steps.into_iter().flat_map(|(us, then)| b.work(us).into_iter().chain(then)).collect()
        };
        match &plan.life {
            Life::Runs(us) => {
                let a = each(self, us.iter().map(|us| (*us, None)).collect());
                self.add(name, plan, cpus, a);
            }
            Life::RunSleep(steps) => {
                let sleep = |(run, us): &(u64, u64)| (*run, Some(Action::Sleep(Nanos(us * 1000))));
                let a = each(self, steps.iter().map(sleep).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Yields { run, n } => {
                let a = each(self, (0..*n).map(|_| (*run, Some(Action::Yield))).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Renices(steps) => {
                let a = each(self, steps.iter().map(|(us, n)| (*us, Some(Action::SetNice(*n)))).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Roams(steps) => {
                let to = |(us, bits): &(u64, u8)| (*us, Some(Action::SetAffinity(mask(*bits, cpus))));
                let a = each(self, steps.iter().map(to).collect());
                self.add(name, plan, cpus, a);
            }
            Life::Forks { children, work } => self.forks(name, plan, cpus, *children, *work),
            Life::PingPong { rounds, bytes, work } => {
                self.ping_pong(&name, plan, cpus, (*rounds, *bytes, *work))
            }
            Life::Producer { n, work } => {
                let sem = self.objects.add_semaphore(&name, 0);
                let posts =
                    each(self, (0..*n).map(|_| (*work, Some(Action::SemPost { sem, n: 1 }))).collect());
                let waits = (0..*n).flat_map(|_| [Action::SemWait(sem)].into_iter().chain(self.work(*work)));
                let waits = waits.collect();
                self.add(format!("{name}/wait"), plan, cpus, waits);
                self.add(format!("{name}/post"), plan, cpus, posts);
            }
            Life::Mutex { tasks, rounds, work } => {
                let m = self.objects.add_mutex(&name);
                for t in 0..*tasks {
                    let round = |b: &Builder| {
                        let inside = [Action::Lock(m)].into_iter().chain(b.work(*work));
                        inside.chain([Action::Unlock(m)]).chain(b.work(*work / 2)).collect::<Vec<_>>()
                    };
                    let a = (0..*rounds).flat_map(|_| round(self)).collect();
                    self.add(format!("{name}/{t}"), plan, cpus, a);
                }
            }
            Life::Barrier { tasks, rounds, work } => {
                let bar = self.objects.add_barrier(&name, *tasks as u32);
                for t in 0..*tasks {
                    let us = work * (t as u64 + 1) / 2;
                    let a = each(self, (0..*rounds).map(|_| (us, Some(Action::Barrier(bar)))).collect());
                    self.add(format!("{name}/{t}"), plan, cpus, a);
                }
            }
        }
    }

    fn forks(&mut self, name: String, plan: &Plan, cpus: u32, children: usize, work: u64) {
        let mut actions = Vec::new();
        for c in 0..children {
            let path = format!("{name}/{c}");
            let does = self.work(work);
            self.note(&path, &does);
            let child = ChildSpec { name: path.clone(), path, program: script(does) };
            actions.push(Action::Fork(Box::new(child)));
            actions.extend(self.work(work / 3));
        }
        actions.push(if children.is_multiple_of(2) { Action::WaitChildren } else { Action::WaitChild });
        self.add(name, plan, cpus, actions);
    }

    fn ping_pong(&mut self, name: &str, plan: &Plan, cpus: u32, (rounds, bytes, work): (usize, u64, u64)) {
        let [there, back] = [(); 2].map(|()| self.objects.add_pipe(name, Objects::PIPE_CAPACITY, 0));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            a.extend(self.work(work));
            a.extend([Action::PipeWrite { pipe: there, bytes }, Action::PipeRead { pipe: back, bytes }]);
            b.push(Action::PipeRead { pipe: there, bytes });
            b.extend(self.work(work / 2));
            b.push(Action::PipeWrite { pipe: back, bytes });
        }
        self.add(format!("{name}/a"), plan, cpus, a);
        self.add(format!("{name}/b"), plan, cpus, b);
    }
}
