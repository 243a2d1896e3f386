//! Checks between parts of a scenario that are each right on their own.

use super::error::{ErrorKind, Problem};
use super::node::Segment;
use super::objects::Kind;
use super::step::Step;
use super::task::MAX_TASKS;
use super::{Scenario, TaskDef};
use sim_core::CpuMask;
use std::collections::{BTreeMap, BTreeSet};

/// The most uncertain values: for each the scenario is read again with either end of its range.
const MAX_RANGES: usize = 64;
/// The most steps in the programs of a scenario, as written.
pub(crate) const MAX_STEPS: usize = 1_000_000;
/// The most steps after programs that name objects per instance (`%`) are multiplied by their task's count.
pub(super) const MAX_EXPANDED_STEPS: usize = 1_200_000;

pub(super) type Path = Vec<Segment>;
pub(super) type Result<T> = std::result::Result<T, (Path, Box<Problem>)>;

pub(super) fn path(segments: &[&str]) -> Path {
    segments.iter().map(|s| Segment::from(*s)).collect()
}

/// A place in the host's machine, from the same in the machine.
pub(super) fn in_host(at: Path) -> Path {
    path(&["machine", "host"]).into_iter().chain(at).collect()
}

pub(super) fn inconsistent<T>(path: Path, message: impl Into<String>) -> Result<T> {
    Err((path, Problem::new(ErrorKind::Inconsistent, message)))
}

/// The first contradiction found.
pub(super) fn check(scenario: &Scenario) -> Result<()> {
    check_names(scenario)?;
    check_run(scenario)?;
    check_sizes(scenario)?;
    if scenario.uncertain.len() > MAX_RANGES {
        let message = format!("{} ranges: at most {MAX_RANGES} are allowed", scenario.uncertain.len());
        return Err((path(&["uncertain"]), Problem::new(ErrorKind::Limit, message)));
    }
    for (key, range) in &scenario.uncertain {
        if let Some(message) = range.mistake(key) {
            return Err((path(&["uncertain", key]), Problem::new(ErrorKind::BadValue, message)));
        }
    }
    super::groups_check::check(scenario)?;
    for task in &scenario.tasks {
        let at = path(&["task", &task.name, "program"]);
        check_cpus(scenario, task.cpus.as_ref().map(|c| &c.0), path(&["task", &task.name, "cpus"]))?;
        check_steps(scenario, &task.program, &at)?;
    }
    check_objects(scenario)
}

fn check_names(scenario: &Scenario) -> Result<()> {
    if scenario.name.len() > 200 {
        let message = format!("the name has {} bytes: at most 200 are allowed", scenario.name.len());
        return Err((path(&["name"]), Problem::new(ErrorKind::Limit, message)));
    }
    if scenario.tasks.is_empty() && scenario.workload.is_empty() {
        let message = "there is nothing to run: add a [task.NAME] or a [workload.NAME] table";
        return Err((Path::new(), Problem::new(ErrorKind::MissingKey, message)));
    }
    for (kind, name) in scenario.objects.all() {
        if let Err(message) = crate::units::check_name(name, false) {
            return Err((path(&[kind.table(), name]), Problem::new(ErrorKind::BadValue, message)));
        }
    }
    Ok(())
}

fn check_run(scenario: &Scenario) -> Result<()> {
    let run = &scenario.run;
    match (run.duration.map(|d| d.0), run.warmup.map(|d| d.0)) {
        (Some(duration), _) if duration.is_zero() => {
            return inconsistent(path(&["run", "duration"]), "duration is 0 ns: nothing would run");
        }
        (Some(duration), Some(warmup)) if warmup >= duration => {
            let message = format!("the warm-up of {warmup} leaves nothing of the duration of {duration}");
            return inconsistent(path(&["run", "warmup"]), message);
        }
        (None, _) => {}
        _ => return Ok(()),
    }
    let endless = |task: &&TaskDef| any_step(&task.program, &|step| matches!(step, Step::Forever(_)));
    match scenario.tasks.iter().find(endless) {
        Some(task) => {
            let message =
                format!("task '{}' runs forever: give run.duration, like duration = \"10s\"", task.name);
            inconsistent(path(&["task", &task.name, "program"]), message)
        }
        None => Ok(()),
    }
}

fn any_step(steps: &[Step], test: &impl Fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| test(step) || any_step(step.body(), test))
}

fn count_steps(steps: &[Step]) -> usize {
    steps.iter().map(|step| 1 + count_steps(step.body())).sum()
}

