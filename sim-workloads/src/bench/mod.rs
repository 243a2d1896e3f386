//! Models of benchmarks that schedulers are judged by, a file each. Parameters have the names and defaults of the real
//! tools, and results the figures they print.

pub mod cyclictest;
pub mod dbench;
pub mod load;
pub mod open_loop;
pub mod schbench;
pub mod sched_messaging;
pub mod sched_pipe;
pub mod stress_ng;
pub mod tbench;
pub mod thread_pool;

use crate::build::Builder;
use crate::model::batches;
use sim_core::program::{Action, Program, ProgramContext};
use sim_core::{Instant, Nanos, TaskId};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most tasks one table may ask for.
pub const MAX_TASKS: u32 = 10_000;

/// Actions to come.
type ToDo = VecDeque<Action>;

/// A program that asks for what `refill` adds whenever nothing is left to do, and exits when it adds nothing.
fn program(refill: impl FnMut(&ProgramContext, &mut ToDo) + Send + 'static) -> Box<dyn Program> {
    batches(refill)
}

/// Adds a task of the root group that exists from the start; its name is the last part of its path, without a number.
fn add(builder: &mut Builder, path: String, program: Box<dyn Program>) -> TaskId {
    let last = path.rsplit('/').next().unwrap_or_default();
    let name = last.split('#').next().unwrap_or_default().to_owned();
    builder.add_plain_task(&name, &path, program)
}

/// Makes tasks threads of one process.
fn one_process(builder: &mut Builder, threads: impl IntoIterator<Item = TaskId>) {
    let number = builder.processes.iter().map(|(_, number)| number + 1).max().unwrap_or(0);
    builder.processes.extend(threads.into_iter().map(|thread| (thread, number)));
}

/// The main thread of a benchmark, which sleeps until the time is up; for ever without a runtime.
fn main_thread(builder: &mut Builder, path: String, runtime: Nanos) -> TaskId {
    let end = end_of(runtime);
    let sleep = move |cx: &ProgramContext, to_do: &mut ToDo| {
        if cx.now < end {
            to_do.push_back(Action::SleepUntil(end));
        }
    };
    add(builder, path, program(sleep))
}

/// When a run of this length ends; zero is without end.
fn end_of(runtime: Nanos) -> Instant {
    if runtime.is_zero() { Instant(u64::MAX) } else { Instant(runtime.0) }
}

/// What programs of one model share. One program of a run is asked at a time, and none panics meanwhile.
fn shared<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn us(time: Nanos) -> f64 {
    time.0 as f64 / 1e3
}
