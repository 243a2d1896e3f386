//! Picking the next entity, and switching between two tasks' paths of entities.

use super::wakeup_gran::Asked;
use crate::id::{CfsRqId, CpuId, EntityId, TaskId};
use crate::kernel::Kernel;
use crate::kernel::entity::before;
use crate::kernel::hooks::Hooks;
use crate::kernel::pelt::Update;
use crate::kernel::rules::BuddyClear;
use crate::observe::{Buddy, Decision, Observer, Pick, PickRule};
use crate::time::Instant;

impl<H: Hooks> Kernel<H> {
    /// Mirrors: `pick_next_entity()`, v4.19–v6.5; core.md §8.1. `curr` is the running entity if it competes.
    fn pick_next_entity<O: Observer>(
        &mut self,
        q: CfsRqId,
        curr: Option<EntityId>,
        now: Instant,
        o: &mut O,
    ) -> EntityId {
        let first = self.cfs_rqs[q.index()].tree.leftmost();
        let v = |e: EntityId| self.entities[e.index()].vruntime;
        let left = match (first, curr) {
            (Some(l), Some(c)) if before(v(c), v(l)) => c,
            (Some(l), _) => l,
            (None, Some(c)) => c,
            (None, None) => unreachable!("only a queue that has an entity is picked from"),
        };
        let mut chosen = left;
        let mut rule = if Some(left) == curr { PickRule::Current } else { PickRule::Leftmost };
        let left_yielded = self.cfs_rqs[q.index()].skip == Some(left);
        // Only a yield makes the runner-up matter; beyond that it is known for those who ask why.
        let second = if left_yielded || O::DECISIONS { self.runner_up(q, left, curr) } else { None };
        if left_yielded
            && let Some(second) = second
            && !self.wakeup_preempt_entity(second, left, Asked::AtPick).exceeds()
        {
            (chosen, rule) = (second, PickRule::Skip);
        }
        let (next, last) = (self.cfs_rqs[q.index()].next, self.cfs_rqs[q.index()].last);
        let next = next.map(|n| self.buddy(n, left));
        let mut last = last;
        if let Some(n) = next.filter(Buddy::is_near) {
            (chosen, rule, last) = (n.entity, PickRule::NextBuddy, None);
        }
        let last = last.map(|l| self.buddy(l, left));
        if let Some(l) = last.filter(Buddy::is_near) {
            (chosen, rule) = (l.entity, PickRule::LastBuddy);
        }
        let d = Pick {
            cpu: self.cfs_rqs[q.index()].cpu,
            curr,
            left,
            left_weight: self.entities[left.index()].load.weight,
            second,
            second_behind: second.map_or(0, |s| self.vruntime_after(s, left)),
            next,
            last,
            left_yielded,
            chosen,
            rule,
        };
        if O::DECISIONS {
            o.decision(now, &Decision::Pick(d));
        }
        let wanted = self.hooks.pick(&d);
        // An answer that names an entity which does not compete here does not count.
        let competes = |e: &EntityId| self.entities[e.index()].on_rq && self.entities[e.index()].cfs_rq == q;
        let chosen = if wanted == chosen || !competes(&wanted) { chosen } else { wanted };
        if self.config.rules.buddy_clear == BuddyClear::OnPick {
            self.clear_buddies(chosen);
        }
        chosen
    }

    fn buddy(&mut self, entity: EntityId, left: EntityId) -> Buddy {
        let lead = self.wakeup_preempt_entity(entity, left, Asked::AtPick);
        Buddy { entity, behind: lead.vdiff, granularity: lead.granularity }
    }

    /// How far `a` lies after `b`, virtual ns.
    fn vruntime_after(&self, a: EntityId, b: EntityId) -> i64 {
        self.entities[a.index()].vruntime.wrapping_sub(self.entities[b.index()].vruntime) as i64
    }

    /// Who runs if the fairest choice `left` is passed over.
    fn runner_up(&self, q: CfsRqId, left: EntityId, curr: Option<EntityId>) -> Option<EntityId> {
        let tree = &self.cfs_rqs[q.index()].tree;
        if curr == Some(left) {
            return tree.leftmost();
        }
        let v = |e: EntityId| self.entities[e.index()].vruntime;
        match (tree.second(), curr) {
            (Some(s), Some(c)) if before(v(c), v(s)) => Some(c),
            (None, c) => c,
            (s, _) => s,
        }
    }

