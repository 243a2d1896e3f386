//! What a scenario becomes before it runs: objects and tasks, collected from the task tables and the workload models.

use sim_core::program::{Objects, TaskSpec};
use sim_core::rng::{self, Stream};

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
    /// Tasks that exist from the start, in order of creation.
    pub tasks: Vec<TaskSpec>,
}

impl Builder {
    /// An empty builder for a run under `seed`.
    pub fn new(seed: u64) -> Builder {
        Builder { seed, objects: Objects::default(), tasks: Vec::new() }
    }
    /// The random stream of the task at `path` for `purpose` (`"run"`, `"sleep"`, …).
    pub fn stream(&self, path: &str, purpose: &str) -> Stream {
        rng::stream(self.seed, path, purpose)
    }
    /// Adds a task that exists from the start.
    pub fn add_task(&mut self, task: TaskSpec) {
        self.tasks.push(task);
    }
}
