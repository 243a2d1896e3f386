//! Picking and switching: core.md §8, and the tick of §6.

use crate::model::{Model, ROOT};

impl Model {
    /// §8.1. `curr` is the queue's running entity if it is still queued.
    fn pick_next_entity(&mut self, q: usize, curr: Option<usize>) -> Option<usize> {
        let tree = self.tree(q);
        let curr_before = |m: &Model, other: usize| curr.filter(|c| m.v(*c) < m.v(other));
        let left = match tree.first() {
            None => curr?,
            Some(l) => curr_before(self, *l).unwrap_or(*l),
        };
        let mut se = left;
        if self.queues[q].skip == Some(se) {
            let second = if Some(se) == curr {
                tree.first().copied()
            } else {
                match tree.get(1) {
                    None => curr,
                    Some(s) => Some(curr_before(self, *s).unwrap_or(*s)),
                }
            };
            if let Some(second) = second.filter(|s| self.wakeup_preempt_entity(*s, left) < 1) {
                se = second;
            }
        }
        let fair_enough = |m: &Model, e: &usize| m.wakeup_preempt_entity(*e, left) < 1;
        let (next, last) = (self.queues[q].next, self.queues[q].last);
        if let Some(e) = next.filter(|e| fair_enough(self, e)).or(last.filter(|e| fair_enough(self, e))) {
            se = e;
        }
        if !self.version.clear_at_set_next {
            self.clear_buddies(se);
        }
        Some(se)
    }

    /// §8.2: the picker from the root down.
    fn pick_path(&mut self, q: usize) -> Option<usize> {
        let curr = self.queues[q].curr.filter(|c| self.entities[*c].on_rq);
        if curr.is_some() {
            self.update_curr(q);
        }
        let se = self.pick_next_entity(q, curr)?;
        match self.entities[se].owns {
            None => Some(se),
            Some(below) => self.pick_path(below),
        }
    }

    /// §8.3.
    pub(crate) fn put_prev_entity(&mut self, e: usize) {
        let q = self.entities[e].queue;
        if self.entities[e].on_rq {
            self.update_curr(q);
            self.insert(e);
        }
        self.queues[q].curr = None;
    }

    /// §8.4.
    pub(crate) fn set_next_entity(&mut self, e: usize) {
        if self.version.clear_at_set_next {
            self.clear_buddies(e);
        }
        let q = self.entities[e].queue;
        let now = self.now;
        let entity = &mut self.entities[e];
        entity.inserted = None;
        entity.exec_start = now;
        entity.p = entity.s;
        self.queues[q].curr = Some(e);
    }

    /// §8.2: picks, and switches the levels on which the paths differ.
    pub(crate) fn pick_next_task(&mut self) -> Option<usize> {
        let prev: Vec<usize> = self.curr.map_or(vec![], |t| self.upward(self.tasks[t].entity));
        let picked = self.pick_path(ROOT);
        let next: Vec<usize> = picked.map_or(vec![], |e| self.upward(e));
        if picked.is_some() && prev.first() == next.first() {
            return self.curr;
        }
        for e in prev.iter().filter(|e| !next.contains(e)) {
            self.put_prev_entity(*e);
        }
        for e in next.iter().filter(|e| !prev.contains(e)) {
            self.set_next_entity(*e);
        }
        picked.and_then(|e| self.entities[e].task)
    }

    /// §6.1: one level.
    pub(crate) fn entity_tick(&mut self, e: usize) {
        let q = self.entities[e].queue;
        self.update_curr(q);
        if self.nr(q) > 1 {
            self.check_preempt_tick(e);
        }
    }

    /// §6.2, with the cap of §4.3.
    fn check_preempt_tick(&mut self, curr: usize) {
        let slice = self.sched_slice(curr);
        let ideal = if self.version.capped { slice.min(self.knobs.lat) } else { slice };
        let ran = self.entities[curr].s - self.entities[curr].p;
        if ran > ideal {
            self.need_resched = true;
            self.clear_buddies(curr);
            return;
        }
        if ran < self.knobs.mingran {
            return;
        }
        let Some(left) = self.leftmost(self.entities[curr].queue) else { return };
        let d = self.v(curr) - self.v(left);
        if d > ideal as i128 {
            self.need_resched = true;
        }
    }
}
