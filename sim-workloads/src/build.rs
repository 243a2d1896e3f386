//! What a scenario becomes before it runs: objects and tasks, collected from the task tables and the workload models.

use sim_core::kernel::Policy;
use sim_core::kernel::hooks::Hooks;
use sim_core::machine::WorkKind;
use sim_core::observe::Observer;
use sim_core::program::{Objects, Program, TaskSpec};
use sim_core::rng::{self, Stream};
use sim_core::{Control, GroupId, Instant, Nanos, SimConfig, Simulation, TaskId};

/// A task group to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewGroup {
    /// The group it is in.
    pub parent: GroupId,
    /// Stored shares.
    pub shares: u64,
    /// `cpu.idle`.
    pub idle: bool,
}

/// Collects the objects and tasks of one run. Every workload model adds its own to the same builder.
///
/// Random draws must come from [`Builder::stream`] (or [`rng::stream`] with the same seed) keyed by a task's path,
/// never from a pid or from an order of creation: then no tunable, and no other task, changes what a task asks for.
#[derive(Debug)]
pub struct Builder {
    /// Seed of the run.
    pub seed: u64,
    /// Pipes, semaphores, mutexes and barriers created so far.
    pub objects: Objects,
    /// Tasks that exist from the start, in order of creation: task `i` becomes `TaskId(i)`.
    pub tasks: Vec<TaskSpec>,
    /// Groups below the root group, in order of creation: group `i` becomes `GroupId(i + 1)`.
    pub groups: Vec<NewGroup>,
    /// Tasks that are in a session, with its autogroup.
    pub sessions: Vec<(TaskId, GroupId)>,
    /// Tasks with a timer slack of their own.
    pub timer_slack: Vec<(TaskId, Nanos)>,
    /// Tasks with work of a kind of its own; that of others is the default.
    pub kinds: Vec<(TaskId, WorkKind)>,
    /// Tasks that are threads of one process, with its number.
    pub processes: Vec<(TaskId, u32)>,
    /// Changes while the run goes on.
    pub timeline: Vec<(Instant, Control)>,
}

impl Builder {
    /// An empty builder for a run under `seed`.
    pub fn new(seed: u64) -> Builder {
        Builder {
            seed,
            objects: Objects::default(),
            tasks: Vec::new(),
            groups: Vec::new(),
            sessions: Vec::new(),
            timer_slack: Vec::new(),
            kinds: Vec::new(),
            processes: Vec::new(),
            timeline: Vec::new(),
        }
    }
    /// The random stream of the task at `path` for `purpose` (`"run"`, `"sleep"`, …).
    pub fn stream(&self, path: &str, purpose: &str) -> Stream {
        rng::stream(self.seed, path, purpose)
    }
    /// Adds a task that exists from the start.
    pub fn add_task(&mut self, task: TaskSpec) {
        self.tasks.push(task);
    }
    /// Adds a task of nice 0 in the root group that starts with the run and may use every CPU.
    pub fn add_plain_task(&mut self, name: &str, path: &str, program: Box<dyn Program>) -> TaskId {
        self.add_task(TaskSpec {
            name: name.to_owned(),
            path: path.to_owned(),
            start: Instant::ZERO,
            nice: 0,
            policy: Policy::Normal,
            affinity: None,
            group: GroupId::ROOT,
            program,
        });
        TaskId::new(self.tasks.len() - 1)
    }
    /// Adds a task group.
    pub fn add_group(&mut self, group: NewGroup) -> GroupId {
        self.groups.push(group);
        GroupId::new(self.groups.len())
    }

    /// The run, ready to start, with everything that was collected.
    pub fn simulation<O: Observer, H: Hooks>(
        self,
        config: SimConfig,
        observer: O,
        hooks: H,
    ) -> Simulation<O, H> {
        let mut sim = Simulation::with_hooks(config, self.objects, observer, hooks);
        sim.seed(self.seed);
        for group in self.groups {
            sim.add_group(group.parent, group.shares, group.idle);
        }
        for task in self.tasks {
            sim.add_task(task);
        }
        for (task, group) in self.sessions {
            sim.join_session(task, group);
        }
        for (task, slack) in self.timer_slack {
            sim.set_timer_slack(task, slack);
        }
        for (task, kind) in self.kinds {
            sim.set_work_kind(task, kind);
        }
        for (task, process) in self.processes {
            sim.set_process(task, process);
        }
        for (at, control) in self.timeline {
            sim.at(at, control);
        }
        sim
    }
}
