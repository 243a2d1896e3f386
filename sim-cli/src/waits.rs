//! What unfinished tasks are doing and who waits for whom, in words.

use crate::text;
use serde::Serialize;
use sim_core::engine::{Doing, TaskInfo, Unfinished, WaitFor};
use sim_core::kernel::hooks::Hooks;
use sim_core::observe::Observer;
use sim_core::{Instant, Simulation, TaskId};
use std::collections::BTreeMap;

/// Most tasks a text names.
const NAMED: usize = 5;

/// A task that has not ended.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct UnfinishedTask {
    pub(crate) task: String,
    pub(crate) doing: String,
}

/// A task's name, or its path where several have the name.
struct Labels<'a> {
    tasks: &'a [TaskInfo],
    named: BTreeMap<&'a str, usize>,
}

impl<'a> Labels<'a> {
    fn new(tasks: &'a [TaskInfo]) -> Labels<'a> {
        let mut named = BTreeMap::new();
        tasks.iter().for_each(|t| *named.entry(t.name.as_str()).or_default() += 1);
        Labels { tasks, named }
    }

    fn of(&self, task: TaskId) -> &'a str {
        let info = &self.tasks[task.index()];
        if self.named[info.name.as_str()] == 1 { &info.name } else { &info.path }
    }

    /// Some tasks by name, joined by `and`, or `nobody`.
    fn list(&self, tasks: &[TaskId]) -> String {
        let names: Vec<&str> = tasks.iter().take(NAMED).map(|t| self.of(*t)).collect();
        match (names.split_last(), tasks.len().saturating_sub(NAMED)) {
            (None, _) => "nobody".to_owned(),
            (Some((last, [])), 0) => (*last).to_owned(),
            (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
            (Some(_), more) => format!("{} and {more} more", names.join(", ")),
        }
    }
}

/// The tasks that have not ended and what they are doing.
pub(crate) fn unfinished<O: Observer, H: Hooks>(simulation: &Simulation<O, H>) -> Vec<UnfinishedTask> {
    let labels = Labels::new(simulation.tasks());
    let list = simulation.unfinished();
    let report = |u: &Unfinished| UnfinishedTask {
        task: labels.of(u.task).to_owned(),
        doing: doing(simulation, &labels, u),
    };
    list.iter().map(report).collect()
}

/// The first few of them in a line.
pub(crate) fn line(unfinished: &[UnfinishedTask]) -> String {
    let shown = unfinished.iter().take(NAMED).map(|u| format!("{} {}", u.task, u.doing));
    let shown = shown.collect::<Vec<_>>().join("; ");
    match unfinished.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Who waits for whom for ever, if anybody does.
pub(crate) fn deadlock<O: Observer, H: Hooks>(simulation: &Simulation<O, H>) -> Option<String> {
    let deadlock = simulation.deadlock()?;
    let labels = Labels::new(simulation.tasks());
    let in_cycle = |u: &&Unfinished| deadlock.cycle.is_empty() || deadlock.cycle.contains(&u.task);
    let mut told: Vec<&Unfinished> = deadlock.tasks.iter().filter(in_cycle).collect();
    // In the order of the cycle, so that each waits for the next.
    told.sort_by_key(|u| deadlock.cycle.iter().position(|t| *t == u.task));
    told.truncate(NAMED);
    let phrases = told.iter().map(|u| format!("{} {}", labels.of(u.task), doing(simulation, &labels, u)));
    let mut text = format!("deadlock at {}: {}", at(deadlock.at), phrases.collect::<Vec<_>>().join("; "));
    let more = deadlock.tasks.len() - told.len();
    if more > 0 {
        text += &format!("; {more} more wait for ever");
    }
    Some(text)
}

fn at(time: Instant) -> String {
    text::duration(time.0 as f64)
}

/// What a task is doing: the rest of a sentence that begins with its name.
fn doing<O: Observer, H: Hooks>(
    simulation: &Simulation<O, H>,
    labels: &Labels<'_>,
    u: &Unfinished,
) -> String {
    let (since, what, feeders) = match &u.doing {
        Doing::NotStarted => {
            return format!("starts at {}", at(simulation.tasks()[u.task.index()].start));
        }
        Doing::Running(cpu) => return format!("runs on CPU {}", cpu.0),
        Doing::Runnable(cpu) => return format!("waits to run on CPU {}", cpu.0),
        Doing::Asleep { since } => return format!("has slept since {}", at(*since)),
        Doing::Waiting { since, what, feeders } => (*since, *what, feeders.as_slice()),
    };
    let objects = simulation.objects();
    let who = labels.list(feeders);
    let for_what = match what {
        WaitFor::Data(pipe) => {
            format!("data in pipe {}, written by {who}", objects.pipes[pipe.index()].name)
        }
        WaitFor::Space(pipe) => {
            format!("space in pipe {}, read by {who}", objects.pipes[pipe.index()].name)
        }
        WaitFor::Message(socket) => {
            format!("a message from connection {}, sent by {who}", objects.sockets[socket.index()].name)
        }
        WaitFor::Room(socket) => {
            format!("room to send on connection {}, made by {who}", objects.sockets[socket.index()].name)
        }
        WaitFor::Semaphore(sem) => {
            format!("semaphore {}, posted by {who}", objects.semaphores[sem.index()].name)
        }
        WaitFor::Mutex { mutex, owner } => {
            let owner = owner.map_or("nobody", |t| labels.of(t));
            let ended = if feeders.is_empty() && owner != "nobody" { ", which has ended" } else { "" };
            format!("mutex {} held by {owner}{ended}", objects.mutexes[mutex.index()].name)
        }
        WaitFor::Barrier { barrier, missing } => {
            let b = &objects.barriers[barrier.index()];
            format!("{missing} of {} at barrier {}, to which {who} may come", b.parties, b.name)
        }
        WaitFor::Event(epoll) => {
            format!("an event on epoll instance {}, made ready by {who}", objects.epolls[epoll.index()].name)
        }
        WaitFor::Condition(condition) => {
            format!("a signal to condition {}, given by {who}", objects.conditions[condition.index()].name)
        }
        WaitFor::Vfork(_) => format!("the exec or exit of its child {who}, which it vforked"),
        WaitFor::Child => format!("the exit of a child, {who}"),
        WaitFor::Children => format!("the exits of its children, {who}"),
    };
    format!("waits for {for_what}, since {}", at(since))
}