fn check_sizes(scenario: &Scenario) -> Result<()> {
    let limit = |what: &str, n: usize, max: usize| {
        if n <= max {
            return Ok(());
        }
        let message = format!("the scenario has {n} {what}: at most {max} are allowed");
        Err((path(&["task"]), Problem::new(ErrorKind::Limit, message)))
    };
    limit("tasks", scenario.tasks.iter().map(|t| t.count as usize).sum(), MAX_TASKS as usize)?;
    limit("steps", scenario.tasks.iter().map(|t| count_steps(&t.program)).sum(), MAX_STEPS)?;
    let expanded = |task: &TaskDef| {
        let instances = if task.per_instance() { task.count as usize } else { 1 };
        instances.saturating_mul(count_steps(&task.program))
    };
    limit("steps in all instances", scenario.tasks.iter().map(expanded).sum(), MAX_EXPANDED_STEPS)
}

pub(super) fn check_cpus(scenario: &Scenario, mask: Option<&CpuMask>, at: Path) -> Result<()> {
    let Some(mask) = mask else { return Ok(()) };
    let topology = &scenario.topology;
    if !mask.is_subset(topology.present()) {
        let message = format!("CPUs {mask} go beyond the machine, which has CPUs {}", topology.present());
        return inconsistent(at, message);
    }
    if mask.intersects(topology.online()) {
        return Ok(());
    }
    let message = format!("CPUs {mask} are all offline: online are {}", topology.online());
    inconsistent(at, message)
}

/// Whether a step always asks the engine for something; the turns of a loop must, or it could spin in no time.
fn always_acts(step: &Step) -> bool {
    match step {
        Step::Until { .. } => false,
        Step::Repeat { body, .. } | Step::For { body, .. } | Step::Forever(body) => {
            body.iter().any(always_acts)
        }
        _ => true,
    }
}

fn check_steps(scenario: &Scenario, steps: &[Step], at: &Path) -> Result<()> {
    for (i, step) in steps.iter().enumerate() {
        let here: Path = at.iter().cloned().chain([Segment::from(i)]).collect();
        if let Step::Affinity(cpus) = step {
            check_cpus(scenario, Some(&cpus.0), here.clone())?;
        }
        if let Step::MoveToGroup(group) = step {
            scenario.check_group(group, here.clone())?;
        }
        if matches!(step, Step::Exit | Step::Forever(_)) && i + 1 < steps.len() {
            let next: Path = at.iter().cloned().chain([Segment::from(i + 1)]).collect();
            return inconsistent(next, "this step is never reached: the one before it does not go on");
        }
        let is_loop = !matches!(step, Step::Fork { .. }) && !step.body().is_empty();
        if is_loop && !step.body().iter().any(always_acts) {
            let message = "this loop could turn without doing anything: add a step outside of 'until'";
            return inconsistent(here, message);
        }
        let inside: Path = here.into_iter().chain([Segment::from(step.body_key())]).collect();
        check_steps(scenario, step.body(), &inside)?;
    }
    Ok(())
}

/// What tasks do with an object. An object used from one side only is a slip in a name, or a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Give,
    Take,
}

impl Step {
    /// The object a step uses, by kind and name as written.
    pub(crate) fn object(&self) -> Option<(Kind, &str)> {
        self.use_of().map(|(kind, name, _)| (kind, name))
    }

    fn use_of(&self) -> Option<(Kind, &str, Side)> {
        match self {
            Step::Write(t) => Some((Kind::Pipe, &t.pipe, Side::Give)),
            Step::Read(t) => Some((Kind::Pipe, &t.pipe, Side::Take)),
            Step::Post { semaphore, .. } => Some((Kind::Semaphore, semaphore, Side::Give)),
            Step::Wait(name) => Some((Kind::Semaphore, name, Side::Take)),
            Step::Lock(name) => Some((Kind::Mutex, name, Side::Give)),
            Step::Unlock(name) => Some((Kind::Mutex, name, Side::Take)),
            Step::Barrier(name) => Some((Kind::Barrier, name, Side::Give)),
            Step::CondWait { condition: name, .. } => Some((Kind::Condition, name, Side::Take)),
            Step::Signal(name) | Step::Broadcast(name) => Some((Kind::Condition, name, Side::Give)),
            Step::Timer { timer: name, .. } => Some((Kind::Timer, name, Side::Give)),
            Step::EpollPost(name) => Some((Kind::Epoll, name, Side::Give)),
            Step::EpollWait { epoll: name, .. } => Some((Kind::Epoll, name, Side::Take)),
            Step::TakeToken(name) => Some((Kind::JobServer, name, Side::Take)),
            Step::PutToken(name) => Some((Kind::JobServer, name, Side::Give)),
            _ => None,
        }
    }
}

