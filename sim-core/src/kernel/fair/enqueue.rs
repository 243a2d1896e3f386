//! Onto and off the queues.

use crate::id::{CfsRqId, CpuId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::hooks::Hooks;
use crate::kernel::pelt::Update;
use crate::kernel::task::TaskState;
use crate::observe::{Event, MigrateReason, Observer};
use crate::time::Instant;

/// Why an entity is enqueued (`ENQUEUE_*`).
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::kernel) struct Enqueue {
    /// It was asleep.
    pub(in crate::kernel) wakeup: bool,
    /// It woke on another CPU.
    pub(in crate::kernel) migrated: bool,
}

/// Why a task is dequeued (`DEQUEUE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::kernel) enum Dequeue {
    /// It blocks or exits.
    Sleep,
    /// It goes to another queue.
    Move,
    /// Its weight changes; it comes back at once.
    Save,
}

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `enqueue_entity()`, v4.19–v6.5; core.md §5.1.
    fn enqueue_entity<O: Observer>(
        &mut self,
        q: CfsRqId,
        se: EntityId,
        flags: Enqueue,
        now: Instant,
        o: &mut O,
    ) {
        let renorm = !flags.wakeup || flags.migrated;
        let is_curr = self.cfs_rqs[q.index()].curr == Some(se);
        if renorm && is_curr {
            self.renormalise(q, se);
        }
        self.update_curr(q, now, o);
        if renorm && !is_curr {
            self.renormalise(q, se);
        }
        self.update_load_avg(q, se, Update::Attach);
        self.se_update_runnable(se);
        self.update_cfs_group(se, now, o);
        self.enqueue_runnable_load_avg(q, se);
        self.account_entity_enqueue(q, se);
        if flags.wakeup {
            self.place_entity(q, se, false, now, o);
        }
        if flags.migrated {
            self.entities[se.index()].exec_start = 0;
        }
        let e = &mut self.entities[se.index()];
        e.on_rq = true;
        if !is_curr {
            let v = e.vruntime;
            self.cfs_rqs[q.index()].tree.insert(v, se);
        }
        self.list_add_leaf_cfs_rq(q);
        self.debug_check_load(q);
    }

    /// A vruntime that was relative while off the queues becomes absolute.
    fn renormalise(&mut self, q: CfsRqId, se: EntityId) {
        let min_vruntime = self.cfs_rqs[q.index()].min_vruntime;
        let e = &mut self.entities[se.index()];
        e.vruntime = e.vruntime.wrapping_add(min_vruntime);
    }

    fn account_entity_enqueue(&mut self, q: CfsRqId, se: EntityId) {
        let (weight, idle) = (self.entities[se.index()].load.weight, self.entities[se.index()].idle);
        let queue = &mut self.cfs_rqs[q.index()];
        queue.load.add(weight);
        queue.nr_running += 1;
        queue.idle_nr_running += u32::from(idle);
    }

    fn account_entity_dequeue(&mut self, q: CfsRqId, se: EntityId) {
        let (weight, idle) = (self.entities[se.index()].load.weight, self.entities[se.index()].idle);
        let queue = &mut self.cfs_rqs[q.index()];
        queue.load.sub(weight);
        queue.nr_running -= 1;
        queue.idle_nr_running -= u32::from(idle);
    }

    /// Dequeues one entity. `why` is the task's reason at every level; `sleeps` says whether this entity keeps its
    /// absolute vruntime, as sleeping tasks and emptied groups do.
    ///
    /// Mirrors: `dequeue_entity()`, v4.19–v6.5; core.md §5.2.
    fn dequeue_entity<O: Observer>(
        &mut self,
        q: CfsRqId,
        se: EntityId,
        why: Dequeue,
        sleeps: bool,
        now: Instant,
        o: &mut O,
    ) {
        self.update_curr(q, now, o);
        self.update_load_avg(q, se, Update::Publish);
        self.dequeue_runnable_load_avg(q, se);
        self.se_update_runnable(se);
        self.clear_buddies(se);
        let v = self.entities[se.index()].vruntime;
        if self.cfs_rqs[q.index()].curr != Some(se) {
            self.cfs_rqs[q.index()].tree.remove(v, se);
        }
        self.entities[se.index()].on_rq = false;
        self.account_entity_dequeue(q, se);
        if !sleeps {
            let min_vruntime = self.cfs_rqs[q.index()].min_vruntime;
            self.entities[se.index()].vruntime = v.wrapping_sub(min_vruntime);
        }
        self.update_cfs_group(se, now, o);
        if why != Dequeue::Save {
            self.update_min_vruntime(q);
        }
        self.debug_check_load(q);
    }

    /// Queues a task and every group entity above it that is not queued yet. Above the first level an entity is always
    /// placed as if it had woken, whatever made the task runnable.
    ///
    /// Mirrors: `enqueue_task_fair()`, v4.19–v6.5.
    pub(in crate::kernel) fn enqueue_task_fair<O: Observer>(
        &mut self,
        task: TaskId,
        flags: Enqueue,
        now: Instant,
        o: &mut O,
    ) {
        self.balancing.sums.mark(self.tasks[task.index()].cpu);
        self.util_est_enqueue(task);
        let mut flags = flags;
        let mut idle = false;
        let mut level = Some(self.tasks[task.index()].se);
        while let Some(se) = level {
            let (q, parent) = (self.entities[se.index()].cfs_rq, self.entities[se.index()].parent);
            idle |= self.entities[se.index()].idle;
            if !self.entities[se.index()].on_rq {
                self.enqueue_entity(q, se, flags, now, o);
                flags = Enqueue { wakeup: true, migrated: false };
            } else {
                self.update_load_avg(q, se, Update::Publish);
                self.se_update_runnable(se);
                self.update_cfs_group(se, now, o);
            }
            self.cfs_rqs[q.index()].h_nr_running += 1;
            self.cfs_rqs[q.index()].idle_h_nr_running += u32::from(idle);
            level = parent;
        }
        let cpu = self.tasks[task.index()].cpu;
        if self.rqs.len() > 1 {
            self.cfs_tasks_add(cpu, task);
        }
        self.hrtick_update(cpu, now, o);
    }

    /// Takes a task off, and every group entity above it that becomes empty.
    ///
    /// Mirrors: `dequeue_task_fair()`, v4.19–v6.5.
    pub(in crate::kernel) fn dequeue_task_fair<O: Observer>(
        &mut self,
        task: TaskId,
        why: Dequeue,
        now: Instant,
        o: &mut O,
    ) {
        self.balancing.sums.mark(self.tasks[task.index()].cpu);
        let mut sleeps = why == Dequeue::Sleep;
        let mut emptied = true;
        let mut idle = false;
        let mut level = Some(self.tasks[task.index()].se);
        while let Some(se) = level {
            let (q, parent) = (self.entities[se.index()].cfs_rq, self.entities[se.index()].parent);
            idle |= self.entities[se.index()].idle;
            if emptied {
                self.dequeue_entity(q, se, why, sleeps, now, o);
                sleeps = true;
                if self.cfs_rqs[q.index()].load.weight > 0 {
                    emptied = false;
                    // A task that sleeps leaves its group as the next choice: stay in the same group.
                    if let Some(p) = parent.filter(|_| why == Dequeue::Sleep) {
                        self.set_next_buddy(p);
                    }
                }
            } else {
                self.update_load_avg(q, se, Update::Publish);
                self.se_update_runnable(se);
                self.update_cfs_group(se, now, o);
            }
            self.cfs_rqs[q.index()].h_nr_running -= 1;
            self.cfs_rqs[q.index()].idle_h_nr_running -= u32::from(idle);
            level = parent;
        }
        self.util_est_dequeue(task, why == Dequeue::Sleep);
        let cpu = self.tasks[task.index()].cpu;
        if self.rqs.len() > 1 {
            self.cfs_tasks_remove(cpu, task);
        }
        self.hrtick_update(cpu, now, o);
    }

    /// Changes the CPU of a task that is about to be enqueued there. A sleeper's vruntime becomes relative.
    ///
    /// Mirrors: `set_task_cpu()`, `migrate_task_rq_fair()`, v4.19–v6.5; core.md §5.4.
    pub(in crate::kernel) fn set_task_cpu<O: Observer>(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        now: Instant,
        o: &mut O,
    ) {
        debug_assert_eq!(self.tasks[task.index()].state, TaskState::Waking);
        let se = self.tasks[task.index()].se;
        let q = self.entities[se.index()].cfs_rq;
        let min_vruntime = self.cfs_rqs[q.index()].min_vruntime;
        let e = &mut self.entities[se.index()];
        e.vruntime = e.vruntime.wrapping_sub(min_vruntime);
        self.remove_migrating(task, now);
        self.move_to_cpu(task, cpu, MigrateReason::Wake, now, o);
    }

    /// Changes the CPU, and with it the queue, of a task that is on none.
    pub(in crate::kernel) fn move_to_cpu<O: Observer>(
        &mut self,
        task: TaskId,
        cpu: CpuId,
        reason: MigrateReason,
        now: Instant,
        o: &mut O,
    ) {
        let t = &mut self.tasks[task.index()];
        let (from, se, group) = (t.cpu, t.se, t.group);
        if from == cpu {
            return;
        }
        t.cpu = cpu;
        // A task that was runnable takes its averages along.
        self.detach_entity_cfs_rq(se);
        let tg = &self.groups[group.index()];
        let e = &mut self.entities[se.index()];
        e.cfs_rq = tg.cfs_rq[cpu.index()];
        e.parent = tg.se.get(cpu.index()).copied();
        if !self.config.rules.exec_start_zeroed_at_enqueue {
            e.exec_start = 0;
        }
        o.event(now, &Event::Migrate { task, from, to: cpu, reason });
    }
}
