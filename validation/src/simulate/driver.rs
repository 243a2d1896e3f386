//! The lab's driver: it forks the tasks of the spec, sleeps while they wait for T0, and waits for their ends.

use super::program::{LabTask, Shared};
use crate::capture::spec::Spec;
use sim_core::kernel::Policy;
use sim_core::program::{Action, ChildSpec, Program};
use sim_core::{CpuMask, GroupId, Instant, Nanos};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long before T0 the driver wakes to switch tracing on (`wl.c`).
const TRACE_ON: Nanos = Nanos::from_millis(2);

/// What the driver itself spends.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriverCosts {
    /// From its last change of priority to that sleep.
    pub(super) child_to_sleep: Nanos,
    /// The driver's work after each child that ended.
    pub(super) reap: Nanos,
    /// Before each fork, and of a child before its set-up, where the machine's forks cost nothing.
    pub(super) fork: (Nanos, Nanos),
}

/// The driver's program.
pub(super) fn driver(
    spec: &Spec,
    groups: &BTreeMap<String, GroupId>,
    shared: &Arc<Shared>,
    t0: Instant,
    costs: DriverCosts,
    free: Option<CpuMask>,
) -> Box<dyn Program> {
    // It starts where the captured one did, but may go elsewhere.
    let mut actions: Vec<Action> = free.map(Action::SetAffinity).into_iter().collect();
    for (task, random) in spec.tasks.iter().zip(spec.task_streams()) {
        let (fork, child) = costs.fork;
        let mut setup = Vec::new();
        setup.extend((!child.is_zero()).then_some(Action::KernelRun(child)));
        setup.extend(task.cpus.clone().map(Action::SetAffinity));
        setup.extend((task.nice != 0).then_some(Action::SetNice(task.nice)));
        setup.extend((task.policy != Policy::Normal).then_some(Action::SetPolicy(task.policy)));
        let group = task.group.as_ref().and_then(|path| groups.get(path));
        setup.extend(group.map(|g| Action::MoveToGroup(*g)));
        setup.push(Action::KernelRun(costs.child_to_sleep));
        setup.push(Action::SleepUntil(t0 + Nanos(task.start)));
        let body = Arc::new(task.body.clone());
        let path = format!("wl/{}", task.name);
        let program = LabTask::new(shared.clone(), path.clone(), task.name.clone(), random, body, setup);
        let child = ChildSpec { name: task.name.clone(), path, program: Box::new(program) };
        actions.extend((!fork.is_zero()).then_some(Action::KernelRun(fork)));
        actions.push(Action::Fork(Box::new(child)));
    }
    actions.push(Action::SleepUntil(t0 - TRACE_ON));
    for _ in &spec.tasks {
        actions.push(Action::WaitChild);
        actions.push(Action::KernelRun(costs.reap));
    }
    let mut actions = actions.into_iter();
    Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit))
}

/// The shell that starts the driver.
pub(super) fn shell(driver: Box<dyn Program>) -> Box<dyn Program> {
    let child = ChildSpec { name: "wl".to_owned(), path: "wl".to_owned(), program: driver };
    let mut actions = [Action::Fork(Box::new(child)), Action::WaitChild].into_iter();
    Box::new(move |_: &_| actions.next().unwrap_or(Action::Exit))
}
