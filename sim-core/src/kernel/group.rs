//! Task groups: creation, shares, `cpu.idle`, autogroups, moving tasks from group to group.

use super::fair::{Dequeue, Enqueue};
use super::hooks::Hooks;
use super::pelt::{SchedAvg, Update};
use super::rules::IdleEntities;
use super::runqueue::CfsRq;
use super::task::TaskState;
use super::weight::{self, LoadWeight};
use super::{Kernel, entity::SchedEntity};
use crate::id::{CfsRqId, CpuId, EntityId, GroupId, TaskId};
use crate::observe::{Event, Observer};
use crate::time::Instant;
use thiserror::Error;

/// A task group (`struct task_group`).
#[derive(Clone, Debug)]
pub struct TaskGroup {
    /// Stored shares.
    pub shares: u64,
    /// `cpu.idle`.
    pub idle: bool,
    /// Its queue on each CPU.
    pub cfs_rq: Vec<CfsRqId>,
    /// Its entity on each CPU; empty for the root group.
    pub se: Vec<EntityId>,
    /// Load of its queues together, as far as published (`load_avg`).
    pub load_avg: u64,
}

/// A write to a group's files that the kernel refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum GroupError {
    /// The root group has no such files.
    #[error("the root group has no weight and is never idle")]
    Root,
    /// The weight of a `cpu.idle` group is fixed (`EINVAL`).
    #[error("the group is idle (cpu.idle = 1): its weight cannot be changed (EINVAL)")]
    Idle,
    /// `cpu.idle` exists from 5.15 on.
    #[error("this kernel has no cpu.idle: it came with 5.15")]
    NoIdleGroups,
}

/// Stored shares of an idle group.
const IDLE_SHARES: u64 = weight::IDLE_WEIGHT << weight::FIXEDPOINT_SHIFT;

impl TaskGroup {
    /// The root group, whose queues are those of the CPUs.
    pub(super) fn root(cfs_rq: Vec<CfsRqId>) -> TaskGroup {
        TaskGroup { shares: weight::NICE_0_LOAD, idle: false, cfs_rq, se: Vec::new(), load_avg: 0 }
    }
}

impl<H: Hooks> Kernel<H> {
    /// Creates a task group below `parent` with stored `shares`, kept within what the kernel allows; an idle group has the
    /// weight of a `SCHED_IDLE` task.
    ///
    /// Mirrors: `alloc_fair_sched_group()`, `init_tg_cfs_entry()`.
    pub fn add_group(&mut self, parent: GroupId, shares: u64, idle: bool) -> GroupId {
        let group = GroupId::new(self.groups.len());
        let shares = if idle { IDLE_SHARES } else { weight::clamp_shares(shares) };
        let mut tg = TaskGroup { shares, idle, cfs_rq: Vec::new(), se: Vec::new(), load_avg: 0 };
        for i in 0..self.rqs.len() {
            let se = EntityId::new(self.entities.len());
            let my_q = CfsRqId::new(self.cfs_rqs.len());
            let above = self.groups[parent.index()].se.get(i).copied();
            self.entities.push(SchedEntity {
                load: LoadWeight::of_load(shares),
                on_rq: false,
                exec_start: 0,
                sum_exec_runtime: 0,
                prev_sum_exec_runtime: 0,
                vruntime: 0,
                parent: above,
                depth: above.map_or(0, |p| self.entities[p.index()].depth + 1),
                cfs_rq: self.groups[parent.index()].cfs_rq[i],
                my_q: Some(my_q),
                task: None,
                idle,
                avg: SchedAvg::default(),
                runnable_weight: 0,
            });
            self.cfs_rqs.push(CfsRq::new(CpuId::new(i), group, Some(se)));
            tg.cfs_rq.push(my_q);
            tg.se.push(se);
            let list = &mut self.rqs[i].pelt.leaf_cfs_rqs;
            list.reserve(self.groups.len() - list.len());
        }
        self.groups.push(tg);
        group
    }

    /// A write to `cpu.weight`, `cpu.weight.nice` or `cpu.shares`, converted to stored shares (see [`weight`]).
    ///
    /// Mirrors: `sched_group_set_shares()`, v4.19–v6.5.
    ///
    /// # Errors
    /// For the root group and for idle groups.
    pub fn set_group_shares<O: Observer>(
        &mut self,
        group: GroupId,
        shares: u64,
        now: Instant,
        o: &mut O,
    ) -> Result<(), GroupError> {
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        if self.groups[group.index()].idle {
            return Err(GroupError::Idle);
        }
        self.change_shares(group, weight::clamp_shares(shares), now, o);
        Ok(())
    }