/// Uses of every object: the place of the first use from each side.
type Uses = BTreeMap<(Kind, String), BTreeMap<Side, Path>>;

fn check_objects(scenario: &Scenario) -> Result<()> {
    let mut uses = Uses::new();
    for task in &scenario.tasks {
        let at = path(&["task", &task.name, "program"]);
        let instances = if task.per_instance() { task.count } else { 1 };
        for instance in 0..instances {
            collect_uses(&task.program, instance, &at, &mut uses);
        }
    }
    for ((kind, name), sides) in &uses {
        check_use(scenario, *kind, name, sides)?;
    }
    let used: BTreeSet<(Kind, &str)> = uses.keys().map(|(kind, name)| (*kind, name.as_str())).collect();
    match scenario.objects.all().find(|declared| !used.contains(declared)) {
        Some((kind, name)) => {
            inconsistent(path(&[kind.table(), name]), format!("no task uses the {} '{name}'", kind.noun()))
        }
        None => Ok(()),
    }
}

fn collect_uses(steps: &[Step], instance: u32, at: &Path, uses: &mut Uses) {
    for (i, step) in steps.iter().enumerate() {
        let here = || at.iter().cloned().chain([Segment::from(i)]);
        if let Some((kind, name, side)) = step.use_of() {
            let sides = uses.entry((kind, expand(name, instance))).or_default();
            sides.entry(side).or_insert_with(|| here().collect());
        }
        if !step.body().is_empty() {
            let inside: Path = here().chain([Segment::from(step.body_key())]).collect();
            collect_uses(step.body(), instance, &inside, uses);
        }
    }
}

/// Puts the number of the instance in place of every `%`.
pub(crate) fn expand(name: &str, instance: u32) -> String {
    if name.contains('%') { name.replace('%', &instance.to_string()) } else { name.to_owned() }
}

fn check_use(scenario: &Scenario, kind: Kind, name: &str, sides: &BTreeMap<Side, Path>) -> Result<()> {
    let noun = kind.noun();
    let declared = scenario.objects.declared(kind, name);
    let (give, take) = (sides.get(&Side::Give), sides.get(&Side::Take));
    let lonely = |path: &Path, does: &str, never: &str| {
        let message = format!("the {noun} '{name}' is {does} but never {never}");
        Err((
            path.clone(),
            scenario.suggest_object(kind, name, Problem::new(ErrorKind::Inconsistent, message)),
        ))
    };
    match (kind, give, take) {
        (Kind::Barrier | Kind::JobServer, _, _) if !declared => {
            let place = give.or(take).cloned().unwrap_or_default();
            let key = if kind == Kind::Barrier { "parties" } else { "tokens" };
            let message =
                format!("the {noun} '{name}' is not declared: add [{}.{name}] with {key}", kind.table());
            Err((place, scenario.suggest_object(kind, name, Problem::new(ErrorKind::UnknownName, message))))
        }
        (Kind::Pipe, Some(path), None) => lonely(path, "written", "read"),
        (Kind::Pipe, None, Some(path)) => lonely(path, "read", "written"),
        (Kind::Semaphore, None, Some(path)) if !declared => lonely(path, "waited for", "posted"),
        (Kind::Condition, None, Some(path)) => lonely(path, "waited for", "signalled"),
        (Kind::Epoll, None, Some(path)) => lonely(path, "waited on", "posted to"),
        (Kind::Mutex, None, Some(path)) => lonely(path, "unlocked", "locked"),
        (Kind::Mutex, Some(path), None) => lonely(path, "locked", "unlocked"),
        _ => Ok(()),
    }
}

impl Scenario {
    /// Suggests a declared object whose name is near.
    fn suggest_object(&self, kind: Kind, name: &str, mut problem: Box<Problem>) -> Box<Problem> {
        let names: Vec<&str> = self.objects.all().filter(|(k, _)| *k == kind).map(|(_, n)| n).collect();
        problem.help = Problem::unknown(kind.noun(), name, &names).help.filter(|_| !names.contains(&name));
        problem
    }
}

impl TaskDef {
    /// Whether instances differ in the names they use.
    pub(crate) fn per_instance(&self) -> bool {
        let template = |step: &Step| {
            let own = match step {
                Step::Fork { name, .. } | Step::Exec(name) => Some(name.as_str()),
                _ => step.object().map(|(_, name)| name),
            };
            let mutex = match step {
                Step::CondWait { mutex, .. } => mutex.as_deref(),
                _ => None,
            };
            [own, mutex].into_iter().flatten().any(|name| name.contains('%'))
        };
        any_step(&self.program, &template)
    }
}