    /// The next fair task, switching only the part of the entities' paths that differs. When there is none, a task is
    /// pulled from another CPU, else the CPU idles.
    ///
    /// Mirrors: `pick_next_task_fair()`, v4.19–v6.5, its fast path; core.md §8.2.
    pub(in crate::kernel) fn pick_next_task_fair<O: Observer>(
        &mut self,
        cpu: CpuId,
        prev: Option<TaskId>,
        now: Instant,
        o: &mut O,
    ) -> Option<TaskId> {
        let root = self.rqs[cpu.index()].cfs;
        if self.cfs_rqs[root.index()].nr_running == 0 {
            // As in the kernel, current is put back only once something else is chosen.
            if !self.newidle_balance(cpu, now, o) {
                if let Some(p) = prev {
                    self.put_prev_task_fair(p, now, o);
                }
                self.update_idle_rq_clock_pelt(cpu);
                return None;
            }
        }
        let next = self.pick_path(root, now, o);
        if prev != Some(next) {
            match prev {
                Some(p) => self.switch_paths(p, next, now, o),
                None => self.set_next_task_fair(next),
            }
        }
        if self.rqs.len() > 1 {
            self.cfs_tasks_to_head(cpu, next);
        }
        self.hrtick_start_fair(cpu, next, now, o);
        Some(next)
    }

    fn pick_path<O: Observer>(&mut self, root: CfsRqId, now: Instant, o: &mut O) -> TaskId {
        let mut q = root;
        loop {
            let curr = self.cfs_rqs[q.index()].curr.filter(|c| self.entities[c.index()].on_rq);
            if curr.is_some() {
                self.update_curr(q, now, o);
            }
            let se = self.pick_next_entity(q, curr, now, o);
            match self.entities[se.index()].my_q {
                Some(inner) => q = inner,
                None => return self.entities[se.index()].task.expect("an entity without a queue is a task"),
            }
        }
    }

    /// Puts `prev` back and sets `next` as current, up to the queue they share.
    fn switch_paths<O: Observer>(&mut self, prev: TaskId, next: TaskId, now: Instant, o: &mut O) {
        let (mut pse, mut se) = (self.tasks[prev.index()].se, self.tasks[next.index()].se);
        let queue_of = |k: &Self, e: EntityId| k.entities[e.index()].cfs_rq;
        while queue_of(self, pse) != queue_of(self, se) {
            let (a, b) = (self.entities[pse.index()].depth, self.entities[se.index()].depth);
            if b <= a {
                self.put_prev_entity(pse, now, o);
                pse = self.entities[pse.index()].parent.expect("paths of one CPU meet at its root queue");
            }
            if b >= a {
                self.set_next_entity(se);
                se = self.entities[se.index()].parent.expect("paths of one CPU meet at its root queue");
            }
        }
        self.put_prev_entity(pse, now, o);
        self.set_next_entity(se);
    }

    /// Mirrors: `put_prev_entity()`, v4.19–v6.5.
    fn put_prev_entity<O: Observer>(&mut self, se: EntityId, now: Instant, o: &mut O) {
        let q = self.entities[se.index()].cfs_rq;
        if self.entities[se.index()].on_rq {
            self.update_curr(q, now, o);
            let v = self.entities[se.index()].vruntime;
            self.cfs_rqs[q.index()].tree.insert(v, se);
            self.update_load_avg(q, se, Update::Age);
        }
        self.cfs_rqs[q.index()].curr = None;
    }

    /// The entity becomes current: its slice starts anew.
    ///
    /// Mirrors: `set_next_entity()`, v4.19–v6.5.
    fn set_next_entity(&mut self, se: EntityId) {
        if self.config.rules.buddy_clear == BuddyClear::OnSetNext {
            self.clear_buddies(se);
        }
        let (q, v, on_rq) = {
            let e = &self.entities[se.index()];
            (e.cfs_rq, e.vruntime, e.on_rq)
        };
        if on_rq {
            self.cfs_rqs[q.index()].tree.remove(v, se);
            self.update_load_avg(q, se, Update::Publish);
        }
        let clock = self.clock_task(q);
        let e = &mut self.entities[se.index()];
        e.exec_start = clock;
        e.prev_sum_exec_runtime = e.sum_exec_runtime;
        self.cfs_rqs[q.index()].curr = Some(se);
    }

    /// Mirrors: `put_prev_task_fair()`.
    pub(in crate::kernel) fn put_prev_task_fair<O: Observer>(
        &mut self,
        task: TaskId,
        now: Instant,
        o: &mut O,
    ) {
        let mut level = Some(self.tasks[task.index()].se);
        while let Some(se) = level {
            self.put_prev_entity(se, now, o);
            level = self.entities[se.index()].parent;
        }
    }

    /// Mirrors: `set_next_task_fair()` (`set_curr_task_fair()` before 5.4).
    pub(in crate::kernel) fn set_next_task_fair(&mut self, task: TaskId) {
        let mut level = Some(self.tasks[task.index()].se);
        while let Some(se) = level {
            self.set_next_entity(se);
            level = self.entities[se.index()].parent;
        }
    }
}