    /// A write to `cpu.idle`: an idle group has the weight of a `SCHED_IDLE` task, one that is idle no longer the default.
    ///
    /// Mirrors: `sched_group_set_idle()`, v5.15–v6.5; core.md §9.3 and §9.4.
    ///
    /// # Errors
    /// For the root group, and on kernels before 5.15.
    pub fn set_group_idle<O: Observer>(
        &mut self,
        group: GroupId,
        idle: bool,
        now: Instant,
        o: &mut O,
    ) -> Result<(), GroupError> {
        if group == GroupId::ROOT {
            return Err(GroupError::Root);
        }
        if self.config.rules.idle_entities != IdleEntities::EveryLevel {
            return Err(GroupError::NoIdleGroups);
        }
        if std::mem::replace(&mut self.groups[group.index()].idle, idle) == idle {
            return Ok(());
        }
        for i in 0..self.rqs.len() {
            let e = &mut self.entities[self.groups[group.index()].se[i].index()];
            e.idle = idle;
            if e.on_rq {
                let count = &mut self.cfs_rqs[e.cfs_rq.index()].idle_nr_running;
                *count = if idle { *count + 1 } else { *count - 1 };
            }
            self.count_idle_tasks(self.groups[group.index()].se[i], idle);
        }
        let shares = if idle { IDLE_SHARES } else { weight::NICE_0_LOAD };
        self.change_shares(group, shares, now, o);
        Ok(())
    }

    /// Counts the tasks below a group that has become idle, or is no longer, as such in the queues above it, up to the
    /// first that lies below an idle group anyway.
    fn count_idle_tasks(&mut self, se: EntityId, idle: bool) {
        let Some(my_q) = self.entities[se.index()].my_q else { return };
        let own = &self.cfs_rqs[my_q.index()];
        let others = own.h_nr_running - own.idle_h_nr_running;
        let mut level = Some(se);
        while let Some(se) = level {
            let e = &self.entities[se.index()];
            let count = &mut self.cfs_rqs[e.cfs_rq.index()].idle_h_nr_running;
            *count = if idle { *count + others } else { *count - others };
            level = e.parent.filter(|p| !self.entities[p.index()].idle);
        }
    }

    fn change_shares<O: Observer>(&mut self, group: GroupId, shares: u64, now: Instant, o: &mut O) {
        if std::mem::replace(&mut self.groups[group.index()].shares, shares) == shares {
            return;
        }
        for i in 0..self.rqs.len() {
            self.update_rq_clock(CpuId::new(i), now);
            let mut level = self.groups[group.index()].se.get(i).copied();
            while let Some(se) = level {
                self.update_load_avg(self.entities[se.index()].cfs_rq, se, Update::Publish);
                self.update_cfs_group(se, now, o);
                level = self.entities[se.index()].parent;
            }
        }
    }

    /// The group a task is scheduled in: its session's, if it would sit in the root group and autogroups are on.
    ///
    /// Mirrors: `autogroup_task_group()`; core.md §9.5.
    pub(super) fn effective_group(&self, task: TaskId) -> GroupId {
        let t = &self.tasks[task.index()];
        let session = t.autogroup.filter(|_| self.config.autogroup && t.cgroup == GroupId::ROOT);
        session.unwrap_or(t.cgroup)
    }

    /// Puts a task into a session whose autogroup is `group`. A write to `sched_autogroup_enabled` acts from the next time
    /// that a task is moved or forked.
    pub fn join_session<O: Observer>(&mut self, task: TaskId, group: GroupId, now: Instant, o: &mut O) {
        self.tasks[task.index()].autogroup = Some(group);
        self.sched_move_task(task, now, o);
    }

    /// Attaches a task to a group, as a write to `cgroup.procs` does.
    ///
    /// Mirrors: `cpu_cgroup_attach()`.
    pub fn attach_to_group<O: Observer>(&mut self, task: TaskId, group: GroupId, now: Instant, o: &mut O) {
        self.tasks[task.index()].cgroup = group;
        self.sched_move_task(task, now, o);
    }

