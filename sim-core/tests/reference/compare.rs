//! Compares everything the kernel model and the reference have in common.

use crate::agree::{CPU, Pair};
use crate::model::{ROOT, State};
use sim_core::kernel::task::TaskState;
use sim_core::{CfsRqId, EntityId, TaskId};

/// What differed, in words.
pub(crate) type Disagreement = String;

/// A figure of an entity, named.
struct Of(&'static str, usize);

impl std::fmt::Display for Of {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of entity {}", self.0, self.1)
    }
}

impl Pair {
    /// Everything the two have in common.
    pub(crate) fn compare(&mut self) -> Result<(), Disagreement> {
        let (fast, slow) = (&self.fast, &self.slow);
        let rq = fast.rq(CPU);
        same("clock", &rq.clock_task, &(slow.now as u64))?;
        same("clock skip", &rq.skip_clock_update, &slow.skip_sample)?;
        same("need_resched", &rq.need_resched, &slow.need_resched)?;
        same("current", &rq.curr.map(TaskId::index), &slow.curr)?;
        same("runnable", &u128::from(rq.nr_running), &slow.h_nr(ROOT))?;
        same("nr_latency", &u128::from(fast.config.tunables.nr_latency), &slow.knobs.nrlat)?;
        (0..slow.queues.len()).try_for_each(|q| self.compare_queue(q))?;
        (0..slow.entities.len()).try_for_each(|e| self.compare_entity(e))?;
        for t in 0..slow.tasks.len() {
            let task = fast.task(TaskId::new(t));
            let state = match task.state {
                TaskState::New => State::New,
                TaskState::Sleeping | TaskState::Waking => State::Sleeping,
                TaskState::Runnable => State::Running,
                TaskState::Dead => State::Dead,
            };
            let s = &slow.tasks[t];
            same(format_args!("state of task {t}"), &state, &s.state)?;
            same(
                format_args!("switches of task {t}"),
                &(task.nvcsw, task.nivcsw),
                &(s.voluntary, s.involuntary),
            )?;
        }
        self.compare_slices()
    }

    /// The slice of the running task and of one other, by turns: all would take most of the time.
    fn compare_slices(&mut self) -> Result<(), Disagreement> {
        self.steps += 1;
        let turn = (!self.slow.tasks.is_empty()).then(|| self.steps % self.slow.tasks.len());
        for t in self.slow.curr.into_iter().chain(turn) {
            let fast = self.fast.slice_of(TaskId::new(t));
            let slow = self.slow.sched_slice(self.slow.tasks[t].entity);
            same(format_args!("slice of task {t}"), &u128::from(fast), &slow)?;
        }
        Ok(())
    }

    fn compare_queue(&self, i: usize) -> Result<(), Disagreement> {
        let (fast, slow) = (self.fast.cfs_rq(CfsRqId::new(i)), &self.slow.queues[i]);
        let index = |e: &Option<EntityId>| e.map(EntityId::index);
        same(format_args!("min_vruntime of queue {i}"), &fast.min_vruntime, &(slow.minv as u64))?;
        same(
            format_args!("curr, next, last, skip of queue {i}"),
            &[index(&fast.curr), index(&fast.next), index(&fast.last), index(&fast.skip)],
            &[slow.curr, slow.next, slow.last, slow.skip],
        )?;
        let tree: Vec<usize> = fast.tree.iter().map(EntityId::index).collect();
        same(format_args!("tree of queue {i}"), &tree, &self.slow.tree(i))?;
        same(format_args!("load of queue {i}"), &u128::from(fast.load.weight), &self.slow.load(i))?;
        let counts = [fast.nr_running, fast.h_nr_running, fast.idle_nr_running].map(u128::from);
        same(
            format_args!("counts of queue {i}"),
            &counts,
            &[self.slow.nr(i), self.slow.h_nr(i), self.slow.idle_nr(i)],
        )
    }

    fn compare_entity(&self, i: usize) -> Result<(), Disagreement> {
        let (fast, slow) = (self.fast.entity(EntityId::new(i)), &self.slow.entities[i]);
        let of = |what| Of(what, i);
        let minv = self.slow.queues[slow.queue].minv;
        let relative = fast.vruntime.wrapping_sub(minv as u64) as i64;
        same(of("vruntime − min_vruntime"), &i128::from(relative), &(slow.v - minv))?;
        same(of("sum_exec_runtime"), &u128::from(fast.sum_exec_runtime), &slow.s)?;
        same(of("prev_sum_exec_runtime"), &u128::from(fast.prev_sum_exec_runtime), &slow.p)?;
        same(of("exec_start"), &u128::from(fast.exec_start), &slow.exec_start)?;
        same(of("on_rq"), &fast.on_rq, &slow.on_rq)?;
        same(of("weight"), &u128::from(fast.load.weight), &slow.weight.stored)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(
    what: impl std::fmt::Display,
    fast: &T,
    slow: &T,
) -> Result<(), Disagreement> {
    if fast == slow { Ok(()) } else { Err(format!("{what}: kernel {fast:?}, reference {slow:?}")) }
}
