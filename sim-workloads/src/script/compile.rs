//! From steps to operations: names become ids, loops become jumps.

use super::{Code, Op};
use crate::scenario::{Kind, ObjectSpecs, Step, expand};
use sim_core::program::{Feed, Objects};
use sim_core::{BarrierId, ConditionId, EpollId, GroupId, Instant, MutexId, PipeId, SemId, TimerId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Creates objects as they are named and hands out their ids.
pub(crate) struct Linker<'a> {
    specs: &'a ObjectSpecs,
    objects: &'a mut Objects,
    groups: &'a BTreeMap<String, GroupId>,
    ids: BTreeMap<(Kind, String), usize>,
}

impl<'a> Linker<'a> {
    pub(crate) fn new(
        specs: &'a ObjectSpecs,
        objects: &'a mut Objects,
        groups: &'a BTreeMap<String, GroupId>,
    ) -> Linker<'a> {
        Linker { specs, objects, groups, ids: BTreeMap::new() }
    }

    /// Compiles the program of one instance of a task.
    pub(crate) fn compile(&mut self, steps: &[Step], instance: u32) -> Arc<Code> {
        let mut code = Code::default();
        self.block(steps, instance, 0, &mut code);
        for (i, op) in code.ops.iter().enumerate() {
            code.last.extend(op.feed().map(|feed| (feed, i)));
            if let Op::Fork { code: child, .. } = op {
                code.last.extend(child.last.keys().map(|feed| (*feed, i)));
            }
        }
        Arc::new(code)
    }

    fn block(&mut self, steps: &[Step], instance: u32, depth: usize, code: &mut Code) {
        code.depth = code.depth.max(depth);
        for step in steps {
            match step {
                Step::MoveToGroup(group) => {
                    let id = self.groups.get(&group.0).copied().unwrap_or(GroupId::ROOT);
                    code.ops.push(Op::MoveToGroup(id));
                }
                Step::Fork { name, vfork, program } => {
                    let name = expand(name, instance);
                    let slots = code.children.len();
                    let counter = *code.children.entry(name.clone()).or_insert(slots);
                    let code_of_child = self.compile(program, instance);
                    code.ops.push(Op::Fork { name, vfork: *vfork, counter, code: code_of_child });
                }
                Step::Period(every) => {
                    code.ops.push(Op::Period { every: *every, timer: code.timers });
                    code.timers += 1;
                }
                Step::Repeat { .. } | Step::Until { .. } | Step::For { .. } | Step::Forever(_) => {
                    self.looping(step, instance, depth, code);
                }
                _ => {
                    let op = self.sync(step, instance).unwrap_or_else(|| plain(step, instance));
                    code.ops.push(op);
                }
            }
        }
    }

    fn looping(&mut self, step: &Step, instance: u32, depth: usize, code: &mut Code) {
        let head = code.ops.len();
        code.ops.push(match step {
            Step::Repeat { times, .. } => Op::Repeat { times: *times },
            Step::Until { time, .. } => Op::Until { time: Instant(time.0), end: 0 },
            Step::For { duration, .. } => Op::For { duration: *duration },
            _ => Op::Forever,
        });
        self.block(step.body(), instance, depth + 1, code);
        let last = code.ops.len();
        code.ops.push(Op::End { body: head + 1 });
        if let Op::Until { end, .. } = &mut code.ops[head] {
            *end = last;
        }
    }

    /// Steps on objects.
    fn sync(&mut self, step: &Step, instance: u32) -> Option<Op> {
        let (kind, name) = step.object()?;
        let id = self.id(kind, expand(name, instance));
        Some(match step {
            Step::Write(transfer) => Op::Write(PipeId::new(id), transfer.bytes.0),
            Step::Read(transfer) => Op::Read(PipeId::new(id), transfer.bytes.0),
            Step::PutToken(_) => Op::Write(PipeId::new(id), 1),
            Step::TakeToken(_) => Op::Read(PipeId::new(id), 1),
            Step::Post { n, stay: true, .. } => Op::PostAndStay(SemId::new(id), *n),
            Step::Post { n, .. } => Op::Post(SemId::new(id), *n),
            Step::Wait(_) => Op::Wait(SemId::new(id)),
            Step::Lock(_) => Op::Lock(MutexId::new(id)),
            Step::Unlock(_) => Op::Unlock(MutexId::new(id)),
            Step::CondWait { mutex, .. } => {
                let mutex = mutex.as_ref().map(|name| self.id(Kind::Mutex, expand(name, instance)));
                Op::CondWait(ConditionId::new(id), mutex.map(MutexId::new))
            }
            Step::Signal(_) => Op::Signal(ConditionId::new(id)),
            Step::Broadcast(_) => Op::Broadcast(ConditionId::new(id)),
            Step::Timer { every, missed, .. } => {
                Op::Timer { timer: TimerId::new(id), every: *every, missed: *missed }
            }
            Step::EpollPost(_) => Op::EpollPost(EpollId::new(id)),
            Step::EpollWait { timeout, .. } => Op::EpollWait(EpollId::new(id), *timeout),
            _ => Op::Barrier(BarrierId::new(id)),
        })
    }

    fn id(&mut self, kind: Kind, name: String) -> usize {
        let key = (kind, name);
        if let Some(id) = self.ids.get(&key) {
            return *id;
        }
        let name = key.1.as_str();
        let id = match kind {
            Kind::Pipe => {
                let capacity = self.specs.pipes.get(name).map_or(Objects::PIPE_CAPACITY, |p| p.capacity.0);
                self.objects.add_pipe(name, capacity, 0).index()
            }
            Kind::JobServer => {
                let tokens = self.specs.job_servers.get(name).map_or(1, |j| j.tokens);
                self.objects.add_pipe(name, Objects::PIPE_CAPACITY.max(tokens), tokens).index()
            }
            Kind::Semaphore => {
                let value = self.specs.semaphores.get(name).map_or(0, |s| s.value);
                self.objects.add_semaphore(name, value).index()
            }
            Kind::Mutex => self.objects.add_mutex(name).index(),
            Kind::Epoll => self.objects.add_epoll(name).index(),
            Kind::Condition => self.objects.add_condition(name).index(),
            Kind::Timer => self.objects.add_timer(name).index(),
            Kind::Barrier => {
                let parties = self.specs.barriers.get(name).map_or(1, |b| b.parties);
                self.objects.add_barrier(name, parties).index()
            }
        };
        self.ids.insert(key, id);
        id
    }
}

