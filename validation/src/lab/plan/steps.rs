//! Steps of a scenario's program as steps of the guest's driver.

use super::Refusal;
use crate::capture::spec::{Object, ObjectIx, ObjectKind, Span, Step as LabStep};
use serde_json::Value;
use sim_core::Nanos;
use sim_core::program::Objects;
use sim_workloads::dist::{Dist, Shape};
use sim_workloads::scenario::{Scenario, Step, TaskDef};

/// What a program may be made of, for those whose program is made of something else.
const ALLOWED: &str = "run, run_cpu, sleep, period, write, read, post, wait, barrier, fork, wait_child, wait_children, affinity, yield, \
                       count, repeat, for, forever, and until as the first";
/// `count = N` becomes so many steps at most.
const MAX_COUNT: u64 = 64;
/// The largest transfer through a pipe in one step, bytes: the driver's buffer.
const MAX_TRANSFER: u64 = 65_536;
/// The longest single step, ns: as in the captures' language.
const MAX_SPAN: u64 = 3_600_000_000_000;

/// The program of one instance of a task being compiled.
pub(super) struct Steps<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) task: &'a TaskDef,
    pub(super) instance: u32,
    pub(super) objects: &'a mut Vec<Object>,
    /// Where the compiler is, below the task's table.
    pub(super) at: Vec<String>,
}

