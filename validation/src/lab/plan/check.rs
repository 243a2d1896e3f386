//! What of a scenario's machine, run and tasks the lab can stand in for.

use super::{MAX_CPUS, MAX_DURATION_NS, Refusal};
use crate::capture::spec::Limits;
use sim_workloads::scenario::{Scenario, Step, TaskDef};

/// CPUs of the guest.
pub(super) fn cpus(scenario: &Scenario, smp: Option<u32>) -> Result<u32, Refusal> {
    let cpus = smp.unwrap_or(scenario.topology.present().count() as u32);
    if (1..=MAX_CPUS).contains(&cpus) {
        return Ok(cpus);
    }
    Err(Refusal::new(
        &["machine"],
        format!("a guest of {cpus} CPUs: allowed are 1 to {MAX_CPUS} (--smp N runs it on N)"),
    ))
}

/// Refuses machines that differ from plain CPUs under one cache in what the scheduler sees. With `smp` the user has asked for
/// plain CPUs.
pub(super) fn refuse_other_machines(scenario: &Scenario, plain: bool) -> Result<(), Refusal> {
    let machine = &scenario.machine;
    let no = |key: &str, what: &str| {
        Err(Refusal::new(&["machine", key], format!("a guest has plain CPUs under one cache: {what}")))
    };
    let topology = &scenario.topology;
    let one = topology.llcs().len() <= 1 && topology.cores().len() == topology.present().count();
    if !one && !plain {
        return no(
            "topology",
            "several caches or threads per core are not there (--smp N runs the scenario on N plain CPUs)",
        );
    }
    if machine.offline.is_some() {
        return no("offline", "all of them run");
    }
    if machine.isolcpus.is_some() {
        return no("isolcpus", "none is isolated");
    }
    if !machine.partitions.is_empty() {
        return no("partitions", "there are no partitions");
    }
    if !machine.capacity.is_empty() {
        return no("capacity", "all have the same capacity");
    }
    if machine.host.is_some() {
        return no("host", "its host is an emulator");
    }
    if !machine.interference.is_empty() {
        return no("interference", "nothing interferes with them");
    }
    if !scenario.changes.is_empty() {
        return Err(Refusal::new(&["at", "0"], "changes while running are not made in the guest"));
    }
    if !scenario.sessions.is_empty() {
        return Err(Refusal::new(&["session"], "guests run without autogroups: sessions do nothing there"));
    }
    if scenario.workload.models().next().is_some() {
        let what = "workload models are not known to the guest's driver, only tasks with steps";
        return Err(Refusal::new(&["workload"], what));
    }
    Ok(())
}

/// When the tasks are told to stop.
pub(super) fn limit(scenario: &Scenario) -> Result<Option<u64>, Refusal> {
    let duration = scenario.run.duration.map(|d| d.0.0);
    match duration {
        Some(ns) if ns > MAX_DURATION_NS => {
            let what = format!(
                "{} s are too long for the lab: at most {} s (--duration)",
                ns / 1_000_000_000,
                MAX_DURATION_NS / 1_000_000_000
            );
            Err(Refusal::new(&["run", "duration"], what))
        }
        _ => Ok(duration),
    }
}

/// Refuses more tasks and steps than the driver's tables hold, before they are multiplied out.
pub(super) fn size(scenario: &Scenario) -> Result<(), Refusal> {
    let (mut tasks, mut steps) = (0_u64, 0_u64);
    for task in &scenario.tasks {
        tasks += u64::from(task.count);
        steps = steps.saturating_add(u64::from(task.count).saturating_mul(nodes(&task.program)));
        let too_many = |n: u64, max: usize, what: &str| {
            let what = format!("{n} {what} so far: the guest's driver has room for {max}");
            Err(Refusal::new(&["task", &task.name], what))
        };
        if tasks > Limits::TASKS as u64 {
            return too_many(tasks, Limits::TASKS, "tasks");
        }
        if steps >= Limits::NODES as u64 {
            return too_many(steps, Limits::NODES - 1, "steps");
        }
    }
    Ok(())
}

/// Steps of a program, those inside others included.
fn nodes(steps: &[Step]) -> u64 {
    let one = |step: &Step| match step {
        Step::Count(n) => *n,
        step => 1_u64.saturating_add(nodes(inside(step))),
    };
    steps.iter().map(one).fold(0, u64::saturating_add)
}

/// The steps inside a step.
fn inside(step: &Step) -> &[Step] {
    match step {
        Step::Fork { program: body, .. }
        | Step::Repeat { body, .. }
        | Step::For { body, .. }
        | Step::Until { body, .. }
        | Step::Forever(body) => body,
        _ => &[],
    }
}

/// A task's own settings.
pub(super) fn task(task: &TaskDef, cpus: u32) -> Result<(), Refusal> {
    let no = |key: &str, what: &str| Err(Refusal::new(&["task", &task.name, key], what));
    if task.session.is_some() {
        return no("session", "guests run without autogroups: sessions do nothing there");
    }
    if task.timer_slack.is_some() {
        return no(
            "timer_slack",
            "the guest's tasks sleep with a slack of 1 ns, as those of all captures do",
        );
    }
    if task.cpus.as_ref().is_some_and(|list| !list.0.within(cpus)) {
        return no("cpus", &format!("the guest has the CPUs 0 to {}", cpus - 1));
    }
    Ok(())
}

/// What the lab leaves aside and says so.
pub(super) fn notes(scenario: &Scenario) -> Vec<String> {
    let machine = &scenario.machine;
    let mut notes = Vec::new();
    let speeds = [
        ("machine.preset", machine.preset.is_some()),
        ("machine.idle", machine.idle.is_some()),
        ("machine.frequency", machine.frequency.is_some()),
        ("machine.smt", machine.smt.is_some()),
        ("machine.cache", machine.cache.is_some()),
        ("machine.ipc", machine.ipc.is_some()),
        ("machine.without", !machine.without.is_empty()),
        ("costs", scenario.costs.preset.is_some() || !scenario.costs.costs.is_empty()),
        ("uncertain", !scenario.uncertain.is_empty()),
    ];
    let given: Vec<&str> = speeds.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    if !given.is_empty() {
        notes.push(format!(
            "{} make way for the lab's machine, whose delays are calibrated",
            given.join(", ")
        ));
    }
    if scenario.tasks.iter().any(|t| t.process.is_some()) {
        notes.push("task.process: every task of the guest is a process of its own".to_owned());
    }
    if scenario.tasks.iter().any(|t| t.working_set.is_some() || t.class != Default::default()) {
        notes.push("task.class and task.working_set have no effect: the guest has no caches".to_owned());
    }
    if scenario.run.warmup.is_some() {
        notes.push("run.warmup has no effect: both sides are measured from the start".to_owned());
    }
    if let Some(profile) = &scenario.kernel.profile {
        notes.push(format!(
            "kernel.profile = {profile} has no effect: the profile is that of the kernel booted"
        ));
    }
    notes
}