    /// The running task of a CPU begins to exit: it is moved out of its autogroup. Before 6.4 it is dequeued and enqueued
    /// whether or not it was in one, which keeps its distance from a `min_vruntime` that may rise meanwhile, and asks for
    /// a reschedule. Not in core.md; every traced exit on 5.10 and 6.1 shows it, with `NO_WAKEUP_PREEMPTION` too.
    ///
    /// Mirrors: `sched_autogroup_exit_task()`, `sched_move_task()`, as seen on 5.10.262 and 6.1.192.
    pub fn begin_exit<O: Observer>(&mut self, task: TaskId, now: Instant, o: &mut O) {
        o.event(now, &Event::Exit { task });
        self.tasks[task.index()].autogroup = None;
        let group = self.effective_group(task);
        if self.config.rules.exit_requeues || self.tasks[task.index()].group != group {
            self.change_group(task, group, now, o);
        }
    }

    /// Moves a task to its effective group.
    ///
    /// Mirrors: `sched_move_task()`, v4.19–v6.5; core.md §5.4.
    fn sched_move_task<O: Observer>(&mut self, task: TaskId, now: Instant, o: &mut O) {
        let group = self.effective_group(task);
        if self.tasks[task.index()].group != group {
            self.change_group(task, group, now, o);
        }
    }

    /// A queued task changes its group by way of dequeue and enqueue, so that it keeps its distance from `min_vruntime`; a
    /// sleeper is placed by its old queue first.
    ///
    /// Mirrors: `task_change_group_fair()`, `detach_task_cfs_rq()`, v4.19–v6.5; core.md §5.4.
    fn change_group<O: Observer>(&mut self, task: TaskId, group: GroupId, now: Instant, o: &mut O) {
        let t = &self.tasks[task.index()];
        let (cpu, running, se) = (t.cpu, t.on_cpu, t.se);
        if t.state == TaskState::Dead {
            return;
        }
        self.update_rq_clock(cpu, now);
        if self.entities[se.index()].on_rq {
            self.dequeue_task_fair(task, Dequeue::Move, now, o);
            if running {
                self.put_prev_task_fair(task, now, o);
            }
            self.detach_entity_cfs_rq(se);
            self.set_task_group(task, group);
            self.enqueue_task_fair(task, Enqueue::default(), now, o);
            if running {
                self.set_next_task_fair(task);
                self.resched_curr(cpu, now, o);
            }
        } else if self.vruntime_normalized(task) {
            self.move_averages(task, group);
        } else {
            let old = self.entities[se.index()].cfs_rq;
            self.place_entity(old, se, false, now, o);
            self.move_averages(task, group);
            let new = self.entities[se.index()].cfs_rq;
            let (from, to) = (self.cfs_rqs[old.index()].min_vruntime, self.cfs_rqs[new.index()].min_vruntime);
            let e = &mut self.entities[se.index()];
            e.vruntime = e.vruntime.wrapping_sub(from).wrapping_add(to);
        }
    }

    /// Changes the group of a task that is not queued, its averages included.
    fn move_averages(&mut self, task: TaskId, group: GroupId) {
        let se = self.tasks[task.index()].se;
        let attached = self.is_attached_entity(se);
        self.detach_entity_cfs_rq(se);
        self.set_task_group(task, group);
        if attached {
            self.attach_entity_cfs_rq(se);
        }
    }

    /// Whether the vruntime of a task that is not queued is relative already: it has never run, or it is being woken on
    /// another CPU.
    ///
    /// Mirrors: `vruntime_normalized()`, v4.19–v6.5.
    fn vruntime_normalized(&self, task: TaskId) -> bool {
        let t = &self.tasks[task.index()];
        let migrating = |(waking, migrated): &(TaskId, bool)| *waking == task && *migrated;
        self.entities[t.se.index()].sum_exec_runtime == 0
            || self.rqs[t.cpu.index()].wake_list.iter().any(migrating)
    }

    /// Mirrors: `set_task_rq()`.
    pub(super) fn set_task_group(&mut self, task: TaskId, group: GroupId) {
        let t = &mut self.tasks[task.index()];
        t.group = group;
        let (cpu, se) = (t.cpu.index(), t.se);
        let tg = &self.groups[group.index()];
        let (cfs_rq, parent) = (tg.cfs_rq[cpu], tg.se.get(cpu).copied());
        let depth = parent.map_or(0, |p| self.entities[p.index()].depth + 1);
        let e = &mut self.entities[se.index()];
        (e.cfs_rq, e.parent, e.depth) = (cfs_rq, parent, depth);
    }
}
