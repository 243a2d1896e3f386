//! A CPU's runnable fair tasks in the order in which balancing looks at them (`cfs_tasks`): enqueued and picked tasks go to
//! the head, so that the tail is the task that has not run for longest (smp.md §4.4.9). Linked through the tasks.

use super::Kernel;
use super::hooks::Hooks;
use crate::id::{CpuId, TaskId};

/// A task's neighbours in the list it is on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TaskLinks {
    towards_head: Option<TaskId>,
    towards_tail: Option<TaskId>,
}

/// The ends of a CPU's list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskList {
    head: Option<TaskId>,
    tail: Option<TaskId>,
}

impl TaskList {
    /// The task that has not run for longest.
    pub const fn tail(&self) -> Option<TaskId> {
        self.tail
    }
}

impl<H: Hooks> Kernel<H> {
    /// Puts a task at the head of a CPU's list.
    pub(super) fn cfs_tasks_add(&mut self, cpu: CpuId, task: TaskId) {
        let list = &mut self.rqs[cpu.index()].cfs_tasks;
        let old = list.head.replace(task);
        if old.is_none() {
            list.tail = Some(task);
        }
        self.tasks[task.index()].links = TaskLinks { towards_head: None, towards_tail: old };
        if let Some(old) = old {
            self.tasks[old.index()].links.towards_head = Some(task);
        }
    }

    /// Takes a task off the list it is on.
    pub(super) fn cfs_tasks_remove(&mut self, cpu: CpuId, task: TaskId) {
        let TaskLinks { towards_head, towards_tail } = std::mem::take(&mut self.tasks[task.index()].links);
        match towards_head {
            Some(t) => self.tasks[t.index()].links.towards_tail = towards_tail,
            None => self.rqs[cpu.index()].cfs_tasks.head = towards_tail,
        }
        match towards_tail {
            Some(t) => self.tasks[t.index()].links.towards_head = towards_head,
            None => self.rqs[cpu.index()].cfs_tasks.tail = towards_head,
        }
    }

    /// Moves a task to the head of its list.
    pub(super) fn cfs_tasks_to_head(&mut self, cpu: CpuId, task: TaskId) {
        if self.rqs[cpu.index()].cfs_tasks.head != Some(task) {
            self.cfs_tasks_remove(cpu, task);
            self.cfs_tasks_add(cpu, task);
        }
    }

    /// The next task towards the head.
    pub(super) fn cfs_tasks_before(&self, task: TaskId) -> Option<TaskId> {
        self.tasks[task.index()].links.towards_head
    }
}