impl Op {
    /// What the operation does for tasks that wait.
    fn feed(&self) -> Option<Feed> {
        match self {
            Op::Write(pipe, _) => Some(Feed::Write(*pipe)),
            Op::Read(pipe, _) => Some(Feed::Read(*pipe)),
            Op::Post(sem, _) | Op::PostAndStay(sem, _) => Some(Feed::Post(*sem)),
            Op::Barrier(barrier) => Some(Feed::Arrive(*barrier)),
            Op::EpollPost(epoll) => Some(Feed::Ready(*epoll)),
            Op::Signal(condition) | Op::Broadcast(condition) => Some(Feed::Signal(*condition)),
            _ => None,
        }
    }
}

/// Steps without objects and without steps inside.
fn plain(step: &Step, instance: u32) -> Op {
    match step {
        Step::Run(dist) => Op::Run(dist.clone()),
        Step::RunCpu(dist) => Op::RunCpu(dist.clone()),
        Step::Kernel(dist) => Op::Kernel(dist.clone()),
        Step::SleepUntil(time) => Op::SleepUntil(Instant(time.0)),
        Step::Sleep(dist) => Op::Sleep(dist.clone()),
        Step::Io(dist) => Op::Io(dist.clone()),
        Step::WaitChild => Op::WaitChild,
        Step::WaitChildren => Op::WaitChildren,
        Step::Exec(name) => Op::Exec(expand(name, instance)),
        Step::Yield => Op::Yield,
        Step::Nice(nice) => Op::Nice(*nice),
        Step::Policy(policy) => Op::Policy(*policy),
        Step::Affinity(cpus) => Op::Affinity(cpus.0.clone()),
        Step::TimerSlack(slack) => Op::TimerSlack(*slack),
        Step::Count(n) => Op::Count(*n),
        _ => Op::Exit,
    }
}
