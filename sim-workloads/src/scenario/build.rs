//! From a scenario to the objects and tasks of a run.

use super::Scenario;
use crate::build::Builder;
use crate::script::{Linker, Script};
use sim_core::program::{Objects, TaskSpec};
use sim_core::{GroupId, Instant};
use std::sync::Arc;

impl Scenario {
    /// Objects and tasks of one run under `seed`. Task `i` of a table has the path `NAME#i`; a child's path is its
    /// parent's, `/`, its name, and its number among the parent's children of that name.
    pub fn build(&self, seed: u64) -> Builder {
        let mut builder = Builder::new(seed);
        let mut objects = Objects::default();
        let mut linker = Linker::new(&self.objects, &mut objects);
        for task in &self.tasks {
            let per_instance = task.per_instance();
            let mut shared = None;
            for i in 0..task.count {
                let code = match &shared {
                    Some(code) => Arc::clone(code),
                    None => linker.compile(&task.program, i),
                };
                if !per_instance {
                    shared = Some(Arc::clone(&code));
                }
                let path = format!("{}#{i}", task.name);
                builder.add_task(TaskSpec {
                    name: task.name.clone(),
                    path: path.clone(),
                    start: Instant(task.start.0),
                    nice: task.nice,
                    policy: task.policy,
                    affinity: task.cpus.as_ref().map(|cpus| cpus.0.clone()),
                    group: GroupId::ROOT,
                    program: Box::new(Script::new(code, seed, path)),
                });
            }
        }
        builder.objects = objects;
        if let Some(kernel_compile) = &self.workload.kernel_compile {
            kernel_compile.build(&mut builder);
        }
        builder
    }
}
