//! The programs of a build, as sequences of actions that are made while they run.

use super::KernelCompile;
use super::inputs::{Kind, Read};
use super::object::{AsWork, ObjectWork, part};
use sim_core::program::{Action, ChildSpec, Program, ProgramContext, Work};
use sim_core::{Nanos, PipeId, SemId};
use std::iter::once;

/// A program that asks for these actions in turn and then exits.
pub(super) fn play(mut actions: impl Iterator<Item = Action> + Send + 'static) -> Box<dyn Program> {
    Box::new(move |_: &ProgramContext| actions.next().unwrap_or(Action::Exit))
}

pub(super) fn run(work: Nanos) -> Action {
    Action::Run(Work::Capacity(work))
}

/// What a parent does to start `name` with fork(2) and exec, as shells do: it goes on at once.
fn fork(name: &str, path: String, body: impl Iterator<Item = Action> + Send + 'static) -> Action {
    let program = play(once(Action::Exec { name: name.to_owned() }).chain(body));
    Action::Fork(Box::new(ChildSpec { name: name.to_owned(), path, program }))
}

/// As [`fork`] but with vfork(2), as make and the gcc driver do: the parent sleeps until the child has called exec.
/// `exec_done` belongs to the parent.
pub(super) fn vfork(
    exec_done: SemId,
    name: &str,
    path: String,
    body: impl Iterator<Item = Action> + Send + 'static,
) -> [Action; 2] {
    let body = once(Action::SemPost { sem: exec_done, n: 1 }).chain(body);
    [fork(name, path, body), Action::SemWait(exec_done)]
}

/// What the processes of one object share.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectIds {
    /// The gcc driver's wait for its child's exec.
    pub exec_done: SemId,
    /// From cc1 to as, if they run side by side.
    pub pipe: Option<PipeId>,
}

/// The shell of one recipe: gcc if it compiles, then the helpers one after another. Counts the object as finished.
pub(super) fn shell(
    spec: &KernelCompile,
    object: ObjectWork,
    ids: ObjectIds,
) -> impl Iterator<Item = Action> + Send + use<> {
    let mut forks = Vec::with_capacity(1 + object.helpers.len());
    if object.kind != Kind::Script {
        forks.push(fork("gcc", format!("{}/gcc", object.path), gcc(&object, ids)));
    }
    for (i, (helper, work)) in spec.helpers.iter().zip(&object.helpers).enumerate() {
        forks.push(fork(&helper.name, format!("{}/helper#{i}", object.path), once(run(*work))));
    }
    let children = forks.len() as u64;
    let slice = move |i| run(part(object.sh, i, children + 1));
    let body = (0..).zip(forks).flat_map(move |(i, fork)| [slice(i), fork, Action::WaitChild]);
    body.chain([slice(children), Action::Count(1)])
}

/// The driver: cc1 and as side by side with a pipe between, or one after the other through a file.
fn gcc(object: &ObjectWork, ids: ObjectIds) -> impl Iterator<Item = Action> + Send + use<> {
    let [before, between, after] = object.gcc;
    let (cc1_path, as_path) = (format!("{}/cc1", object.path), format!("{}/as", object.path));
    let cc1 = vfork(ids.exec_done, "cc1", cc1_path, cc1(object, ids.pipe));
    let assemble = vfork(ids.exec_done, "as", as_path, assemble(object.assembler, ids.pipe));
    let (early, late) = match ids.pipe {
        Some(_) => (None, Some(Action::WaitChild)),
        None => (Some(Action::WaitChild), None),
    };
    let start_cc1 = once(run(before)).chain(cc1).chain(early);
    let start_as = once(run(between)).chain(assemble).chain(late);
    start_cc1.chain(start_as).chain([Action::WaitChild, run(after)])
}

/// The compiler: reads (in kernel mode, and sleeps for what is not cached), then writes the assembler text piece by piece.
fn cc1(object: &ObjectWork, pipe: Option<PipeId>) -> impl Iterator<Item = Action> + Send + use<> {
    let [front, rest, wrap_up] = object.cc1;
    let text = object.assembler;
    let stretches = object.reads.len() as u64 + 1;
    let read = (1..).zip(object.reads.clone()).flat_map(move |(i, Read { sleep, scan })| {
        let scan = (!scan.is_zero()).then_some(Action::KernelRun(scan));
        let goes_on = run(part(front, i, stretches));
        sleep.map(Action::Io).into_iter().chain(scan).chain([goes_on])
    });
    let read = once(run(part(front, 0, stretches))).chain(read);
    // A text of one piece is written when all work is done.
    let gaps = (text.pieces() - 1).max(1);
    let write = move |pipe| {
        (0..text.pieces()).flat_map(move |i| {
            let work = if i == 0 && text.pieces() > 1 {
                None
            } else {
                Some(run(part(rest, i.saturating_sub(1), gaps)))
            };
            work.into_iter().chain(once(Action::PipeWrite { pipe, bytes: text.piece(i) }))
        })
    };
    let unpiped = pipe.is_none().then(|| run(rest));
    read.chain(pipe.into_iter().flat_map(write)).chain(unpiped).chain(once(run(wrap_up)))
}

/// The assembler: takes its input in, parses whenever its buffer is full, lays out and writes the object.
fn assemble(text: AsWork, pipe: Option<PipeId>) -> impl Iterator<Item = Action> + Send {
    let (start, finish) = (text.start, text.finish);
    let pieces = (0..text.pieces()).flat_map(move |i| {
        let bytes = text.piece(i);
        let parse = text.fills_buffer(i).then(|| run(text.parse));
        let read = pipe.map(|pipe| Action::PipeRead { pipe, bytes });
        read.into_iter().chain(once(run(text.read))).chain(parse)
    });
    once(run(start)).chain(pieces).chain(once(run(finish)))
}
