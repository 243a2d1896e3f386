//! How tasks, times and places are called.

use sim_core::kernel::hooks::Hooks;
use sim_core::kernel::{Kernel, KernelConfig};
use sim_core::{EntityId, TaskId};
use std::collections::BTreeMap;

/// A task as the reader knows it.
#[derive(Debug, Clone, Default)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) path: String,
    pub(super) nice: i8,
}

/// Who is who.
#[derive(Debug, Clone, Default)]
pub(super) struct Book {
    pub(super) tasks: Vec<Named>,
    /// The task of each entity that was ever placed; none for a group's.
    entities: Vec<Option<TaskId>>,
    /// The paths of groups by entity.
    pub(super) groups: BTreeMap<EntityId, String>,
}

impl Book {
    pub(super) fn name(&mut self, task: TaskId, name: &str, path: &str, nice: i8) {
        if self.tasks.len() <= task.index() {
            self.tasks.resize(task.index() + 1, Named::default());
        }
        self.tasks[task.index()] = Named { name: name.to_owned(), path: path.to_owned(), nice };
    }

    /// An entity belongs to a task: every entity is placed before it competes.
    pub(super) fn place(&mut self, entity: EntityId, task: Option<TaskId>) {
        if self.entities.len() <= entity.index() {
            self.entities.resize(entity.index() + 1, None);
        }
        self.entities[entity.index()] = task;
    }

    pub(super) fn task_of(&self, entity: EntityId) -> Option<TaskId> {
        self.entities.get(entity.index()).copied().flatten()
    }

    pub(super) fn entity_of(&self, task: TaskId) -> Option<EntityId> {
        self.entities.iter().position(|t| *t == Some(task)).map(EntityId::new)
    }

    /// A task's name, or its path where several share the name.
    pub(super) fn task(&self, task: TaskId) -> String {
        let Some(named) = self.tasks.get(task.index()).filter(|t| !t.name.is_empty()) else {
            return format!("task {}", task.0);
        };
        let alone = self.tasks.iter().filter(|t| t.name == named.name).count() == 1;
        if alone { named.name.clone() } else { named.path.clone() }
    }

    pub(super) fn optional(&self, task: Option<TaskId>) -> String {
        task.map_or_else(|| "the idle task".to_owned(), |t| self.task(t))
    }

    pub(super) fn entity(&self, entity: EntityId) -> String {
        match (self.task_of(entity), self.groups.get(&entity)) {
            (Some(task), _) => self.task(task),
            (None, Some(path)) => format!("group {path}"),
            (None, None) => format!("group entity {}", entity.0),
        }
    }

    /// The paths of the groups behind entities that are no tasks'; `names` are by group.
    pub(super) fn group_paths<H: Hooks>(
        &self,
        kernel: &Kernel<H>,
        names: &[String],
    ) -> BTreeMap<EntityId, String> {
        let of_groups = (0..self.entities.len()).map(EntityId::new).filter_map(|entity| {
            let queue = kernel.entity(entity).my_q?;
            Some((entity, names.get(kernel.cfs_rq(queue).group.index())?.clone()))
        });
        of_groups.collect()
    }

    /// Tasks that bear a name or a path.
    pub(super) fn find(&self, name: &str) -> Vec<TaskId> {
        let bears = |t: &Named| t.name == name || t.path == name;
        (0..self.tasks.len()).filter(|i| bears(&self.tasks[*i])).map(TaskId::new).collect()
    }
}

/// What a sentence needs to know beside the decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) book: &'a Book,
    pub(super) kernel: &'a KernelConfig,
}

/// A time to the nanosecond, trailing zeros dropped.
pub(super) fn exact(ns: u64) -> String {
    let (unit, digits, name) = match ns {
        0..=999 => return format!("{ns} ns"),
        1_000..=999_999 => (1_000, 3, "us"),
        _ => (1_000_000, 6, "ms"),
    };
    let fraction = format!("{:0digits$}", ns % unit);
    match fraction.trim_end_matches('0') {
        "" => format!("{} {name}", ns / unit),
        fraction => format!("{}.{fraction} {name}", ns / unit),
    }
}

/// A vruntime against a reference: "2 ms after", "1 ms before", "at".
pub(super) fn against(vruntime: u64, reference: u64, what: &str) -> String {
    match vruntime.wrapping_sub(reference) as i64 {
        0 => format!("at {what}"),
        d @ 1.. => format!("{} after {what}", exact(d.unsigned_abs())),
        d => format!("{} before {what}", exact(d.unsigned_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        let show = [0, 999, 1_500, 12_000_000, 11_999_994, 1_000_000_001].map(exact);
        assert_eq!(show, ["0 ns", "999 ns", "1.5 us", "12 ms", "11.999994 ms", "1000.000001 ms"]);
        assert_eq!(against(1, 3, "x"), "2 ns before x");
        // Across the wrap of the virtual clock.
        assert_eq!(against(1, u64::MAX, "x"), "2 ns after x");
    }
}