impl Steps<'_> {
    /// The whole program.
    pub(super) fn program(&mut self, program: &[Step]) -> Result<Vec<LabStep>, Refusal> {
        self.inside("program", |s| match program {
            // The run starts with the tasks: until a time is for as long, less a late start.
            [Step::Until { time, body }, rest @ ..] => {
                let body = s.inside("0", |s| s.inside("do", |s| s.block(body)))?;
                let length = time.0.saturating_sub(s.task.start.0);
                let first = (length > 0).then_some(LabStep::For(length, body));
                Ok(first.into_iter().chain(s.steps(rest, 1)?).collect())
            }
            program => s.block(program),
        })
    }

    fn inside<T>(&mut self, key: &str, f: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(key.to_owned());
        let done = f(self);
        self.at.pop();
        done
    }

    fn no<T>(&self, what: impl Into<String>) -> Result<T, Refusal> {
        let head = ["task".to_owned(), self.task.name.clone()];
        Err(Refusal { at: head.into_iter().chain(self.at.iter().cloned()).collect(), what: what.into() })
    }

    fn block(&mut self, body: &[Step]) -> Result<Vec<LabStep>, Refusal> {
        self.steps(body, 0)
    }

    /// Steps of a list, from its step number `from` on.
    fn steps(&mut self, body: &[Step], from: usize) -> Result<Vec<LabStep>, Refusal> {
        let mut steps = Vec::new();
        for (i, step) in body.iter().enumerate() {
            let last = i + 1 == body.len();
            let whole = self.at.last().is_some_and(|key| key == "program");
            let i = (from + i).to_string();
            match step {
                // A program ends after its last step anyway.
                Step::Exit if last && whole => {}
                Step::Count(n) => {
                    let n = self.inside(&i, |s| s.count(*n))?;
                    steps.extend((0..n).map(|_| LabStep::Count));
                }
                step => steps.push(self.inside(&i, |s| s.step(step))?),
            }
        }
        Ok(steps)
    }

    fn step(&mut self, step: &Step) -> Result<LabStep, Refusal> {
        Ok(match step {
            Step::Run(dist) => LabStep::Run(self.inside("run", |s| s.span(dist))?),
            Step::RunCpu(dist) => LabStep::Run(self.inside("run_cpu", |s| s.span(dist))?),
            Step::Sleep(dist) => LabStep::Sleep(self.inside("sleep", |s| s.span(dist))?),
            // From the task's start, not from when it first comes here. Deviates: D-251.
            Step::Period(Nanos(ns)) if *ns > 0 => LabStep::Period(*ns),
            Step::Write(t) => LabStep::Write(self.pipe(&t.pipe, t.bytes.0)?, t.bytes.0 as u32),
            Step::Read(t) => LabStep::Read(self.pipe(&t.pipe, t.bytes.0)?, t.bytes.0 as u32),
            // What stays in the kernel there does so in the guest, too: a post is a system call.
            Step::Post { semaphore, n, .. } => LabStep::Post(self.semaphore(semaphore)?, *n),
            Step::Wait(semaphore) => LabStep::Wait(self.semaphore(semaphore)?),
            Step::Barrier(name) => {
                let Some(barrier) = self.scenario.objects.barriers.get(name) else {
                    return self.no("a barrier must be declared by its full name");
                };
                LabStep::Barrier(self.object(ObjectKind::Barrier, name)?, barrier.parties)
            }
            Step::Fork { vfork: true, .. } => {
                return self.no("the guest's driver does not vfork: write fork");
            }
            Step::Fork { program, .. } => LabStep::Fork(self.inside("program", |s| s.block(program))?),
            Step::WaitChild => LabStep::Join,
            Step::WaitChildren => LabStep::JoinAll,
            Step::Affinity(list) => LabStep::Affinity(list.0.clone()),
            Step::Yield => LabStep::Yield,
            Step::Repeat { times, body } => LabStep::Loop(*times, self.inside("do", |s| s.block(body))?),
            Step::For { duration, body } => LabStep::For(duration.0, self.inside("do", |s| s.block(body))?),
            Step::Forever(body) => LabStep::Loop(u64::MAX, self.inside("forever", |s| s.block(body))?),
            other => {
                let name = name(other);
                return self
                    .no(format!("the guest's driver has no step '{name}' here: allowed are {ALLOWED}"));
            }
        })
    }

    fn count(&self, n: u64) -> Result<u64, Refusal> {
        if n <= MAX_COUNT {
            Ok(n)
        } else {
            self.no(format!("count = {n}: the guest's driver counts one at a time, at most {MAX_COUNT}"))
        }
    }

    fn span(&self, dist: &Dist) -> Result<Span, Refusal> {
        let (lo, hi) = match dist.shape {
            Shape::Constant(ns) => (ns.0, ns.0),
            Shape::Uniform(lo, hi) => (lo.0, hi.0),
            _ => return self.no("the guest's driver draws uniform durations only: allowed are a duration and { uniform = [\"A\", \"B\"] }"),
        };
        let limited = dist.min.is_some_and(|min| min.0 > lo) || dist.max.is_some_and(|max| max.0 < hi);
        if limited && lo < hi {
            return self.no("limits of a random duration: write them into uniform");
        }
        let clamp = |ns: u64| dist.max.map_or(u64::MAX, |m| m.0).min(ns.max(dist.min.map_or(0, |m| m.0)));
        let (lo, hi) = (clamp(lo), clamp(hi));
        if hi > MAX_SPAN { self.no("a step longer than an hour") } else { Ok(Span { lo, hi }) }
    }

    fn pipe(&mut self, name: &str, bytes: u64) -> Result<ObjectIx, Refusal> {
        if bytes > MAX_TRANSFER {
            return self
                .no(format!("{bytes} bytes in one step: the guest's driver moves at most {MAX_TRANSFER}"));
        }
        let resolved = self.resolved(name);
        let pipes = &self.scenario.objects.pipes;
        let declared = pipes.get_key_value(&resolved).or_else(|| pipes.get_key_value(name));
        if let Some((key, pipe)) = declared.filter(|(_, p)| p.capacity.0 != Objects::PIPE_CAPACITY) {
            let what =
                format!("a pipe of {} bytes: the guest's have {}", pipe.capacity.0, Objects::PIPE_CAPACITY);
            return Err(Refusal::new(&["pipes", key, "capacity"], what));
        }
        self.object(ObjectKind::Pipe, name)
    }

    fn semaphore(&mut self, name: &str) -> Result<ObjectIx, Refusal> {
        let resolved = self.resolved(name);
        let semaphores = &self.scenario.objects.semaphores;
        let declared = semaphores.get_key_value(&resolved).or_else(|| semaphores.get_key_value(name));
        if let Some((key, _)) = declared.filter(|(_, s)| s.value > 0) {
            return Err(Refusal::new(
                &["semaphores", key, "value"],
                "the guest's semaphores start at 0: post before the first wait",
            ));
        }
        self.object(ObjectKind::Semaphore, name)
    }

    fn resolved(&self, name: &str) -> String {
        name.replace('%', &self.instance.to_string())
    }

    fn object(&mut self, kind: ObjectKind, name: &str) -> Result<ObjectIx, Refusal> {
        let name = self.resolved(name);
        // In a text, a name that starts with a digit could be taken for an optional number.
        if name.contains(':') || name.starts_with(|c: char| c.is_ascii_digit()) {
            return self.no(format!(
                "'{name}' cannot name an object in a capture: it starts with a digit or has a ':'"
            ));
        }
        let known = self.objects.iter().position(|o| o.kind == kind && o.name == name);
        let ix = known.unwrap_or_else(|| {
            self.objects.push(Object { kind, name });
            self.objects.len() - 1
        });
        u16::try_from(ix).map(ObjectIx).or_else(|_| self.no("too many objects"))
    }
}

/// A step's key, as a scenario writes it.
fn name(step: &Step) -> String {
    match serde_json::to_value(step) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(map)) => map.keys().next().map_or("", |key| key.trim_end_matches("_ns")).to_owned(),
        _ => String::new(),
    }
}
